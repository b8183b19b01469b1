"""A decoder of BART's layout that starts as a copy of an encoder of BERT's or MPNet's type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nomina.errors import ArtifactError, UsageError


def layers_of(encoder: Any, numbers: Sequence[int], name: str | Path) -> list[nn.Module]:  # noqa: ANN401
    """Layers of an encoder by their numbers, from 0.

    Raises:
        ArtifactError: the encoder is neither of BERT's nor of MPNet's type.
        UsageError: it has no such layers, or none is asked for.
    """
    try:
        layers = list(encoder.encoder.layer)
        _parts(layers[0])
        positions_of(encoder)
    except (AttributeError, IndexError) as error:
        raise ArtifactError(
            f"{name} is neither of BERT's nor of MPNet's type, so no decoder can start from it: name another encoder"
        ) from error
    if not numbers or not all(0 <= number < len(layers) for number in numbers):
        raise UsageError(f"the encoder has layers 0 to {len(layers) - 1}, not all of {tuple(numbers)}: choose others")
    return [layers[number] for number in numbers]


def positions_of(encoder: Any) -> Tensor:  # noqa: ANN401
    """The vectors of positions 0, 1, ..., (positions, d); MPNet and RoBERTa have two rows before that of position 0."""
    table = encoder.embeddings.position_embeddings
    first = 0 if table.padding_idx is None else table.padding_idx + 1
    positions: Tensor = table.weight[first:]
    return positions


def copy(encoder: Any, layers: Sequence[nn.Module], decoder: Any) -> None:  # noqa: ANN401
    """Make a decoder with as many layers start from those of the encoder; its token embeddings are left alone."""
    with torch.no_grad():
        _copy_embeddings(encoder.embeddings, positions_of(encoder), decoder)
    for layer, into in zip(layers, decoder.layers, strict=True):
        attention, norm, *rest = _parts(layer)
        for target, target_norm in (
            (into.self_attn, into.self_attn_layer_norm),
            (into.encoder_attn, into.encoder_attn_layer_norm),
        ):
            for part, of in zip((target.q_proj, target.k_proj, target.v_proj, target.out_proj), attention, strict=True):
                part.load_state_dict(of.state_dict())
            target_norm.load_state_dict(norm.state_dict())
        for part, of in zip((into.fc1, into.fc2, into.final_layer_norm), rest, strict=True):
            part.load_state_dict(of.state_dict())


def _copy_embeddings(embeddings: Any, positions: Tensor, decoder: Any) -> None:  # noqa: ANN401
    places, types = decoder.embed_positions, getattr(embeddings, "token_type_embeddings", None)
    places.weight[: places.offset] = 0.0
    places.weight[places.offset :] = positions if types is None else positions + types.weight[0]
    decoder.layernorm_embedding.load_state_dict(embeddings.LayerNorm.state_dict())


def _parts(layer: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The projections of an attention (query, key, value, output), its norm, and the feed-forward layers and norm."""
    outer = layer.attention
    if hasattr(outer, "attn"):
        inner, norm = outer.attn, outer.LayerNorm
        attention = (inner.q, inner.k, inner.v, inner.o)
    else:
        inner, norm = outer.self, outer.output.LayerNorm
        attention = (inner.query, inner.key, inner.value, outer.output.dense)
    return attention, norm, layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm
