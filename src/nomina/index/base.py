"""What every index shares: the k most similar rows of many, by cosine, then by row.

A scan gives approximate cosines for a chunk of rows at a time; rows that may be among the best are kept, and their
cosines computed again, exactly and in the same way whatever else is asked. So a query's answer does not depend on the
queries beside it, equal vectors tie exactly, and the order of the answer is not that of rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.errors import UsageError

NO_ROW = -1
"""Fills the tail of an answer that has fewer rows than asked for."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_DECIMALS = 7
_CELLS = 1 << 20  # approximate cosines at a time: 4 MB
_QUERIES = 256
_LEAST, _MOST = 1 << 10, 1 << 16  # rows at a time
_FIRST = 1 << 10  # rows that set the first floor
_PAIRS = 1 << 10  # of query and row whose cosine is computed again together: more of them leave the cache


class Hits(NamedTuple):
    """The best rows for n queries: ``rows`` int64 (n, k), ``NO_ROW`` where there are fewer; ``scores`` float32 (n, k).

    Scores are cosines, rounded to seven decimals, so that the very vector has 1; -inf where there is no row.
    """

    rows: Ints
    scores: Floats

    @classmethod
    def empty(cls, n: int, k: int) -> Hits:
        """No rows, to be filled."""
        return cls(np.full((n, k), NO_ROW, np.int64), np.full((n, k), -np.inf, np.float32))


class Index(ABC):
    """Unit rows to search in.

    Attributes:
        size: how many rows.
        dim: their length.
    """

    size: int
    dim: int

    def search(self, queries: Floats, k: int, within: Mask | None = None) -> Hits:
        """The k rows of the highest cosine for each query, by score, then by row.

        Args:
            queries: (n, dim); of any length above 0.
            k: at least 1; the answer has that many columns.
            within: (size,) which rows may be answered.

        Raises:
            UsageError: shapes that do not fit.
        """
        queries = self._checked(queries, k, within)
        hits = Hits.empty(len(queries), k)
        for start in range(0, len(queries), _QUERIES):
            part = slice(start, start + _QUERIES)
            self._search(queries[part], min(k, self.size), within, Hits(hits.rows[part], hits.scores[part]))
        return hits

    def _checked(self, queries: Floats, k: int, within: Mask | None) -> Floats:
        if queries.ndim != 2 or queries.shape[1] != self.dim:
            raise UsageError(f"queries of shape {queries.shape} where (n, {self.dim}) is expected: another encoder's?")
        if k < 1:
            raise UsageError(f"k must be 1 or more, not {k}")
        if within is not None and within.shape != (self.size,):
            raise UsageError(f"a filter of shape {within.shape} for {self.size} rows: another KB's?")
        lengths = np.linalg.norm(queries, axis=1, keepdims=True)
        return (queries / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)

    @abstractmethod
    def _search(self, queries: Floats, k: int, within: Mask | None, into: Hits) -> None:
        """Fill in the answer for a few unit queries."""

    @abstractmethod
    def vectors(self, rows: Ints) -> Floats:
        """The vectors of some rows, (number of rows, dim), as they are stored."""


class ScanningIndex(Index):
    """An index that looks at every row."""

    def _search(self, queries: Floats, k: int, within: Mask | None, into: Hits) -> None:
        if k == 0 or len(queries) == 0:
            return
        asked, rows = self._candidates(queries, k, within)
        fill(into, asked, rows, self._cosines(queries, asked, rows))

    def _candidates(self, queries: Floats, k: int, within: Mask | None) -> tuple[Ints, Ints]:
        """Pairs of a query's and a row's number: all that may be among the query's k best, sorted by query and row."""
        best = np.full((len(queries), k), -np.inf, np.float32)
        floor = best[:, 0].copy()
        margin = self._margin(queries)
        prepared = self._prepared(queries)
        found: list[tuple[Ints, Ints, Floats]] = []
        size = min(_MOST, max(_LEAST, _CELLS // len(queries)))
        for start in range(0, self.size, size):
            chosen = slice(start, min(start + size, self.size))
            allowed = None if within is None else np.flatnonzero(within[chosen])
            if allowed is not None and len(allowed) == 0:
                continue
            scores = self._products(chosen, allowed, prepared)
            if np.isneginf(floor).any():
                floor = np.maximum(floor, _least_of_best(scores[: max(_FIRST, 4 * k)], k) - margin)
            places = np.flatnonzero(scores >= floor)
            local, asked = np.divmod(places, len(queries))
            values = scores.reshape(-1)[places]
            found.append((asked, start + (local if allowed is None else allowed[local]), values))
            best = _merged(best, asked, values)
            floor = np.maximum(floor, best[:, 0] - margin)
        return _above(found, floor)

    def _cosines(self, queries: Floats, asked: Ints, rows: Ints) -> NDArray[np.float64]:
        cosines = np.empty(len(rows))
        for start in range(0, len(rows), _PAIRS):
            part = slice(start, start + _PAIRS)
            vectors = self.vectors(rows[part]).astype(np.float64)
            products = np.einsum("ij,ij->i", vectors, queries[asked[part]].astype(np.float64))
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            cosines[part] = products / np.where(lengths > 0, lengths, 1)
        return cosines

    @abstractmethod
    def _margin(self, queries: Floats) -> Floats:
        """How far, for each query, an approximate cosine may be from another that is exactly as high."""

    @abstractmethod
    def _prepared(self, queries: Floats) -> object:
        """What ``_products`` takes of the queries."""

    @abstractmethod
    def _products(self, chosen: slice, allowed: Ints | None, prepared: object) -> Floats:
        """Approximate cosines (rows, queries) of a stretch of rows, or of those ``allowed`` in it."""


def _least_of_best(scores: Floats, k: int) -> Floats:
    """The k-th highest value of each column, -inf where there are fewer."""
    if len(scores) < k:
        return np.full(scores.shape[1], -np.inf, np.float32)
    least: Floats = np.partition(scores, len(scores) - k, axis=0)[len(scores) - k]
    return least


def _merged(best: Floats, asked: Ints, values: Floats) -> Floats:
    """The k highest values so far for each query, lowest first, given more of them."""
    if len(asked) == 0:
        return best
    counts = np.bincount(asked, minlength=len(best))
    order = np.argsort(asked, kind="stable")
    column = np.arange(len(asked)) - np.repeat(np.cumsum(counts) - counts, counts)
    k = best.shape[1]
    both = np.full((len(best), k + int(counts.max())), -np.inf, np.float32)
    both[:, :k] = best
    both[asked[order], k + column] = values[order]
    both.partition(both.shape[1] - k, axis=1)
    return both[:, -k:]


def _above(found: list[tuple[Ints, Ints, Floats]], floor: Floats) -> tuple[Ints, Ints]:
    """The pairs whose value reaches their query's floor."""
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    asked, rows, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept = values >= floor[asked]
    asked, rows = asked[kept], rows[kept]
    order = np.lexsort((rows, asked))
    return asked[order], rows[order]


def fill(into: Hits, asked: Ints, rows: Ints, cosines: NDArray[np.float64]) -> None:
    """Put the best pairs of query and row into their places: by rounded cosine, then by row."""
    scores = np.clip(np.round(cosines, _DECIMALS), -1, 1) + 0.0
    order = np.lexsort((rows, -scores, asked))
    asked, rows, scores = asked[order], rows[order], scores[order]
    counts = np.bincount(asked, minlength=len(into.rows))
    column = np.arange(len(asked)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = column < into.rows.shape[1]
    into.rows[asked[kept], column[kept]] = rows[kept]
    into.scores[asked[kept], column[kept]] = scores[kept]
