"""An encoder of made word vectors, so that cosines in tests can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nomina.encoders.base import Encoder
from nomina.text import normalise

DIM = 1 << 12
"""So many that the few words of a test have a place of their own each."""


class WordEncoder(Encoder):
    """A text is the mean direction of its words; words are at right angles unless a cosine is given for a pair.

    Args:
        alike: the cosine of two words, by "one other".
    """

    fingerprint = "1" * 64

    def __init__(self, alike: Mapping[str, float]) -> None:
        self.dim, self.texts = DIM, list[str]()
        self._words: dict[str, NDArray[np.float32]] = {}
        for pair, cosine in alike.items():
            one, other = pair.split()
            self._words[other] = cosine * self._word(one) + np.sqrt(1 - cosine**2) * self._word(f"not {one}")

    def _word(self, word: str) -> NDArray[np.float32]:
        if word not in self._words:
            self._words[word] = np.zeros(DIM, np.float32)
            self._words[word][crc32(word.encode()) % DIM] = 1
        return self._words[word]

    def encode(self, texts: Sequence[str], batch_size: int = 256) -> NDArray[np.float32]:
        """See ``Encoder.encode``."""
        self.texts.extend(texts)
        vectors = np.stack([np.sum([self._word(word) for word in normalise(text).split()], axis=0) for text in texts])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
