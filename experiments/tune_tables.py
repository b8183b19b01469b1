"""Tables of what ``fine_tune.py`` made of encoders, for ``RESULTS.md``: means over seeds, and several losses."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from labels import CHEMICALS, ENCODERS, LOSSES, SCORES, at_start

COLUMNS = {
    "ncbi-published": "NCBI",
    "bc5cdr-d-published": "BC5CDR-d",
    "bc5cdr-c-published": CHEMICALS["bc5cdr-c"],
    "ncbi": "NCBI, clean-kb",
    "bc5cdr-d": "BC5CDR-d, clean-kb",
}
HEAD = ("encoder", "loss", "score", "trained on", *COLUMNS.values())

Key = tuple[str, str, str, str]


def rows(runs: Iterable[dict[str, Any]]) -> list[list[str]]:
    """The table's rows, encoder after encoder: what its loss, its score and the sets it was trained on make of it."""
    found: dict[Key, dict[str, str]] = {}
    for run in (run for run in runs if "test" in run):
        how = run["run"]
        encoder, loss = ENCODERS[how["base"]], LOSSES[how["loss"]]
        if how.get("learns") == "train":
            loss += ", dictionary without mentions"
        cells = {(encoder, "none", SCORES["dense"], ""): _figures(run["before"])}
        for form, score in SCORES.items():
            if form in run["test"]:
                mark = at_start(int(run["best"][form]["epoch"] == 0), 1)
                cells[encoder, loss, score, "train"] = _figures(run["test"][form]) + mark
            if form in run.get("traindev", {}):
                mark = at_start(int(run["traindev"]["epochs"] == 0), 1)
                cells[encoder, loss, score, "train+dev"] = _figures(run["traindev"][form]) + mark
        for key, figures in cells.items():
            found.setdefault(key, {}).setdefault(how["task"], figures)
    order = list(ENCODERS.values())
    return [
        [*key, *(cells.get(task, "") for task in COLUMNS)]
        for key, cells in sorted(found.items(), key=lambda row: (order.index(row[0][0]), row[0][1] != "none"))
    ]


def _figures(found: dict[str, float]) -> str:
    return f"{found['@1']:.1f} / {found['@5']:.1f}"


def runs_of(results: Path, plan: str, base: str, corpus: str) -> list[dict[str, Any]]:
    """The tested runs of a plan from one base by the loss over the nearest names; of AskAPatient those of all folds."""
    path = results / f"fine_tune_{plan}.json"
    found = json.loads(path.read_text(encoding="utf-8"))["metrics"]["runs"] if path.exists() else []
    start = "aap-" if corpus == "askapatient" else corpus
    return [
        run
        for run in found
        if "test" in run
        and (run["run"]["base"], run["run"]["loss"]) == (base, "marginal")
        and (run["run"]["task"] == start or (start == "aap-" and run["run"]["task"].startswith(start)))
    ]


def spread(runs: Sequence[dict[str, Any]], form: str) -> str:
    """Means at 1 and 5, the deviation of the first, and how many runs are not trained."""
    if not all(form in run["test"] for run in runs):
        return ""
    first, fifth = ([run["test"][form][at] for run in runs] for at in ("@1", "@5"))
    shown = f"{statistics.mean(first):.1f} / {statistics.mean(fifth):.1f} ± {statistics.stdev(first):.1f}"
    return shown + at_start(sum(run["best"][form]["epoch"] == 0 for run in runs), len(runs))
