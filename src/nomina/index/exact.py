"""Every row as it is, float32 or float16, by blocked matrix products: the default for small KBs, the oracle of others.

File: the rows (n, dim).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays
from nomina.index.base import Floats, Ints, ScanningIndex
from nomina.index.storing import write_planes


class ExactIndex(ScanningIndex):
    """Rows of float32."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float32)
    shortened: ClassVar[float] = 0.0
    """How much shorter a stored row may be than another."""

    def __init__(self, arrays: Arrays) -> None:
        (self.rows,) = arrays
        self.size, self.dim = self.rows.shape

    @classmethod
    def planes(cls, vectors: Floats) -> Arrays:
        """The vectors (n, dim) as they are stored."""
        return [vectors.astype(cls.dtype)]

    @classmethod
    def write(cls, path: Path, parts: Iterable[Arrays], size: int, dim: int) -> None:
        """Write a file of ``size`` rows, given as planes in order."""
        write_planes(path, parts, [(cls.dtype, (size, dim))])

    @classmethod
    def is_whole(cls, arrays: Arrays, size: int, dim: int) -> bool:
        """Whether these are the arrays of a file of so many rows."""
        return len(arrays) == 1 and arrays[0].dtype == cls.dtype and arrays[0].shape == (size, dim)

    def vectors(self, rows: Ints) -> Floats:
        """See ``Index.vectors``."""
        return self.rows[rows].astype(np.float32, copy=False)

    def _margin(self, queries: Floats) -> Floats:
        # Twice what rounding can add up to over the terms of a product, and what is lost in rounding cosines.
        return np.full(len(queries), self.dim * 2.0**-23 + self.shortened + 2e-6, np.float32)

    def _prepared(self, queries: Floats) -> object:
        return np.ascontiguousarray(queries.T)

    def _products(self, chosen: slice, allowed: Ints | None, prepared: object) -> Floats:
        rows = self.rows[chosen]
        if allowed is not None and len(allowed) < len(rows):
            rows = rows[allowed]
        return rows.astype(np.float32, copy=False) @ cast(NDArray[np.float32], prepared)


class HalfIndex(ExactIndex):
    """Rows of float16: half the space, cosines right to some 1e-5."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float16)
    shortened: ClassVar[float] = 2.0**-10
