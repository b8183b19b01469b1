"""Learns how the parts of a cascade are combined, on development mentions only, and says how good it is on them.

Every figure is of mentions that what judged them was not learnt on: documents are dealt into folds, and each fold is
answered by weights of the others. The weights that are kept are of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nomina.errors import UsageError
from nomina.evaluation.ids import IdMap
from nomina.kb.store import KnowledgeBase, Owner
from nomina.linkers.fitted_cascade.linker import (
    LEAST_PROBABILITY,
    SURE,
    FittedCascadeLinker,
    check_parts,
    owners_of,
)
from nomina.linkers.fitted_cascade.parts import PartOptions, Progress, fitted_with, opened
from nomina.linkers.fitted_cascade.pools import Flags, Floats, Ints, Pools, place_of
from nomina.linkers.fitted_cascade.weights import Owners, Stage, judged_by, log_shares, sigmoid
from nomina.text import normalise
from nomina.training.cascade.learn import judge_weights, rank_weights
from nomina.training.preference.pairs import folds
from nomina.types import SCOPES, Document, Query

FOLDS = 5
_LEAST = 20
"""Mentions with an answer, of which probabilities can be learnt at all."""

_OWN = 50
"""Mentions that reach a part, from which on its probabilities are learnt on these alone."""

_NEVER = -30.0

Say = Callable[[str], None]


class Dev(NamedTuple):
    """n development mentions, the ids of the concepts that are right for each, and what stays together in folds."""

    queries: list[Query]
    gold: list[frozenset[str]]
    groups: list[str]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the folds say, of each mention: the chance, whether the answer is right, how many parts were asked."""

    probability: Floats
    right: Flags
    asked: Ints


def dev_of(documents: Iterable[Document], kb: KnowledgeBase) -> Dev:
    """The mentions of a corpus that have gold; one whose concept the KB lacks has no right answer.

    Raises:
        UsageError: too few of them, or the KB has the gold of none.
    """
    known, found = IdMap(kb, splits=True), Dev([], [], [])
    for document in documents:
        for mention in document.mentions:
            if gold := known.gold(mention.gold):
                found.queries.append(Query(document, mention))
                found.gold.append(frozenset[str]().union(*gold))
                found.groups.append(document.id)
    if len(found.queries) < _LEAST:
        raise UsageError(f"{len(found.queries)} development mentions with gold are too few: give {_LEAST} or more")
    if not any(id in known for gold in found.gold for id in gold):
        raise UsageError(f"the KB {kb.manifest.name} has the gold of no development mention: is it the corpus's own?")
    return found


