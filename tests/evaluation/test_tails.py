"""Tails of distributions against scipy."""

import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from nomina.evaluation.tails import chi_square_1, coins, incomplete_beta, student_t


@given(st.floats(0.1, 5000), st.floats(0.1, 5000), st.floats(0, 1))
def test_the_incomplete_beta_function_is_scipys(a, b, x):
    assert incomplete_beta(a, b, x) == pytest.approx(scipy.special.betainc(a, b, x), rel=1e-8, abs=1e-250)


@given(st.floats(-1e3, 1e3), st.integers(1, 10_000))
def test_students_tail_is_scipys(t, df):
    assert student_t(t, df) == pytest.approx(2 * scipy.stats.t.sf(abs(t), df), rel=1e-8, abs=1e-250)


@pytest.mark.parametrize("df", [1, 99])
@pytest.mark.parametrize("t", [0.0, 1e-12, 0.999, 1.0, 1.001, 40.0])
def test_students_tail_meets_where_its_two_forms_do(t, df):
    assert student_t(t, df) == pytest.approx(2 * scipy.stats.t.sf(t, df), rel=1e-12)


@given(st.integers(0, 5000).flatmap(lambda k: st.tuples(st.just(k), st.integers(k + 1, 10_001))))
def test_coins_are_scipys_binomial(counts):
    assert coins(*counts) == pytest.approx(scipy.stats.binom.cdf(*counts, 0.5), rel=1e-8, abs=1e-250)


@given(st.floats(0, 1000))
def test_chi_square_is_scipys(value):
    assert chi_square_1(value) == pytest.approx(scipy.stats.chi2.sf(value, 1), rel=1e-9)
