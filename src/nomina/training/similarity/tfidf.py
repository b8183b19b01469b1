"""The cosine of character 3-grams weighted by TF-IDF: the paper's choice, and the best of its table 3."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nomina.linkers.postings import Postings, build, occurrences
from nomina.text import normalise


class TfidfSimilarity:
    """The cosine of texts by character 3-grams, weighted by TF-IDF over all names of a KB.

    Args:
        keys: the look-up key of each name.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._postings: Postings = build(keys)
        self._kept: dict[str, dict[int, float]] = {}

    def __call__(self, mentions: Sequence[str], names: Sequence[Sequence[str]]) -> list[NDArray[np.float64]]:
        """See ``Similarity``."""
        return [
            np.array([self.cosine(normalise(mention), normalise(name)) for name in own])
            for mention, own in zip(mentions, names, strict=True)
        ]

    def cosine(self, one: str, other: str) -> float:
        """Between 0 and 1, of two look-up keys."""
        left, right = sorted((self._vector(one), self._vector(other)), key=len)
        return sum(weight * right.get(gram, 0.0) for gram, weight in left.items())

    def _vector(self, key: str) -> dict[int, float]:
        if key not in self._kept:
            found, known = occurrences([key]), self._postings.grams
            places = np.searchsorted(known, found.grams).clip(max=max(len(known) - 1, 0))
            # A gram that no name has still makes a mention longer.
            unseen = math.log1p(self._postings.size)
            idf = np.where(known[places] == found.grams, self._postings.idf[places], unseen)
            weights = found.times * idf[found.gram]
            scaled = weights / max(float(np.sqrt((weights**2).sum())), 1e-9)
            self._kept[key] = dict(zip(found.grams[found.gram].tolist(), scaled.tolist(), strict=True))
        return self._kept[key]


def opened(texts: Sequence[str], folder: str) -> TfidfSimilarity:
    """See ``SIMILARITIES``; needs no folder."""
    del folder
    return TfidfSimilarity([normalise(text) for text in texts])
