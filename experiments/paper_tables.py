"""The tables of the SapBERT and ResCNN papers out of our results: bases with and without self-alignment, poolings."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import labels
from labels import BERTS, ENCODERS, RESCNNS, at_start
from tables import cell, own, table

EVALUATED = {"raw": "raw", "aligned": "aligned", "mini": "mini", "attention": "rescnn"}
"""Encoder -> its name in ``embedding_*.json``."""
PLANS = ("final", "published", "seeds", "mpnet", "probe")
LOSSES = {"marginal": labels.LOSSES["marginal"], "biosyn": f"{labels.LOSSES['biosyn']}, dense score alone"}
FOLDS_TASK, FOLDS_COLUMN = "aap-", "askapatient-labels"
COLUMNS = {
    "ncbi-published": "NCBI", "bc5cdr-d-published": "BC5CDR-d",
    **{f"{corpus}-published": title for corpus, title in labels.CHEMICALS.items()},
    "askapatient": "AskAPatient, 1,036 ids", FOLDS_COLUMN: "AskAPatient, 1,042 labels",
    "ncbi": "NCBI, clean-kb", "bc5cdr-d": "BC5CDR-d, clean-kb", "bc5cdr-c": "BC5CDR-c, clean-kb",
}  # fmt: skip
FOLDS = 10
ALIGNED = (
    ("raw", "aligned", ""),
    ("raw", "aligned", "marginal"),
    ("mpnet", "mpnet-aligned", ""),
    ("mpnet", "mpnet-aligned", "marginal"),
    ("mpnet", "mpnet-aligned", "biosyn"),
)
"""Without and with self-alignment, and what both were fine-tuned by."""
DISTILLED = (
    ("raw", "mini", ""),
    ("raw", "mini", "marginal"),
    ("raw", "mini", "biosyn"),
    ("fresh-attention", "attention", "marginal"),
    ("fresh-attention", "attention-averaged", "marginal"),
    ("fresh-max", "max", "marginal"),
)
"""Without and with distillation; ResCNNs fine-tuned only, as a random network links next to nothing by itself."""
SAPBERT = """## SapBERT: every base, with and without self-alignment

Tables 1 and 2 of the SapBERT paper. acc@1 / acc@5 on the test sets, any id, of encoders alone. As-published: k counts
names; clean-kb: concepts. Not fine-tuned: with the interval over documents, from `embedding_*.json`; with an asterisk
what fine-tuning started from (on clean-kb with its prefix before mentions). Fine-tuned: mean ± deviation of acc@1
(number of seeds; of AskAPatient folds); "=": the development set chose epoch 0, so that the figure is that of the
weights not trained, "=1/3": of one seed of three. The loss "share of the nearest" has on clean-kb a prefix before
mentions and the names once more as mentions, BioSyn's has neither; of BioSyn's score the dense part stands here, the
whole in "Fine-tuned: encoders, losses, train+dev". AskAPatient: fine-tuning, with its start, takes all 1,042 labels for
names, `embedding_*.json` one for each of the 1,036 ids, which is harder; the papers do not say, their figures stand
under ids. BC5CDR-c: the CTD dictionary of the papers is not to be had; MeSH holds 99.5% of the test ids, but not the
same names. "Self-aligned (plain)" has seen synonyms and no teacher: of MiniLM the mean of the weights of two
self-alignments, (a) and (b) of "Closing the gap on clean-kb". ResCNN fresh: random weights over the embeddings of
MiniLM. MPNet: all-mpnet-base-v2, 109M parameters.

