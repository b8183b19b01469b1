"""The figures of an evaluation report that compare systems, as SVG; the style sheet of the page gives the colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from nomina.evaluation import render_tables as tables
from nomina.evaluation.render_svg import (
    WIDTH,
    Scale,
    element,
    figure,
    grid,
    line,
    linear,
    style,
    text,
    ticks,
    tooltip,
    widened,
)
from nomina.evaluation.render_values import NOTHING, count, percent, with_interval
from nomina.evaluation.shape import Interval, Report, StratumFigure

MOST_STRATA = 12
"""Strata in one figure; the table has all."""

_LABEL = 15
_BAR, _STEP = 9, 12
_ROW = 38
_FIGURE_X = WIDTH - 40


class Dot(NamedTuple):
    """A line of a forest plot."""

    label: str
    value: float
    bounds: Interval | None
    style: int


def legend(report: Report) -> str:
    """A list of the systems, each with a sample of its line."""
    items = (
        element(
            "li",
            f'<svg viewBox="0 0 22 10" class="swatch" aria-hidden="true">{line(0, 5, 22, 5, class_=style(i))}</svg>',
            escape(system.name),
        )
        for i, system in enumerate(report.systems)
    )
    return element("ul", *items, class_="legend")


def primary(report: Report) -> str:
    """The primary figure of each system with its interval."""
    dots = [
        Dot(system.name, system.primary.value, system.primary.interval, i) for i, system in enumerate(report.systems)
    ]
    return _forest("primary", f"{_metric(report)} in percent, with 95% intervals", dots)


def differences(report: Report) -> str:
    """The difference of each compared pair with its interval and a line at zero; "" where nothing is compared."""
    dots = [Dot(f"{pair.a} − {pair.b}", pair.difference, pair.interval, 0) for pair in report.comparisons]
    title = f"Differences of {_metric(report)} in points, with 95% intervals"
    return _forest("differences", title, dots, zero=True) if dots else ""


def _forest(name: str, title: str, dots: Sequence[Dot], *, zero: bool = False) -> str:
    ends = [end for dot in dots for end in (dot.value, *(dot.bounds or ()))]
    low, high = widened(min(ends + [0.0] * zero), max(ends + [0.0] * zero))
    x = linear(low, high, 8, _FIGURE_X - 8)
    bottom = 4 + _ROW * len(dots)
    parts = [grid(x, ticks(low, high), 0, bottom)]
    if zero:
        parts.append(line(x(0), 0, x(0), bottom, class_="zero"))
    for row, dot in enumerate(dots):
        y = 28 + _ROW * row
        parts += [
            text(0, y - 14, dot.label, class_="label"),
            _whisker(x, dot.bounds, y, style(dot.style)),
            element("circle", cx=x(dot.value), cy=y, r=4.5, class_=f"dot {style(dot.style)}"),
            text(WIDTH, y + 4, percent(dot.value), text_anchor="end", class_="figure"),
        ]
    shown = "; ".join(f"{dot.label}: {with_interval(dot.value, dot.bounds)}" for dot in dots)
    return figure(name, bottom + 20, title, shown, *parts)


def drawn(report: Report, group: str) -> list[str]:
    """The strata that ``bars`` draws: of those with a figure the largest, in the order of the report."""
    counts = tables.counts_of(report, group)
    figures = [tables.figures_of(system, group) for system in report.systems]
    known = [name for name in counts if any(each[name].value is not None for each in figures if name in each)]
    largest = sorted(known, key=lambda name: -counts[name])[:MOST_STRATA]
    return [name for name in known if name in largest]


def bars(report: Report, group: str, name: str) -> str:
    """Bars of every system for each stratum of a group that is drawn, with intervals and counts."""
    figures = [tables.figures_of(system, group) for system in report.systems]
    counts, shown = tables.counts_of(report, group), drawn(report, group)
    x = linear(0, 1, 0, _FIGURE_X)
    parts: list[str] = []
    y = 0.0
    for key in shown:
        parts += [
            text(0, y + 11, key, class_="label"),
            text(WIDTH, y + 11, f"n = {count(counts[key])}", text_anchor="end", class_="count"),
        ]
        y += _LABEL
        for i, system in enumerate(report.systems):
            parts.append(_bar(x, y + i * _STEP, system.name, figures[i].get(key), style(i)))
        y += len(report.systems) * _STEP + 9
    title = f"{tables.group_title(group)}: {_metric(report)} in percent"
    description = "Bars with 95% intervals, one a system, for each stratum. The table holds the same figures."
    return figure(name, y + 16, title, description, grid(x, [0, 0.25, 0.5, 0.75, 1], 0, y), *parts)


def _metric(report: Report) -> str:
    return report.systems[0].primary.metric


def _bar(x: Scale, y: float, system: str, part: StratumFigure | None, kind: str) -> str:
    if part is None or part.value is None:
        return text(WIDTH, y + _BAR, NOTHING, text_anchor="end", class_="figure small")
    return element(
        "g",
        tooltip(f"{system}: {with_interval(part.value, part.interval)}"),
        element("rect", x=0, y=y, width=max(x(part.value), 1.0), height=_BAR, class_=f"bar {kind}"),
        _whisker(x, part.interval, y + _BAR / 2, "ink"),
        text(WIDTH, y + _BAR, percent(part.value), text_anchor="end", class_="figure small"),
    )


def _whisker(x: Scale, bounds: Interval | None, y: float, kind: str) -> str:
    if bounds is None:
        return ""
    low, high = (x(bound) for bound in bounds)
    ends = (line(end, y - 3, end, y + 3, class_=f"whisker {kind}") for end in (low, high))
    return line(low, y, high, y, class_=f"whisker {kind}") + "".join(ends)
