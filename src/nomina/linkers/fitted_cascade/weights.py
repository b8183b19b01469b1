"""How the parts of a cascade are weighed after each of them, and how sure the best name then is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nomina.linkers.fitted_cascade.pools import Floats, Ints, Pools, place_of

Owners = Callable[[int], frozenset[int]]
"""The numbers of the concepts that own a row."""

_LEAST_SHARE = 1e-3
"""Names with less of the probability say nothing of how sure the best one is."""

_EDGE = 1e-6
_MOST_LOGIT = 30.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What was learnt for the names that have been offered behind some part of a cascade.

    Attributes:
        rank: a weight for the value of each part; the names of a mention share the softmax of the weighted sums.
        judge: of a constant, of the log-odds of the best concept's share, and of the best name's features: their sum is
            the log-odds that this concept is right.
    """

    rank: tuple[float, ...]
    judge: tuple[float, ...]

    def log_shares(self, pools: Pools) -> Floats:
        """The logarithm of each name's share, (t,)."""
        return log_shares(pools.values @ np.array(self.rank), pools.mention, pools.n)

    def probability(self, pools: Pools, shares: Floats, owners: Owners) -> Floats:
        """The chance that the best concept of each mention is right, (n,); 0 where nothing is offered."""
        found, (mention, inputs) = np.zeros(pools.n), judged_by(pools, shares, owners)
        found[mention] = sigmoid(inputs @ np.array(self.judge))
        return found


def log_shares(sums: Floats, mention: Ints, n: int) -> Floats:
    """The logarithm of the softmax of sums among the names of each of n mentions, (t,)."""
    most = np.full(n, -np.inf)
    np.maximum.at(most, mention, sums)
    apart = sums - most[mention]
    shares: Floats = apart - np.log(np.bincount(mention, np.exp(apart), minlength=n)[mention])
    return shares


def judged_by(pools: Pools, shares: Floats, owners: Owners) -> tuple[Ints, Floats]:
    """The mentions for which anything is offered, (m,), and what the chance of each is judged by, (m, 2 + f)."""
    top = np.flatnonzero(place_of(pools.mention, pools.rows, shares) == 0)
    weighty = np.flatnonzero(shares >= np.log(_LEAST_SHARE))
    of_top = dict(zip(pools.mention[top].tolist(), map(owners, pools.rows[top].tolist()), strict=True))
    share = np.zeros(pools.n)
    several = zip(pools.mention[weighty].tolist(), pools.rows[weighty].tolist(), shares[weighty].tolist(), strict=True)
    for mention, row, own in several:
        if not of_top[mention].isdisjoint(owners(row)):
            share[mention] += np.exp(own)
    asked = pools.mention[top]
    sure = share[asked].clip(_EDGE, 1 - _EDGE)
    constant = np.ones((len(asked), 1))
    return asked, np.hstack([constant, np.log(sure / (1 - sure))[:, None], pools.features[top]])


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + exp(-x)); beyond 30 there are only zeros and ones."""
    found: Floats = 1 / (1 + np.exp(-logits.clip(-_MOST_LOGIT, _MOST_LOGIT)))
    return found
