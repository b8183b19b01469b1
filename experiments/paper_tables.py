"""The tables of the SapBERT and ResCNN papers out of our results: bases with and without self-alignment, back-off."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tables import cell, own, table

BERTS = {
    "raw": "MiniLM",
    "aligned": "MiniLM, self-aligned",
    "mini": "MiniLM, self-aligned and distilled (sapbert-mini)",
    "mpnet": "MPNet",
    "mpnet-aligned": "MPNet, self-aligned",
}
RESCNNS = {
    "fresh-attention": "ResCNN, attention pooling, fresh",
    "attention": "ResCNN, attention pooling, distilled (embedded default)",
    "attention-averaged": "ResCNN, attention pooling, distilled from averaged weights",
    "fresh-max": "ResCNN, max pooling, fresh",
    "max": "ResCNN, max pooling, distilled from averaged weights",
}
EVALUATED = {"raw": "raw", "mini": "aligned", "attention": "rescnn"}
"""Encoder -> its name in ``embedding_*.json``."""
PLANS = ("final", "published", "seeds", "mpnet", "probe")
AVERAGED = ("final",)
"""Plans whose ``attention`` is the ResCNN that was distilled first, from averaged weights."""
LOSSES = {"marginal": "share of the nearest", "biosyn": "share, learnt weight (BioSyn)"}
COLUMNS = {
    "ncbi-published": "NCBI", "bc5cdr-d-published": "BC5CDR-d", "bc5cdr-c-published": "BC5CDR-c, MeSH dictionary",
    "askapatient": "AskAPatient", "ncbi": "NCBI, clean-kb", "bc5cdr-d": "BC5CDR-d, clean-kb",
    "bc5cdr-c": "BC5CDR-c, clean-kb",
}  # fmt: skip
FOLDS = 10
PAIRS = (
    ("raw", "mini", "not fine-tuned"),
    ("raw", "aligned", "marginal"),
    ("raw", "mini", "marginal"),
    ("raw", "mini", "biosyn"),
    ("mpnet", "mpnet-aligned", "not fine-tuned"),
    ("mpnet", "mpnet-aligned", "marginal"),
    ("mpnet", "mpnet-aligned", "biosyn"),
    ("fresh-attention", "attention", "not fine-tuned"),
    ("fresh-attention", "attention", "marginal"),
    ("fresh-attention", "attention-averaged", "marginal"),
    ("fresh-max", "max", "not fine-tuned"),
    ("fresh-max", "max", "marginal"),
)
"""Without and with self-alignment, and what both were fine-tuned by."""
SAPBERT = """## SapBERT: every base, with and without self-alignment

Tables 1 and 2 of the SapBERT paper. acc@1 / acc@5 on the test sets, any id, of encoders alone. As-published: k counts
names; clean-kb: concepts. Not fine-tuned: with the interval over documents, from `embedding_*.json`; with an asterisk
what fine-tuning started from (on clean-kb with its prefix before mentions). Fine-tuned: mean ± deviation of acc@1
(number of seeds; of AskAPatient folds). The loss "share of the nearest" has on clean-kb a prefix before mentions and
the names once more as mentions, BioSyn's has neither. Of AskAPatient fine-tuning, with its start, takes all 1,042
labels, `embedding_*.json` one for each of its 1,036 ids, which is harder. ResCNN fresh: random weights over the
embeddings of MiniLM. MPNet: all-mpnet-base-v2, 109M parameters.
"""
ADDED = """### What self-alignment and distillation from self-aligned encoders add

Points of acc@1; p: McNemar's, where single answers were compared (intervals: paired tests, above); in brackets how many
seeds there are with and without. One seed against one is no proof: seeds of one recipe deviate by up to a point. Not
all of it helps: on BC5CDR-d with the published dictionary MiniLM is worse by self-alignment, on BC5CDR-d clean-kb what
it gains may be chance, and fine-tuning leaves little of any difference. MPNet, not fine-tuned, gains on all three sets
that were measured; whether by chance was not tested.
"""
RESCNN = """## ResCNN: poolings, starts, train+dev

Table 3 of the ResCNN paper; cells as above; (r): as ANGEL reproduced it. As-published train+dev: trained on both sets
for as many epochs as the development set chose, as the paper does; the clean forms are trained on the training set
alone. Where the development set chose epoch 0 the figures are those of the start.
"""
BACKED = """## Dictionary back-off

