"""Tails of distributions, for the tests in ``significance``: the bare install has no scipy."""

from __future__ import annotations

import math
from collections.abc import Iterator

_STEPS = 10_000
_TINY = 1e-300
_CONVERGED = 1e-15


def student_t(t: float, df: float) -> float:
    """The chance of a T as far from 0 as t, or farther, on either side; Student's, with ``df`` degrees of freedom."""
    if t * t < 1.0:  # the other side: df / (df + t * t) loses a small t
        return 1.0 - incomplete_beta(0.5, df / 2, t * t / (df + t * t))
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


def chi_square_1(value: float) -> float:
    """The chance of this value or more; chi-square with one degree of freedom."""
    return math.erfc(math.sqrt(value / 2))


def coins(k: int, n: int) -> float:
    """The chance of at most k heads of n fair coins, k < n."""
    return incomplete_beta(n - k, k + 1, 0.5)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), a and b above 0, x from 0 to 1.

    By its continued fraction (Abramowitz and Stegun, 26.5.8), on the side of the mean where it converges.
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x > (a + 1) / (a + b + 2):
        return 1.0 - front / (b * _fraction(b, a, 1 - x))
    return front / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1 / (1 + d2 / (1 + ...)) by Lentz's method."""
    value = numerator = 1.0
    denominator = 0.0
    for term in _terms(a, b, x):
        denominator = 1.0 / _not_zero(1.0 + term * denominator)
        numerator = _not_zero(1.0 + term / numerator)
        value *= numerator * denominator
        if abs(numerator * denominator - 1.0) < _CONVERGED:
            break
    return value


def _terms(a: float, b: float, x: float) -> Iterator[float]:
    yield -(a + b) * x / (a + 1)
    for m in range(1, _STEPS):
        yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
