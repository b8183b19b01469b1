"""The tables of the four development sets of ``dev_sets.py``: what was measured, and what was put to the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from labels import BERTS, RESCNNS
from tables import table

FOUR = """### Chosen anew, by four development sets

Half of the mean above are 787 mentions of NCBI. So four sets were laid down to choose by before anything was measured
on them: the two above, BC5CDR-c against MeSH's chemicals (of the concepts that no mention has every eighth), and the
validation phrases of AskAPatient's first fold; acc@1, encoders alone. Self-alignment gains a point on their mean, and
the average of (a) and (b) is still the best of all that was tried. The models that nomina comes with were chosen by two
sets: they are ahead on NCBI, behind on AskAPatient. Figures are of the GPU that trained each, those of the shipped
models of the exported weights on a CPU.
"""
TESTED = """### Put to the test: does what is new replace what nomina comes with?

The rule was laid down before the test: a model is replaced if the mean of the four sets is higher, with the 95%
interval of the difference above 0, the mentions of each set drawn anew {samples:,} times (points of acc@1). (d) and (g)
were to replace sapbert-mini, (e) and (f) the default's ResCNN. Equal mentions are right or wrong together, which makes
this interval too narrow: beside it stands the one with equal mentions drawn together. By set: how many mentions only
the new, only the shipped one has right, and McNemar's p, which is too small for the same reason. The steps of the new
ones, and the teacher's shares, were chosen by these same sets, so that their side is a maximum.
"""
UNTESTED = """On the mean (d) is half a point above sapbert-mini, (f) 0.4 above the default's ResCNN. The steps of
the new ones, and the teacher's shares, were chosen by these same sets, so that their side is a maximum. Half
a point that was looked for on the sets that show it is no clear gain, and it was not tested on others: nothing was
replaced (`experiments/dev_figures.py --pairs` tests two encoders).
"""
COLUMNS = {"ncbi@1": "NCBI", "bc5cdr-d@1": "BC5CDR-d", "bc5cdr-c@1": "BC5CDR-c", "aap-0@1": "AskAPatient"}


class Row(NamedTuple):
    """What was measured, the file of its figures, and where in the file's metrics they stand."""

    what: str
    file: str
    place: tuple[str, ...]


_FIRST, _ANEW, _DISTIL = "dev_four", "dev_four_anew", "distil_four"
ROWS = (
    Row("MiniLM", _FIRST, ("figures", "base")),
    Row("average of (a) and (b): MiniLM, self-aligned (plain)", _FIRST, ("figures", "aligned")),
    Row("(a) with twice the noise, half the rate", _FIRST, ("figures", "ms-noisy")),
    Row("the same with InfoNCE", _FIRST, ("figures", "infonce-noisy")),
    Row("InfoNCE, temperature 0.1", _FIRST, ("figures", "infonce-warm")),
    Row("average of (a), (b) and MiniLM", _FIRST, ("figures", "aligned+base")),
    Row("average of (a), (b) and (a) with twice the noise", _FIRST, ("figures", "aligned+ms-noisy")),
    Row("average of (a), (b) and InfoNCE with twice the noise", _FIRST, ("figures", "aligned+infonce-noisy")),
    Row("average of (a), (b) and InfoNCE, temperature 0.1", _FIRST, ("figures", "aligned+infonce-warm")),
    Row("sapbert-mini", _FIRST, ("figures", "sapbert-mini")),
    Row(RESCNNS["attention"], _FIRST, ("figures", "default")),
    Row("**Trained again, its step and shares chosen by the four sets**", "", ()),
    Row("(a) again", _ANEW, ("figures", "ms")),
    Row("(b) again", _ANEW, ("figures", "infonce-hard")),
    Row("average of both", _ANEW, ("figures", "ms+infonce-hard")),
    Row("average of both and MiniLM", _ANEW, ("figures", "ms+base+infonce-hard")),
    Row("average of (a) again and MiniLM (d)", _ANEW, ("figures", "ms+base")),
    Row("teacher: MiniLM and, times 0.5, (d), side by side", _DISTIL, ("teacher", "shares", "1.0 0.5")),
    Row("… (d) times 1", _DISTIL, ("teacher", "shares", "1.0 1.0")),
    Row("… MiniLM times 0.5, (d) times 1", _DISTIL, ("teacher", "shares", "0.5 1.0")),
    Row("… MiniLM times 0.2, (d) times 1: taken", _DISTIL, ("teacher", "shares", "0.2 1.0")),
    Row("ResCNN taught by it (e)", _DISTIL, ("variants", "attention", "best")),
    Row("… targets of noisy copies half those of their names (f)", _DISTIL, ("variants", "attention-half", "best")),
    Row("(d) taught by it, metric loss times 0.1 (g)", _DISTIL, ("variants", "bert-light", "best")),
)
NAMES = {
    "default": RESCNNS["attention"],
    "sapbert-mini": BERTS["mini"],
    "attention": "(e)",
    "attention-half": "(f)",
    "bert-light": "(g)",
    "aligned-anew": "(d)",
}
"""Of the encoders in ``pairs`` of ``dev_four_anew.json``."""


def section(results: Path) -> Iterator[str]:
    """Both tables."""
    found = {name: json.loads(path.read_text(encoding="utf-8"))["metrics"]
             for name in (_FIRST, _ANEW, _DISTIL) if (path := results / f"{name}.json").exists()}  # fmt: skip
    if not found:
        return
    yield FOUR
    yield from table(["what", *COLUMNS.values(), "mean", "result"], rows(found))
    yield ""
    if _ANEW in found and "pairs" not in found[_ANEW]:
        yield UNTESTED
    if "pairs" in found.get(_ANEW, {}):
        yield TESTED.format(**found[_ANEW])
        head = ["new", "shipped", "mean: new - shipped", "p", "equal mentions drawn together", "p", *COLUMNS.values()]
        yield from table([*head, "shipped one"], tests(found[_ANEW]["pairs"]))
        yield ""


def rows(found: dict[str, Any]) -> Iterator[list[str]]:
    """A row for each that was measured."""
    for what, file, place in ROWS:
        if file and file not in found:
            continue
        figures = found.get(file, {})
        for key in place:
            figures = figures[key]
        cells = [f"{figures[key]:.1f}" if figures else "" for key in (*COLUMNS, "dev")]
        yield [what, *cells, f"`{file}.json`" if file else ""]


def tests(pairs: dict[str, Any]) -> Iterator[list[str]]:
    """A row for each pair."""
    for names, facts in pairs.items():
        a, b = (NAMES[name] for name in names.split(":"))
        means = [cell for way in ("mentions", "texts") for cell in _mean(facts[way])]
        each = [f"{facts[key]['only_a']} / {facts[key]['only_b']} (p {facts[key]['p']:.2g})" for key in COLUMNS]
        yield [a, b, *means, *each, "replaced" if facts["mentions"]["interval"][0] > 0 else "stays"]


def _mean(test: dict[str, Any]) -> list[str]:
    low, high = test["interval"]
    return [f"{test['difference']:+.2f} [{low:+.2f}, {high:+.2f}]", f"{test['p']:.2g}"]