def fitted(
    kb: KnowledgeBase,
    parts: Sequence[PartOptions],
    dev: Dev,
    *,
    sure: float = SURE,
    precision: float | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> tuple[FittedCascadeLinker, dict[str, Any], Judged]:
    """A cascade out of development mentions.

    Args:
        kb: whose names are ranked.
        parts: see ``FittedCascadeLinker``.
        dev: see there.
        sure: see ``FittedCascadeLinker``.
        precision: the share of right answers that is wanted among those it gives: it abstains from the others.
        progress: told how many names are encoded, of how many.
        say: told a line of what is done.

    Returns:
        The linker; figures on the development mentions; what these are made of.

    Raises:
        UsageError: no such parts, sure or precision is no share, or no threshold reaches the precision.
    """
    check_parts(parts)
    if not 0 < sure <= 1:
        raise UsageError(f"sure must be above 0 and at most 1, not {sure}")
    if precision is not None and not 0 < precision <= 1:
        raise UsageError(f"precision must be above 0 and at most 1, not {precision}")
    made, owners = [opened(kb, options, progress) for options in parts], owners_of(kb)
    fold = _folds(dev)
    right = _Right(kb, dev)
    n = len(dev.queries)
    judged = Judged(np.zeros(n), np.zeros(n, np.bool_), np.zeros(n, np.int64))
    reached = np.array([bool(normalise(query.mention.text)) for query in dev.queries])
    pools, shares, stages, facts = Pools.empty(n), None, [], []
    for depth, part in enumerate(made, start=1):
        if say:
            say(f"{part.options.part}: {int(reached.sum()):,} of {n:,} mentions reach it")
        pools = part.extend(dev.queries, pools, shares, None)
        stage, chance, hits = _judged(pools, right, fold, reached, owners)
        judged.probability[reached], judged.right[reached] = chance[reached], hits[reached]
        judged.asked[reached] = depth
        over = reached & (chance >= sure) if depth < len(made) else reached
        facts.append(
            {"part": part.options.part, "reached": int(reached.sum()), "done": int(over.sum()),
             "right_if_last": round(float(hits.mean()), 4)}
        )  # fmt: skip
        shares, reached = stage.log_shares(pools), reached & ~over
        stages.append(stage)
    abstain = LEAST_PROBABILITY if precision is None else threshold_of(judged, precision)
    options = [fitted_with(part) for part in made]
    linker = FittedCascadeLinker(kb, options, stages, sure=sure, abstain=abstain, progress=progress)
    return linker, {"mentions": n, "parts": facts, **figures(judged, abstain)}, judged


def threshold_of(judged: Judged, precision: float) -> float:
    """The lowest probability from which on a wanted share of the answers is right.

    Raises:
        UsageError: there is none.
    """
    chance, share = _curve(judged)
    reached = np.flatnonzero(share >= precision)
    if not len(reached):
        raise UsageError(
            f"no threshold reaches a precision of {precision:g} on the development mentions: of its surest answers"
            f" {share.max(initial=0.0):.3f} are right; ask for less"
        )
    return float(chance[reached[-1]])


def figures(judged: Judged, abstain: float) -> dict[str, Any]:
    """Accuracy, how well probabilities fit, and what is left of the answers above the threshold."""
    chance, right = judged.probability, judged.right
    answered = chance >= abstain
    bins = np.minimum((chance * 10).astype(np.int64), 9)
    gaps = [abs(float((chance - right)[bins == b].sum())) for b in range(10)]
    precision = float(right[answered].mean()) if answered.any() else None
    return {
        "accuracy": round(float(right.mean()), 4),
        "brier": round(float(((chance - right) ** 2).mean()), 4),
        "ece": round(sum(gaps) / len(chance), 4),
        "abstain": abstain,
        "coverage": round(float(answered.mean()), 4),
        "precision": None if precision is None else round(precision, 4),
    }


def _curve(judged: Judged) -> tuple[Floats, Floats]:
    """Distinct probabilities, the highest first, and the share of right answers from each on."""
    order = np.argsort(-judged.probability, kind="stable")
    chance = judged.probability[order]
    share = np.cumsum(judged.right[order]) / np.arange(1, len(order) + 1)
    last = np.flatnonzero(np.append(chance[1:] != chance[:-1], True)) if len(chance) else np.zeros(0, np.int64)
    there = last[chance[last] > 0]
    return chance[there], share[there]


class _Right:
    """Which rows and answers are right for development mentions."""

    def __init__(self, kb: KnowledgeBase, dev: Dev) -> None:
        self._ids, self._kb, self._dev = IdMap(kb, splits=True), kb, dev

    def rows(self, pools: Pools) -> Flags:
        """Whether a right concept owns each name, (t,)."""
        pairs = zip(pools.mention.tolist(), pools.rows.tolist(), strict=True)
        found = (any(self._is_right(mention, owner) for owner in self._kb.owners_of(row)) for mention, row in pairs)
        return np.fromiter(found, np.bool_, len(pools.rows))

    def answers(self, pools: Pools, shares: Floats) -> Flags:
        """Whether the first concept of each mention is right, (n,)."""
        found, top = np.zeros(pools.n, np.bool_), place_of(pools.mention, pools.rows, shares) == 0
        for mention, row in zip(pools.mention[top].tolist(), pools.rows[top].tolist(), strict=True):
            text = self._dev.queries[mention].mention.text
            owners = self._kb.owners_of(row)
            first = min(owners, key=lambda o: (text not in o.raws, SCOPES.index(o.name.scope), o.number), default=None)
            found[mention] = first is not None and self._is_right(mention, first)
        return found

    def _is_right(self, mention: int, owner: Owner) -> bool:
        return not self._ids.candidate(owner.entity_id).isdisjoint(self._dev.gold[mention])


def _folds(dev: Dev) -> Ints:
    """A fold for each mention, by document where there are enough of them."""
    several = len(set(dev.groups)) >= FOLDS
    return folds(dev.groups if several else [str(i) for i in range(len(dev.groups))], FOLDS)


def _judged(pools: Pools, right: _Right, fold: Ints, reached: Flags, owners: Owners) -> tuple[Stage, Floats, Flags]:
    """What is learnt of all mentions; for each what the others say: the chance, and whether the answer is right."""
    chance, hits, rows = np.zeros(pools.n), np.zeros(pools.n, np.bool_), right.rows(pools)
    for number in range(FOLDS):
        held = fold == number
        _, likely, good = _learnt(pools, rows, right, ~held, reached, owners)
        chance[held], hits[held] = likely[held], good[held]
    stage, _, _ = _learnt(pools, rows, right, np.ones(pools.n, np.bool_), reached, owners)
    return stage, chance, hits


def _learnt(
    pools: Pools, rows: Flags, right: _Right, told: Flags, reached: Flags, owners: Owners
) -> tuple[Stage, Floats, Flags]:
    """Weights out of some mentions; what they say of all: the chance, and whether the answer is right, (n,)."""
    kept = told[pools.mention]
    rank = rank_weights(pools.values[kept], pools.mention[kept], rows[kept])
    shares = log_shares(pools.values @ np.array(rank), pools.mention, pools.n)
    good = right.answers(pools, shares)
    asked, inputs = judged_by(pools, shares, owners)
    own = told[asked] & reached[asked]
    own = own if own.sum() >= _OWN else told[asked]
    judge = (_NEVER, *[0.0] * (inputs.shape[1] - 1))
    if own.sum() >= _LEAST:
        judge = judge_weights(inputs[own], good[asked][own])
    chance = np.zeros(pools.n)
    chance[asked] = sigmoid(inputs @ np.array(judge))
    return Stage(rank, judge), chance, good
