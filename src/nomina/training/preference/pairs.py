"""Pairs of a right and a wrong name of a mention, chosen among the names that a model has ranked (ANGEL 3.2, table 2).

Needs no torch. What is ranked are spellings: names that are tokenised alike are one, and it is right if any concept
that is right for the mention owns one of them. So a homonym of a right name is never a negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from nomina.errors import RecipeError
from nomina.linkers.base import NO_ROW
from nomina.training.examples import Ints

Which = Literal["above", "all"]
Negatives = Literal["beams", "tfidf"]
Missing = Literal["skip", "synonym"]


class Ranked(NamedTuple):
    """The names that a model ranks highest for n mentions, best first.

    Attributes:
        rows: int64, (n, k): a row of the KB with the name, ``NO_ROW`` where there are fewer.
        right: bool, (n, k): whether a right concept owns it.
    """

    rows: Ints
    right: NDArray[np.bool_]


class Pairs(NamedTuple):
    """p pairs: the number of a mention, and the rows of its chosen and its rejected name; int64, (p,) each."""

    mention: Ints
    chosen: Ints
    rejected: Ints


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which pairs are taken; the defaults are the paper's, the others those of its table 2 but for ``missing``.

    Attributes:
        which: "above", each wrong name with each right one that it is ranked above, and, where the best name is right,
            that one with the first wrong one; "all", each right one with each wrong one.
        top: so many ranked names are looked at: 5, or 10.
        negatives: "beams", names that the model ranks high; "tfidf", in their place the ``top`` wrong names of the KB
            most similar to the mention, each with the best right name.
        missing: what becomes of a mention of which no ranked name is right: "skip", it is left out; "synonym", the name
            of its concept most similar to the mention is chosen.

    Raises:
        RecipeError: a value that cannot be.
    """

    which: Which = "above"
    top: int = 5
    negatives: Negatives = "beams"
    missing: Missing = "skip"

    def __post_init__(self) -> None:
        for key, kind in (("which", Which), ("negatives", Negatives), ("missing", Missing)):
            if getattr(self, key) not in get_args(kind):
                raise RecipeError(f"{key} of pairs is one of {', '.join(get_args(kind))}, not {getattr(self, key)!r}")
        if self.top < 2:
            raise RecipeError("a pair needs two names: let 2 or more be looked at")


def select(
    ranked: Ranked, options: PairOptions, synonyms: Ints | None = None, similar: Sequence[Ints] | None = None
) -> Pairs:
    """The pairs of mentions, one mention's after the other's.

    Args:
        ranked: n mentions.
        options: see there.
        synonyms: (n,) the row to choose where no ranked name is right, ``NO_ROW`` for none; for "synonym".
        similar: of each mention wrong rows, the most similar first; for "tfidf".
    """
    found: list[tuple[int, int, int]] = []
    rows, right = ranked.rows[:, : options.top], ranked.right[:, : options.top]
    for number, (names, are_right) in enumerate(zip(rows.tolist(), right.tolist(), strict=True)):
        judged = [(row, good) for row, good in zip(names, are_right, strict=True) if row != NO_ROW]
        if not any(are_right) and synonyms is not None and synonyms[number] != NO_ROW:
            judged.append((int(synonyms[number]), True))
        if similar is not None:
            best = [pair for pair in judged if pair[1]][:1]
            judged = best + [(row, False) for row in similar[number][: options.top].tolist()]
        every = options.which == "all" or similar is not None
        found += [(number, chosen, rejected) for chosen, rejected in _pairs(judged, every)]
    return Pairs(*np.array(found, np.int64).reshape(-1, 3).T.copy())


def _pairs(judged: Sequence[tuple[int, bool]], every: bool) -> list[tuple[int, int]]:
    """Right and wrong rows of a list, best first: by the right one's place, then by the wrong one's."""
    found = []
    for i, (chosen, good) in enumerate(judged):
        if good:
            wrong = [row for row, right in (judged if every else judged[:i]) if not right]
            found += [(chosen, row) for row in wrong]
    if judged and judged[0][1] and not every:
        found = [(judged[0][0], row) for row, right in judged if not right][:1] + found
    return found


def joined(parts: Sequence[tuple[Ints, Pairs]]) -> Pairs:
    """The pairs of parts of the mentions (their numbers, their pairs) as pairs of all, by mention: for folds."""
    mention = np.concatenate([numbers[pairs.mention] for numbers, pairs in parts])
    order = np.argsort(mention, kind="stable")
    chosen, rejected = (np.concatenate([pairs[i] for _, pairs in parts])[order] for i in (1, 2))
    return Pairs(mention[order], chosen, rejected)


def folds(groups: Sequence[str], k: int, seed: int = 0) -> Ints:
    """A fold for each mention, (n,) from 0 to k - 1.

    A model that knows its training mentions by heart ranks no wrong name above a right one; one that is trained on all
    folds but one, which is then decoded, makes the errors that are made on new text.

    Args:
        groups: what stays together: each mention's document, or its text.
        k: folds, of about as many mentions each.
        seed: of the order in which groups are dealt out.

    Raises:
        RecipeError: there are fewer groups than folds.
    """
    names, group, counts = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    if not 2 <= k <= len(names):
        raise RecipeError(f"{len(names)} documents cannot be dealt into {k} folds: take from 2 to {len(names)}")
    dealt, sizes = np.zeros(len(names), np.int64), np.zeros(k, np.int64)
    shuffled = np.random.default_rng([seed, 6]).permutation(len(names))
    for number in shuffled[np.argsort(-counts[shuffled], kind="stable")].tolist():
        dealt[number] = sizes.argmin()
        sizes[dealt[number]] += counts[number]
    chosen: Ints = dealt[group]
    return chosen
