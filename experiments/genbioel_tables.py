"""GenBioEL's tables 1 to 4 and 7 out of ``generative_runs.json`` beside the paper's figures, for ``RESULTS.md``."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import CORPORA, pair, read, table, trainings

HEAD = """## GenBioEL: with and without pre-training

Tables 1, 2, 3 and 7 of the paper: test sets at 1 and 5 names, any id, "as-published-generative". Ours is the small
generator of "Generation" (29.9M parameters; the paper's BART-large has 406M), without a text around the mention, from
the long pre-training, fine-tuned as the development sets chose. NCBI: mentions of that protocol and, as in the
papers, BioSyn's dictionary, which holds the mentions of the sets before; against MEDIC itself, as in that protocol's
own table, the same model has less ("Cascade, test sets"). Mean ± deviation at 1 over seeds, {seeds},
or the {folds} folds of AskAPatient; "not pre-trained": over the first {none} of them. Figures are stored with two
decimals, so that the last digit shown may be one off.

Pre-training, points at 1, of the same seeds and folds: {gains}.

The decoder of ours begins as a copy of three of its encoder's layers, which have never written; the paper's begins as
BART's. Of NCBI fine-tuning shows it 5,134 mentions and nothing else: without pre-training it has three in five right,
and was best at its very last step. Of BC5CDR half of the batches of fine-tuning are names of the dictionary, a
pre-training of its own. AskAPatient's 1,040 names are learnt from 15,000 mentions with two noisy copies of each: there
pre-training is worth next to nothing, where the paper's brings half a point. All are below the paper's, whose model is
fourteen times as large, has seen UMLS and reads the text around.
"""
SHARED = """
{names} are names of two concepts each in AskAPatient's labels.
The tables of this section
and of "ANGEL: ..." read them so; earlier ones ("Generation", "Learning from negatives", cascades) counted them for one,
so that {lost} of {mentions:,} test mentions of the ten folds ({points:.1f} points) could not be right there.
"""
STARTS = """
Table 3: what the generator begins as, zero-shot and fine-tuned. The paper's: test sets at 1, with the text around;
GENRE was pre-trained on the mentions of BLINK. Ours, at 1 and 5: zero-shot on the development mentions, behind "text"
with the text around; fine-tuned on the test set, without a text. With a text the small generator loses a third of all
mentions, and still has more zero-shot than the paper's, though on another set and from another dictionary. ANGEL's
table 4 has less for the same models ("ANGEL: negative-aware pre-training").
"""
ABLATIONS = """## GenBioEL: prompt, targets, names

Table 4 on development sets at 1 and 5 (of NCBI with the dictionary without mentions), one seed, one change each; five
seeds of NCBI as it is lie between 89.2 and 89.7. As in the paper, all names of a concept are better than one of them,
by three to nine points here. Without a prompt, or with a short or random target, NCBI loses about a point and at five
names up to three, BC5CDR less than one, where in the paper a short or random target costs it six.
"""
ROWS = {"ncbi": "published ", "bc5cdr": "clean ", "askapatient": "clean "}
"""Corpora, and which dictionary's figures are the paper's."""
STARTS_COLUMNS = ("begins as", "BC5CDR, zero-shot", "fine-tuned", "COMETA, zero-shot", "fine-tuned")
COLUMNS = {**CORPORA, "ncbi": "NCBI, BioSyn's dictionary"}
CHANGES = {
    "pre": "as it is: decoder prompt, target by TF-IDF, all names",
    "no-prompt": "no decoder prompt",
    "target-shortest": "target: the shortest synonym",
    "target-random": "target: a random synonym",
    "names-shortest": "names: the shortest of each concept",
    "names-random": "names: a random one of each concept",
}
SYSTEMS = ("GenBioEL, fine-tuned", "GenBioEL, pre-trained and fine-tuned")
FOLDS = range(10)

Runs = dict[str, dict[str, Any]]


def section(results: Path, papers: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """All tables; nothing where the trainings were not recorded."""
    runs: Runs = {name: one["runs"][0] for name, one in trainings(results, "generative_runs").items()}
    if not runs:
        return
    there = {corpus: sum(name in runs for name in numbered("pre", corpus)) for corpus in ROWS}
    seeds = ", ".join(f"{there[corpus]} of {CORPORA[corpus]}" for corpus in ("ncbi", "bc5cdr"))
    none = max(sum(name in runs for name in numbered("none", corpus)) for corpus in ROWS)
    yield HEAD.format(seeds=seeds, folds=there["askapatient"], none=none, gains=_gains(runs))
    yield from table(["system", *(COLUMNS[corpus] for corpus in ROWS)], _main(runs, papers["as-published-generative"]))
    yield from (_shared(result["metrics"]) for result in read(results, "shared_names.json"))
    yield STARTS
    starts: Any = papers["genbioel-starts"]
    yield from table(STARTS_COLUMNS, _starts(results, runs, starts))
    yield f"\n{ABLATIONS}"
    theirs: Any = papers["genbioel-changes"]
    changed = (
        (what, *(_dev(runs, f"{name}-{corpus}") for corpus in ("ncbi", "bc5cdr")), f"{theirs[name]:.1f}")
        for name, what in CHANGES.items()
    )
    head = ["change", CORPORA["ncbi"], CORPORA["bc5cdr"], f"paper, {CORPORA['bc5cdr']}, test"]
    yield from table(head, changed)
    yield ""


def _main(runs: Runs, papers: list[dict[str, Any]]) -> Iterator[list[str]]:
    for name in SYSTEMS:
        one = next(paper for paper in papers if paper["system"] == name)
        yield [name, *(" / ".join(f"{figure:.1f}" for figure in one[corpus]) for corpus in ROWS)]
    yield [
        "ours, fine-tuned, not pre-trained",
        *(_tests(runs, numbered("none", corpus), key) for corpus, key in ROWS.items()),
    ]
    yield [
        "ours, pre-trained, fine-tuned",
        *(_tests(runs, numbered("pre", corpus), key) for corpus, key in ROWS.items()),
    ]


def _shared(found: dict[str, Any]) -> str:
    """What names of two concepts cost."""
    lost, mentions = (sum(found["test"][key]) for key in ("lost", "mentions"))
    names = " and ".join(f'"{name}"' for name in found["names"])
    return SHARED.format(names=names, lost=lost, mentions=mentions, points=100 * lost / mentions).rstrip()


def _starts(results: Path, runs: Runs, theirs: dict[str, list[float]]) -> Iterator[list[str]]:
    """Table 3: the paper's rows, then ours without and with pre-training."""
    for name, figures in theirs.items():
        yield [f"paper, {name}", *(f"{figure:.1f}" for figure in figures)]
    none = numbered("none", "bc5cdr")
    yield ["ours, a decoder copied from the encoder", _before(runs.get(none[0])), _tests(runs, none, "clean "), "", ""]
    texts = trainings(results, "generative_long").get("ft-context-bc5cdr-long", {}).get("runs", [None])[0]
    zero = [_before(runs.get("pre-bc5cdr-0")), *([f"text: {_before(texts)}"] if texts else [])]
    yield ["ours, the long pre-training", "; ".join(zero), _tests(runs, numbered("pre", "bc5cdr"), "clean "), "", ""]


def _before(run: dict[str, Any] | None) -> str:
    """Zero-shot figures, on the development set."""
    return pair(run["before"], "clean ") if run else ""


def numbered(start: str, corpus: str) -> list[str]:
    """The trainings of all seeds or folds, whether they are there or not."""
    return [f"{start}-{'aap' if corpus == 'askapatient' else corpus}-{number}" for number in FOLDS]


def _gains(runs: Runs) -> str:
    """Test figures of the pre-trained ones less those of the same seeds or folds that were not, in the mean."""
    found = []
    for corpus, key in ROWS.items():
        names = zip(numbered("pre", corpus), numbered("none", corpus), strict=True)
        both = [[runs[name]["test"][f"{key}acc@1"] for name in pair] for pair in names if all(n in runs for n in pair)]
        if both:
            gain = statistics.fmean(after - before for after, before in both)
            found.append(f"{gain:+.1f} ({CORPORA[corpus]})")
    return ", ".join(found)


def _tests(runs: Runs, names: list[str], key: str) -> str:
    """Test figures of runs that are there, the mean and its deviation where there are several."""
    tests = [runs[name]["test"] for name in names if name in runs]
    if not tests:
        return ""
    first, fifth = ([test[f"{key}acc@{k}"] for test in tests] for k in (1, 5))
    spread = f" ± {statistics.stdev(first):.1f}" if len(first) > 1 else ""
    return f"{statistics.fmean(first):.1f}{spread} / {statistics.fmean(fifth):.1f}"


def _dev(runs: Runs, name: str) -> str:
    """The development figures of a run; the unchanged one is the first seed's."""
    one = runs.get(name) or runs.get(f"{name}-0")
    return "" if one is None else pair(one["best"], "clean ")
