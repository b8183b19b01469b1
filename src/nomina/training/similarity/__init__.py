"""How alike a mention and the names of its concept are: which of them is its target (ANGEL 3.2, Eq. 3 and table 3).

``SIMILARITIES`` holds dotted names, imported on use. A new one is one file and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from nomina.errors import RecipeError

Similarity = Callable[[Sequence[str], Sequence[Sequence[str]]], list[NDArray[np.float64]]]
"""Given n mentions and for each of them names, all raw texts: how alike they are, an array for each mention."""

SIMILARITIES: dict[str, str] = {
    "tfidf": "nomina.training.similarity.tfidf.opened",
    "encoder": "nomina.training.similarity.encoder.opened",
    "sentence": "nomina.training.similarity.sentence.opened",
}
"""What opens a similarity, given all names of the KB and a folder."""


def similarity_of(kind: str, texts: Sequence[str], folder: str = "") -> Similarity:
    """A similarity by its name.

    Args:
        kind: one of ``SIMILARITIES``.
        texts: all names that may be written.
        folder: of an encoder; "" where none is needed.

    Raises:
        ArtifactError: the folder holds no such encoder.
        RecipeError: no such similarity, or a folder is missing.
    """
    if kind not in SIMILARITIES:
        raise RecipeError(f"no similarity is called {kind!r}: take one of {', '.join(SIMILARITIES)}")
    module, _, name = SIMILARITIES[kind].rpartition(".")
    found: Similarity = getattr(import_module(module), name)(texts, folder)
    return found
