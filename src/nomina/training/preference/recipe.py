"""The table ``preference`` of a recipe. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class PreferenceRecipe:
    """Negative-aware training of a generator; see ``nomina.training.preference``. The defaults are ANGEL's.

    Attributes:
        loss: "none": there is none, the generator learns right names only.
        beta, margin, weight: of the loss, where it has such a value; a beta of 0: the loss's own.
        likelihood: weight of the likelihood of right names beside the loss.
        others: on names, wrong names beside each.
        top, which, negatives, missing: on a corpus, which pairs are made of ranked names; see ``PairOptions``.
        beams: of the search that ranks them.
        own: whether the KB's name that is the mention's very text is ranked.
    """

    loss: Literal["none", "dpo", "pairwise", "cpo", "simpo"] = "none"
    beta: float = 0.0
    margin: float = 1.0
    weight: float = 1.0
    likelihood: float = 0.0
    others: int = 1
    top: int = 5
    which: Literal["above", "all"] = "above"
    negatives: Literal["beams", "tfidf"] = "beams"
    missing: Literal["skip", "synonym"] = "skip"
    beams: int = 5
    own: bool = True