An encoder alone, and behind the dictionary's tiers, which answer what they know before the encoder is asked. acc@1 /
acc@5, any id; the tiers of as-published have the corpus's own mentions. At 1 they cost nothing and bring no more than
chance may; at 5 they cost, as they name few concepts beside their answer.
"""
BACK_OFF = {"rescnn": "default-tiers", "aligned": "aligned-tiers"}
"""Encoder alone -> behind the dictionary, names in ``embedding_*.json``."""
BACK_OFF_COLUMNS = ("ncbi-published", "bc5cdr-d-published", "ncbi", "bc5cdr-d")


class Row(NamedTuple):
    """What the cells of a row have in common."""

    encoder: str
    loss: str
    trained: str


Figures = dict[Row, dict[str, list[tuple[float, float]]]]
"""acc@1 and acc@5 of each seed or fold, by row and column."""


def sections(results: Path, papers: dict[str, Any]) -> Iterator[str]:
    """All tables of this module, as far as there are results."""
    figures = tuned(results)
    shown = {name: figures[name] for name in figures if name.encoder in {**BERTS, **RESCNNS}}
    if shown:
        alone = {**BERTS, **{name: RESCNNS[name] for name in ("fresh-attention", "attention", "attention-averaged")}}
        yield SAPBERT
        yield from _table(results, shown, alone, _printed(papers, "SapBERT"), ("train",))
        yield ADDED
        yield from added(results, shown)
        yield RESCNN
        yield from _table(results, shown, RESCNNS, _printed(papers, "ResCNN"), ("train", "train+dev"))
        yield from trainings(results)
    yield from backed(results)


def tuned(results: Path) -> Figures:
    """What fine-tuning made of each encoder, and what it started from; AskAPatient only where all folds are there."""
    found: Figures = defaultdict(lambda: defaultdict(list))
    for plan in PLANS:
        path = results / f"fine_tune_{plan}.json"
        runs = json.loads(path.read_text(encoding="utf-8"))["metrics"]["runs"] if path.exists() else []
        for run in runs:
            how = run["run"]
            if "test" not in run or how["loss"] not in LOSSES or how.get("learns", "dev") != "dev":
                continue
            encoder = how["base"] + ("-averaged" if plan in AVERAGED and how["base"] == "attention" else "")
            column = "askapatient" if how["task"].startswith("aap-") else how["task"]
            several = {"train": run["test"]["dense"], "train+dev": run.get("traindev", {}).get("dense")}
            for trained, figure in several.items():
                if figure:
                    found[Row(encoder, how["loss"], trained)][column].append((figure["@1"], figure["@5"]))
            if start := run.get("before"):
                found[Row(encoder, "", "")][column].append((start["@1"], start["@5"]))
    return {
        row: {c: v for c, v in cells.items() if c != "askapatient" or len(v) >= FOLDS} for row, cells in found.items()
    }


def _printed(papers: dict[str, Any], system: str) -> list[list[str]]:
    """The papers' rows, with as-published figures alone."""
    rows = []
    for paper in papers.get("as-published", ()):
        if paper["system"].startswith(system):
            figures = [paper.get(_corpus(c)[0], ()) if _corpus(c)[1] == "as-published" else () for c in COLUMNS]
            rows.append([paper["system"], "", "", *(" / ".join(f"{f:.1f}" for f in each) for each in figures)])
    return rows


def _corpus(column: str) -> tuple[str, str]:
    """Corpus and protocol of a column."""
    clean = column != "askapatient" and not column.endswith("-published")
    return column.removesuffix("-published"), "clean-kb" if clean else "as-published"


def evaluated(results: Path, name: str, column: str) -> dict[str, Any] | None:
    """The result of ``embedding.py`` for a column."""
    path = results / "embedding_{}_{}_{}.json".format(name, *_corpus(column))
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def _table(
    results: Path, figures: Figures, encoders: dict[str, str], printed: list[list[str]], sets: Sequence[str]
) -> Iterator[str]:
    head = ["encoder", "loss", "trained on", *COLUMNS.values()]
    rows = [*printed]
    for encoder, title in encoders.items():
        for loss, trained in [("", ""), *((loss, trained) for loss in LOSSES for trained in sets)]:
            cells = [_cell(results, figures, Row(encoder, loss, trained), column) for column in COLUMNS]
            if any(cells):
                rows.append([f"**{title}**", LOSSES.get(loss, "not fine-tuned"), trained, *cells])
    yield from table(head, rows)
    yield ""


