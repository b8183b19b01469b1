"""``docs/figures/*.svg`` out of ``results/figures.json``: figures 1 and 2 of the SapBERT paper for our encoders."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import RESULTS, ROOT

from nomina.evaluation.render_svg import WIDTH, element, figure, grid, linear, text

TARGET = ROOT / "docs" / "figures"
COLOURS = ("#1d5fae", "#c2570c", "#14805e", "#8450a8", "#6b7280", "#b8325f", "#857000", "#0b7f93", "#3f3f9e", "#9b1c1c")
PAIR_COLOURS = {"positive": "#1d5fae", "negative": "#c2570c"}
STYLE = (
    "text { font: 8px sans-serif; fill: #1b2230 } .title { font-weight: 600; font-size: 9px } .mark { font-size: 7px }"
    " .grid { stroke: #e3e7ed } .frame { fill: none; stroke: #d5dae2 } .tick, .note { fill: #566072; font-size: 7px }"
)
CELL, GAP = (WIDTH - 12) / 2, 12
MAP, PLOT = 150, 74
_LINE = 10


def main() -> None:
    """Write both pictures."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures(RESULTS / "figures.json").items():
        (TARGET / name).write_text(picture + "\n", encoding="utf-8")


def pictures(result: Path) -> dict[str, str]:
    """The pictures by the names of their files."""
    read = json.loads(result.read_text(encoding="utf-8"))
    return {"names.svg": names(read), "similarities.svg": similarities(read)}


def names(result: dict[str, Any]) -> str:
    """Figure 1: a map for each encoder, a colour and a number for each concept; then what the numbers mean."""
    metrics = result["metrics"]
    parts = [element("style", STYLE), element("rect", width="100%", height="100%", fill="#ffffff")]
    for i, (title, found) in enumerate(metrics.items()):
        left, top = i % 2 * (CELL + GAP), i // 2 * (MAP + 24) + 12
        parts.append(text(left + 2, top - 3, f"{title} ({found['nearest_is_own']:.1f}%)", class_="title"))
        parts.append(element("rect", x=left, y=top, width=CELL, height=MAP, class_="frame"))
        parts += [_cloud(places, number, left, top) for number, places in enumerate(found["places"])]
    top = (len(metrics) + 1) // 2 * (MAP + 24) + 8
    for number, concept in enumerate(result["concepts"]):
        left, line = number % 2 * (CELL + GAP), top + number // 2 * _LINE
        parts.append(element("circle", cx=left + 4, cy=line - 3, r=2.5, fill=COLOURS[number % len(COLOURS)]))
        parts.append(text(left + 10, line, f"{number + 1} {concept['concept']}"))
    height = top + (len(result["concepts"]) + 1) // 2 * _LINE
    sizes = result["sizes"]
    note = (
        f"t-SNE of the names of {len(result['concepts'])} concepts. In brackets: of {sizes['sampled_names']:,} names of"
        f" {sizes['sampled_concepts']} concepts, those whose nearest other name is of their own concept."
    )
    return figure("names", height, "Names of some concepts in the plane", note, *parts)


def _cloud(places: Sequence[Sequence[int]], number: int, left: float, top: float) -> str:
    x, y = linear(0, 1000, left + 6, left + CELL - 6), linear(0, 1000, top + 6, top + MAP - 6)
    colour = COLOURS[number % len(COLOURS)]
    dots = (element("circle", cx=x(a), cy=y(b), r=2, fill=colour, fill_opacity=0.75) for a, b in places)
    a, b = (sorted(values)[len(values) // 2] for values in zip(*places, strict=True))
    middle = min(places, key=lambda place: math.dist(place, (a, b)))  # a point of its own, or the number stands alone
    return "".join(dots) + text(x(middle[0]) + 3, y(middle[1]) - 3, str(number + 1), class_="mark")


def similarities(result: dict[str, Any]) -> str:
    """Figure 2: of each encoder the cosines of all pairs of a batch, and beside it of those that mining leaves."""
    metrics, (low, high, bins) = result["metrics"], result["sizes"]["bins"]
    parts = [element("style", STYLE), element("rect", width="100%", height="100%", fill="#ffffff")]
    for row, (title, found) in enumerate(metrics.items()):
        for column, which in enumerate(("all", "mined")):
            left, top = column * (CELL + GAP), row * (PLOT + 34) + 12
            x = linear(low, high, left, left + CELL)
            shares = {sign: found["similarities"]["shares"][f"{which}_{sign}"] for sign in PAIR_COLOURS}
            overlap = found["similarities"]["overlap"][which]
            heading = f"{title}, {which} pairs: overlap {100 * overlap:.0f}%"
            parts.append(text(left + 2, top - 3, heading, class_="title"))
            parts.append(grid(x, (0.0, 0.5), top, top + PLOT, share=False))
            highest = max(max(each) for each in shares.values())
            y = linear(0, highest, top + PLOT, top + 2)
            steps = [x(low + (high - low) * i / bins) for i in range(bins + 1)]
            parts += [_hill(steps, [y(v) for v in each], y(0), PAIR_COLOURS[sign]) for sign, each in shares.items()]
    bottom = len(metrics) * (PLOT + 34) + 6
    for i, (sign, colour) in enumerate(PAIR_COLOURS.items()):
        parts.append(element("rect", x=i * 110 + 2, y=bottom - 6, width=8, height=6, fill=colour, fill_opacity=0.5))
        parts.append(text(i * 110 + 14, bottom, f"{sign} pairs, by cosine"))
    note = "Shares of positive and of negative pairs by cosine, in batches of synonym pairs, before and after mining."
    return figure("similarities", bottom + 6, "Cosines of pairs before and after hard mining", note, *parts)


def _hill(steps: Sequence[float], heights: Sequence[float], floor: float, colour: str) -> str:
    """A histogram as one shape."""
    moves = (f"V{height:.1f}H{right:.1f}" for height, right in zip(heights, steps[1:], strict=True))
    path = f"M{steps[0]:.1f} {floor:.1f}{''.join(moves)}V{floor:.1f}Z"
    return element("path", d=path, fill=colour, fill_opacity=0.45, stroke=colour, stroke_width=0.6)


if __name__ == "__main__":
    main()
