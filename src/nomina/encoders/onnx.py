"""An exported encoder in the bare install: onnxruntime and tokenizers, no torch.

Arithmetic is float32, whatever the weights are stored as. Texts of like length share a batch, and a batch is only as
wide as its longest text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nomina.artifact import Artifact
from nomina.encoders.base import TOKENIZER, Encoder, read_tokenizer, token_ids, unknown_id
from nomina.errors import ArtifactError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KIND = "onnx-encoder"
MODEL = "model.onnx"
BATCH = 32
"""Texts of a batch: on a CPU more of them leave its cache and are slower."""

_CHUNK = 1 << 16
OPTIONS = {"length": int, "pad_id": int, "special_tokens": bool, "dim": int, "query_prefix": str}

_Batch = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]
"""Places of the texts of a batch, their token ids and which of these are no padding, both (n, length)."""


class OnnxEncoder(Encoder):
    """An encoder that ``nomina.encoders.export.export`` wrote.

    Args:
        folder: the model's folder.
        threads: how many to use; 0: one a core.

    Attributes:
        fingerprint: a hash of the model's content.
        tokenizer: without padding; cuts texts off at ``length`` tokens.

    Raises:
        ArtifactError: the folder holds no such model, or a damaged one.
    """

    def __init__(self, folder: str | Path, threads: int = 0) -> None:
        artifact = Artifact.open(folder, KIND)
        options = _checked(artifact)
        self.folder, self.threads, self.fingerprint = artifact.folder, threads, artifact.fingerprint
        self.length, self.pad_id, self.dim = options["length"], options["pad_id"], options["dim"]
        self.special_tokens: bool = options["special_tokens"]
        self.query_prefix = options["query_prefix"]
        self.tokenizer = read_tokenizer(artifact.file(TOKENIZER), self.length)
        # A thread a batch: threads that share a batch wait for each other at every step of a small model.
        self._session = session(artifact.file(MODEL), 1)
        found = self._session.get_outputs()[0].shape[-1]
        if found != self.dim:
            raise ArtifactError(f"{folder} gives vectors of {found}, not {self.dim} numbers: export the model again")

    def encode(self, texts: Sequence[str], batch_size: int = BATCH) -> NDArray[np.float32]:
        """See ``Encoder.encode``; each thread takes a batch at a time."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)

        def run(batch: _Batch) -> None:
            chosen, ids, mask = batch
            vectors[chosen] = self._session.run(None, {"ids": ids, "mask": mask})[0]

        with ThreadPoolExecutor(self.threads or cores()) as pool:
            for start in range(0, len(texts), _CHUNK):
                for _ in pool.map(run, self._batches(texts[start : start + _CHUNK], batch_size, start)):
                    pass
        return vectors

    def _batches(self, texts: Sequence[str], batch_size: int, first: int) -> Iterator[_Batch]:
        """Texts of like length together; ``first`` is the place of the first text."""
        found = token_ids(self.tokenizer, texts, special=self.special_tokens)
        rows = [ids or [self.pad_id] for ids in found]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            mask = np.arange(lengths[chosen].max()) < lengths[chosen, None]
            ids = np.full(mask.shape, self.pad_id, dtype=np.int64)
            ids[mask] = np.concatenate([rows[i] for i in chosen])
            yield first + chosen, ids, mask

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.folder, self.threads)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def known(tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which texts have a token that is not the unknown one: all others look the same to an encoder."""
    unknown = unknown_id(tokenizer)
    rows = token_ids(tokenizer, texts, special=False)
    return np.array([any(id != unknown for id in ids) for ids in rows], dtype=np.bool_)


def _checked(artifact: Artifact) -> dict[str, Any]:
    options = {"query_prefix": "", **artifact.options}
    for name, kind in OPTIONS.items():
        if type(options.get(name)) is not kind:
            raise ArtifactError(f"{artifact.folder} does not say its {name}: export the model again")
    return options


def session(model: Path | bytes, threads: int = 0) -> Any:  # noqa: ANN401
    """An onnxruntime session of a model on the CPU.

    Raises:
        ArtifactError: onnxruntime cannot run it.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Every batch has another shape, so that a plan of its memory would be made, and kept, for each.
    options.enable_mem_pattern = False
    try:
        return InferenceSession(
            model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        why = str(error).strip().splitlines()[0]
        name = "it" if isinstance(model, bytes) else model
        raise ArtifactError(f"{name} is no model that onnxruntime can run ({why}): export it again") from error
