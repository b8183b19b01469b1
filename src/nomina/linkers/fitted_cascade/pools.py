"""What the parts of a cascade have said so far: the names that any of them offers, and what each says of them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nomina.linkers.base import NO_ROW, Ranking, Rule

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEATURES = 2
"""What a part says of a name: a value, and one divided by its place, 0 where the part does not offer it."""


class Pools(NamedTuple):
    """The names offered for n mentions, t of them together: by mention, then by row.

    Attributes:
        mention: (t,) from 0 to n - 1.
        rows: (t,) of the KB; of one mention each once.
        features: (t, f) what the parts say, ``FEATURES`` of each.
        rules: uint8, (t,) values of ``Rule``: the dictionary's or that of the part in which the name stands highest.
        trust: (t,) how high that is: infinite by the dictionary, else one divided by the place.
        fills: (n, f) what the parts say of a name that they do not offer.
    """

    mention: Ints
    rows: Ints
    features: Floats
    rules: NDArray[np.uint8]
    trust: Floats
    fills: Floats

    @classmethod
    def empty(cls, n: int) -> Self:
        """Nothing is offered, and nothing has been asked."""
        ints = np.zeros(0, np.int64)
        return cls(ints, ints, np.zeros((0, 0)), np.zeros(0, np.uint8), np.zeros(0), np.zeros((n, 0)))

    @property
    def n(self) -> int:
        """Mentions."""
        return len(self.fills)

    def take(self, which: Flags) -> Pools:
        """Those of some mentions, numbered anew."""
        few = self.kept(which[self.mention])
        return few._replace(mention=(np.cumsum(which) - 1)[few.mention], fills=self.fills[which])

    def kept(self, entries: Flags) -> Pools:
        """Only some of the names."""
        return Pools(
            self.mention[entries],
            self.rows[entries],
            self.features[entries],
            self.rules[entries],
            self.trust[entries],
            self.fills,
        )

    def united(self, ranking: Ranking, values: Floats) -> Pools:
        """With what another part offers.

        A name that is not in its list is worth what the last one of a full list is, else 0.

        Args:
            ranking: names of each mention, best first, (n, m).
            values: (n, m) what they are worth.
        """
        number, column = np.nonzero(ranking.rows != NO_ROW)
        rows, places = ranking.rows[number, column], 1 / (column + 1.0)
        mention, rows = np.concatenate([self.mention, number]), np.concatenate([self.rows, rows])
        _, first, entry = np.unique(mention * (rows.max(initial=0) + 1) + rows, return_index=True, return_inverse=True)
        old, new = entry[: len(self.rows)], entry[len(self.rows) :]
        last = np.where(ranking.rows[:, -1] != NO_ROW, values[:, -1], 0.0)
        fills = np.hstack([self.fills, last[:, None], np.zeros((self.n, 1))])
        features = fills[mention[first]]
        features[old, :-FEATURES] = self.features
        features[new, -FEATURES:] = np.stack([values[number, column], places], axis=1)
        rules, trust = np.zeros(len(first), np.uint8), np.zeros(len(first))
        rules[old], trust[old] = self.rules, self.trust
        found = ranking.rules[number, column]
        higher = np.where(found < Rule.TFIDF, np.inf, places)
        better = higher > trust[new]
        rules[new[better]], trust[new[better]] = found[better], higher[better]
        return Pools(mention[first], rows[first], features, rules, trust, fills)

    def offered(self, ranking: Ranking) -> Pools:
        """With the names of a ranking, of which nothing is said."""
        more = self.united(ranking, np.zeros(ranking.rows.shape))
        return more._replace(features=more.features[:, :-FEATURES], fills=more.fills[:, :-FEATURES])

    def scored(self, values: Floats, rule: Rule) -> Pools:
        """With what a part says of every name, (t,): it offers none of its own."""
        places = 1 / (place_of(self.mention, self.rows, values) + 1.0)
        features = np.hstack([self.features, values[:, None], places[:, None]])
        better = places > self.trust
        rules, trust = np.where(better, rule, self.rules).astype(np.uint8), np.where(better, places, self.trust)
        fills = np.hstack([self.fills, np.zeros((self.n, FEATURES))])
        return Pools(self.mention, self.rows, features, rules, trust, fills)

    @property
    def values(self) -> Floats:
        """Of the features those that names are ranked by, the value of each part, (t, parts)."""
        return self.features[:, ::FEATURES]

    def table(self) -> tuple[Ints, Ints]:
        """The rows of each mention, (n, most), ``NO_ROW`` where there are fewer; and where each name stands, (t,)."""
        column = np.arange(len(self.rows)) - np.searchsorted(self.mention, self.mention)
        rows = np.full((self.n, int(column.max(initial=-1)) + 1), NO_ROW, np.int64)
        rows[self.mention, column] = self.rows
        return rows, column


def place_of(mention: Ints, rows: Ints, values: Floats) -> Ints:
    """From 0 the place of each name among those of its mention: by value, the highest first, then by row."""
    order = np.lexsort((rows, -values, mention))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.searchsorted(mention, mention[order])
    return places
