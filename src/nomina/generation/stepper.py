"""Token by token through a decoder of BART's layout, all beams of all mentions at once.

Nothing is copied when beams are sorted anew: the keys and values of all beams of a mention lie side by side, and a mask
says which of them a beam came by. The beams of a mention are then the queries of one attention over what its prefix,
held once, and all its beams have written, and of one attention over its source. A step does not look at data on the
host, and no shape depends on data, so that CUDA graphs can hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from nomina.errors import UsageError
from nomina.generation.generator import Decoding, Memory

_BLOCK = 32
"""A step looks at a multiple of so many keys, which kernels like, and of which there are few."""

_MANY = 1024
"""Queries (mentions times beams) from which on a GPU attends by plain products: torch's float32 kernel, which is one
launch where they are five, took half of a step for thousands of mentions; for fewer a step is bound by launches."""

_FIRST = 128
"""Keys that there is room for at first."""


class Layout(Protocol):
    """A module with a decoder of BART's layout."""

    @property
    def decoder(self) -> Any:  # noqa: ANN401
        """A ``BartDecoder`` of transformers."""

    @property
    def table(self) -> Tensor:
        """The output layer, (V, d)."""

    @property
    def bias(self) -> Tensor:
        """Of the output layer, V numbers."""


class BartDecoding(Decoding):
    """Beams in a decoder of BART's layout; the other arguments are those of ``Generator.decoding``.

    Attributes:
        written: keys and values (layers, 2, n, heads, keys, head's width) of the prefix, then of each step by beam.
        seen: (n, beams, size), 0 where a beam looks, -inf elsewhere.
        slots: where in ``size`` the next step writes, (beams,).
        position: of the next tokens, (n,), as the decoder's table counts them.
        table, bias: the output layer in float32.
        fused: weights (3 d, d) and bias of the queries, keys and values that each layer makes of its own tokens.
    """

    def __init__(
        self, layout: Layout, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int
    ) -> None:
        self.decoder, self.beams, self.most = layout.decoder, beams, most
        places = self.decoder.embed_positions
        (n, self.prefix), positions = prefixes.shape, places.num_embeddings - places.offset
        if self.prefix + most > positions:
            raise UsageError(
                f"a prefix of {self.prefix} tokens and {most} more do not fit the decoder's {positions} positions:"
                " shorten them"
            )
        self.heads = self.decoder.layers[0].self_attn.num_heads
        depth, source, width = len(self.decoder.layers), memory.mask.shape[1], places.embedding_dim // self.heads
        self.size = _rounded(self.prefix + most * beams)
        with plainly(prefixes.device):
            empty, first = places.weight.new_empty, min(max(_FIRST, _rounded(self.prefix)), self.size)
            # Zeros: whatever stands there is masked, but may be no NaN.
            self.written = places.weight.new_zeros(depth, 2, n, self.heads, first, width)
            self.source, self.source_seen = empty(depth, 2, n, self.heads, source, width), empty(n, 1, 1, source)
            self.seen, self.own = empty(n, beams, self.size), _unseen(torch.eye(beams).bool()).to(places.weight)
            self.slots = torch.empty(beams, dtype=torch.int64, device=prefixes.device)
            self.position = torch.empty(n, dtype=torch.int64, device=prefixes.device)
            self.table, self.bias = layout.table.detach().float(), layout.bias.detach().float()
            self.fused = [fused(layer.self_attn) for layer in self.decoder.layers]
        self.begin(memory, prefixes, prefix_mask)

    def begin(self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor) -> None:
        """Read sources and prefixes into the buffers, whatever stood there before."""
        with plainly(prefixes.device):
            self.done = 0
            self.slots.copy_(torch.arange(self.prefix, self.prefix + self.beams))
            self.position.copy_(prefix_mask.sum(1) + self.decoder.embed_positions.offset)
            # A source without a token, as in rows that fill up a batch, sees its padding: NaN would be slow to find.
            seen = memory.mask | ~memory.mask.any(1, keepdim=True)
            self.source_seen.copy_(_unseen(seen)[:, None, None])
            for layer, kept in zip(self.decoder.layers, self.source, strict=True):
                for part, of in zip(kept, (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj), strict=True):
                    part.copy_(self._split(of(memory.hidden.to(self.written.dtype))))
            self.seen.fill_(float("-inf"))
            self.seen[:, :, : self.prefix] = _unseen(prefix_mask)[:, None]
            self.logits = self._read(prefixes, prefix_mask)

    def _read(self, prefixes: Tensor, mask: Tensor) -> Tensor:
        """The logits behind the prefixes, (n, V); their keys and values are written."""
        places = torch.arange(self.prefix, device=mask.device)
        # Padding sees itself: a row of a mask without any key would be NaN.
        seen = (places <= places[:, None]) & mask[:, None] | (places == places[:, None])
        positions = (mask.cumsum(1) - 1).clamp(min=0) + self.decoder.embed_positions.offset
        hidden = self._layers(prefixes, positions, places, _unseen(seen).to(self.seen.dtype))
        return self._output(hidden.view(*prefixes.shape, -1)[:, -1])

    def step(self, tokens: Tensor) -> Tensor:
        """See ``Decoding.step``."""
        if self.done == self.most:
            raise UsageError(f"a name is longer than the {self.most} steps that were asked for: ask for more")
        self.done += 1
        with plainly(tokens.device):
            self._make_room(self._end())
            return self._next(tokens, self._end())

    def _make_room(self, keys: int) -> None:
        """Buffers for so many keys: most names end long before the longest that is allowed."""
        room = self.written.shape[4]
        if keys > room:
            more = min(max(keys, 2 * room), self.size) - room
            self.written = torch.nn.functional.pad(self.written, (0, 0, 0, more))

    def _end(self) -> int:
        """The number of keys that are written, the coming ones included, and some more."""
        return min(_rounded(self.prefix + self.done * self.beams), self.size)

    def _next(self, tokens: Tensor, end: int) -> Tensor:
        return self._step(tokens, end)

    def _step(self, tokens: Tensor, end: int, into: Tensor | None = None) -> Tensor:
        """A step that looks at the first ``end`` keys; its logits go ``into`` (n * beams, V)."""
        n, beams = tokens.shape
        self.seen.index_copy_(2, self.slots, self.own.expand(n, -1, -1))
        hidden = self._layers(tokens, self.position[:, None], self.slots, self.seen[:, :, :end])
        self.slots += beams
        self.position += 1
        return self._output(hidden, into).view(n, beams, -1)

    def reorder(self, parents: Tensor) -> None:
        """See ``Decoding.reorder``."""
        end = self._end()
        with plainly(parents.device):
            seen = self.seen[:, :, :end]
            seen.copy_(seen.gather(1, parents[:, :, None].expand(-1, -1, end)))

    def keep(self, mentions: Tensor) -> None:
        """See ``Decoding.keep``."""
        with plainly(mentions.device):
            written = self.written[:, :, :, :, : self._end()]
            self.written, self.source = (part.index_select(2, mentions) for part in (written, self.source))
            self.source_seen, self.seen = self.source_seen[mentions], self.seen[mentions]
            self.position = self.position[mentions]
            self.logits = self.logits.new_empty(0, self.logits.shape[1])

    def share(self, other: Self) -> None:
        """See ``Decoding.share``."""
        self.table, self.bias, self.fused = other.table, other.bias, other.fused

    def join(self, others: Sequence[Self]) -> None:
        """See ``Decoding.join``. Prefixes are padded on the left, sources on the right."""
        parts = [self, *others]
        equally_deep(part.done for part in parts)
        prefix, source = (max(sizes) for sizes in zip(*((p.prefix, p.source.shape[4]) for p in parts), strict=True))
        most, n = max(part.most for part in parts), sum(len(part.position) for part in parts)
        with plainly(self.written.device):
            depth, two, _, heads, _, width = self.written.shape
            size, keys = _rounded(prefix + most * self.beams), prefix + self.done * self.beams
            written = self.written.new_zeros(depth, two, n, heads, min(_rounded(keys), size), width)
            kept, unseen = self.source.new_zeros(depth, two, n, heads, source, width), float("-inf")
            kept_seen = self.source_seen.new_full((n, 1, 1, source), unseen)
            seen = self.seen.new_full((n, self.beams, size), unseen)
            start = 0
            for part in parts:
                mentions, first = slice(start, start + len(part.position)), prefix - part.prefix
                written[:, :, mentions, :, first:keys] = part.written[:, :, :, :, : keys - first]
                seen[mentions, :, first:keys] = part.seen[:, :, : keys - first]
                kept[:, :, mentions, :, : part.source.shape[4]] = part.source
                kept_seen[mentions, ..., : part.source.shape[4]] = part.source_seen
                start = mentions.stop
            self.written, self.seen, self.source, self.source_seen = written, seen, kept, kept_seen
            self.position = torch.cat([part.position for part in parts])
            self.slots += prefix - self.prefix
            self.logits = self.logits.new_empty(0, self.logits.shape[1])
        self.prefix, self.most, self.size = prefix, most, size

    def _layers(self, tokens: Tensor, positions: Tensor, slots: Tensor, seen: Tensor) -> Tensor:
        """Hidden states (n * q, d) of tokens (n, q) at ``positions`` (n, q or 1).

        They are written to ``slots`` (q,) and see ``seen`` (n, q, keys).
        """
        seen, (n, q) = seen[:, None], tokens.shape
        x = self.decoder.embed_tokens(tokens) + self.decoder.embed_positions.weight[positions]
        x = self.decoder.layernorm_embedding(x.flatten(0, 1))  # a product of rows needs no views
        for layer, (weight, bias), written, source in zip(
            self.decoder.layers, self.fused, self.written, self.source, strict=True
        ):
            own = linear(x, weight, bias).view(n, q, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            written.index_copy_(3, slots, own[1:])
            attended = self._attend(layer.self_attn, own[0], written[:, :, :, : seen.shape[-1]], seen)
            x = layer.self_attn_layer_norm(x + attended)
            queries = layer.encoder_attn.q_proj(x).view(n, q, self.heads, -1).transpose(1, 2)
            x = layer.encoder_attn_layer_norm(x + self._attend(layer.encoder_attn, queries, source, self.source_seen))
            x = layer.final_layer_norm(x + layer.fc2(layer.activation_fn(layer.fc1(x))))
        hidden: Tensor = x
        return hidden

    def _attend(self, attention: Any, queries: Tensor, kept: Tensor, seen: Tensor) -> Tensor:  # noqa: ANN401
        """The output of an attention over kept keys and values (2, n, heads, keys, width)."""
        n, _, q, _ = queries.shape
        attend = few_queries if queries.is_cuda and n * q >= _MANY else scaled_dot_product_attention
        keys, values = kept.unbind()
        attended: Tensor = attention.out_proj(attend(queries, keys, values, seen).transpose(1, 2).reshape(n * q, -1))
        return attended

    def _split(self, x: Tensor) -> Tensor:
        """(n, q, d) as (n, heads, q, width)."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def _output(self, hidden: Tensor, into: Tensor | None = None) -> Tensor:
        """Logits (rows, V) of hidden states (rows, d): float32, as rounded ones do not rank names."""
        return torch.addmm(self.bias, hidden.float(), self.table.T, out=into)


def fused(attention: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401
    """Weights and bias of an attention's queries, keys and values: one product instead of three."""
    parts = attention.q_proj, attention.k_proj, attention.v_proj
    return torch.cat([part.weight.detach() for part in parts]), torch.cat([part.bias.detach() for part in parts])


def few_queries(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attention by plain products: for a handful of queries torch's float32 kernels took half of a step.

    Args:
        queries: (n, heads, q, width).
        keys: (n, heads, k, width).
        values: (n, heads, k, width).
        mask: (n, 1, q or 1, k), added.
    """
    weights = torch.matmul(queries * queries.shape[-1] ** -0.5, keys.transpose(-1, -2)) + mask
    return torch.matmul(weights.softmax(-1), values)


def equally_deep(steps: Iterable[int]) -> None:
    """Decodings that are joined have made as many steps.

    Raises:
        UsageError: they have not.
    """
    if len(set(steps)) > 1:
        raise UsageError("decodings that have made different numbers of steps cannot go on together")


@contextmanager
def plainly(device: torch.device) -> Iterator[None]:
    """No gradients and no autocast; tensors that may be changed in and out of inference mode."""
    with torch.inference_mode(False), torch.no_grad(), torch.autocast(device.type, enabled=False):
        yield


def _unseen(seen: Tensor) -> Tensor:
    """A mask to add to attention: 0 where True, -inf where False."""
    return torch.zeros(seen.shape, device=seen.device).masked_fill_(~seen, float("-inf"))


def _rounded(keys: int) -> int:
    return -(-keys // _BLOCK) * _BLOCK