Seeds: (1) is one seed, as 22 runs of plan `seeds`, further seeds among them, were cut off by the time on the GPU ("What
was trained"); a cell with one seed can be a point off. MPNet on NCBI, clean-kb, is empty, as both runs were out of GPU
memory; on BC5CDR-c and AskAPatient it was not planned.
"""
ADDED = """### What self-alignment adds

Points of acc@1; p: McNemar's, where single answers were compared (intervals: paired tests, above); in brackets how many
seeds there are with and without; "*": from what fine-tuning started from, not tested; "=": one side is not trained, as
the development set chose epoch 0. One seed against one is no proof: seeds of one recipe deviate by up to a point.

Before fine-tuning MiniLM gains by plain self-alignment on clean-kb, 2.7 points on NCBI and 1.8 on BC5CDR-d, more than
chance explains, and 4.9 on AskAPatient, which was not tested; with the published dictionaries of NCBI and BC5CDR-d the
difference may be chance. It is above `sapbert-mini` and the default on clean-kb and on AskAPatient, below the default
on NCBI as published. The development sets, which chose those two, say the opposite of NCBI (84.2 before, 82.2 after;
two points are 16 mentions there) and the same of BC5CDR-d (81.3, 82.3). After fine-tuning little of any difference is
left.
"""
DISTILLATION = """### What distillation adds

As above. `sapbert-mini` was taught by MiniLM and its self-aligned self, so that its gain is not self-alignment's alone;
the ResCNNs are compared with the same networks at random weights, fine-tuned by the same recipe.
"""
BASES = """### Each base before and after self-alignment (SapBERT paper, table 1)

acc@1 before → after, not fine-tuned, as-published. The gain of ours is small because there is less to gain: MiniLM and
MPNet were trained on sentence pairs, so that their vectors tell meanings apart before any alignment (90 on NCBI), while
the paper's bases are language models whose vectors were never trained for that (68 to 78). What is reached on NCBI
and BC5CDR-d is about the same.
"""
RESCNN = """## ResCNN: poolings, starts, train+dev

Table 3 of the ResCNN paper; cells as above; (r): as ANGEL reproduced it, with its own preparation of AskAPatient.
As-published train+dev: trained on both sets for as many epochs as the development set chose, as the paper does; the
clean forms are trained on the training set alone. Where that was epoch 0 ("="), train+dev trains nothing either.
"""
DEVELOPMENT = """### Development sets (ResCNN paper, table 5)

acc@1, as-published, of the epoch that is best there, and so a maximum over epochs and averages of their weights; the
dictionary holds the mentions of the training set. "=": epoch 0, not trained.
"""
BACKED = """## Dictionary back-off: tiers and narrowing words

An encoder alone, and behind the tiers of the default: the dictionary, which answers what it knows before the encoder is
asked; of what the encoder is asked, names with a narrowing word that the mention lacks, and names of the opposite, are
put lower, so that not all of the difference is the dictionary's. acc@1 / acc@5, any id; the dictionary of as-published
has the corpus's own mentions. Differences at 1 are tested
in "Paired tests": only that of sapbert-mini on BC5CDR-d, clean-kb, is more than chance may bring. At 5 tiers cost, as
they name few concepts beside their answer.
"""
BACK_OFF = {"rescnn": "default-tiers", "mini": "mini-tiers"}
"""Encoder alone -> behind the dictionary, names in ``embedding_*.json``."""
BACK_OFF_COLUMNS = ("ncbi-published", "bc5cdr-d-published", "ncbi", "bc5cdr-d")


class Row(NamedTuple):
    """What the cells of a row have in common."""

    encoder: str
    loss: str
    trained: str


class Figure(NamedTuple):
    """acc@1 and acc@5 of a seed or a fold; whether the development set chose the weights not trained; acc@1 there."""

    first: float
    fifth: float
    at_start: bool = False
    dev: float = 0.0


Figures = dict[Row, dict[str, list[Figure]]]
"""Of each seed or fold, by row and column."""


def sections(results: Path, papers: dict[str, Any]) -> Iterator[str]:
    """All tables of this module, as far as there are results."""
    figures = tuned(results)
    shown = {row: figures[row] for row in figures if row.encoder in ENCODERS}
    if shown:
        alone = {**BERTS, **{name: RESCNNS[name] for name in ("fresh-attention", "attention", "attention-averaged")}}
        yield SAPBERT
        yield from _table(results, shown, alone, _printed(papers, "SapBERT"), ("train",))
        yield ADDED
        yield from added(results, shown, ALIGNED)
        yield DISTILLATION
        yield from added(results, shown, DISTILLED)
        yield from bases(results, shown, papers)
        yield RESCNN
        yield from _table(results, shown, RESCNNS, _printed(papers, "ResCNN"), ("train", "train+dev"))
        yield from development(shown, papers)
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
            encoder = labels.encoder(how["base"], plan)
            column = FOLDS_COLUMN if how["task"].startswith(FOLDS_TASK) else how["task"]
            for trained, figure in _tested(run):
                found[Row(encoder, how["loss"], trained)][column].append(figure)
            if start := run.get("before"):
                found[Row(encoder, "", "")][column].append(Figure(start["@1"], start["@5"]))
    return {
        row: {c: v for c, v in cells.items() if c != FOLDS_COLUMN or len(v) >= FOLDS} for row, cells in found.items()
    }


def _tested(run: dict[str, Any]) -> Iterator[tuple[str, Figure]]:
    test, best, both = run["test"]["dense"], run["best"]["dense"], run.get("traindev")
    yield "train", Figure(test["@1"], test["@5"], best["epoch"] == 0, best["@1"])
    if both:
        yield "train+dev", Figure(both["dense"]["@1"], both["dense"]["@5"], both["epochs"] == 0)


def _printed(papers: dict[str, Any], system: str) -> list[list[str]]:
    """The papers' rows, with as-published figures alone, and AskAPatient's as ANGEL reproduced them."""
    rows = []
    for protocol in ("as-published", "as-published-generative"):
        wanted = (
            [c for c in COLUMNS if _corpus(c)[1] == "as-published"] if protocol == "as-published" else ["askapatient"]
        )
        for paper in (p for p in papers.get(protocol, ()) if p["system"].startswith(system)):
            figures = [paper.get(_corpus(c)[0], ()) if c in wanted else () for c in COLUMNS]
            if any(figures):
                rows.append([paper["system"], "", "", *(" / ".join(f"{f:.1f}" for f in each) for each in figures)])
    return rows


def _corpus(column: str) -> tuple[str, str]:
    """Corpus and protocol of a column."""
    clean = not column.startswith("askapatient") and not column.endswith("-published")
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
    several = {figure.first for figure in found} if not row.loss else found
    if len(several) > 1:
        shown += f" ± {statistics.stdev(figure.first for figure in found):.1f}"
    return f"{shown} ({len(found)}){_mark(found)}" if row.loss else f"{shown} *"


def _mark(found: Sequence[Figure]) -> str:
    return at_start(sum(figure.at_start for figure in found), len(found))


def added(results: Path, figures: Figures, pairs: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """The differences that something makes."""
    rows = []
    for before, after, loss in pairs:
        cells = [_added(results, figures, before, after, loss, column) for column in COLUMNS]
        if any(cells):
            rows.append([ENCODERS[after], ENCODERS[before], LOSSES.get(loss, "not fine-tuned"), *cells])
    yield from table(["encoder", "against", "loss", *COLUMNS.values()], rows)
    yield ""


def _added(results: Path, figures: Figures, before: str, after: str, loss: str, column: str) -> str:
    if not loss and {before, after} <= {*EVALUATED}:
        return _compared(*(evaluated(results, EVALUATED[encoder], column) for encoder in (before, after)))
    found = [figures.get(Row(e, loss, "train" if loss else ""), {}).get(column, []) for e in (after, before)]
    if not all(found):
        return ""
    after_mean, before_mean = (statistics.mean(figure.first for figure in several) for several in found)
    if not loss:
        return f"{after_mean - before_mean:+.1f} *"
    mark = " =" if any(figure.at_start for several in found for figure in several) else ""
    return f"{after_mean - before_mean:+.1f} ({len(found[0])}, {len(found[1])}){mark}"


def _compared(before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    """The difference of two results, with the paired test where ``after`` holds one."""
    if not before or not after:
        return ""
    for pair in after["metrics"].get("comparisons", ()):
        if pair["b"] == own(before)[0]["name"]:
            return f"{100 * pair['difference']:+.1f} (p {pair['p_mcnemar']:.2g})"
    return f"{100 * (own(after)[0]['primary']['value'] - own(before)[0]['primary']['value']):+.1f}"


def bases(results: Path, figures: Figures, papers: dict[str, Any]) -> Iterator[str]:
    """Bases before and after: the paper's, then ours."""
    columns = ("ncbi-published", "bc5cdr-d-published", "bc5cdr-c-ctd-published", "askapatient")
    rows = []
    for paper in papers.get("bases", ()):
        pairs = [paper[_corpus(column)[0]] for column in columns]
        rows.append([f"SapBERT paper: {paper['base']}", *(_change(old[0], new[0]) for old, new in pairs)])
    for before, after, loss in ALIGNED:
        if not loss:
            each = [[_first(results, figures, encoder, column) for encoder in (before, after)] for column in columns]
            rows.append([f"**{ENCODERS[after]}**", *(_change(*pair) if all(pair) else "" for pair in each)])
    yield BASES
    yield from table(["base", *(COLUMNS[column] for column in columns)], rows)
    yield ""


def _first(results: Path, figures: Figures, encoder: str, column: str) -> float | None:
    result = evaluated(results, EVALUATED[encoder], column) if encoder in EVALUATED else None
    if result:
        return float(100 * own(result)[0]["primary"]["value"])
    found = figures.get(Row(encoder, "", ""), {}).get(column)
    return statistics.mean(figure.first for figure in found) if found else None


def _change(before: float, after: float) -> str:
    return f"{before:.1f} → {after:.1f} ({after - before:+.1f})"


def development(figures: Figures, papers: dict[str, Any]) -> Iterator[str]:
    """What ResCNNs reach on the development sets."""
    columns = [column for column in COLUMNS if column.endswith("-published")]
    rows = []
    for paper in papers.get("development", ()):
        found = [paper.get(_corpus(column)[0]) for column in columns]
        rows.append([paper["system"], "", *(f"{value:.1f}" if value else "" for value in found)])
    for encoder, title in RESCNNS.items():
        for loss in LOSSES:
            each = [figures.get(Row(encoder, loss, "train"), {}).get(column, []) for column in columns]
            cells = [f"{statistics.mean(f.dev for f in e):.1f} ({len(e)}){_mark(e)}" if e else "" for e in each]
            if any(cells):
                rows.append([f"**{title}**", LOSSES[loss], *cells])
    yield DEVELOPMENT
    yield from table(["encoder", "loss", *(COLUMNS[column] for column in columns)], rows)
    yield ""


def backed(results: Path) -> Iterator[str]:
    """Encoders alone and behind the dictionary."""
    rows = []
    for name in (name for pair in BACK_OFF.items() for name in pair):
        found = [evaluated(results, name, column) for column in BACK_OFF_COLUMNS]
        title = next((own(result)[0]["name"] for result in found if result), "")
        if title:
            rows.append([f"**{title}**", *(cell(own(result)[0]) if result else "" for result in found)])
    if rows:
        yield BACKED
        yield from table(["system", *(COLUMNS[column] for column in BACK_OFF_COLUMNS)], rows)
        yield ""
