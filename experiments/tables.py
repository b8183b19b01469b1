"""What the tables of ``RESULTS.md`` share: Markdown, names of corpora, results as they were read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import labels

CORPORA = {
    "ncbi": "NCBI", "bc5cdr-d": "BC5CDR-d", **labels.CHEMICALS, "bc5cdr": "BC5CDR joint",
    "askapatient": "AskAPatient", "cometa": "COMETA",
}  # fmt: skip


def read(results: Path, pattern: str) -> list[dict[str, Any]]:
    """The results of a kind, in the order of their names."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob(pattern))]


def trainings(results: Path, name: str, *, renewed: bool = False) -> dict[str, Any]:
    """Trainings of a kind by their names: those of all ``NAME*.json``, made at other times and on other machines.

    ``renewed``: of two of one name, that of the later file counts.

    Raises:
        ValueError: two files have trainings of one name.
    """
    found: dict[str, Any] = {}
    for result in read(results, f"{name}*.json"):
        if not renewed and (twice := found.keys() & result["metrics"].keys()):
            raise ValueError(f"recorded twice: {', '.join(sorted(twice))}")
        found |= result["metrics"]
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def own(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The systems that a result is about: of an encoder's the first, as others stand there only to be compared with."""
    systems: list[dict[str, Any]] = result["metrics"]["systems"]
    return systems[:1] if "encoder" in result else systems


def pair(figures: dict[str, Any], prefix: str = "") -> str:
    """Accuracy at 1 and 5 names, in percent, of what has a prefix."""
    return f"{figures[f'{prefix}acc@1']:.1f} / {figures[f'{prefix}acc@5']:.1f}"


def cell(system: dict[str, Any]) -> str:
    """A system's acc@1, acc@5 behind the bar, and the interval or the deviation."""
    rule = system["primary"]["metric"].split()[-1]
    five = system["metrics"][rule].get("5")
    shown = percent(system["primary"]["value"]) + (f" / {percent(five)}" if five is not None else "")
    if interval := system["primary"].get("interval"):
        return f"{shown} [{percent(interval[0])}-{percent(interval[1])}]"
    return f"{shown} ± {percent(system['deviation'])}" if "deviation" in system else shown


def percent(share: float) -> str:
    """With one decimal, no sign."""
    return f"{100 * share:.1f}"