def _cell(results: Path, figures: Figures, row: Row, column: str) -> str:
    if not row.loss and row.encoder in EVALUATED:
        result = evaluated(results, EVALUATED[row.encoder], column)
        if result:
            return cell(own(result)[0])
    found = figures.get(row, {}).get(column)
    if not found:
        return ""
    first, fifth = (statistics.mean(figure[i] for figure in found) for i in (0, 1))
    shown = f"{first:.1f} / {fifth:.1f}"
    several = {figure[0] for figure in found} if not row.loss else found
    if len(several) > 1:
        shown += f" ± {statistics.stdev(figure[0] for figure in found):.1f}"
    return f"{shown} ({len(found)})" if row.loss else f"{shown} *"


def added(results: Path, figures: Figures) -> Iterator[str]:
    """The differences that self-alignment makes."""
    rows = []
    for before, after, loss in PAIRS:
        cells = [_added(results, figures, before, after, loss, column) for column in COLUMNS]
        if any(cells):
            rows.append([{**BERTS, **RESCNNS}[after], LOSSES.get(loss, loss), *cells])
    yield from table(["encoder", "loss", *COLUMNS.values()], rows)
    yield ""


def _added(results: Path, figures: Figures, before: str, after: str, loss: str, column: str) -> str:
    if loss not in LOSSES and {before, after} <= {*EVALUATED}:
        return _compared(*(evaluated(results, EVALUATED[encoder], column) for encoder in (before, after)))
    rows = [Row(e, loss, "train") if loss in LOSSES else Row(e, "", "") for e in (after, before)]
    found = [figures.get(row, {}).get(column, []) for row in rows]
    if not all(found):
        return ""
    after_mean, before_mean = (statistics.mean(figure[0] for figure in several) for several in found)
    counts = f" ({len(found[0])}, {len(found[1])})" if loss in LOSSES else " *"
    return f"{after_mean - before_mean:+.1f}{counts}"


def _compared(before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    """The difference of two results, with the paired test where ``after`` holds one."""
    if not before or not after:
        return ""
    for pair in after["metrics"].get("comparisons", ()):
        if pair["b"] == own(before)[0]["name"]:
            return f"{100 * pair['difference']:+.1f} (p {pair['p_mcnemar']:.2g})"
    return f"{100 * (own(after)[0]['primary']['value'] - own(before)[0]['primary']['value']):+.1f}"


def trainings(results: Path) -> Iterator[str]:
    """What ran, and what of it is missing."""
    rows = []
    for plan in ("grid", *PLANS):
        path = results / f"fine_tune_{plan}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            trained, gone = found["trained"], found.get("missing") or {}
            missing = f"{len(gone['runs'])}, {gone['why']}: {_shortened(gone['runs'])}" if gone else ""
            seeds = sorted({str(run["run"].get("seed", 0)) for run in found["metrics"]["runs"]})
            count = str(len(found["metrics"]["runs"]))
            rows.append([plan, count, ", ".join(seeds), missing, f"`{trained['command']}`", trained["commit"],
                         trained["device"]])  # fmt: skip
    aligned = results / "align_mpnet.json"
    if aligned.exists():
        found = json.loads(aligned.read_text(encoding="utf-8"))
        trained = found["trained"]
        rows.append(["MPNet's self-alignment", "1", str(found["seed"]), "", f"`{trained['command']}`",
                     trained["commit"], trained["device"]])  # fmt: skip
    yield "### What was trained\n"
    yield "Plans: `fine_tune_<plan>.json`. Empty cells of the tables are what is missing here, or was not planned.\n"
    yield from table(["plan", "runs", "seeds", "missing", "command", "commit", "hardware"], rows)
    yield ""


def _shortened(runs: Sequence[str]) -> str:
    """Names of runs without rates and seeds, each once; the folds of AskAPatient as one."""
    counted: dict[str, int] = defaultdict(int)
    for run in runs:
        counted[re.sub(r"^aap-\d+", "askapatient", run.partition("-lr")[0])] += 1
    return ", ".join(f"{count} of {name}" if count > 1 else name for name, count in counted.items())


def backed(results: Path) -> Iterator[str]:
    """Encoders alone and behind the dictionary."""
    rows = []
    for name in (name for pair in BACK_OFF.items() for name in pair):
        found = [evaluated(results, name, column) for column in BACK_OFF_COLUMNS]
        title = next((own(result)[0]["name"] for result in found if result), "")
        rows.append([f"**{title}**", *(cell(own(result)[0]) if result else "" for result in found)])
    if any(any(row[1:]) for row in rows):
        yield BACKED
        yield from table(["system", *(COLUMNS[column] for column in BACK_OFF_COLUMNS)], rows)
        yield ""
