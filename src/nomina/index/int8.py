"""Rows of 16 bits in two planes of 8: the high one is scanned by an integer product, the low one makes scores exact.

A component is stored as ``scale * (256 * (high - 128) + low)``, one scale a row. The product of the high plane with
queries of 8 bits misses a cosine by some 0.0006 (at 384 dimensions); rows within six standard deviations of the
rounding error of the k-th best are scored again with both planes (cosines right to some 1e-6).

File: scale float32 (n,); high uint8 (n, dim); low int8 (n, dim).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays
from nomina.index.base import Floats, Ints, ScanningIndex
from nomina.index.product import IntegerProduct
from nomina.index.storing import write_planes

_ZERO = 128  # of the high plane: unsigned rows are several times as fast to multiply as signed ones
_STEPS = 127 * 256
_DEVIATIONS = 6.0
_STRETCH = 1 << 9  # rows read one by one: the system brings in some 64 KB around each of both planes
_RESIDENT = 1 << 27
"""Bytes of rows above which a scan hands memory-mapped pages back as it goes, so that the process stays small."""


class Int8Index(ScanningIndex):
    """Rows of 16 bits, scanned by 8.

    Args:
        arrays: those of its file.
        threads: of the integer product; 0: one a core.
    """

    def __init__(self, arrays: Arrays, threads: int = 0) -> None:
        self.scale, self.high, self.low = arrays
        self.size, self.dim = self.high.shape
        self._threads = threads
        self._mapping = _mapping(self.high) if self.high.nbytes > _RESIDENT else None

    @property
    def threads(self) -> int:
        """Of the integer product, 0 for one a core; scores do not depend on it."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        if threads != self._threads:
            self._threads = threads
            self.__dict__.pop("_product", None)

    @cached_property
    def _product(self) -> IntegerProduct:
        return IntegerProduct(_ZERO, self._threads)

    @staticmethod
    def planes(vectors: Floats) -> Arrays:
        """The vectors (n, dim) as they are stored."""
        largest = np.abs(vectors).max(axis=1, initial=0)
        scale = np.where(largest > 0, largest / _STEPS, 1).astype(np.float32)
        steps = np.clip(np.rint(vectors / scale[:, None]), -_STEPS, _STEPS).astype(np.int32)
        high = (steps + 128) >> 8
        return [scale, (high + _ZERO).astype(np.uint8), (steps - 256 * high).astype(np.int8)]

    @staticmethod
    def write(path: Path, parts: Iterable[Arrays], size: int, dim: int) -> None:
        """Write a file of ``size`` rows, given as planes in order."""
        write_planes(path, parts, _shapes(size, dim))

    @staticmethod
    def is_whole(arrays: Arrays, size: int, dim: int) -> bool:
        """Whether these are the arrays of a file of so many rows."""
        return [(array.dtype, array.shape) for array in arrays] == _shapes(size, dim)

    def vectors(self, rows: Ints) -> Floats:
        """See ``Index.vectors``."""
        vectors = np.empty((len(rows), self.dim), np.float32)
        for start in range(0, len(rows), _STRETCH):
            part = rows[start : start + _STRETCH]
            steps = (self.high[part].astype(np.int32) - _ZERO) * 256 + self.low[part]
            np.multiply(steps, self.scale[part, None], out=vectors[start : start + _STRETCH], casting="same_kind")
            self._hand_back(0, None)
        return vectors

    def _margin(self, queries: Floats) -> Floats:
        """Six standard deviations of the difference of two rounding errors, or their greatest difference if less.

        The errors of a row's and a query's components are even over a step: 1/sqrt(12) of it each. No difference is
        above a step's half over the sum of the other's components, at most sqrt(dim) of a unit vector.
        """
        row_step = 256 * self._mean_scale
        query_step = float(self._step(queries))
        likely = _DEVIATIONS * np.sqrt((row_step**2 + query_step**2) / 6)
        greatest = (256 * self._most_scale + query_step) * np.sqrt(self.dim)
        return np.full(len(queries), min(likely, greatest) + 2e-6, np.float32)

    @cached_property
    def _mean_scale(self) -> float:
        return float(np.sqrt(np.mean(np.square(self.scale)))) if self.size else 0.0

    @cached_property
    def _most_scale(self) -> float:
        return float(self.scale.max(initial=0))

    def _prepared(self, queries: Floats) -> object:
        step = self._step(queries)
        return _Prepared(np.ascontiguousarray(np.rint(queries / step).astype(np.int8).T), 256 * step)

    @staticmethod
    def _step(queries: Floats) -> np.float32:
        """One step for all queries of a batch: their products then need no scale of their own."""
        return np.float32(np.abs(queries).max(initial=0) / 127 or 1)

    def _products(self, chosen: slice, allowed: Ints | None, prepared: object) -> Floats:
        columns, factor = cast(_Prepared, prepared)
        high, scale = self.high[chosen], self.scale[chosen]
        if allowed is not None and len(allowed) < len(high):
            high, scale = high[allowed], scale[allowed]
        scores = self._product(high, columns, factor * scale[:, None])
        self._hand_back(chosen.start, chosen.stop)
        return scores

    def _hand_back(self, start: int, stop: int | None) -> None:
        """Tell the system that the pages of some rows' high plane, or of the whole file, need not stay in memory."""
        if self._mapping is None or not hasattr(mmap, "MADV_DONTNEED"):
            return
        if stop is None:
            self._mapping.madvise(mmap.MADV_DONTNEED)
            return
        origin = np.frombuffer(self._mapping, np.uint8).ctypes.data
        first = self.high.ctypes.data - origin + start * self.dim
        first -= first % mmap.PAGESIZE
        self._mapping.madvise(mmap.MADV_DONTNEED, first, (stop - start) * self.dim)


class _Prepared(NamedTuple):
    """Queries as 8-bit columns (dim, n), and the factor that, with a row's scale, makes cosines of their products."""

    columns: NDArray[np.int8]
    factor: np.float32


def _shapes(size: int, dim: int) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
    return [
        (np.dtype(np.float32), (size,)),
        (np.dtype(np.uint8), (size, dim)),
        (np.dtype(np.int8), (size, dim)),
    ]


def _mapping(array: NDArray[Any]) -> mmap.mmap | None:
    """The memory-mapped file that an array lies in."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    found = memoryview(base).obj if not isinstance(base, np.ndarray) else None
    return found if isinstance(found, mmap.mmap) else None
