"""How sure a figure is, and whether two systems differ: intervals, paired tests, correction for many tests.

Mentions of one document are alike (the same name again and again), so what is drawn anew is documents, not mentions.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nomina.errors import UsageError
from nomina.evaluation.tails import chi_square_1, coins, student_t

SAMPLES = 2000
"""Resamples of a bootstrap where nobody says otherwise."""
ANGEL_SAMPLES = 100
"""Resamples of ANGEL's test (section 4.2)."""

_CELLS = 1 << 22  # documents drawn at a time: some 100 MB

Floats = NDArray[np.float64]


class PairedBootstrap(NamedTuple):
    """``difference`` = mean of a - mean of b, its percentile interval, and the two-sided ``p``."""

    difference: float
    interval: tuple[float, float]
    p: float


class McNemar(NamedTuple):
    """Items that only a, only b gets right; the exact test's p; chi-square with continuity correction and its p."""

    only_a: int
    only_b: int
    p_exact: float
    chi2: float
    p_chi2: float


class TTest(NamedTuple):
    """Student's t and its two-sided p."""

    t: float
    p: float


def bootstrap_interval(
    hits: ArrayLike,
    documents: Sequence[Hashable],
    counts: ArrayLike | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """The percentile interval of sum(hits) / sum(counts) when documents are drawn anew, with replacement.

    Args:
        hits: (n,) one value an item: right or wrong, or a probability.
        documents: n ids of the items' documents.
        counts: (n,) what an item adds to the denominator; 1 each where left out, so that the ratio is the mean. F1:
            hits = 2 x true positives, counts = true + predicted positives + true + missed ones.
        samples: How many times documents are drawn.
        seed: Of the draws: the same seed draws the same documents.
        level: Share of the resamples between the bounds.

    Returns:
        Lower and upper bound; nan twice where nothing is counted. A single document has no spread: both bounds are
        the figure itself.

    Raises:
        UsageError: lengths that differ, less than one sample, a level outside 0 to 1.
    """
    columns = None if counts is None else np.atleast_2d(np.asarray(counts, np.float64)).T
    hit = np.atleast_2d(np.asarray(hits, np.float64)).T
    low, high = bootstrap_intervals(hit, documents, columns, samples=samples, seed=seed, level=level)[0].tolist()
    return low, high


def bootstrap_intervals(
    hits: ArrayLike,
    documents: Sequence[Hashable],
    counts: ArrayLike | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Floats:
    """``bootstrap_interval`` for many figures of the same items: every document is drawn once for all of them.

    Args:
        hits: (n, m) one column a figure.
        documents: n ids of the items' documents.
        counts: (n, m), say the masks of strata, with hits outside of them zero; resamples in which a column counts
            nothing are left out for that column.
        samples: See ``bootstrap_interval``, as for the rest.
        seed: Of the draws.
        level: Share of the resamples between the bounds.

    Returns:
        (m, 2) lower and upper bounds.
    """
    ratios = _resampled(np.asarray(hits, np.float64), documents, counts, samples, seed)
    return np.array([_percentiles(column[~np.isnan(column)], level) for column in ratios.T]).reshape(-1, 2)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    documents: Sequence[Hashable],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> PairedBootstrap:
    """Whether two systems differ on the same items, by drawing documents anew.

    p is twice the share of resamples in which the difference is not above zero, or not below, whichever is smaller: the
    interval turned round, so that p < 0.05 where the 95% interval leaves zero out. One resample is added to either
    share, so that p is never 0.

    Args:
        a: (n,) what one system gets for each item.
        b: (n,) the same of the other.
        documents: n ids of the items' documents.
        samples: See ``bootstrap_interval``, as for the rest.
        seed: Of the draws.
        level: Of the interval.

    Raises:
        UsageError: lengths that differ, no items.
    """
    return paired_bootstrap_of_sets([(a, b, documents)], samples=samples, seed=seed, level=level)


def paired_bootstrap_of_sets(
    sets: Sequence[tuple[ArrayLike, ArrayLike, Sequence[Hashable]]],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> PairedBootstrap:
    """``paired_bootstrap`` of the mean over several sets, each of which counts alike however large it is.

    The documents of each set are drawn anew among themselves, so that every resample has as many of each set.

    Args:
        sets: Of each set what one system gets for each item, what the other gets, and the items' documents.
        samples: See ``bootstrap_interval``, as for the rest.
        seed: Of the draws; set number i (from 0) is drawn by ``seed + i``.
        level: Of the interval.

    Raises:
        UsageError: no sets; lengths that differ, no items in a set.
    """
    if not sets:
        raise UsageError("two systems are compared on at least one set")
    differences = [np.subtract(*_pair(a, b)) for a, b, _ in sets]
    of_each = [
        _resampled(difference[:, None], documents, None, samples, seed + i)[:, 0]
        for i, (difference, (_, _, documents)) in enumerate(zip(differences, sets, strict=True))
    ]
    drawn = np.mean(of_each, axis=0)
    fewer = int(min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0)))
    p = min(1.0, 2 * (fewer + 1) / (samples + 1))
    difference = float(np.mean([one.mean() for one in differences]))
    return PairedBootstrap(difference, _percentiles(drawn, level), p)


def mcnemar(a: ArrayLike, b: ArrayLike) -> McNemar:
    """McNemar's test on the items that one system alone gets right.

    Exact: the binomial test of an even chance, two-sided. Chi-square: (d - 1)^2 / (only_a + only_b) with d how far the
    two counts are apart, and 0 where they are equal. Without any such item both p are 1.

    Args:
        a: (n,) bool, whether one system is right.
        b: (n,) bool, the same of the other.

    Raises:
        UsageError: lengths that differ, no items.
    """
    first, second = (part.astype(np.bool_) for part in _pair(a, b))
    only_a, only_b = int(np.count_nonzero(first & ~second)), int(np.count_nonzero(~first & second))
    if only_a == only_b:
        return McNemar(only_a, only_b, 1.0, 0.0, 1.0)
    fewer, both = min(only_a, only_b), only_a + only_b
    chi2 = (abs(only_a - only_b) - 1) ** 2 / both
    return McNemar(only_a, only_b, min(1.0, 2 * coins(fewer, both)), chi2, chi_square_1(chi2))


def angel_t_test(a: ArrayLike, b: ArrayLike, seed: int = 0, samples: int = ANGEL_SAMPLES) -> TTest:
    """The test that ANGEL reports (section 4.2): accuracies of 100 resamples of the mentions, and a paired t-test.

    For parity with the paper only. The t-test takes the resamples for observations, and their number is ours to choose:
    t grows with its root, so p becomes as small as one likes, whatever the data. Nor does it know of documents.

    Args:
        a: (n,) what one system gets for each item.
        b: (n,) the same of the other; both are judged on the same resamples.
        seed: Of the draws.
        samples: How many times n items are drawn from the n.

    Returns:
        t and p with samples - 1 degrees of freedom. Without spread t is infinite and p 0, or, where the systems do not
        differ at all, 0 and 1.

    Raises:
        UsageError: lengths that differ, no items, less than two samples.
    """
    first, second = _pair(a, b)
    if samples < 2:
        raise UsageError(f"a t-test needs at least 2 resamples, not {samples}")
    differences = _resampled((first - second)[:, None], range(len(first)), None, samples, seed)[:, 0]
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread == 0.0:
        return TTest(0.0, 1.0) if mean == 0.0 else TTest(math.copysign(math.inf, mean), 0.0)
    t = mean / (spread / math.sqrt(samples))
    return TTest(t, student_t(t, samples - 1))


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down correction: what each p is worth when so many were looked at, in the same order.

    Raises:
        UsageError: a p that is not between 0 and 1.
    """
    corrected = [0.0] * len(ps)
    largest = 0.0
    for tested, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        if not 0.0 <= ps[i] <= 1.0:
            raise UsageError(f"a p is between 0 and 1, not {ps[i]}")
        largest = max(largest, min(1.0, ps[i] * (len(ps) - tested)))
        corrected[i] = largest
    return corrected


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise UsageError(
            "two systems are compared on the same items, one value each,"
            f" not on shapes {first.shape} and {second.shape}"
        )
    return first, second


def _resampled(
    hits: Floats, documents: Sequence[Hashable], counts: ArrayLike | None, samples: int, seed: int
) -> Floats:
    """(samples, m) sum(hits) / sum(counts) of documents drawn with replacement; nan where nothing is counted."""
    below = np.ones_like(hits) if counts is None else np.asarray(counts, np.float64)
    if hits.ndim != 2 or below.shape != hits.shape or len(documents) != len(hits):
        raise UsageError(
            f"one value and one document an item are needed, not shapes {hits.shape}, {below.shape}"
            f" and {len(documents)} documents"
        )
    if samples < 1:
        raise UsageError(f"at least one resample is needed, not {samples}")
    if not len(hits):
        return np.full((samples, hits.shape[1]), np.nan)
    sums = _by_document(np.hstack([hits, below]), documents)
    totals = np.vstack([weights @ sums for weights in _draws(len(sums), samples, seed)])
    above, under = np.hsplit(totals, 2)
    return np.divide(above, under, out=np.full_like(above, np.nan), where=under != 0)


def _by_document(values: Floats, documents: Sequence[Hashable]) -> Floats:
    """Sums over each document, in the order of their first items."""
    number: dict[Any, int] = {}
    numbers = np.array([number.setdefault(document, len(number)) for document in documents])
    if len(number) == len(values):
        return values
    columns = [np.bincount(numbers, column, minlength=len(number)) for column in values.T]
    return np.stack(columns, axis=1)


def _draws(size: int, samples: int, seed: int) -> Iterator[Floats]:
    """How often each of so many documents is drawn: (some samples, size), until there are so many samples."""
    random = np.random.default_rng(seed)
    at_a_time = max(1, _CELLS // size)
    for start in range(0, samples, at_a_time):
        some = min(at_a_time, samples - start)
        drawn = random.integers(0, size, (some, size))
        drawn += np.arange(0, some * size, size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=some * size).reshape(some, size).astype(np.float64)


def _percentiles(drawn: Floats, level: float) -> tuple[float, float]:
    if not 0.0 < level < 1.0:
        raise UsageError(f"a level is between 0 and 1, not {level}")
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
