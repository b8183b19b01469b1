"""A pre-trained encoder and a shallow decoder: the encoder reads in parallel, the decoder, which cannot, is small.

The decoder has BART's layout and starts from the encoder: embeddings, positions and chosen layers are copied, and
attention to the source starts as attention to oneself.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from nomina.encoders.base import WEIGHTS, read_weights
from nomina.encoders.bert import BertEncoder
from nomina.generation.copying import copy, layers_of, positions_of
from nomina.generation.generator import Decoding, Generator, Memory
from nomina.generation.graphs import Decodings
from nomina.generation.hugging import one_line, quiet, tokenizer_of
from nomina.generation.manifest import Writing

_TABLE, _TIED = "encoder.embeddings.word_embeddings.weight", "decoder.embed_tokens.weight"


class _Shallow(nn.Module):
    """An encoder of Hugging Face and a decoder over the same token embeddings; see ``Generator.forward``."""

    def __init__(self, encoder: Any, layers: int, writing: Writing) -> None:  # noqa: ANN401
        super().__init__()
        self.encoder = encoder
        self.decoder = _decoder(encoder, layers, writing)
        self.decoder.embed_tokens = encoder.get_input_embeddings()
        self.bias = nn.Parameter(torch.zeros(len(self.table)))

    @property
    def table(self) -> Tensor:
        """The output layer, which is the token embeddings."""
        table: Tensor = self.decoder.embed_tokens.weight
        return table

    def forward(self, ids: Tensor, mask: Tensor, targets: Tensor, where: Tensor | None = None) -> Tensor:
        memory = Memory(self.encode(ids, mask), mask).widened(len(targets))
        hidden = self.decoder(
            input_ids=targets,
            encoder_hidden_states=memory.hidden,
            encoder_attention_mask=memory.mask.long(),
            use_cache=False,
        ).last_hidden_state
        return nn.functional.linear(hidden if where is None else hidden[where], self.table, self.bias)

    def encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Hidden states (n, s, d)."""
        hidden: Tensor = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return hidden


class ShallowGenerator(Generator):
    """An encoder of Hugging Face with a shallow decoder; ``begin`` makes a new one, ``load`` reads a saved one.

    Args:
        encoder: transformers' model of BERT's or MPNet's type, without its pooler.
        tokenizer: Its tokenizer; what it cuts off or pads is turned off.
        writing: See there.
        layers: Of the decoder.
    """

    kind: ClassVar[str] = "shallow"

    def __init__(self, encoder: Any, tokenizer: Any, writing: Writing, layers: int) -> None:  # noqa: ANN401
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer, self.writing, self.layers = tokenizer, writing, layers
        self._shallow = _Shallow(encoder, layers, writing)
        self.module = self._shallow.eval()
        self.vocabulary, self.longest = len(self._shallow.table), len(positions_of(encoder))
        self.kept = 2 * layers * encoder.config.hidden_size
        self._decodings = Decodings(self._shallow)

    @classmethod
    def begin(cls, base: str | Path, layers: Sequence[int] = (1, 3, 5)) -> Self:
        """A new one: the decoder's layers are copies of the encoder's ``layers``, numbered from 0.

        Args:
            base: Folder or name of an encoder, as ``BertEncoder`` takes it.
            layers: See above.

        Raises:
            ArtifactError: there is no encoder, or it is neither of BERT's nor of MPNet's type.
            UsageError: it has no such layer.
        """
        with quiet():
            found = BertEncoder(base)
        encoder: Any = found.module.bert
        chosen = layers_of(encoder, layers, base)
        special = found.tokenizer.encode("").ids
        writing = Writing(found.pad_id, special[0], special[-1], (special[0],))
        made = cls(encoder, found.tokenizer, writing, len(layers))
        copy(encoder, chosen, made._shallow.decoder)
        return made

    @classmethod
    def load(cls, folder: str | Path, writing: Writing, **options: Any) -> Self:  # noqa: ANN401
        """See ``Generator.load``; ``layers`` is the number of the decoder's."""
        with one_line(folder):
            transformers: Any = import_module("transformers")
            config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True)
            encoder = transformers.AutoModel.from_config(config).float()
            if getattr(encoder, "pooler", None) is not None:
                encoder.pooler = None
            made = cls(encoder, tokenizer_of(folder), writing, int(options["layers"]))
        weights = read_weights(Path(folder) / WEIGHTS)
        with one_line(folder):
            weights[_TIED] = weights[_TABLE]
            made.module.load_state_dict(weights)
        return made

    def encode(self, ids: Tensor, mask: Tensor) -> Memory:
        """See ``Generator.encode``."""
        return Memory(self._shallow.encode(ids, mask), mask)

    def decoding(self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int) -> Decoding:
        """See ``Generator.decoding``."""
        return self._decodings.begin(memory, prefixes, prefix_mask, beams, most, graphs=self.graphs)

    def options(self) -> dict[str, Any]:
        """The number of decoder layers."""
        return {"layers": self.layers}

    def weights(self) -> dict[str, Tensor]:
        """The tensors of encoder, decoder and output layer."""
        return dict(self.module.state_dict())

    def _config(self) -> str:
        text: str = self._shallow.encoder.config.to_json_string()
        return text


def _decoder(encoder: Any, layers: int, writing: Writing) -> Any:  # noqa: ANN401
    """A decoder of the encoder's widths, its weights random."""
    from transformers import BartConfig
    from transformers.models.bart.modeling_bart import BartDecoder

    of = encoder.config
    return BartDecoder(
        BartConfig(
            vocab_size=of.vocab_size,
            max_position_embeddings=len(positions_of(encoder)),
            d_model=of.hidden_size,
            encoder_layers=1,
            decoder_layers=layers,
            decoder_attention_heads=of.num_attention_heads,
            decoder_ffn_dim=of.intermediate_size,
            activation_function=of.hidden_act,
            dropout=of.hidden_dropout_prob,
            attention_dropout=of.attention_probs_dropout_prob,
            pad_token_id=writing.pad_id,
            bos_token_id=writing.bos_id,
            eos_token_id=writing.eos_id,
            decoder_start_token_id=writing.start[0],
        )
    )
