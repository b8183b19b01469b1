"""What each item gets under the three rules: any, strict, expected.

A prediction's candidates are read as blocks: those of one rank, which nothing tells apart. A block's rank is 1 + the
number of different concepts (or, under a protocol that counts names, names) in better blocks, whatever numbers the file
has; a concept that comes again counts where it came first. With r the rank of a block of n candidates, the k best hold
min(n, k - r + 1) of them.

any
    A right candidate stands in a block of rank k or better: a tie is given whole. Right is an id of any part of gold.
    Every part-prediction of a composite must be so.
strict
    The same with ties cut in the order of the file, and every part of gold must be found, by part-predictions together.
expected
    The chance of ``strict`` where the order within each block is drawn by lot: with m right of n, and s of the n among
    the k best, 1 - C(n - m, s) / C(n, s).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import comb, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.evaluation.ids import IdMap, is_nil
from nomina.evaluation.match import Item
from nomina.evaluation.protocols import Form
from nomina.types import Candidate, Prediction

KS = (1, 5, 10, 20)
"""The k of accuracy at k."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What each of n items gets; ``any``, ``strict`` and ``expected`` are (n, len(KS)), the rest (n,).

    Attributes:
        any: bool.
        strict: bool.
        expected: float, between 0 and 1.
        first: The rank of the first right candidate (of a composite, that of its worst part); inf where there is none.
        reciprocal_rank: 1 / the least k at which ``strict`` holds, 0 where none does.
        nil_gold: Whether gold says that no concept fits; such items are right under none of the rules.
        nil_predicted: Whether the prediction abstains, has no candidate, or NIL as the first one.
        missing: Whether there is no prediction, or none for a part.
        score: The confidence: the probability where the prediction has one, else the first candidate's score, of a
            composite the least; -inf without a candidate.
        depth: The highest rank that any prediction reaches.
    """

    any: Bools
    strict: Bools
    expected: Floats
    first: Floats
    reciprocal_rank: Floats
    nil_gold: Bools
    nil_predicted: Bools
    missing: Bools
    score: Floats
    depth: int


class Block(NamedTuple):
    """Candidates of one rank, by what is right of them: for each the set of the gold parts that it answers."""

    rank: int
    parts: tuple[frozenset[int], ...]


def outcome(items: Sequence[Item], ids: IdMap, form: Form) -> Outcome:
    """Judge all items.

    Args:
        items: With gold of ``ids``.
        ids: Gives the ids of candidates the form of gold's.
        form: What is counted by k, concepts or names.
    """
    simple = np.full((len(items), 4), inf)  # rank, candidates and right ones of the block; place of the first right one
    first, last = np.full(len(items), inf), np.full(len(items), inf)
    expected = np.zeros((len(items), len(KS)))
    for i, item in enumerate(items):
        if not item.gold or not item.predictions:
            continue
        if len(item.gold) == len(item.predictions) == 1:
            simple[i] = _first_right(item.predictions[0].candidates, item.gold[0], ids, form)
        else:
            each = [list(blocks(p.candidates, item.gold, ids, form)) for p in item.predictions]
            first[i], last[i] = _composite(each, len(item.gold))
            expected[i] = [_chance(each, len(item.gold), k) for k in KS]
    first, last = np.minimum(first, simple[:, 0]), np.minimum(last, simple[:, 3])
    expected = np.maximum(expected, _chances(simple))
    ks = np.array(KS)
    return Outcome(
        any=first[:, None] <= ks,
        strict=last[:, None] <= ks,
        expected=expected,
        first=first,
        reciprocal_rank=1.0 / last,
        nil_gold=np.array([not item.gold for item in items], np.bool_),
        nil_predicted=np.array([_says_nil(item.predictions) for item in items], np.bool_),
        missing=np.array([not item.predictions for item in items], np.bool_),
        score=np.array([_confidence(item.predictions) for item in items], np.float64),
        depth=_depth(items, form),
    )


def distinct(candidates: Iterable[Candidate], form: Form) -> Iterator[tuple[int, list[Candidate]]]:
    """The blocks of candidates with their ranks; of a concept only the first, where concepts are counted.

    Owners of one name share a row and a rank: candidates of one row at different ranks are different names.
    """
    counted: set[object] = set()
    for _, tied in groupby(candidates, key=lambda candidate: candidate.rank):
        rank = len(counted) + 1
        if form == "name":
            block = list(tied)
            counted.update((c.rank, c.name, c.entity_id) if c.row < 0 else (c.rank, c.row) for c in block)
        else:
            block = []
            for candidate in tied:
                if candidate.entity_id not in counted:
                    counted.add(candidate.entity_id)
                    block.append(candidate)
        if block:
            yield rank, block


def blocks(candidates: Iterable[Candidate], gold: Sequence[frozenset[str]], ids: IdMap, form: Form) -> Iterator[Block]:
    """The candidates as what they answer."""
    for rank, tied in distinct(candidates, form):
        found = [ids.candidate(candidate.entity_id) for candidate in tied]
        yield Block(rank, tuple(frozenset(j for j, part in enumerate(gold) if part & id) for id in found))


def _first_right(
    candidates: Sequence[Candidate], gold: frozenset[str], ids: IdMap, form: Form
) -> tuple[float, float, float, float]:
    """Of the first block with a right candidate: rank, number of candidates, of right ones, place of the first."""
    if all(gold.isdisjoint(ids.candidate(candidate.entity_id)) for candidate in candidates):
        return inf, inf, inf, inf
    for rank, tied in distinct(candidates, form):
        right = [not gold.isdisjoint(ids.candidate(candidate.entity_id)) for candidate in tied]
        if any(right):
            return rank, len(right), sum(right), rank + right.index(True)
    return inf, inf, inf, inf


def _chances(simple: Floats) -> Floats:
    """(n, len(KS)) the chance that one of m right among n candidates is drawn, with the rank of their block."""
    chances = np.zeros((len(simple), len(KS)))
    found = np.isfinite(simple[:, 0])
    rank, size, right = simple[found, :3].T.astype(np.int64)
    for j, k in enumerate(KS):
        drawn = np.clip(k - rank + 1, 0, size)
        missed = np.ones(len(rank))
        for step in range(int(drawn.max(initial=0))):
            left = np.maximum(size - right - step, 0) / np.maximum(size - step, 1)
            missed = np.where(step < drawn, missed * left, missed)
        chances[found, j] = 1.0 - missed
    return chances


def _composite(each: Sequence[Sequence[Block]], parts: int) -> tuple[float, float]:
    """The least k at which ``any`` holds, and the least at which ``strict`` does; inf where none."""
    ranks = [min((block.rank for block in found if any(block.parts)), default=inf) for found in each]
    places = [_places(found) for found in each]
    right = [min((place for place, answers in found if answers), default=inf) for found in places]
    covered = [
        min((place for found in places for place, answers in found if part in answers), default=inf)
        for part in range(parts)
    ]
    return max(ranks), max(*right, *covered)


def _places(found: Iterable[Block]) -> list[tuple[int, frozenset[int]]]:
    """For each candidate the least k that has it, ties cut, and what it answers."""
    return [(block.rank + i, answers) for block in found for i, answers in enumerate(block.parts)]


def _chance(each: Sequence[Sequence[Block]], parts: int, k: int) -> float:
    """The chance that all parts of gold are among the k best of all predictions, and each prediction has one of them.

    The predictions' ties are drawn apart, so that chances of the parts that each finds can be joined one by one.
    """
    joint = {frozenset[int](): 1.0}
    for found in each:
        drawn = {answers: chance for answers, chance in _found_parts(found, k).items() if answers}
        after: dict[frozenset[int], float] = defaultdict(float)
        for before, p in joint.items():
            for answers, q in drawn.items():
                after[before | answers] += p * q
        joint = after
    return joint.get(frozenset(range(parts)), 0.0)


def _found_parts(found: Iterable[Block], k: int) -> dict[frozenset[int], float]:
    """The chance of each set of parts to be what one prediction's k best answer."""
    sure: frozenset[int] = frozenset()
    for rank, candidates in found:
        drawn = min(len(candidates), k - rank + 1)
        if drawn == len(candidates):
            sure = sure.union(*candidates)
        elif drawn > 0:
            return _drawn_parts(candidates, drawn, sure)
        else:
            break
    return {sure: 1.0}


