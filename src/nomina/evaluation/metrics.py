"""Figures of what items got: accuracy at k, distinct pairs, NIL, risk and coverage, reliability.

Accuracy and distinct pairs are over items whose gold names a concept, the right answer being forced: an abstention
counts as its candidates rank. ``answered`` and the risk-coverage curve are over all items and take it at its word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nomina.evaluation.match import Item
from nomina.evaluation.outcome import KS, Outcome
from nomina.evaluation.protocols import Rule
from nomina.evaluation.shape import Nil, Score

BINS = 10
"""Of the reliability diagram."""
MOST_POINTS = 200
"""Of a risk-coverage curve."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def first_hits(found: Outcome, rule: Rule) -> Floats:
    """(n,) 1 where an item is right at k = 1, else 0; items without a concept are never right."""
    hits = found.any if rule == "any" else found.strict
    return hits[:, 0].astype(np.float64)


def answered(found: Outcome, rule: Rule) -> Floats:
    """(n,) 1 where the system is right if taken at its word: a right concept not abstained from, or a right NIL."""
    right = np.where(found.nil_gold, found.nil_predicted, (first_hits(found, rule) > 0) & ~found.nil_predicted)
    return right.astype(np.float64)


def mean(values: Floats, mask: Bools | None = None) -> float:
    """The mean, within a mask where given; 0 of nothing."""
    chosen = values if mask is None else values[mask]
    return float(chosen.mean()) if len(chosen) else 0.0


def at_ks(hits: NDArray[np.bool_] | Floats, found: Outcome) -> dict[str, float]:
    """Accuracy at each k that a prediction reaches, at 1 always: beyond, nobody knows what would have come."""
    kept = hits[~found.nil_gold].astype(np.float64)
    return {str(KS[j]): mean(kept[:, j]) for j in reached(found)}


def reached(found: Outcome) -> list[int]:
    """The columns of ``KS`` to be reported."""
    return [j for j, k in enumerate(KS) if k == 1 or k <= found.depth]


def pairs(items: Sequence[Item]) -> NDArray[np.int64]:
    """(n,) a number for each distinct pair of mention text, without case, and gold."""
    number: dict[object, int] = {}
    keys = ((item.mention.text.casefold(), item.gold) for item in items)
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)


def distinct_accuracy(hits: Floats, items: Sequence[Item], mask: Bools) -> float:
    """Accuracy where each distinct pair counts once, by the mean of what its mentions get."""
    numbers = pairs(items)[mask]
    if not len(numbers):
        return 0.0
    _, numbers = np.unique(numbers, return_inverse=True)
    return mean(np.bincount(numbers, hits[mask]) / np.bincount(numbers))


def harmonic(precision: float, recall: float) -> Score:
    """The two with their F1; 0 where both are 0."""
    total = precision + recall
    return Score(precision, recall, 2 * precision * recall / total if total else 0.0)


def ratio(part: float, whole: float) -> float:
    """The share of a part; 0 of nothing."""
    return part / whole if whole else 0.0


def nil(found: Outcome) -> Nil | None:
    """How well NIL is told from concepts; None where gold has none."""
    gold, predicted = int(found.nil_gold.sum()), int(found.nil_predicted.sum())
    if not gold:
        return None
    both = int((found.nil_gold & found.nil_predicted).sum())
    score = harmonic(ratio(both, predicted), ratio(both, gold))
    return Nil(gold, predicted, score.precision, score.recall, score.f1)


def risk_coverage(found: Outcome, rule: Rule) -> tuple[tuple[tuple[float, float], ...], float | None]:
    """The curve of (coverage, risk), and the area under it (AURC).

    Items are answered in the order of their confidence, those of one confidence together; whether the system abstains
    counts for nothing. Risk is the share of wrong ones among the answered; an answer where no concept fits is wrong.
    Items without a candidate come last: wrong, unless no concept fits. AURC is the mean risk over n steps from 1/n to
    1, errors within a group of one confidence spread evenly. At most ``MOST_POINTS`` points are returned.
    """
    if not len(found.score):
        return (), None
    nothing = np.isneginf(found.score)
    wrong = np.where(found.nil_gold, ~nothing, first_hits(found, rule) == 0).astype(np.float64)
    _, group = np.unique(-found.score, return_inverse=True)
    sizes, errors = np.bincount(group), np.bincount(group, wrong)
    answered_so_far, errors_so_far = np.cumsum(sizes), np.cumsum(errors)
    order = np.sort(group, kind="stable")
    spread = np.cumsum((errors / sizes)[order])
    steps = np.arange(1, len(order) + 1)
    at = np.unique(np.linspace(0, len(sizes) - 1, min(MOST_POINTS, len(sizes))).round().astype(np.int64))
    curve = zip(
        (answered_so_far[at] / len(order)).tolist(), (errors_so_far / answered_so_far)[at].tolist(), strict=True
    )
    return tuple(curve), mean(spread / steps)


def reliability(found: Outcome, rule: Rule) -> tuple[tuple[float, float, int], ...]:
    """(mean confidence, accuracy, count) of items in ``BINS`` bins of equal width, without empty ones.

    Items without a candidate are left out. () where a confidence is not between 0 and 1: it claims no probability.
    """
    has = np.isfinite(found.score)
    score, right = found.score[has], first_hits(found, rule)[has]
    if not len(score) or score.min() < 0.0 or score.max() > 1.0:
        return ()
    bins = np.minimum((score * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    full = np.flatnonzero(counts)
    means = np.bincount(bins, score, BINS)[full] / counts[full]
    accuracy = np.bincount(bins, right, BINS)[full] / counts[full]
    return tuple(zip(means.tolist(), accuracy.tolist(), counts[full].tolist(), strict=True))
