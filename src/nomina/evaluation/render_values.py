"""How the figures of a report are written in every rendering: shares in percent, "–" for what is not there."""

from __future__ import annotations

from nomina.evaluation.shape import Interval

NOTHING = "–"
_SMALLEST = 1e-3
_MINUS = "−"


def percent(share: float | None, decimals: int = 1) -> str:
    """0.9115 -> "91.2"; the unit stands in the heading."""
    return NOTHING if share is None else _signed(f"{100 * share:.{decimals}f}")


def interval(bounds: Interval | None) -> str:
    """(0.892, 0.931) -> "[89.2, 93.1]"; "" where there is none."""
    return "" if bounds is None else f"[{percent(bounds[0])}, {percent(bounds[1])}]"


def with_interval(share: float | None, bounds: Interval | None, decimals: int = 1) -> str:
    """The figure, then its interval in brackets."""
    return NOTHING if share is None else f"{percent(share, decimals)} {interval(bounds)}".rstrip()


def count(number: int) -> str:
    """1234 -> "1,234"."""
    return f"{number:,}"


def p_value(p: float) -> str:
    """Three decimals; "< 0.001" where that would show zero."""
    return f"< {_SMALLEST}" if p < _SMALLEST else f"{p:.3f}"


def words(key: str) -> str:
    """A key of the report as a heading: "distinct_pairs" -> "Distinct pairs"."""
    text = key.replace("_", " ")
    return text[:1].upper() + text[1:]


def writable(text: str) -> str:
    """The text as UTF-8 can hold it: a path of odd bytes reaches Python as halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _signed(text: str) -> str:
    return text.replace("-", _MINUS)
