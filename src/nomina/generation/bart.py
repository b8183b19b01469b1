"""Encoder-decoders of Hugging Face: BART, as GenBioEL and ANGEL train it, fast; T5 and others plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from nomina.errors import ArtifactError
from nomina.generation.generator import Decoding, Generator, Memory
from nomina.generation.graphs import Decodings
from nomina.generation.hugging import from_folder, one_line, tokenizer_of
from nomina.generation.manifest import Writing
from nomina.generation.plain import PlainDecoding

_POSITIONS = 1024
"""Most tokens where a model has no table of positions."""


class _Forced(nn.Module):
    """Teacher forcing through a model of Hugging Face; see ``Generator.forward``."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor, targets: Tensor, where: Tensor | None = None) -> Tensor:
        logits = self.decode(*self.read(ids, mask, len(targets)), targets)
        return logits if where is None else logits[where]

    def read(self, ids: Tensor, mask: Tensor, rows: int) -> Memory:
        """What the encoder makes of sources, for so many rows of the decoder."""
        hidden = self.model.get_encoder()(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return Memory(hidden, mask).widened(rows)

    def decode(self, hidden: Tensor, mask: Tensor, written: Tensor) -> Tensor:
        """Logits (n, t, V) of what the encoder made of sources."""
        logits: Tensor = self.model(
            encoder_outputs=(hidden,), attention_mask=mask.long(), decoder_input_ids=written, use_cache=False
        ).logits
        return logits


class _ForcedBart(_Forced):
    """The same for BART: a ``Layout``, and an output layer of only what is asked for."""

    def forward(self, ids: Tensor, mask: Tensor, targets: Tensor, where: Tensor | None = None) -> Tensor:
        memory = self.read(ids, mask, len(targets))
        hidden = self.model.model(
            encoder_outputs=(memory.hidden,),
            attention_mask=memory.mask.long(),
            decoder_input_ids=targets,
            use_cache=False,
        ).last_hidden_state
        return nn.functional.linear(hidden if where is None else hidden[where], self.table, self.bias)

    @property
    def decoder(self) -> Any:  # noqa: ANN401
        return self.model.model.decoder

    @property
    def table(self) -> Tensor:
        table: Tensor = self.model.lm_head.weight
        return table

    @property
    def bias(self) -> Tensor:
        bias: Tensor = self.model.final_logits_bias
        return bias.reshape(-1)


class BartGenerator(Generator):
    """An encoder-decoder of Hugging Face in a folder: BART-large, BioBART, the weights that the authors released.

    Args:
        folder: With config, weights and tokenizer.
        writing: None: special tokens as the configuration has them, markers and prompt of GenBioEL.

    Raises:
        ArtifactError: it holds none, or a damaged one.
        MissingExtra: transformers is not installed.
    """

    kind: ClassVar[str] = "bart"

    def __init__(self, folder: str | Path, writing: Writing | None = None) -> None:
        with one_line(folder):
            from transformers import AutoModelForSeq2SeqLM
        self._model = from_folder(AutoModelForSeq2SeqLM, folder)
        config = self._model.config
        self.writing = writing or _writing(folder, config)
        self.tokenizer = tokenizer_of(folder)
        self.vocabulary = len(self._model.get_output_embeddings().weight)
        self.longest = int(getattr(config, "max_position_embeddings", _POSITIONS))
        self.rereads = config.model_type != "bart"
        self._forced, self._decodings = _Forced(self._model), None
        if not self.rereads:
            self._forced = bart = _ForcedBart(self._model)
            self._decodings, self.kept = Decodings(bart), 2 * config.decoder_layers * config.d_model
        self.module = self._forced.eval()

    @classmethod
    def load(cls, folder: str | Path, writing: Writing, **options: Any) -> Self:  # noqa: ANN401
        """See ``Generator.load``."""
        return cls(folder, writing)

    def encode(self, ids: Tensor, mask: Tensor) -> Memory:
        """See ``Generator.encode``."""
        return self._forced.read(ids, mask, len(ids))

    def decoding(self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int) -> Decoding:
        """See ``Generator.decoding``."""
        if self._decodings is not None:
            return self._decodings.begin(memory, prefixes, prefix_mask, beams, most, graphs=self.graphs)
        return PlainDecoding(self._forced.decode, memory, prefixes, prefix_mask, beams, most, self.pad_id)

    def options(self) -> dict[str, Any]:
        """None."""
        return {}

    def weights(self) -> dict[str, Tensor]:
        """The tensors under the names that Hugging Face gives them: the folder is one of theirs as well."""
        return dict(self._model.state_dict())

    def _config(self) -> str:
        text: str = self._model.config.to_json_string()
        return text


def _writing(folder: str | Path, config: Any) -> Writing:  # noqa: ANN401
    """How sources and targets are written; BART's decoder starts with the end token, then as a source does."""
    names = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    pad, bos, eos, first = (getattr(config, name, None) for name in names)
    if pad is None or eos is None or first is None:
        raise ArtifactError(
            f"{folder} names no pad_token_id, eos_token_id or decoder_start_token_id: write them in its config.json"
        )
    return Writing(pad, bos, eos, (first, bos) if config.model_type == "bart" and bos is not None else (first,))
