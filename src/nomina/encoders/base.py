"""What every encoder shares: batches of like length, padding, saving. torch is imported when it is needed."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nomina.encoders import DESCRIPTION
from nomina.errors import ArtifactError, MissingExtra
from nomina.files import atomic

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"

_NO_CHARACTER = "\U0010ffff"
_SURROGATE = re.compile("[\ud800-\udfff]")

_CHUNK = 1 << 16
"""Texts that are tokenised and sorted by length together: bounds the memory of a large ``encode``."""


class Encoder(ABC):
    """Turns texts into unit vectors, so that a dot product is a cosine.

    Attributes:
        dim: length of a vector.
        query_prefix: what a linker puts before a mention, but not before a name, where the encoder was trained so: a
            mention can then be near another name than the very same text.
    """

    dim: int
    query_prefix: str = ""

    @abstractmethod
    def encode(self, texts: Sequence[str], batch_size: int = 256) -> NDArray[np.float32]:
        """The vectors of texts in their order, shape (number of texts, dim), rows of length 1.

        A text's vector does not depend on the texts beside it.
        """


class TrainableEncoder(Encoder):
    """An encoder over a torch module that maps padded tokens to unit vectors.

    Attributes:
        module: takes ids (n, length) and mask (n, length), True where there is a token; gives (n, dim), unit rows.
        tokenizer: without padding; cuts texts off at ``length`` tokens.
        length: most tokens of a text, special ones included.
    """

    kind: ClassVar[str]
    module: nn.Module
    tokenizer: Tokenizer
    length: int
    pad_id: int = 0
    special_tokens: bool = True

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What ``load`` needs beside the files: plain values that JSON can hold."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path, **options: Any) -> Self:  # noqa: ANN401
        """The encoder again from a folder."""

    @property
    def device(self) -> torch.device:
        """Where the module is."""
        return next(self.module.parameters()).device

    def tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, at least one each."""
        batch = token_ids(self.tokenizer, texts, special=self.special_tokens)
        return [ids or [self.pad_id] for ids in batch]

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Ids and mask of token rows, both (n, longest row), on the module's device."""
        torch = import_torch()
        ids = np.full((len(rows), max(map(len, rows))), self.pad_id, dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=bool)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = True
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """The vectors with their gradient, (n, dim)."""
        vectors: Tensor = self.module(*self.padded(self.tokenise(texts)))
        return vectors

    def encode(self, texts: Sequence[str], batch_size: int = 256) -> NDArray[np.float32]:
        """See ``Encoder.encode``; texts of like length share a batch, float32 arithmetic."""
        torch = import_torch()
        training = self.module.training
        self.module.eval()
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        try:
            with torch.inference_mode():
                for start in range(0, len(texts), _CHUNK):
                    self._encode_chunk(texts[start : start + _CHUNK], batch_size, vectors[start : start + _CHUNK])
        finally:
            self.module.train(training)
        return vectors

    def _encode_chunk(self, texts: Sequence[str], batch_size: int, into: NDArray[np.float32]) -> None:
        rows = self.tokenise(texts)
        order = np.argsort([len(row) for row in rows], kind="stable")
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            into[chosen] = self.module(*self.padded([rows[i] for i in chosen])).float().cpu().numpy()

    def save(self, folder: str | Path, *, half: bool = False) -> None:
        """Write weights (float16 where ``half``), tokenizer and options to a folder, made where it is missing."""
        from safetensors.torch import save

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        self._save_config(target)
        with atomic(target / TOKENIZER) as temporary:
            self.tokenizer.save(str(temporary))
        state = {
            name: (tensor.half() if half and tensor.is_floating_point() else tensor).detach().cpu().contiguous()
            for name, tensor in self.weights().items()
        }
        with atomic(target / WEIGHTS) as temporary:
            temporary.write_bytes(save(state, metadata={"format": "pt"}))
        with atomic(target / DESCRIPTION) as temporary:
            temporary.write_text(json.dumps(self._described()) + "\n", encoding="utf-8")

    def _described(self) -> dict[str, Any]:
        prefix = {"query_prefix": self.query_prefix} if self.query_prefix else {}
        return {"kind": self.kind, **self.options(), **prefix}

    def weights(self) -> dict[str, Tensor]:
        """The tensors of ``model.safetensors``."""
        return dict(self.module.state_dict())

    def _save_config(self, folder: Path) -> None:
        """Write what else ``load`` reads."""

    def parameters_report(self) -> str:
        """One line: how many parameters are tuned, how many are frozen."""
        tuned = sum(p.numel() for p in self.module.parameters() if p.requires_grad)
        frozen = sum(p.numel() for p in self.module.parameters()) - tuned
        return f"{tuned:,} tunable parameters, {frozen:,} frozen"


def import_torch() -> ModuleType:
    """The module ``torch``.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module("torch")
    except ImportError as error:
        raise MissingExtra("train", "a trainable encoder") from error


def read_tokenizer(path: Path, length: int) -> Tokenizer:
    """A tokenizer without padding that cuts texts off at ``length`` tokens.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise ArtifactError(f"{path} is no tokenizer ({error}): save the encoder again") from error
    return fitted(tokenizer, length)


def token_ids(tokenizer: Tokenizer, texts: Sequence[str], *, special: bool) -> list[list[int]]:
    """The token ids of each text, with the special ones or without; half a surrogate pair is read as U+FFFD.

    Texts with such halves come out of JSON and of file names; tokenizers take only what UTF-8 can hold.
    """
    whole = [_SURROGATE.sub("\ufffd", text) for text in texts]
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(whole, add_special_tokens=special)]


def unknown_id(tokenizer: Tokenizer) -> int:
    """Number of the token for what the tokenizer does not know; -1 where it has none."""
    if token := getattr(tokenizer.model, "unk_token", None):
        number = tokenizer.token_to_id(token)
        return -1 if number is None else int(number)
    try:
        found = tokenizer.model.tokenize(_NO_CHARACTER)  # a Unigram does not say its own
    except Exception:  # tokenizers raises nothing narrower: a model that takes known characters only
        return -1
    return int(found[0].id) if len(found) == 1 else -1


def fitted(tokenizer: Tokenizer, length: int) -> Tokenizer:
    """The tokenizer set to no padding and to cutting off at ``length`` tokens."""
    tokenizer.no_padding()
    tokenizer.enable_truncation(length)
    return tokenizer


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, floating ones and int8 rows (``packing``) as float32.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    from safetensors.torch import load_file

    from nomina.encoders.packing import unpacked

    try:
        state = load_file(path)
    except Exception as error:
        raise ArtifactError(f"{path} cannot be read ({error}): fetch or save it again") from error
    found = unpacked(state)
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in found.items()}
