"""Elements of an SVG figure and its scales: plain strings, every value escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

WIDTH = 360
"""Units of every figure: about the pixels of a narrow phone, so that its 11-unit letters stay readable there."""

STYLES = 8
"""Colours of the style sheet."""

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SHORT = 44

Scale = Callable[[float], float]


def element(name: str, *children: str, **attributes: object) -> str:
    """An element; children are markup, attributes are values: ``class_`` is class, ``text_anchor`` text-anchor."""
    shown = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{shown}>{''.join(children)}</{name}>"


def text(x: float, y: float, content: str, **attributes: object) -> str:
    """A line of text; one that is too long for a figure ends with "…" and is whole in its tooltip."""
    short = content if len(content) <= _SHORT else content[: _SHORT - 1] + "…"
    whole = element("title", escape(content)) if short != content else ""
    return element("text", whole, escape(short), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def tooltip(content: str) -> str:
    """What a pointer on the parent element shows, and a screen reader says."""
    return element("title", escape(content))


def figure(name: str, height: float, title: str, description: str, *children: str) -> str:
    """The whole figure; ``name`` makes the ids of title and description, which must be unique on the page."""
    return element(
        "svg",
        element("title", escape(title), id=f"{name}-title"),
        element("desc", escape(description), id=f"{name}-desc"),
        *children,
        viewBox=f"0 0 {WIDTH} {_value(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        xmlns="http://www.w3.org/2000/svg",
    )


def style(i: int) -> str:
    """The classes of system number i: a colour, and from the ninth system on a fainter one."""
    return f"s{i % STYLES} d{i // STYLES % 3}"


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Maps low..high to start..end; everything to the middle where low is high."""
    if high == low:
        return lambda value: (start + end) / 2
    return lambda value: start + (value - low) / (high - low) * (end - start)


def ticks(low: float, high: float, at_most: int = 6) -> list[float]:
    """Round values within low..high, evenly spaced, both ends included where they are round."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / at_most))
    step = next(power * step for step in (*_STEPS, 20.0) if (high - low) / (power * step) <= at_most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def widened(low: float, high: float) -> tuple[float, float]:
    """low..high drawn out to round values: the ends of an axis."""
    if not high > low:
        low, high = low - 0.05, high + 0.05
    found = ticks(low, high)
    step = found[1] - found[0] if len(found) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def grid(x: Scale, at: Sequence[float], top: float, bottom: float, share: bool = True) -> str:
    """Lines across an x axis with their values under them, in percent where they are shares."""
    return "".join(
        line(x(value), top, x(value), bottom, class_="grid")
        + text(
            x(value),
            bottom + 13,
            tick(100 * value if share else value),
            text_anchor="start" if x(value) < 4 else "middle",
            class_="tick",
        )
        for value in at
    )


def tick(value: float) -> str:
    """A value on an axis."""
    return f"{round(value, 4):g}".replace("-", "−")


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))
