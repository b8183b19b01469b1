"""What every generative model shares: teacher forcing, step-by-step decoding of beams, saving.

GenBioEL, 2.1: an encoder reads a mention in its context, a decoder writes the name of a concept behind a prompt.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from nomina.encoders import packing
from nomina.encoders.base import TOKENIZER, WEIGHTS
from nomina.files import atomic
from nomina.generation import DESCRIPTION
from nomina.generation.manifest import Writing, described


class Memory(NamedTuple):
    """What the encoder made of sources: hidden (n, s, d); mask (n, s) bool, True where there is a token."""

    hidden: Tensor
    mask: Tensor

    def widened(self, rows: int) -> Memory:
        """For a multiple of n rows: those of one source side by side."""
        each = rows // max(len(self.mask), 1)
        return self if each == 1 else Memory(*(part.repeat_interleave(each, 0) for part in self))


class Decoding(ABC):
    """Beams of n mentions that grow token by token; every shape is known before the first step.

    Attributes:
        logits: (n, V) float32, behind the prefix, where all beams of a mention are equal. They need not be there any
            more after ``keep`` and ``join``.
        fixed: the number of mentions cannot change, as with graphs: there is no ``keep`` and no ``join``.
    """

    logits: Tensor
    fixed: ClassVar[bool] = False

    @abstractmethod
    def step(self, tokens: Tensor) -> Tensor:
        """Append a token to every beam.

        Args:
            tokens: (n, beams) int64; what stands in finished beams does not matter, as long as it is a token.

        Returns:
            (n, beams, V) float32, what may follow. With graphs, the next step writes over it.

        Raises:
            UsageError: more steps than were asked for.
        """

    @abstractmethod
    def reorder(self, parents: Tensor) -> None:
        """Beam j of mention i goes on from what was its beam ``parents[i, j]``.

        Call it before ``step``; not needed before the first one, where all beams are equal.

        Args:
            parents: (n, beams) int64 in 0 .. beams - 1.
        """

    @abstractmethod
    def keep(self, mentions: Tensor) -> None:
        """Go on with some mentions only, in this order; not where the decoding is ``fixed``.

        Args:
            mentions: their numbers, (m,) int64 in 0 .. n - 1.
        """

    def share(self, other: Self) -> None:  # noqa: B027
        """Hold the same copies of weights as another decoding, if any: between both the generator was not trained."""

    @abstractmethod
    def join(self, others: Sequence[Self]) -> None:
        """Go on with the mentions of other decodings behind one's own; not where one is ``fixed``.

        As many steps as the one with the most was asked for can be made; it is up to who asks that a mention's own
        tokens still fit the decoder's positions.

        Args:
            others: of the same generator and as many beams, which are of no use afterwards.

        Raises:
            UsageError: they have made more or fewer steps.
        """


class Generator(ABC):
    """An encoder-decoder that writes names.

    Attributes:
        module: what is trained; called as ``forward`` here is.
        tokenizer: without padding, cuts nothing off.
        writing: special tokens, markers, prompt.
        vocabulary: number of tokens, V.
        longest: most tokens of a source, and of a decoder's input.
        kept: numbers that a decoding keeps of each token, of source and answer: keys and values of all layers.
        rereads: a step of ``decoding`` reads again all that was written before it: long names take long.
        graphs: replay CUDA graphs in ``decoding``, where the module is on a GPU and the layout is BART's. The buffers
            of a decoding are then used again by the next one of the same shapes: one at a time.
    """

    kind: ClassVar[str]
    module: nn.Module
    tokenizer: Tokenizer
    writing: Writing
    vocabulary: int
    longest: int
    kept: int = 0
    rereads: bool = False
    graphs: bool = False

    @property
    def pad_id(self) -> int:
        """Token of padding."""
        return self.writing.pad_id

    @property
    def bos_id(self) -> int | None:
        """First token of a source."""
        return self.writing.bos_id

    @property
    def eos_id(self) -> int:
        """Last token of a source and of a target."""
        return self.writing.eos_id

    @property
    def start(self) -> tuple[int, ...]:
        """Tokens that the decoder's input always starts with."""
        return self.writing.start

    @property
    def markers(self) -> tuple[str, str]:
        """Words before and behind the mention in its context."""
        return self.writing.markers

    @property
    def prompt(self) -> str:
        """What the decoder's input goes on with, "{mention}" for the mention; "": nothing."""
        return self.writing.prompt

    @property
    def context(self) -> bool:
        """Whether it was trained to read the text around a mention."""
        return self.writing.context

    @property
    def window(self) -> int:
        """Most tokens of a source that it was trained to read."""
        return self.writing.window

    @property
    def device(self) -> torch.device:
        """Where the module is."""
        return next(self.module.parameters()).device

    def forward(self, ids: Tensor, mask: Tensor, targets: Tensor, where: Tensor | None = None) -> Tensor:
        """Teacher forcing, with gradients.

        Args:
            ids: Sources (n, s) int64, padded on the right.
            mask: (n, s) bool, True where there is a token.
            targets: The decoder's input (n * c, t) int64, start and prompt included, padded on the right: c of them for
                each source side by side, for which it is read once.
            where: (n * c, t) bool: only the logits behind these tokens, which spares the rest of the output layer.

        Returns:
            (n * c, t, V): logits of the token behind each token of ``targets``; (number of True, V) with ``where``.
        """
        logits: Tensor = self.module(ids, mask, targets, where)
        return logits

    @abstractmethod
    def encode(self, ids: Tensor, mask: Tensor) -> Memory:
        """What the decoder looks at of sources (n, s), see ``forward``."""

    @abstractmethod
    def decoding(self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int) -> Decoding:
        """Start to write; without gradients, in the precision of the module's parameters, the output layer in float32.

        Positions count from 0 at the first token of each row that is no padding.

        Args:
            memory: Of n sources, from ``encode``.
            prefixes: Start and prompt, (n, p) int64, padded on the LEFT with ``pad_id``.
            prefix_mask: (n, p) bool, True where there is a token, at least one a row.
            beams: Of each mention.
            most: Steps that can be made.

        Raises:
            UsageError: the decoder has fewer positions than p + most.
        """

    def save(self, folder: str | Path, *, half: bool = False, packed: bool = False) -> None:
        """Write weights, tokenizer, configuration and manifest to a folder.

        Args:
            folder: Made where it is missing.
            half: Weights as float16.
            packed: Matrices as int8 rows, the others as float16; not where Hugging Face reads the folder. See
                ``nomina.generation.pack``.
        """
        from safetensors.torch import save

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        with atomic(target / "config.json") as temporary:
            temporary.write_text(self._config(), encoding="utf-8")
        with atomic(target / TOKENIZER) as temporary:
            self.tokenizer.save(str(temporary))
        weights = distinct(self.weights())
        with atomic(target / WEIGHTS) as temporary:
            state = packing.packed(weights) if packed else _plain(weights, half=half)
            temporary.write_bytes(save(state, metadata={"format": "pt"}))
        with atomic(target / DESCRIPTION) as temporary:
            temporary.write_text(
                json.dumps(described(self.kind, self.options(), self.writing), ensure_ascii=False) + "\n",
                encoding="utf-8",
            )

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What ``load`` needs beside the files and ``writing``: plain values that JSON can hold."""

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """The tensors of ``model.safetensors``; of those under several names the first name is kept."""

    @abstractmethod
    def _config(self) -> str:
        """The text of ``config.json``."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path, writing: Writing, **options: Any) -> Self:  # noqa: ANN401
        """The generator again from a folder; ``nomina.generation.load`` reads the manifest."""


def _plain(weights: dict[str, Tensor], *, half: bool) -> dict[str, Tensor]:
    """Tensors as they are written: on the CPU, floating ones as float16 where ``half``."""
    return {
        name: (tensor.half() if half and tensor.is_floating_point() else tensor).detach().cpu().contiguous()
        for name, tensor in weights.items()
    }


def distinct(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors without those that are another one under a second name (tied embeddings)."""
    first: dict[tuple[int, torch.Size], str] = {}
    for name, tensor in weights.items():
        first.setdefault((tensor.data_ptr(), tensor.shape), name)
    kept = set(first.values())
    return {name: tensor for name, tensor in weights.items() if name in kept}
