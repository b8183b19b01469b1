"""The cosine between the vectors of an encoder: any that nomina has saved or exported, one of SapBERT's kind too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nomina import encoders
from nomina.encoders.base import Encoder
from nomina.errors import RecipeError

_TOGETHER = 1 << 12
"""Mentions whose texts are encoded together: bounds the memory of vectors."""


class EncoderSimilarity:
    """The cosine of texts by an encoder; mentions have its prefix, names do not.

    Args:
        encoder: what makes vectors.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __call__(self, mentions: Sequence[str], names: Sequence[Sequence[str]]) -> list[NDArray[np.float64]]:
        """See ``Similarity``."""
        found = []
        for start in range(0, len(mentions), _TOGETHER):
            asked, own = mentions[start : start + _TOGETHER], names[start : start + _TOGETHER]
            left = self._encoder.encode([self._encoder.query_prefix + text for text in asked]).astype(np.float64)
            places = {text: place for place, text in enumerate(dict.fromkeys(name for each in own for name in each))}
            right = self._encoder.encode(list(places)).astype(np.float64)
            found += [right[[places[name] for name in each]] @ one for one, each in zip(left, own, strict=True)]
        return found


def opened(texts: Sequence[str], folder: str) -> EncoderSimilarity:
    """See ``SIMILARITIES``; the folder is one that ``nomina train`` or ``nomina.encoders.export`` wrote."""
    del texts
    if not folder:
        raise RecipeError("generation.target=encoder needs the folder of an encoder: name one as generation.similarity")
    return EncoderSimilarity(encoders.load(folder))
