"""Names of a whole KB that look alike: for each the nearest of its own concept, and the nearest of others.

ANGEL 3.2, pre-training: the cosine of character 3-gram TF-IDF vectors; the positive is the most similar synonym, the
negatives are the most similar names with another id. Needs no torch.

All names against all would add up every list of grams a name has: hundreds of thousands of entries for each of a
million names. Here a name's candidates are those that share one of its rarest grams, as many lists as there is a
budget for; they are ranked by what these lists say, and the best are scored exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nomina.linkers.postings import build
from nomina.training.examples import Ints

BUDGET = 1 << 15
"""Entries of lists that are added up for a name; at least one list is."""

_SCORED = 32  # candidates that are scored exactly, at least; four for each that is asked for
_DECIMALS = 6
_CUTS = (0.8, 0.6, 0.4, 0.2, 0.0)
_EVERY = 10_000

Progress = Callable[[int, int], None]
"""Told for how many names the nearest are known, and of how many."""


class NameVectors:
    """Unit vectors of look-up keys, as a list of grams for each and as a list of keys for each gram.

    Args:
        keys: each once.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._lists = build(keys)
        order = np.argsort(self._lists.rows, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(self._lists.rows, minlength=len(keys)))])
        self._many = np.diff(self._lists.starts)
        self._grams = np.repeat(np.arange(len(self._many), dtype=np.int32), self._many)[order]
        self._weights = self._lists.weights[order]
        self._sums, self._dense = np.zeros(len(keys)), np.zeros(len(self._many))

    def nearest(self, key: int, left_out: Ints, k: int, budget: int | None = BUDGET) -> Ints:
        """At most k keys, the most similar first, of a tie the first one; none that shares no gram.

        Args:
            key: number of a key.
            left_out: keys that are not asked for, this one among them or not.
            k: how many.
            budget: see ``BUDGET``; None: all lists, which is exact.
        """
        candidates = self._candidates(key, left_out, max(_SCORED, 4 * k), budget)
        scores = np.round(self._cosines(key, candidates), _DECIMALS)
        found: Ints = candidates[np.lexsort((candidates, -scores))[:k]]
        return found

    def similarities(self, keys: Ints) -> NDArray[np.float64]:
        """The cosines of some keys, (n, n)."""
        places, lengths = self._entries(keys)
        _, column = np.unique(self._grams[places], return_inverse=True)
        table = np.zeros((len(keys), int(column.max(initial=-1)) + 1))
        table[np.repeat(np.arange(len(keys)), lengths), column] = self._weights[places]
        cosines: NDArray[np.float64] = np.round(table @ table.T, _DECIMALS)
        return cosines

    def _candidates(self, key: int, left_out: Ints, most: int, budget: int | None) -> Ints:
        """The keys that the rarest grams of a key speak for most, in any order; more than ``most`` where they tie."""
        span = slice(self._starts[key], self._starts[key + 1])
        grams, weights = self._grams[span], self._weights[span]
        many = self._many[grams]
        order = np.argsort(many, kind="stable")
        if budget is not None:
            order = order[: max(int(np.searchsorted(np.cumsum(many[order]), budget, "right")), 1)]
        touched = [np.zeros(0, np.int64)]
        for gram, weight in zip(grams[order].tolist(), weights[order].tolist(), strict=True):
            part = slice(self._lists.starts[gram], self._lists.starts[gram + 1])
            touched.append(self._lists.rows[part].astype(np.int64))
            self._sums[touched[-1]] += self._lists.weights[part] * weight
        self._sums[left_out] = 0.0
        every = np.concatenate(touched)
        sums = self._sums[every]
        self._sums[every] = 0.0
        return _best(every, sums, most, len(order))

    def _cosines(self, key: int, others: Ints) -> NDArray[np.float64]:
        """Of a key with others, (n,)."""
        span = slice(self._starts[key], self._starts[key + 1])
        self._dense[self._grams[span]] = self._weights[span]
        places, lengths = self._entries(others)
        products = self._dense[self._grams[places]] * self._weights[places]
        self._dense[self._grams[span]] = 0.0
        owner = np.repeat(np.arange(len(others)), lengths)
        cosines: NDArray[np.float64] = np.bincount(owner, products, minlength=len(others)).astype(np.float64)
        return cosines

    def _entries(self, keys: Ints) -> tuple[Ints, Ints]:
        """Where the grams of keys lie, one key's after the other's; and how many each has."""
        first, lengths = self._starts[keys], self._starts[keys + 1] - self._starts[keys]
        return np.arange(int(lengths.sum())) + np.repeat(first - np.cumsum(lengths) + lengths, lengths), lengths


