"""The figures of an evaluation report as SVG: a colour (and dash) a system, drawn by the style sheet of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from nomina.evaluation import render_tables as tables
from nomina.evaluation.render_svg import WIDTH, Scale, element, figure, line, linear, text, ticks, tooltip, widened
from nomina.evaluation.render_values import NOTHING, count, percent, with_interval
from nomina.evaluation.shape import Interval, Report, StratumFigure, System

STYLES = 8
"""Colours of the style sheet; a ninth system has the colour of the first and another dash."""
MOST_STRATA = 12
"""Strata in one figure; the table has all."""

_MOST_POINTS = 200
_MOST_COUNTS = 12
_LABEL = 15
_BAR, _STEP = 9, 12
_ROW = 38
_FIGURE_X = WIDTH - 40
_BOX = (38, 10, WIDTH - 10, 226)  # left, top, right, bottom of a plot with two axes

Bin = tuple[float, float, int]
"""Mean confidence, share that is right, mentions."""


class Dot(NamedTuple):
    """A line of a forest plot."""

    label: str
    value: float
    bounds: Interval | None
    style: int


def style(i: int) -> str:
    """The class of system number i."""
    return f"s{i % STYLES} d{i // STYLES % 3}"


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
    parts = [_grid(x, ticks(low, high), 0, bottom)]
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


def bars(report: Report, group: str, name: str) -> str:
    """Bars of every system for each stratum of a group, with intervals and counts; the largest strata where many."""
    counts = tables.counts_of(report, group)
    largest = sorted(counts, key=lambda key: -counts[key])[:MOST_STRATA]
    shown = [key for key in counts if key in largest]
    figures = [tables.figures_of(system, group) for system in report.systems]
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
    return figure(name, y + 16, title, description, _grid(x, [0, 0.25, 0.5, 0.75, 1], 0, y), *parts)


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


def _grid(x: Scale, at: Sequence[float], top: float, bottom: float, share: bool = True) -> str:
    return "".join(
        line(x(value), top, x(value), bottom, class_="grid")
        + text(
            x(value),
            bottom + 13,
            _tick(100 * value if share else value),
            text_anchor="start" if x(value) < 4 else "middle",
            class_="tick",
        )
        for value in at
    )


def _tick(value: float) -> str:
    return f"{round(value, 4):g}".replace("-", "−")


def _axes(x: Scale, y: Scale, at: tuple[Sequence[float], Sequence[float]], labels: tuple[str, str], share: bool) -> str:
    """Both axes of a plot; y is a share, shown in percent, and x too unless ``share`` is false."""
    across, up = at
    left, top, right, bottom = _BOX
    rows = "".join(
        line(left, y(value), right, y(value), class_="grid")
        + text(left - 5, y(value) + 4, _tick(100 * value), text_anchor="end", class_="tick")
        for value in up
    )
    middle = (top + bottom) / 2
    names = text((left + right) / 2, bottom + 30, labels[0], text_anchor="middle", class_="axis") + text(
        10, middle, labels[1], text_anchor="middle", class_="axis", transform=f"rotate(-90 10 {middle:g})"
    )
    return rows + _grid(x, across, top, bottom, share) + names


def risk_coverage(report: Report) -> str:
    """Share of wrong answers among the most confident ones, by how many are answered; "" where no system says."""
    curves = [(i, system, _points(system)) for i, system in enumerate(report.systems)]
    curves = [(i, system, points) for i, system, points in curves if points]
    if not curves:
        return ""
    left, top, right, bottom = _BOX
    highest = widened(0, max(risk for _, _, points in curves for _, risk in points))[1]
    x, y = linear(0, 1, left, right), linear(0, highest, bottom, top)
    lines = [
        element(
            "polyline",
            tooltip(f"{system.name}: AURC {percent(system.aurc, 2)}"),
            points=" ".join(f"{x(coverage):.1f},{y(risk):.1f}" for coverage, risk in points),
            class_=f"curve {style(i)}",
        )
        for i, system, points in curves
    ]
    at = ([0, 0.2, 0.4, 0.6, 0.8, 1], ticks(0, highest))
    axes = _axes(x, y, at, ("Answered, %", "Wrong among them, %"), share=True)
    areas = "; ".join(f"{system.name}: {percent(system.aurc, 2)}" for _, system, _ in curves)
    return figure("risk", bottom + 38, "Risk-coverage curves", f"Area under each curve: {areas}", axes, *lines)


def _points(system: System) -> list[tuple[float, float]]:
    """The curve, thinned to what a figure can show; its last point, everything answered, always stays."""
    every = -(-len(system.risk_coverage) // _MOST_POINTS) or 1
    return list(system.risk_coverage[::-1][::every][::-1])


def reliability(system: System, i: int) -> str:
    """How often the system is right at each confidence, and how many mentions have it; "" where it says nothing."""
    bins = system.reliability
    if not bins:
        return ""
    left, top, right, bottom = _BOX
    confidences = [confidence for confidence, _, _ in bins]
    shares = min(confidences) >= 0 and max(confidences) <= 1
    low, high = (0.0, 1.0) if shares else widened(min(confidences), max(confidences))
    x, y = linear(low, high, left, right), linear(0, 1, bottom, top)
    names = ("Confidence, %" if shares else "Score", "Right, %")
    parts = [_axes(x, y, (ticks(low, high), [0, 0.25, 0.5, 0.75, 1]), names, shares)]
    if shares:
        parts.append(line(left, bottom, right, top, class_="ideal"))
    points = " ".join(f"{x(confidence):.1f},{y(right_ones):.1f}" for confidence, right_ones, _ in bins)
    parts.append(element("polyline", points=points, class_=f"curve {style(i)}"))
    parts += [_bin(x, y, row, style(i)) for row in bins]
    parts.append(_counts(x, bins, bottom + 40, style(i)))
    shown = "; ".join(f"{c:.2f}: {percent(r)} of {count(n)}" for c, r, n in bins)
    return figure(f"reliability-{i}", bottom + 112, f"Reliability of {system.name}", shown, *parts)


def _bin(x: Scale, y: Scale, row: Bin, kind: str) -> str:
    confidence, right, n = row
    told = f"confidence {confidence:.3f}: {percent(right)}% of {count(n)} mentions right"
    return element("circle", tooltip(told), cx=x(confidence), cy=y(right), r=4, class_=f"dot {kind}")


def _counts(x: Scale, bins: Sequence[Bin], top: float, kind: str) -> str:
    """Bars of how many mentions each bin has, under the diagram and on its x axis."""
    most = max(n for _, _, n in bins)
    height = linear(0, most, 0, 40)
    width = min(16.0, max(2.0, (_BOX[2] - _BOX[0]) / len(bins) - 4))
    bottom = top + 56
    parts = [text(_BOX[0] - 5, bottom, "n", text_anchor="end", class_="axis")]
    for confidence, _, n in bins:
        tall = max(height(n), 0.5)
        middle = x(confidence)
        parts.append(
            element("rect", tooltip(count(n)), x=middle - width / 2, y=bottom - tall, width=width, height=tall,
                    class_=f"bar {kind}")
        )  # fmt: skip
        if len(bins) <= _MOST_COUNTS:
            parts.append(text(middle, bottom - tall - 3, count(n), text_anchor="middle", class_="tick"))
    parts.append(line(_BOX[0], bottom, _BOX[2], bottom, class_="grid"))
    return "".join(parts)
