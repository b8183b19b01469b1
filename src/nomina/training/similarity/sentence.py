"""The cosine between the vectors of a general sentence encoder of Hugging Face: the mean over its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from nomina.encoders.base import import_torch
from nomina.errors import RecipeError
from nomina.training.similarity.encoder import EncoderSimilarity

_LENGTH = 64
"""Tokens of a name, at most."""


def opened(texts: Sequence[str], folder: str) -> EncoderSimilarity:
    """See ``SIMILARITIES``; the folder is one of a BERT-type model of Hugging Face, or a name of one; needs torch."""
    del texts
    if not folder:
        raise RecipeError("generation.target=sentence needs a sentence encoder: name one as generation.similarity")
    torch = import_torch()
    from nomina.encoders.bert import BertEncoder

    encoder = BertEncoder(folder, "mean", _LENGTH)
    if torch.cuda.is_available():
        encoder.module.to("cuda")
    return EncoderSimilarity(encoder)
