"""Names that look alike: the cosine of character 3-gram TF-IDF vectors between a mention and every name of the KB.

All lists of a mention's grams are added up, exactly. Skipping the long ones by their greatest possible contribution
(max-score) was measured and left out: see docs/linkers.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import cached
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker, Ranking, Rule
from nomina.linkers.postings import POSTINGS_VERSION, Postings, is_whole, load, occurrences, write
from nomina.text import normalise
from nomina.types import Query

_DECIMALS = 6
_ROUNDING = 1e-6
_CUTS = (0.8, 0.6, 0.4, 0.2, 0.0)


class TfidfLinker(Linker):
    """Ranks KB names by TF-IDF cosine, between 0 and 1; 1 for the very name, nothing for a mention that shares no gram.

    The inverted lists are made once per KB in the cache folder and memory-mapped by every process.
    """

    default_threshold: ClassVar[float] = 0.6

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__(kb)
        self._postings = postings_of(kb)

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k most similar names a mention, by score, then by row; see ``Linker.rank``."""
        keys = [normalise(query.mention.text) for query in queries]
        places: dict[str, list[int]] = {}
        for i, key in enumerate(keys):
            places.setdefault(key, []).append(i)
        ranking = Ranking.empty(len(keys), k)
        for at, (rows, scores) in zip(places.values(), search(self._postings, list(places), k, within), strict=True):
            ranking.rows[at, : len(rows)] = rows
            ranking.scores[at, : len(rows)] = scores
            ranking.rules[at, : len(rows)] = Rule.TFIDF
        return ranking


class Hits(NamedTuple):
    """At most k rows (int64) and their scores (float64), by score, then by row."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def search(postings: Postings, keys: Sequence[str], k: int, within: NDArray[np.bool_] | None = None) -> Iterator[Hits]:
    """The k most similar names of each look-up key; only those that share a gram with it and are ``within``."""
    scores = np.zeros(postings.size)
    for places, weights in _vectors(postings, keys):
        scores.fill(0.0)
        first, last = postings.starts[places].tolist(), postings.starts[places + 1].tolist()
        for start, end, weight in zip(first, last, weights.tolist(), strict=True):
            # A row stands in a list once, so that this adds every entry; indices of intp are used without another copy.
            scores[postings.rows[start:end].astype(np.intp)] += postings.weights[start:end] * weight
        if within is not None:
            scores *= within
        yield _best(scores, k)


def _vectors(postings: Postings, keys: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each key the places and weights of its known grams, in the order of ``postings.grams``.

    An unknown gram counts in the vector's length, as one that a single name has: foreign material lowers all scores.
    """
    found = occurrences(keys)
    places = np.searchsorted(postings.grams, found.grams)
    places[places == len(postings.grams)] = 0
    known = postings.grams[places] == found.grams
    idf = np.where(known, postings.idf[places], np.log1p(postings.size))
    weights = found.times * idf[found.gram]
    lengths = np.sqrt(np.bincount(found.text, weights * weights, minlength=len(keys)))
    by_text = np.argsort(found.text, kind="stable")
    by_text = by_text[known[found.gram[by_text]]]
    counts = np.bincount(found.text[by_text], minlength=len(keys))
    ends = np.cumsum(counts)
    for i, (start, end) in enumerate(zip((ends - counts).tolist(), ends.tolist(), strict=True)):
        chosen = by_text[start:end]
        yield places[found.gram[chosen]], weights[chosen] / lengths[i]


def _best(scores: NDArray[np.float64], k: int) -> Hits:
    """The k highest scores above zero.

    Scores are rounded: names of equal vectors, and the very name's 1, do not depend on the last bits of a sum.
    """
    rows = _candidates(scores, k)
    found = np.minimum(np.round(scores[rows], _DECIMALS), 1.0)
    if len(rows) > k:
        least = np.partition(found, len(rows) - k)[len(rows) - k]
        rows, found = rows[found >= least], found[found >= least]
    order = np.lexsort((rows, -found))[:k]
    return Hits(rows[order], found[order])


def _candidates(scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Rows that hold the k best: all above a share of the highest score, and what rounding may lift to the k-th.

    A few passes of comparisons: partitioning scores that are mostly zero takes many times as long.
    """
    top = float(scores.max())
    for cut in _CUTS:
        rows = np.flatnonzero(scores > max(cut * top - _ROUNDING, 0.0))
        if np.count_nonzero(scores[rows] >= cut * top) >= k:
            break
    return rows


def postings_of(kb: KnowledgeBase) -> Postings:
    """The KB's inverted lists from the cache folder, made where they are not there.

    Raises:
        UsageError: the cache folder cannot be written to.
    """
    size = len(kb.names)
    name = f"{kb.fingerprint}.{POSTINGS_VERSION}.postings"
    return load(cached("tfidf", name, lambda path: write(kb.names, path), lambda arrays: is_whole(arrays, size)))
