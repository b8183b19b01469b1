"""Intervals and tests: by hand, by enumeration, and against scipy and statsmodels."""

import math
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from nomina.errors import UsageError
from nomina.evaluation.significance import (
    angel_t_test,
    bootstrap_interval,
    bootstrap_intervals,
    holm,
    mcnemar,
    paired_bootstrap,
    paired_bootstrap_of_sets,
)

bits = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)
probabilities = st.lists(st.floats(0, 1), max_size=12)


def random_hits(seed, n=300, share=0.8):
    return np.random.default_rng(seed).random(n) < share


# Intervals


@pytest.mark.parametrize("seed", range(5))
def test_one_mention_a_document_is_the_bootstrap_of_scipy_draw_by_draw(seed):
    hits = random_hits(seed).astype(float)
    theirs = scipy.stats.bootstrap(
        (hits,), np.mean, n_resamples=2000, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    assert bootstrap_interval(hits, range(len(hits)), seed=seed) == pytest.approx(tuple(theirs), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_documents_are_drawn_as_scipy_draws_their_sums(seed):
    hits = random_hits(seed)
    documents = np.sort(np.random.default_rng(seed + 100).integers(0, 40, len(hits)))
    right, n = np.bincount(documents, hits), np.bincount(documents)
    right, n = right[n > 0], n[n > 0]
    theirs = scipy.stats.bootstrap(
        (right, n), lambda a, b, axis: a.sum(axis) / b.sum(axis), n_resamples=500, method="percentile", paired=True,
        confidence_level=0.9, rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    ours = bootstrap_interval(hits, [f"d{i}" for i in documents], samples=500, seed=seed, level=0.9)
    assert ours == pytest.approx(tuple(theirs), abs=1e-12)


def test_bounds_are_those_of_all_possible_draws():
    # Three documents with 2 of 2, 1 of 2 and 0 of 4 right: 27 draws, each as likely.
    right, n = (2, 1, 0), (2, 2, 4)
    means = sorted(sum(right[i] for i in draw) / sum(n[i] for i in draw) for draw in product(range(3), repeat=3))
    hits = [1, 1, 1, 0, 0, 0, 0, 0]
    documents = ["a", "a", "b", "b", "c", "c", "c", "c"]
    low, high = bootstrap_interval(hits, documents, samples=20_000, level=0.8)
    # 80% lie between the values that 10% of the draws are not above and not below: places 2.7 and 24.3 of 27.
    assert (low, high) == (pytest.approx(means[2]), pytest.approx(means[24]))


def test_documents_need_not_be_together():
    hits = random_hits(1, 40)
    documents = [i % 7 for i in range(40)]
    order = sorted(range(40), key=lambda i: documents[i])
    assert bootstrap_interval(hits, documents) == bootstrap_interval(hits[order], sorted(documents))


def test_mentions_that_are_alike_make_a_wider_interval_than_as_many_documents():
    hits = np.repeat(random_hits(3, 50, 0.5), 10)
    low, high = bootstrap_interval(hits, np.repeat(np.arange(50), 10).tolist())
    narrow_low, narrow_high = bootstrap_interval(hits, range(500))
    assert high - low > 2.5 * (narrow_high - narrow_low)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(0)
    held = 0
    for seed in range(200):
        right = random.random((60, 1)) * 0.4 + 0.5 > random.random((60, 5))  # documents differ; the truth is 0.7
        low, high = bootstrap_interval(right.ravel(), np.repeat(range(60), 5).tolist(), samples=300, seed=seed)
        held += low <= 0.7 <= high
    assert 0.9 <= held / 200 <= 0.99


def test_f1_is_a_ratio_of_sums():
    true_positives, predicted, gold = [1, 2, 0], [2, 2, 1], [1, 3, 2]
    hits, counts = 2 * np.array(true_positives), np.array(predicted) + np.array(gold)
    f1 = {
        2 * sum(true_positives[i] for i in draw) / sum(predicted[i] + gold[i] for i in draw)
        for draw in product(range(3), repeat=3)
    }
    low, high = bootstrap_interval(hits, "abc", counts, samples=5000, level=0.999)
    assert (low, high) == (pytest.approx(min(f1)), pytest.approx(max(f1)))


def test_many_figures_at_once_are_each_as_alone():
    random = np.random.default_rng(5)
    within = random.random((200, 4)) < 0.4
    hits = (random.random((200, 4)) < 0.7) & within
    documents = random.integers(0, 30, 200).tolist()
    together = bootstrap_intervals(hits, documents, within, seed=3)
    alone = [bootstrap_interval(hits[:, i], documents, within[:, i], seed=3) for i in range(4)]
    assert together == pytest.approx(np.array(alone), abs=1e-12)


def test_draws_in_several_parts_are_as_many(monkeypatch):
    hits = random_hits(2, 100)
    whole = bootstrap_interval(hits, range(100), seed=1, samples=501)
    monkeypatch.setattr("nomina.evaluation.significance._CELLS", 1000)
    assert bootstrap_interval(hits, range(100), seed=1, samples=501) == pytest.approx(whole, abs=1e-12)


def test_resamples_that_miss_a_small_stratum_are_left_out():
    within = [1, 0, 0, 0]
    assert bootstrap_interval([1, 0, 0, 0], "abcd", within) == (1.0, 1.0)


def test_nothing_counted_has_no_interval():
    assert all(map(math.isnan, bootstrap_interval([0, 0], "ab", [0, 0])))
    assert all(map(math.isnan, bootstrap_interval([], [])))
    assert bootstrap_intervals(np.zeros((3, 0)), "abc").shape == (0, 2)


def test_a_single_document_has_no_spread():
    assert bootstrap_interval([1, 0, 1, 1], "dddd") == (0.75, 0.75)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: bootstrap_interval([1, 0], "a"), "one document an item"),
        (lambda: bootstrap_interval([1, 0], "ab", [1]), "one value and one document"),
        (lambda: bootstrap_interval([1, 0], "ab", samples=0), "at least one resample"),
        (lambda: bootstrap_interval([1, 0], "ab", level=95), "between 0 and 1, not 95"),
        (lambda: bootstrap_intervals([1, 0], "ab"), "one value and one document"),
        (lambda: mcnemar([1], [1, 0]), "the same items"),
        (lambda: mcnemar([], []), "the same items"),
        (lambda: paired_bootstrap([1, 0], [1], "ab"), "the same items"),
        (lambda: paired_bootstrap_of_sets([]), "at least one set"),
        (lambda: paired_bootstrap_of_sets([([1], [1], "a"), ([], [], "")]), "the same items"),
        (lambda: angel_t_test([1, 0], [1, 1], samples=1), "at least 2 resamples"),
        (lambda: holm([0.5, 1.5]), "between 0 and 1, not 1.5"),
        (lambda: holm([float("nan")]), "between 0 and 1, not nan"),
    ],
)
def test_what_cannot_be_computed_is_one_line(call, why):
    with pytest.raises(UsageError, match=why):
        call()


