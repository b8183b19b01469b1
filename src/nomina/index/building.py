"""The vectors of a KB's names as an index, made once per KB and encoder in the cache folder.

Names are encoded some thousand at a time, and each part is kept until all are there, so that a build that was ended
goes on where it stood. A KB whose lineage has a version that is there already takes its rows from that; only the tail
is encoded.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from nomina.arrays import Arrays, cached
from nomina.arrays import write as write_arrays
from nomina.encoders.base import Encoder
from nomina.encoders.onnx import known
from nomina.errors import UsageError
from nomina.files import home
from nomina.index import INDEXES
from nomina.index.base import Floats, Index, ScanningIndex
from nomina.index.exact import ExactIndex
from nomina.index.int8 import Int8Index
from nomina.kb.store import KnowledgeBase

INDEX_VERSION = "1"
"""Raised when what goes into a file changes."""

FOLDER = "embeddings"

Progress = Callable[[int, int], None]
"""Told how many names are encoded, and how many there are to be."""

_PART = 1 << 13


def open_index(
    kb: KnowledgeBase, encoder: Encoder, fingerprint: str, kind: str = "int8", progress: Progress | None = None
) -> Index:
    """The index of a KB's raw names, row by row; made where it is not in the cache folder.

    Names of which the encoder's tokenizer knows no token have a row of zeros: nothing is near them.

    Args:
        kb: whose names.
        encoder: what makes vectors of them.
        fingerprint: of the encoder.
        kind: one of ``INDEXES``.
        progress: told how far it is.

    Raises:
        UsageError: no such kind, or the cache folder cannot be written to.
        MissingExtra: the kind needs a package that is not installed.
    """
    made = index_class(kind)
    exact = kind if issubclass(made, ExactIndex | Int8Index) else "int8"
    rows = _Rows(kb, encoder, fingerprint, exact, progress)
    if exact == kind:
        return rows.open()
    # Only a table's faiss classes come here, and those are made of an exact index.
    whole: Any = made
    name = _name(kb.fingerprint, fingerprint, kind)
    size, dim = len(kb.names), encoder.dim
    arrays = cached(
        FOLDER, name, lambda path: whole.write(path, rows.open()), lambda arrays: whole.is_whole(arrays, size, dim)
    )
    return cast(Index, whole(arrays))


def index_class(kind: str) -> type[Index]:
    """The class of a kind of index.

    Raises:
        UsageError: no such kind.
    """
    if kind not in INDEXES:
        raise UsageError(f"no index {kind!r}; there are: {', '.join(INDEXES)}")
    module, _, name = INDEXES[kind].rpartition(".")
    return cast(type[Index], getattr(import_module(module), name))


def index_path(kb: KnowledgeBase, fingerprint: str, kind: str) -> Path:
    """The file in the cache folder that ``open_index`` opens or makes for a KB and the fingerprint of an encoder."""
    return home() / FOLDER / _name(kb.fingerprint, fingerprint, kind)


def vectors_of(encoder: Encoder, texts: list[str]) -> Floats:
    """The vectors of texts, (number of texts, dim): unit rows, zeros where the tokenizer knows no token of a text.

    An encoder gives all such texts the same vector, and any two of them would have the cosine 1.
    """
    vectors = encoder.encode(texts)
    tokenizer = getattr(encoder, "tokenizer", None)
    if tokenizer is None:
        return vectors
    return np.where(known(tokenizer, texts)[:, None], vectors, np.float32(0))


def _name(kb: str, encoder: str, kind: str) -> str:
    return f"{kb}.{encoder[:32]}.{kind}.{INDEX_VERSION}"


@dataclass(frozen=True, slots=True)
class _Rows:
    """An exact index of all names."""

    kb: KnowledgeBase
    encoder: Encoder
    fingerprint: str
    kind: str
    progress: Progress | None

    @property
    def made(self) -> type[ExactIndex] | type[Int8Index]:
        return cast(type[ExactIndex] | type[Int8Index], index_class(self.kind))

    @property
    def parts_folder(self) -> str:
        return f"{FOLDER}/{_name(self.kb.fingerprint, self.fingerprint, self.kind)}.parts"

    def open(self) -> ScanningIndex:
        """The index, its names encoded where that has not been done."""
        size = len(self.kb.names)
        name = _name(self.kb.fingerprint, self.fingerprint, self.kind)
        arrays = cached(FOLDER, name, self.write, lambda arrays: self.made.is_whole(arrays, size, self.encoder.dim))
        shutil.rmtree(home() / self.parts_folder, ignore_errors=True)
        return self.made(arrays)

    def write(self, path: Path) -> None:
        """Encode the names and write the file."""
        self.made.write(path, self.parts(), len(self.kb.names), self.encoder.dim)

    def parts(self) -> Iterator[Arrays]:
        """The planes of all rows, a stretch of rows at a time."""
        first, size = 0, len(self.kb.names)
        if (older := self.older()) is not None:
            first = len(older[0])
            yield older
        for start in range(first, size, _PART):
            if self.progress:
                self.progress(start, size)
            yield self.part(start, min(start + _PART, size))
        if self.progress:
            self.progress(size, size)

    def older(self) -> Arrays | None:
        """The planes of the newest version of the KB whose index is in the cache folder."""
        for fingerprint in reversed(self.kb.lineage[:-1]):
            name = _name(fingerprint, self.fingerprint, self.kind)
            rows = self.kb.ancestor_rows(fingerprint)
            if rows and (arrays := self._whole(name, rows)) is not None:
                return arrays
        return None

    def _whole(self, name: str, rows: int) -> Arrays | None:
        """The arrays of a file that is there and whole."""
        if not home().joinpath(FOLDER, name).is_file():
            return None
        try:
            return cached(FOLDER, name, _refuse, lambda arrays: self.made.is_whole(arrays, rows, self.encoder.dim))
        except _Damaged:
            return None

    def part(self, start: int, stop: int) -> Arrays:
        """The planes of some rows, from the cache folder where they are there."""

        def write(path: Path) -> None:
            write_arrays(path, self.encoded(start, stop))

        return cached(
            self.parts_folder,
            f"{start}-{stop}",
            write,
            lambda arrays: self.made.is_whole(arrays, stop - start, self.encoder.dim),
        )

    def encoded(self, start: int, stop: int) -> Arrays:
        """The planes of the vectors of some rows' raw names."""
        texts = list(islice(self.kb.surfaces(start), stop - start))
        return self.made.planes(vectors_of(self.encoder, texts))


class _Damaged(Exception):
    """An older version's file cannot be used."""


def _refuse(path: Path) -> None:
    raise _Damaged
