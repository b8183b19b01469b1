"""faiss indexes (extra ``faiss``): flat, HNSW (Malkov and Yashunin 2018), IVF-PQ (Jegou et al. 2011), by inner product.

They are made from an exact index and hold their vectors in memory. HNSW and IVF-PQ are approximate, more so under a
filter that leaves few rows; IVF-PQ's scores are approximate too. File: size and dim (2,); the serialised index (uint8).
"""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from nomina.arrays import Arrays
from nomina.arrays import write as write_arrays
from nomina.errors import MissingExtra
from nomina.index.base import NO_ROW, Floats, Hits, Index, Ints, Mask, ScanningIndex, fill

_CHUNK = 1 << 15
_TRAINED_ON = 1 << 17  # vectors
_NEIGHBOURS = 32
_EF = 128
_COMPONENTS = 4  # of a vector in one code
_PROBED = 8  # one cell in so many is looked at


class FaissIndex(Index):
    """An index of faiss over unit rows.

    Args:
        arrays: those of its file.

    Raises:
        MissingExtra: faiss is not installed.
    """

    def __init__(self, arrays: Arrays) -> None:
        shape, serialised = arrays
        self.size, self.dim = (int(value) for value in shape)
        self._index = _faiss().deserialize_index(serialised)

    @classmethod
    def write(cls, path: Path, source: ScanningIndex) -> None:
        """Make the index of another one's rows and write its file; all rows are in memory meanwhile."""
        index = cls._made(source.size, source.dim)
        if not index.is_trained:
            rng = np.random.default_rng(0)
            # Two at least: a code of one bit has two centres.
            chosen = np.resize(rng.permutation(source.size)[:_TRAINED_ON], max(2, min(source.size, _TRAINED_ON)))
            index.train(_unit(source.vectors(np.sort(chosen))))
        for start in range(0, source.size, _CHUNK):
            index.add(_unit(source.vectors(np.arange(start, min(start + _CHUNK, source.size)))))
        write_arrays(path, [np.array([source.size, source.dim]), _faiss().serialize_index(index)])

    @classmethod
    def is_whole(cls, arrays: Arrays, size: int, dim: int) -> bool:
        """Whether these are the arrays of a file of so many rows."""
        return len(arrays) == 2 and arrays[0].tolist() == [size, dim] and arrays[1].dtype == np.uint8

    def vectors(self, rows: Ints) -> Floats:
        """See ``Index.vectors``."""
        found: Floats = self._index.reconstruct_batch(rows)
        return found

    def _search(self, queries: Floats, k: int, within: Mask | None, into: Hits) -> None:
        if k == 0 or len(queries) == 0:
            return
        selector = None
        if within is not None:
            selector = _faiss().IDSelectorBitmap(np.packbits(within, bitorder="little"))
        cosines, rows = self._index.search(queries, k, params=self._parameters(k, selector))
        asked, column = np.nonzero(rows != NO_ROW)
        fill(into, asked, rows[asked, column], cosines[asked, column])

    @classmethod
    @abstractmethod
    def _made(cls, size: int, dim: int) -> Any:  # noqa: ANN401
        """An empty index for so many rows."""

    @abstractmethod
    def _parameters(self, k: int, selector: Any) -> Any:  # noqa: ANN401
        """How to search for k rows among the selected ones."""


class FlatIndex(FaissIndex):
    """Every row as float32, exact."""

    @classmethod
    def _made(cls, size: int, dim: int) -> Any:  # noqa: ANN401
        return _faiss().IndexFlatIP(dim)

    def _parameters(self, k: int, selector: Any) -> Any:  # noqa: ANN401
        return _faiss().SearchParameters(sel=selector)


class HnswIndex(FaissIndex):
    """A graph of near neighbours, 32 a row."""

    @classmethod
    def _made(cls, size: int, dim: int) -> Any:  # noqa: ANN401
        faiss = _faiss()
        return faiss.IndexHNSWFlat(dim, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)

    def _parameters(self, k: int, selector: Any) -> Any:  # noqa: ANN401
        return _faiss().SearchParametersHNSW(sel=selector, efSearch=max(_EF, 2 * k))


class IvfPqIndex(FaissIndex):
    """Cells around sqrt(n) centres, one cell in eight looked at; 8 bits for 4 components of what is left."""

    @classmethod
    def _made(cls, size: int, dim: int) -> Any:  # noqa: ANN401
        faiss = _faiss()
        codes = next(codes for codes in range(max(1, dim // _COMPONENTS), 0, -1) if dim % codes == 0)
        bits = min(8, max(1, size.bit_length() - 1))
        cells = max(1, isqrt(size))
        centres = faiss.IndexFlatIP(dim)
        index = faiss.IndexIVFPQ(centres, dim, cells, codes, bits, faiss.METRIC_INNER_PRODUCT)
        index.own_fields = True
        centres.this.disown()
        index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
        index.make_direct_map()
        return index

    def _parameters(self, k: int, selector: Any) -> Any:  # noqa: ANN401
        probed = max(1, self._index.nlist // _PROBED)
        return _faiss().SearchParametersIVF(sel=selector, nprobe=probed)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
    return unit


def _faiss() -> Any:  # noqa: ANN401
    try:
        return import_module("faiss")
    except ImportError as error:
        raise MissingExtra("faiss", "a faiss index") from error
