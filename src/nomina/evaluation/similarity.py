"""How much mentions look like names: the TF-IDF cosine of ``linkers.tfidf``, but of chosen pairs only.

A linker compares a mention with all names of the KB; here each is compared with the names of its own gold concepts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nomina.linkers.postings import Postings, occurrences

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DECIMALS = 6
_PAIRS = 1 << 16  # compared at a time: some 100 MB


def cosines(postings: Postings, texts: Sequence[str], left: Ints, right: Ints) -> Floats:
    """The cosines of pairs of look-up keys by character 3-grams, rounded; 1 for two equal ones.

    Args:
        postings: The KB's inverted lists, which know how rare a gram is. An unknown gram counts as one that a single
            name has, as in the linker.
        texts: Distinct look-up keys.
        left: (n,) place of the first text of each pair.
        right: (n,) place of the second.

    Returns:
        (n,) from 0 to 1.
    """
    found = occurrences(texts)
    places = np.minimum(np.searchsorted(postings.grams, found.grams), len(postings.grams) - 1)
    rarity = np.where(postings.grams[places] == found.grams, postings.idf[places], np.log1p(postings.size))
    raw: Floats = (found.times * rarity[found.gram]).astype(np.float64)
    weights = raw / np.sqrt(np.bincount(found.text, raw * raw, minlength=len(texts)))[found.text]
    order = np.lexsort((found.gram, found.text))
    entries = _Entries(found.text[order], found.gram[order], weights[order], len(texts), len(found.grams))
    parts = [entries.products(left[at : at + _PAIRS], right[at : at + _PAIRS]) for at in range(0, len(left), _PAIRS)]
    return np.minimum(np.round(np.concatenate([np.zeros(0), *parts]), _DECIMALS), 1.0)


class _Entries:
    """The weights of (text, gram) pairs, by text, then by gram."""

    def __init__(self, text: Ints, gram: Ints, weight: Floats, n_texts: int, n_grams: int) -> None:
        self._gram, self._weight, self._grams = gram, weight, n_grams
        self._keys = text * n_grams + gram
        self._counts = np.bincount(text, minlength=n_texts)
        self._starts = np.cumsum(self._counts) - self._counts

    def products(self, left: Ints, right: Ints) -> Floats:
        """The scalar product of each pair: every entry of the right text is looked for in the left one."""
        counts = self._counts[right]
        pair = np.repeat(np.arange(len(right)), counts)
        entry = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts - self._starts[right], counts)
        wanted = left[pair] * self._grams + self._gram[entry]
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        shared = self._keys[place] == wanted
        products: Floats = self._weight[place[shared]] * self._weight[entry[shared]]
        return np.bincount(pair[shared], products, minlength=len(right)).astype(np.float64)
