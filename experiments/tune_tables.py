"""The table of what ``fine_tune.py`` made of several encoders under several losses, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ENCODERS = {
    "raw": "MiniLM",
    "mini": "MiniLM, self-aligned",
    "attention": "ResCNN, attention pooling",
    "max": "ResCNN, max pooling",
}
LOSSES = {
    "ms": "multi-similarity (SapBERT)",
    "marginal": "share of the nearest",
    "biosyn": "share, learnt weight (BioSyn)",
}
SCORES = {"dense": "encoder alone", "ngram": "and a share of the 3-gram cosine", "learnt": "and the learnt share of it"}
COLUMNS = {
    "ncbi-published": "NCBI",
    "bc5cdr-d-published": "BC5CDR-d",
    "bc5cdr-c-published": "BC5CDR-c, MeSH dictionary",
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
        cells = {(encoder, "none", SCORES["dense"], ""): run["before"]}
        cells |= {(encoder, loss, SCORES[form], "train"): run["test"].get(form) for form in SCORES}
        both = run.get("traindev", {})
        cells |= {(encoder, loss, SCORES[form], "train+dev"): both.get(form) for form in SCORES}
        for key, figures in cells.items():
            if figures:
                found.setdefault(key, {}).setdefault(how["task"], f"{figures['@1']:.1f} / {figures['@5']:.1f}")
    order = list(ENCODERS.values())
    return [
        [*key, *(cells.get(task, "") for task in COLUMNS)]
        for key, cells in sorted(found.items(), key=lambda row: (order.index(row[0][0]), row[0][1] != "none"))
    ]
