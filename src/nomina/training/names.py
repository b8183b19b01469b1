"""The names of a KB as trainings take them: numbered, by concept, some kept back to measure by. Needs no torch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.errors import RecipeError
from nomina.kb.store import KnowledgeBase
from nomina.training.examples import Ints
from nomina.training.noise import NOISE, noisy

_OWNERSHIPS = "SELECT entity, row FROM name GROUP BY entity, row ORDER BY entity, min(position)"
_HELD_SHARE = 20
"""One of so many synonyms is held out at most."""


@dataclass(frozen=True, slots=True)
class Concepts:
    """Who has which name.

    Attributes:
        texts: the raw name of each row of the KB.
        ids: the id of each concept, retired ones included.
        concept, row: one entry a name of a concept, (n,), sorted by concept, its preferred name first.
    """

    texts: list[str]
    ids: list[str]
    concept: Ints
    row: Ints

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Concepts:
        """The concepts of a KB."""
        flat = np.fromiter((value for pair in kb.select(_OWNERSHIPS) for value in pair), dtype=np.int64)
        concept, row = flat.reshape(-1, 2).T.copy()
        ids = [str(id) for (id,) in kb.select("SELECT id FROM entity ORDER BY number")]
        return cls(list(kb.surfaces()), ids, concept, row)

    def chosen(self, which: NDArray[np.bool_]) -> Concepts:
        """Only some of the entries."""
        return Concepts(self.texts, self.ids, self.concept[which], self.row[which])

    def unshared(self) -> Concepts:
        """Without names that several concepts have, but for the one that alone prefers such a name.

        The same text cannot be drawn to one concept and pushed off it.
        """
        first = self._first()
        owners = np.bincount(self.row, minlength=len(self.texts))[self.row]
        preferring = np.bincount(self.row[first], minlength=len(self.texts))[self.row]
        return self.chosen((owners == 1) | (first & (preferring == 1)))

    def _first(self) -> NDArray[np.bool_]:
        first: NDArray[np.bool_] = np.diff(self.concept, prepend=-1) != 0
        return first

    def rows(self) -> Iterator[Ints]:
        """The rows of each concept that has any, in order."""
        yield from np.split(self.row, np.flatnonzero(self._first())[1:]) if len(self.row) else ()

    def firsts(self) -> Ints:
        """The first row of each concept that has any."""
        return self.row[self._first()]

    def owners(self) -> list[tuple[int, ...]]:
        """The concepts of each row."""
        found: list[tuple[int, ...]] = [()] * len(self.texts)
        for concept, row in zip(self.concept.tolist(), self.row.tolist(), strict=True):
            found[row] += (concept,)
        return found


class Split(NamedTuple):
    """Names to train on, and those held out, at most one a concept: their entries in the same form."""

    train: Concepts
    held: Concepts


def split(concepts: Concepts, count: int, seed: int) -> Split:
    """Hold out synonyms, never a concept's first name: ``count``, or a twentieth of all where that is fewer.

    At least one is held out where there is a synonym and ``count`` is not 0.
    """
    later = np.flatnonzero(~concepts._first())
    count = min(count, max(len(later) // _HELD_SHARE, 1))
    shuffled = np.random.default_rng([seed, 1]).permutation(later)
    _, once = np.unique(concepts.concept[shuffled], return_index=True)
    held = np.zeros(len(concepts.row), dtype=np.bool_)
    held[shuffled[np.sort(once)[:count]]] = True
    return Split(concepts.chosen(~held), concepts.chosen(held))


def some_rows(concepts: Concepts, wanted: Ints, count: int, seed: int) -> Ints:
    """Rows to look names up among: those of wanted concepts, and others at random, to ``count`` of them; sorted."""
    own = np.unique(concepts.row[np.isin(concepts.concept, wanted)])
    rest = np.setdiff1d(np.unique(concepts.row), own)
    others = np.random.default_rng([seed, 2]).permutation(rest)[: max(count - len(own), 0)]
    rows: Ints = np.sort(np.concatenate([own, others]))
    return rows


def noisy_copies(texts: Sequence[str], copies: int, seed: int, weights: Mapping[str, float] | None = None) -> list[str]:
    """The list of texts ``copies`` times over, each text made noisy; all kinds of noise as often where None is said."""
    rng, shares = random.Random(seed), dict(weights or dict.fromkeys(NOISE, 1.0))
    return [noisy(text, rng, shares) for _ in range(copies) for text in texts]


def check_synonyms(concepts: Concepts, name: str) -> None:
    """Whether there is anything to learn from.

    Raises:
        RecipeError: no concept has two names.
    """
    if len(concepts.row) == len(concepts.firsts()):
        raise RecipeError(
            f"the KB {name} has no concept with two names of its own: there are no synonyms to learn from"
        )
