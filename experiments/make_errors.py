"""The tables of ``docs/errors.md`` out of ``results/*.json``: ``python experiments/make_errors.py``.

They stand between marks in the page and take the place of what is there; the rest of the page is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import RESULTS, ROOT
from errors import CORPORA, SYSTEMS
from tables import CORPORA as TITLES
from tables import table

PAGE = ROOT / "docs" / "errors.md"
MARKS = ("<!-- {} by experiments/make_errors.py -->", "<!-- end of {} -->")
NAMES = {"default": "embedded default", "aligned": "sapbert-mini"}
EXAMPLES = 3


TRIES = (
    ("self-alignment, multi-similarity loss", "align_dev.json", "untrained", "figures ms"),
    ("the same with near concepts as negatives, InfoNCE", "align_dev.json", "untrained", "figures infonce-hard"),
    ("weights of MiniLM and an aligned one averaged", "align_dev.json", "untrained", "figures base+recipe"),
    ("vectors of both side by side: the teacher", "distil.json", "", "metrics teacher teacher"),
    ("ResCNN distilled from averaged weights", "rescnn_dev.json", "", "figures attention"),
    ("ResCNN distilled from the teacher", "distil.json", "", "metrics variants attention best"),
    ("MiniLM distilled from the teacher", "distil.json", "", "metrics variants bert-light best"),
    ("a new teacher, its shares chosen by four sets", "distil_four.json", "", "metrics teacher teacher"),
    ("ResCNN distilled from it", "distil_four.json", "", "metrics variants attention-half best"),
    ("self-aligned MiniLM distilled from it", "distil_four.json", "", "metrics variants bert-light best"),
    ("MPNet, five times as large, self-aligned", "align_mpnet.json", "metrics untrained", "metrics best"),
)
"""What, the file, and where in it stand the figures before (where there are any) and after."""


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


def page(text: str, results: Path) -> str:
    """The page with the tables of the results."""
    found = read(results / "errors.json")
    made = {"sample": totals(found), "kinds": kinds(found["errors"]), "tries": tries(results)}
    for name, lines in made.items():
        start, end = (mark.format(name) for mark in MARKS)
        before, _, rest = text.partition(start)
        text = "\n".join([before + start, "", *lines, "", end + rest.partition(end)[2]])
    return text


def read(path: Path) -> dict[str, Any]:
    """A result."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def tries(results: Path) -> Iterator[str]:
    """Development accuracy before and after what was tried."""
    rows = [
        [name, *(_development(read(results / file), place) for place in places), f"`{file}`"]
        for name, file, *places in TRIES
    ]
    return table(["what", "before", "after", "result"], rows)


def _development(result: dict[str, Any], place: str) -> str:
    for key in place.split():
        result = result[key]
    return f"{result['ncbi@1']:.1f} / {result['bc5cdr-d@1']:.1f}" if place else ""


def totals(result: dict[str, Any]) -> Iterator[str]:
    """How much each corpus has, and how much of it each system gets wrong."""
    rows = []
    for corpus in CORPORA:
        found = result["metrics"][corpus]
        each = [f"{found[s]['acc@1']:.1f}, {found[s]['distinct_wrong']}" for s in SYSTEMS]
        read = sum(error["corpus"] == corpus for error in result["errors"])
        sizes = [f"{found[key]:,}" for key in ("mentions", "distinct")]
        ceiling = f"{found['equal_to_a_wrong_name']} ({100 * found['equal_to_a_wrong_name'] / found['mentions']:.1f}%)"
        rows.append([TITLES[corpus], *sizes, *each, f"{read} of {found['distinct_wrong']}", ceiling])
    head = ["corpus", "mentions", "distinct pairs", *(f"{NAMES[s]}: acc@1, pairs wrong" for s in SYSTEMS), "read"]
    head.append("mentions that equal a wrong name")
    return table(head, rows)


def kinds(errors: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Kinds, most frequent first: errors, by corpus, by system, the mentions that they stand for, examples."""
    found = {kind: [e for e in errors if e["kind"] == kind] for kind in sorted({e["kind"] for e in errors})}
    rows = []
    for kind, same in sorted(found.items(), key=lambda item: -len(item[1])):
        corpora = [str(sum(e["corpus"] == corpus for e in same)) for corpus in CORPORA]
        systems = [str(sum(not e["answers"][s]["right"] for e in same)) for s in SYSTEMS]
        shown = "; ".join(map(example, sorted(same, key=lambda e: (-e["count"], e["mention"]))[:EXAMPLES]))
        rows.append([kind, str(len(same)), *corpora, *systems, str(sum(e["count"] for e in same)), shown])
    head = ["kind", "errors", *(TITLES[c] for c in CORPORA), *(f"wrong: {NAMES[s]}" for s in SYSTEMS), "mentions"]
    return table([*head, "examples: mention → answer (gold)"], rows)


def example(error: dict[str, Any]) -> str:
    """A mention with the concept that a system answered wrongly, and the right one."""
    wrong = next(answer for answer in error["answers"].values() if not answer["right"])
    return f"{_cell(error['mention'])} → {_cell(wrong['preferred'])} ({' + '.join(error['gold_names'])})"


def _cell(text: str) -> str:
    return text.replace("|", "/")


if __name__ == "__main__":
    main()
