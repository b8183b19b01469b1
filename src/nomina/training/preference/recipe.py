"""The table ``preference`` of a recipe. Needs no torch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nomina import generation
from nomina.errors import RecipeError


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
        seen: whether names of the KB that are the text of any training mention are ranked.
        reference: the folder of the generator that a loss compares with; "": the one that is trained, as it begins.
        folds: on a corpus, so many models, each trained on the mentions of the other folds, rank those of one; 0: the
            generator that is trained ranks all.
        fold_base: the folder of the generator that these begin as: one that has not seen the mentions.
        fold_epochs, fold_lr, fold_batch_size: of their training, otherwise as the table ``generation`` says.
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
    seen: bool = True
    reference: str = ""
    folds: int = 0
    fold_base: str = ""
    fold_epochs: float = 10.0
    fold_lr: float = 5e-5
    fold_batch_size: int = 32

    def __post_init__(self) -> None:
        if self.folds < 0 or self.folds == 1:
            raise RecipeError(f"preference.folds must be 0 or at least 2, not {self.folds}")
        if not (self.fold_epochs > 0 and self.fold_lr > 0 and self.fold_batch_size >= 1):
            raise RecipeError("preference.fold_epochs, fold_lr and fold_batch_size must be above 0")


def check_reference(wanted: PreferenceRecipe, coming: Collection[Path] = ()) -> None:
    """Whether the generator that is compared with may be there; a look at its folder is all.

    Args:
        wanted: names the folder.
        coming: folders of generators that will be written before it is needed.

    Raises:
        RecipeError: there is none.
    """
    folder = wanted.reference
    if not folder or Path(folder).absolute() in {place.absolute() for place in coming}:
        return
    if not generation.is_generator(folder):
        raise RecipeError(f"preference.reference: there is no generator in {folder}: name the folder of one")
