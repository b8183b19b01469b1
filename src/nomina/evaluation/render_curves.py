"""The figures of an evaluation report that tell what a confidence is worth, as SVG."""

from __future__ import annotations

from collections.abc import Sequence

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
    tick,
    ticks,
    tooltip,
    widened,
)
from nomina.evaluation.render_values import count, percent
from nomina.evaluation.shape import Report, System

Bin = tuple[float, float, int]
"""Mean confidence, share that is right, mentions."""

_MOST_POINTS = 200
_MOST_COUNTS = 12
_BOX = (38, 10, WIDTH - 10, 226)  # left, top, right, bottom of a plot with two axes


def _axes(x: Scale, y: Scale, at: tuple[Sequence[float], Sequence[float]], labels: tuple[str, str], share: bool) -> str:
    """Both axes of a plot; y is a share, shown in percent, and x too unless ``share`` is false."""
    across, up = at
    left, top, right, bottom = _BOX
    rows = "".join(
        line(left, y(value), right, y(value), class_="grid")
        + text(left - 5, y(value) + 4, tick(100 * value), text_anchor="end", class_="tick")
        for value in up
    )
    middle = (top + bottom) / 2
    names = text((left + right) / 2, bottom + 30, labels[0], text_anchor="middle", class_="axis") + text(
        10, middle, labels[1], text_anchor="middle", class_="axis", transform=f"rotate(-90 10 {middle:g})"
    )
    return rows + grid(x, across, top, bottom, share) + names


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