# Two systems


def test_paired_bootstrap_by_enumeration():
    # In document a two mentions are better, in b one is worse, in c one is better: of 27 draws 7 are not above zero
    # (bbb, three orders of bbc, three of abb).
    a = [1, 1, 0, 0, 1, 0]
    b = [0, 0, 1, 0, 0, 0]
    documents = ["a", "a", "b", "b", "c", "c"]
    result = paired_bootstrap(a, b, documents, samples=20_000, level=0.8)
    sums = sorted(sum(draw) for draw in product((2, -1, 1), repeat=3))
    assert result.difference == pytest.approx(2 / 6)
    assert result.p == pytest.approx(2 * 7 / 27, abs=0.01)
    assert type(result.p) is float
    assert result.interval == (pytest.approx(sums[2] / 6), pytest.approx(sums[24] / 6))


@given(bits, st.integers(0, 3))
def test_p_says_what_the_interval_says(pairs, seed):
    a, b = zip(*pairs, strict=True)
    documents = [i // 3 for i in range(len(a))]
    result = paired_bootstrap(a, b, documents, samples=199, seed=seed, level=0.9)
    if result.p < 0.1 - 3 / 199:
        assert result.interval[0] >= 0 or result.interval[1] <= 0
    if result.interval[0] > 0 or result.interval[1] < 0:
        assert result.p < 0.1 + 3 / 199
    other_way = paired_bootstrap(b, a, documents, samples=199, seed=seed, level=0.9)
    assert other_way.p == result.p
    assert other_way.interval == pytest.approx((-result.interval[1], -result.interval[0]))


def test_each_set_counts_alike_however_large_it_is():
    # The first set's difference is 0, 1/2, 1/2 or 1, the second's, one document, always -1/4: one draw of 4 is below.
    sets = [([1, 0], [0, 0], "ab"), ([0] * 4, [0, 0, 0, 1], "cccc")]
    result = paired_bootstrap_of_sets(sets, samples=20_000, level=0.4)
    assert result.difference == (1 / 2 - 1 / 4) / 2
    assert result.p == pytest.approx(2 / 4, abs=0.02)
    assert result.interval == (1 / 8, 1 / 8)
    assert paired_bootstrap_of_sets(sets, samples=20_000, level=0.6).interval == (-1 / 8, 3 / 8)


def test_sets_of_the_same_size_are_drawn_apart():
    # Each set: -1, 0, 0 or 1. Drawn alike, a quarter of the means would be -1; drawn apart, a sixteenth is.
    one = ([1, 0], [0, 1], "ab")
    assert paired_bootstrap_of_sets([one, one], samples=20_000, level=0.8).interval == (-1 / 2, 1 / 2)
    assert paired_bootstrap_of_sets([one], seed=3) == paired_bootstrap(*one, seed=3)


def test_two_equal_systems_do_not_differ():
    hits = random_hits(1)
    assert paired_bootstrap(hits, hits, range(300)) == (0.0, (0.0, 0.0), 1.0)
    assert mcnemar(hits, hits) == (0, 0, 1.0, 0.0, 1.0)
    assert angel_t_test(hits, hits) == (0.0, 1.0)


def test_equal_systems_are_told_apart_no_more_often_than_promised():
    random = np.random.default_rng(1)
    tests = [
        paired_bootstrap(random.random(200) < 0.8, random.random(200) < 0.8, range(200), samples=400).p < 0.05
        for _ in range(300)
    ]
    assert 0.02 <= np.mean(tests) <= 0.09


def mcnemar_of(only_a, only_b, both=50, neither=7):
    a = [1] * only_a + [0] * only_b + [1] * both + [0] * neither
    b = [0] * only_a + [1] * only_b + [1] * both + [0] * neither
    return mcnemar(a, b)


def test_mcnemar_by_hand():
    # Of 10 items 1 or less on the other side: 11 / 1024, twice; (8 - 1)^2 / 10.
    result = mcnemar_of(9, 1)
    assert (result.only_a, result.only_b) == (9, 1)
    assert result.p_exact == pytest.approx(22 / 1024, rel=1e-12)
    assert result.chi2 == pytest.approx(4.9)
    assert result.p_chi2 == pytest.approx(0.026857, abs=1e-6)


@pytest.mark.parametrize(
    ("only_a", "only_b"),
    [(0, 1), (1, 0), (0, 6), (2, 3), (25, 8), (121, 59), (59, 121), (4000, 4100), (30_000, 20_000)],
)
def test_mcnemar_is_the_binomial_and_chi_square_test_of_scipy(only_a, only_b):
    result = mcnemar_of(only_a, only_b)
    assert result.p_exact == pytest.approx(scipy.stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-8)
    assert result.p_chi2 == pytest.approx(scipy.stats.chi2.sf(result.chi2, 1), rel=1e-9)


@pytest.mark.extras
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_that_of_statsmodels(only_a, only_b):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    assume(only_a != only_b)  # there its correction would make a statistic of no difference
    table = [[50, only_a], [only_b, 7]]
    result = mcnemar_of(only_a, only_b)
    assert result.p_exact == pytest.approx(tables.mcnemar(table, exact=True).pvalue, rel=1e-9)
    theirs = tables.mcnemar(table, exact=False, correction=True)
    assert (result.chi2, result.p_chi2) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue, rel=1e-9))


