"""The table of what was tried to close the gap on clean-kb, out of ``results/*.json``: development figures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dev_tables
from labels import at_start
from tables import table

HEAD = """## Closing the gap on clean-kb

What was tried: acc@1 on the development sets, any id, encoders alone where nothing else is said; all choices were made
here. "…" changes the row before it, or adds to it. In brackets the number of seeds where there are several; one
elsewhere, as each alignment and distillation takes minutes of a whole GPU. Every figure of something trained is a
maximum: these same sets chose its step or epoch out of a handful (of MPNet's nine checkpoints on NCBI the best is 84.2,
the others 82.6 to 83.4), its share and its bonus, so that gains are upper bounds; the test sets say what is left. They
also say that these sets chose wrongly once: the average of (a) and (b), which NCBI speaks against here, is the best
there of what has not seen the corpus ("What self-alignment adds"). "=": epoch 0, not trained.
"""
TASKS = ("ncbi", "bc5cdr-d")
NOT, PART = "no", "part of the teacher"


class Try(NamedTuple):
    """A row: what was tried, the file of its figures, where in it they stand, and what became of it.

    ``place``: keys of the file's metrics up to ``ncbi@1`` and ``bc5cdr-d@1``; in ``fine_tune_*.json`` what the runs'
    names have between corpus and seed, then ``start`` or ``best`` and the form.
    """

    what: str
    file: str
    place: str
    outcome: str


_RECIPE = "lr5e-05-names4000-prefix"
TRIES = (
    Try("**No corpus mention seen**", "", "", ""),
    Try("MiniLM", "align_dev", "untrained", "start"),
    Try("self-aligned by SapBERT's recipe", "align_dev", "figures recipe", NOT),
    Try("… rate 5e-5", "align_dev", "figures recipe-5e-5", NOT),
    Try("… rate 2e-5", "align_dev", "figures recipe-2e-5", NOT),
    Try("… concepts joined across terminologies, diseases thrice, noise (a)", "align_dev", "figures ms", PART),
    Try("… and near concepts (by the vectors of the last round) as negatives", "align_dev", "figures ms-hard", NOT),
    Try("… and near concepts, InfoNCE (b)", "align_dev", "figures infonce-hard", PART),
    Try("weights averaged: (a) and (b)", "align_dev", "figures ms+infonce-hard", PART),
    Try("weights averaged: MiniLM and the first recipe", "align_dev", "figures base+recipe", NOT),
    Try("MiniLM and, times 0.5, the average of (a) and (b), side by side", "distil", "teacher teacher", "the teacher"),
    Try("MiniLM taught by it, metric loss times 0.1", "distil", "variants bert-light best", "kept: sapbert-mini"),
    Try("… times 0.5", "distil", "variants bert best", NOT),
    Try("… times 2", "distil", "variants bert-metric best", NOT),
    Try("ResCNN taught by MiniLM and the first recipe averaged", "rescnn_dev", "figures attention", NOT),
    Try("… max pooling", "rescnn_dev", "figures max", NOT),
    Try("ResCNN taught by the teacher", "distil", "variants attention best", "kept: embedded default"),
    Try("… targets of noisy copies half those of their names", "distil", "variants attention-half best", NOT),
    Try("… targets of noisy copies those of their names", "distil", "variants attention-clean best", NOT),
    Try("… half, and embeddings tuned", "distil", "variants attention-tuned best", NOT),
    Try("MPNet, five times as large", "align_mpnet", "untrained", "no better than MiniLM"),
    Try("… self-aligned", "align_mpnet", "best", "no better than sapbert-mini, so no teacher"),
    Try("embedded default: its ResCNN behind the dictionary", "narrower", "0.0", "kept"),
    Try("… names with narrowing words put lower by 0.01", "narrower", "0.01", NOT),
    Try("… by 0.02", "narrower", "0.02", "kept"),
    Try("… by 0.05", "narrower", "0.05", NOT),
    Try("… by 0.1", "narrower", "0.1", NOT),
    Try("MiniLM and a share of the 3-gram cosine", "fine_tune_grid", "raw-ms-lr5e-05-names0 start ngram", NOT),
    Try("sapbert-mini and a share of it", "fine_tune_published", "mini-biosyn-lr5e-05-names0 start ngram", NOT),
    Try("default's ResCNN and a share of it", "fine_tune_published",
        "attention-biosyn-lr0.0005-names0 start ngram", NOT),
    Try("**Training mentions seen**", "", "", ""),
    Try("sapbert-mini, not trained, training mentions as names", "fine_tune_published",
        "mini-biosyn-lr5e-05-names0 start names", "as good as training"),
    Try("MiniLM, not trained, a prefix before mentions", "fine_tune_grid", f"raw-ms-{_RECIPE} start dense", ""),
    Try("MiniLM, multi-similarity loss", "fine_tune_grid", "raw-ms-lr5e-05-names0 best dense", NOT),
    Try("… prefix, names as mentions", "fine_tune_grid", f"raw-ms-{_RECIPE} best dense", NOT),
    Try("MiniLM, share of the nearest", "fine_tune_grid", "raw-marginal-lr5e-05-names0 best dense", NOT),
    Try("… prefix, names as mentions (c)", "fine_tune_seeds", f"raw-marginal-{_RECIPE} best dense", "recipe kept"),
    Try("… and a share of the 3-gram cosine", "fine_tune_seeds", f"raw-marginal-{_RECIPE} best ngram", NOT),
    Try("… and training mentions as names", "fine_tune_seeds", f"raw-marginal-{_RECIPE} best names", "a form of it"),
    Try("(c) from the average of (a) and (b)", "fine_tune_final", f"aligned-marginal-{_RECIPE} best dense", "kept"),
    Try("(c) from sapbert-mini", "fine_tune_probe", f"mini-marginal-{_RECIPE} best dense", NOT),
    Try("(c) from MPNet, self-aligned", "fine_tune_mpnet",
        "mpnet-aligned-marginal-lr3e-05-names4000-prefix best dense", NOT),
    Try("(c) from ResCNN, taught by averaged weights", "fine_tune_final",
        "attention-marginal-lr0.0005-names4000-prefix best dense", "kept"),
    Try("(c) from ResCNN, fresh", "fine_tune_seeds",
        "fresh-attention-marginal-lr0.001-names4000-prefix best dense", NOT),
    Try("MiniLM, BioSyn's loss", "fine_tune_probe", "raw-biosyn-lr5e-05-names0 best dense", NOT),
    Try("… and the learnt share of the 3-gram cosine", "fine_tune_probe", "raw-biosyn-lr5e-05-names0 best learnt", NOT),
    Try("sapbert-mini, BioSyn's loss", "fine_tune_published", "mini-biosyn-lr5e-05-names0 best dense", NOT),
)  # fmt: skip


def section(results: Path) -> Iterator[str]:
    """The table."""
    if not (results / "align_dev.json").exists():
        return
    yield HEAD
    yield from table(["what", "NCBI", "BC5CDR-d", "outcome", "result"], rows(results))
    yield ""
    yield from dev_tables.section(results)


def rows(results: Path) -> Iterator[list[str]]:
    """A row for each try."""
    for what, file, place, outcome in TRIES:
        found = read(results, file) if file else {}
        figures = [figure(found, place, task) if found else "" for task in TASKS]
        yield [what, *figures, outcome, f"`{file}.json`" if file else ""]


def read(results: Path, name: str) -> dict[str, Any]:
    """A result, empty where there is none."""
    path = results / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def figure(result: dict[str, Any], place: str, task: str) -> str:
    """A try's accuracy on a corpus; nothing where it was not measured."""
    metrics = result.get("metrics", result)
    if place in metrics.get(task, ()):
        return f"{metrics[task][place]:.1f}"
    if "runs" not in metrics:
        for key in place.split():
            metrics = metrics[key] if key in metrics else result[key]
        return f"{metrics[f'{task}@1']:.1f}"
    name, when, form = place.split()
    runs = [run for run in metrics["runs"] if run["name"].rpartition("-seed")[0] == f"{task}-{name}"]
    values = [run[when][form] for run in runs]
    if not values:
        return ""
    shown = f"{statistics.mean(value['@1'] if isinstance(value, dict) else value for value in values):.1f}"
    shown += f" ({len(values)})" if len(values) > 1 else ""
    return shown + at_start(sum(isinstance(value, dict) and value.get("epoch") == 0 for value in values), len(values))