def _best(keys: Ints, sums: NDArray[np.float64], most: int, lists: int) -> Ints:
    """The keys of the highest sums above 0, each once: ``most`` or more; ``keys`` holds one up to ``lists`` times.

    A few passes of comparisons bring the many down to few that are sorted.
    """
    top = float(sums.max(initial=0.0))
    for cut in _CUTS:
        there = sums > cut * top
        if np.count_nonzero(there) >= most * lists:
            break
    keys, first = np.unique(keys[there], return_index=True)
    sums = sums[there][first]
    return keys if len(keys) <= most else keys[sums >= np.partition(sums, len(sums) - most)[len(sums) - most]]


class Similar:
    """Names by concept, as entries of one list, and what is near to each.

    Args:
        keys: the look-up key of each name (``nomina.text.normalise``); one concept's side by side.
        concept: whose name each is, (n,), ascending.
    """

    def __init__(self, keys: Sequence[str], concept: Ints) -> None:
        numbers: dict[str, int] = {}
        self._key = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int64, len(keys))
        _, self._first = np.unique(self._key, return_index=True)
        self._bounds = np.flatnonzero(np.diff(concept, prepend=-1, append=-1))
        self._vectors = NameVectors(list(numbers))

    def synonyms(self) -> Ints:
        """The name of the same concept that is most similar to each, (n,): of a tie the first; itself where alone."""
        found = np.arange(len(self._key))
        for start, stop in self.concepts():
            if stop - start == 1:
                continue
            cosines = self._vectors.similarities(self._key[start:stop])
            np.fill_diagonal(cosines, -1.0)
            found[start:stop] = start + cosines.argmax(axis=1)
        return found

    def others(self, k: int = 1, *, budget: int | None = BUDGET, progress: Progress | None = None) -> Ints:
        """The k names most similar to each that its concept does not have, (n, k); -1 where there are fewer.

        A name that several concepts have is right for each of them; names are told apart by their keys. The number is
        that of the first entry with such a key.

        Args:
            k: how many.
            budget: see ``NameVectors.nearest``; where it finds fewer than k, all lists are looked at.
            progress: told how far it is.
        """
        parts, told = [np.zeros((0, k), np.int64)], 0
        for span in self.concepts():
            parts.append(self.others_of(span, k, budget))
            if progress and span[1] - told >= _EVERY:
                told = span[1]
                progress(told, len(self._key))
        return np.concatenate(parts)

    def others_of(self, span: tuple[int, int], k: int, budget: int | None = BUDGET) -> Ints:
        """``others`` of the names from one to another, which are all of a concept: (names, k)."""
        own = self._key[slice(*span)]
        found = np.full((len(own), k), -1)
        for entry, key in enumerate(own.tolist()):
            near = self._vectors.nearest(key, own, k, budget)
            if len(near) < k and budget is not None:
                near = self._vectors.nearest(key, own, k, None)
            found[entry, : len(near)] = self._first[near]
        return found

    def concepts(self) -> Iterator[tuple[int, int]]:
        """Where the names of each concept begin and end."""
        return pairwise(self._bounds.tolist())