def test_as_many_on_either_side_are_no_difference():
    assert mcnemar_of(8, 8) == (8, 8, 1.0, 0.0, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_angels_test_is_scipys_paired_t_test_of_100_resamples(seed):
    a, b = random_hits(seed, 200, 0.8), random_hits(seed + 10, 200, 0.75)
    drawn = np.random.default_rng(seed).integers(0, 200, (100, 200))
    theirs = scipy.stats.ttest_rel(a[drawn].mean(1), b[drawn].mean(1))
    ours = angel_t_test(a, b, seed)
    assert (ours.t, ours.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue, rel=1e-9))


def test_angels_p_is_what_the_number_of_resamples_makes_of_it():
    a, b = np.zeros(200), np.zeros(200)
    a[:6], b[6:9] = 1, 1  # 6 against 3 of 200: nothing
    ps = [angel_t_test(a, b, samples=samples).p for samples in (10, 100, 1000)]
    assert ps[0] > 1e-6 > 1e-15 > ps[1] > 1e-100 > ps[2]
    assert mcnemar(a, b).p_exact > 0.5
    assert paired_bootstrap(a, b, range(200)).p > 0.2


def test_angels_test_without_spread():
    assert angel_t_test([1, 1], [0, 0]) == (math.inf, 0.0)
    assert angel_t_test([0, 0], [1, 1]) == (-math.inf, 0.0)


# Holm


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.extras
@given(probabilities.filter(bool))
def test_holm_is_that_of_statsmodels(ps):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(ps) == pytest.approx(multitest.multipletests(ps, method="holm")[1], abs=1e-12)


@given(probabilities)
def test_holm_keeps_the_order_and_never_makes_a_p_smaller(ps):
    corrected = holm(ps)
    assert all(p <= q <= min(1.0, p * len(ps) + 1e-12) for p, q in zip(ps, corrected, strict=True))
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    assert [corrected[i] for i in order] == sorted(corrected)