def _drawn_parts(candidates: Sequence[frozenset[int]], drawn: int, sure: frozenset[int]) -> dict[frozenset[int], float]:
    """The chances where so many of the candidates are drawn: ways to draw, counted candidate by candidate."""
    ways = {(0, sure): 1}
    for answers in candidates:
        after = dict(ways)
        for (number, before), count in ways.items():
            if number < drawn:
                key = number + 1, before | answers
                after[key] = after.get(key, 0) + count
        ways = after
    total = comb(len(candidates), drawn)
    return {answers: count / total for (number, answers), count in ways.items() if number == drawn}


def _says_nil(predictions: Sequence[Prediction]) -> bool:
    return bool(predictions) and all(
        prediction.abstained or not prediction.candidates or is_nil(prediction.candidates[0].entity_id)
        for prediction in predictions
    )


def _confidence(predictions: Sequence[Prediction]) -> float:
    return min(map(_confidence_of, predictions), default=-inf)


def _confidence_of(prediction: Prediction) -> float:
    if not prediction.candidates:
        return -inf
    return prediction.candidates[0].score if prediction.probability is None else prediction.probability


def _depth(items: Iterable[Item], form: Form) -> int:
    depth = 0
    for item in items:
        for prediction in item.predictions:
            if len(prediction.candidates) > depth:
                depth = max(depth, *(rank for rank, _ in distinct(prediction.candidates, form)))
    return depth
