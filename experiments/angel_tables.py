"""ANGEL's tables out of ``angel_runs.json`` and ``generative_runs.json`` beside the paper's, for ``RESULTS.md``."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from genbioel_tables import numbered
from tables import CORPORA, pair, table, trainings

HEAD = """## ANGEL: own beams as pairs

Tables 1 and E of the paper: test sets at 1 and 5 names, any id, "as-published-generative"; NCBI with BioSyn's
dictionary, as in "GenBioEL: with and without pre-training", from whose generators ours begin. Each was trained for
one epoch more on pairs of its own beams (batches of 16, a rate of 1e-5, beta 0.1); "DPO" is the paper's loss,
"likelihood" adds the target's likelihood with weight 1. The development set chose how long, at best not at all.
Behind the figures: the mean difference to the same models before with its 95% interval (Student's t) over seeds or
folds where there are three or more, and how many of them were trained further. The paper's gains start from GenBioEL
as it was reproduced (r).
"""
PAPER = """The paper draws the same test set again, which makes any difference significant; the intervals here are over
trainings. Its tables differ: on AskAPatient ANGEL's fine-tuning has 89.9 in table 1 and 89.5 in table E, which has the
figures at 5, and there these fall from 95.4 to 94.7 and 95.2. Prompt-BioEL ranks again what another model finds.

Of BC5CDR pairs bring a third of a point or more in each seed, where it was not pre-trained a point: more than the
paper's BART gains (+0.6), whose place the generators that were not pre-trained have. They are a second base in that
alone: encoder and size are the same, so that this does not show independence of the model. On AskAPatient, all of whose
test concepts stand in the training set, nothing is gained from any base. Of NCBI's own generators the likelihood beside
DPO gains half a point in each seed (the first seed, trained once more, {again:+.1f}), and nothing in any
of those that were pre-trained with negatives; DPO alone none, as no step of it was better on the development set.
NCBI's that was not pre-trained, with two fifths of the test set wrong, has the highest mean gain and an interval that
holds zero. At five names the likelihood loses {five:.1f} of a point at most; 0.3 were allowed. Where none was trained
further and a difference stands, nothing lies between but that models are saved in float16.

"Pre-trained with negatives" is the paper's whole recipe ("ANGEL: negative-aware pre-training"), of one seed of BC5CDR
and three folds; where a cell is empty, or has fewer, the training did not end. BioBART is not to be had here. Figures B
and C of the paper need COMETA's and MedMentions' KBs, SNOMED CT and UMLS."""
STAGES = """## ANGEL: negative-aware pre-training

Tables 4 and C at 1 and 5, from the long pre-training: targets that are the most similar synonym ("positive",
{positive:,} batches of 1,536), then names with the most similar name of another concept as what is rejected
("negative", {negative:,} pairs, four names in ten). The paper's figures are of test sets, with a text but on
AskAPatient; ours zero-shot of development sets, NCBI with the dictionary without mentions, of BC5CDR 2,000 mentions,
AskAPatient's fold 0; behind "text": with the text around. Ours fine-tuned: test sets, mentions alone, NCBI with
BioSyn's dictionary, over the seeds and folds of "ANGEL: own beams as pairs". "Not pre-trained" is BART's place.

Negatives of names make this small model worse zero-shot: than after "positive" by six points on NCBI and two and a half
on BC5CDR, than after the long pre-training by one and a half on AskAPatient (fold 0; "positive" was not measured
there), and most with a text around, which it reads best after "positive". A fifth as many ("shorter", an earlier run)
do less harm: it is not that there were too few. Fine-tuning levels it: on the same seeds and folds {levels} to the long
pre-training. Which way the loss goes is told in "What pairs of its own beams do to a small generator": it lowers
rejected names and hardly raises others, and here it does so for names of terminologies, whether a mention ever asks for
them or not. The paper's +10.9 on AskAPatient is of a model with fourteen times the parameters that starts at 50.6,
where ours starts at 61.1. Its +16.6 on BC5CDR is with a text, and starts from a figure far below these.
"""
REMEDIES = """## ANGEL: remedies, pairs, losses, rates

Development sets at 1 (NCBI with the dictionary without mentions), one epoch from the same fine-tuned models: mean
difference to before at the step that the development set likes best, of six with that before, which makes it 0 at least
/ at the end, and over how many seeds or folds, with the 95% interval of the difference at the end where there are three
or more; two trainings of a seed count as their mean. Table 2 and the slower rates of BC5CDR begin as a second training
of its seed, 0.1 below the one of the others. Cross-fitting trains the models of its folds the way of NCBI, on
AskAPatient too. Remedies: see "Learning from negatives". "paper": test sets of NCBI, BC5CDR and AskAPatient, of losses
the mean over its five corpora (DPO: 86.2, GenBioEL: 85.0). Table 2: negatives by TF-IDF instead of own beams, all pairs
instead of those that the model has the wrong way round, 10 beams instead of 5. Table D: other losses. Slower: a tenth
of the rate. Control: the fine-tuning goes on for an epoch at the rate and in the batches of the pairs, on a CPU in
float32.

At the end of an epoch the paper's setting is below its start on all three. What it gains on BC5CDR it gains by
stopping; with the likelihood beside it, or by CPO or SimPO, less is lost by the end, or nothing. Of the remedies the
likelihood alone gains something on both. On AskAPatient "synonym" is the
paper's setting itself, as a beam is right for all mentions that give pairs, and "unseen" leaves some 250 pairs, 16
steps: neither says anything there. The NCBI generators that were not pre-trained, which have a third of the development
mentions wrong, gain five points of that set by the paper's loss and half that with the likelihood beside it, on the
test set less ("ANGEL: own beams as pairs"); the likelihood alone half a point, in one training at a tenth of
fine-tuning's rate.
"""
TARGETS = """## ANGEL: targets of fine-tuning

Table 3 and figure A on development sets at 1 and 5 (NCBI with the dictionary without mentions), one seed: a mention's
target is the synonym most similar by character 3-grams (TF-IDF) or by self-aligned MiniLM, or one of the 3 or 5 most
similar, drawn in each epoch. "paper": test sets of NCBI and BC5CDR, its encoder is SapBERT; of figure A it says that
3 are best. Nearly all of AskAPatient's concepts have one name and none has five: its 3 and 5 are one training, and the
rest of its column is chance. BioBERT-NLI was not tried here.
"""
WAYS = {
    "paper": "own beams, DPO (the paper's)",
    "first paper": "the same, of the seeds and folds that the remedies have",
    "likelihood": "remedy: and the target's likelihood",
    "synonym": "remedy: the most similar synonym where no beam is right",
    "own": "remedy: and the mention's own name counts as no answer",
    "unseen": "remedy: and no training mention may be written",
    "crossfit-likelihood": "remedy: and models that have not seen the mention, likelihood",
    "more": "control: no pairs, the likelihood of all targets alone",
    "tfidf": "table 2: negatives by TF-IDF",
    "all": "table 2: all pairs",
    "top-10": "table 2: 10 beams",
    "pairwise": "table D: pairwise (no reference)",
    "cpo": "table D: CPO",
    "simpo": "table D: SimPO",
    "slow paper": "slower: DPO, rate 1e-6",
    "slow likelihood": "slower: likelihood, rate 1e-6",
    "none paper": "not pre-trained: own beams, DPO",
    "none likelihood": "not pre-trained: and the target's likelihood",
    "none more": "not pre-trained: control, no pairs, the likelihood of all targets alone",
}
TARGET_ROWS = {"pre": "TF-IDF, the first", "target-encoder": "encoder, the first",
               "target-nli": "BioBERT-NLI, the first",
               "top-3": "3 most similar", "top-5": "5 most similar"}  # fmt: skip
SYSTEMS = ("KRISSBERT", "KRISSBERT (r)", "Prompt-BioEL (r)", "GenBioEL, pre-trained and fine-tuned (r)",
           "ANGEL on GenBioEL, fine-tuned", "ANGEL on GenBioEL, pre-trained and fine-tuned",
           "BioBART, fine-tuned (r)", "ANGEL on BioBART, fine-tuned")  # fmt: skip
NOT_PRE_TRAINED_THERE = ("BART, fine-tuned (r)", "ANGEL on BART, fine-tuned")
"""The paper's rows beside ours that were not pre-trained."""
VARIANTS = {"paper": "DPO", "likelihood": "DPO and likelihood"}
COLUMNS = {"ncbi": "ncbi", "bc5cdr": "bc5cdr", "askapatient": "aap"}
FORMS = {"ncbi": "published ", "bc5cdr": "clean ", "askapatient": "clean "}
NCBI = "NCBI, BioSyn's dictionary"
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5% quantiles of Student's t with 1, 2, ... degrees of freedom."""

Runs = list[dict[str, Any]]


def section(results: Path, papers: dict[str, Any]) -> Iterator[str]:
    """All tables; nothing where the trainings were not recorded."""
    angel, tuned = trainings(results, "angel_runs"), trainings(results, "generative_runs")
    if not angel or not tuned:
        return
    yield HEAD
    head = ["system", NCBI, *(CORPORA[c] for c in list(COLUMNS)[1:])]
    yield from table(head, _main(angel, tuned, papers["as-published-generative"]))
    yield f"\n{PAPER.format(again=_again(angel, tuned), five=_five(angel, tuned))}\n"
    yield from _stages(angel, tuned, papers["angel-stages"])
    yield REMEDIES
    columns = [*(CORPORA[c] for c in COLUMNS), "paper"]
    yield from table(["pairs, loss", *columns], _ways(angel, tuned, papers["angel-ways"]))
    yield f"\n{TARGETS}"
    yield from table(["target", *columns], _targets(tuned, papers["angel-targets"]))
    yield ""


def _main(angel: dict[str, Any], tuned: dict[str, Any], papers: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield from _printed(papers, SYSTEMS)
    yield from _of(angel, tuned, "pre", "ours, pre-trained")
    yield from _of(angel, angel, "pt", "ours, pre-trained with negatives")
    yield from _printed(papers, NOT_PRE_TRAINED_THERE)
    yield from _of(angel, tuned, "none", "ours, not pre-trained")


def _of(angel: dict[str, Any], tuned: dict[str, Any], start: str, what: str) -> Iterator[list[str]]:
    """Models that began alike, before and after."""
    yield [f"{what}, fine-tuned", *(_level(_before(tuned, corpus, start), corpus) for corpus in COLUMNS)]
    for variant, name in VARIANTS.items():
        gains = (_gain(_tests(angel, tuned, corpus, variant, start), corpus) for corpus in COLUMNS)
        yield [f"{what}, fine-tuned, own beams: {name}", *gains]


def _printed(papers: list[dict[str, Any]], systems: Sequence[str]) -> Iterator[list[str]]:
    """The papers' rows."""
    for name in systems:
        one = next(paper for paper in papers if paper["system"] == name)
        yield [name, *(_said(one.get(corpus, ())) for corpus in COLUMNS)]


def before_level(tuned: dict[str, Any], corpus: str) -> str:
    """Figures on the test set of the models before, for a corpus of ``COLUMNS``."""
    return _level(_before(tuned, corpus), corpus)


def after_level(angel: dict[str, Any], tuned: dict[str, Any], corpus: str, variant: str) -> str:
    """Those of the models after, and how far they are from before."""
    return _gain(_tests(angel, tuned, corpus, variant), corpus)


def _before(tuned: dict[str, Any], corpus: str, start: str = "pre") -> Runs:
    """Fine-tuned models of all seeds or folds: pre-trained, not ("none"), behind negatives of names ("pt")."""
    return [tuned[name]["runs"][0] for name in numbered(start, corpus) if name in tuned]


def _tests(
    angel: dict[str, Any], tuned: dict[str, Any], corpus: str, variant: str, start: str = "pre"
) -> list[tuple[Any, Any]]:
    """Runs after, each with the one before."""
    kind = "angel" if start == "pre" else f"angel-{start}"
    names = zip(numbered(start, corpus), numbered(kind, corpus), strict=True)
    return [pair for before, after in names for pair in _after(angel, tuned, before, after, variant)]


def _after(
    angel: dict[str, Any], tuned: dict[str, Any], before: str, after: str, variant: str
) -> Iterator[tuple[Any, Any]]:
    """Runs of a variant, each with the one that it goes on from."""
    for run in angel.get(after, {}).get("runs", []):
        if run["variant"] == variant:
            yield run, tuned[before]["runs"][0]


def _level(runs: Runs, corpus: str) -> str:
    first, fifth = ([run["test"][f"{FORMS[corpus]}acc@{k}"] for run in runs] for k in (1, 5))
    spread = f" ± {statistics.stdev(first):.1f}" if len(first) > 1 else ""
    return f"{statistics.fmean(first):.1f}{spread} / {statistics.fmean(fifth):.1f}" if first else ""


def _gain(pairs: list[tuple[Any, Any]], corpus: str) -> str:
    if not pairs:
        return ""
    key = f"{FORMS[corpus]}acc@1"
    gained = [run["test"][key] - before["test"][key] for run, before in pairs]
    further = sum(run["best"]["step"] > 0 for run, _ in pairs)
    return f"{_level([run for run, _ in pairs], corpus)} ({_difference(gained, 3)}; {further} of {len(pairs)})"


def _difference(gained: Sequence[float], least: int) -> str:
    """A mean with its sign, and its interval from ``least`` values on."""
    mean = statistics.fmean(gained)
    if len(gained) < least:
        return f"{mean:+.1f}"
    half = STUDENT[len(gained) - 2] * statistics.stdev(gained) / len(gained) ** 0.5
    return f"{mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}]"


def _stages(angel: dict[str, Any], tuned: dict[str, Any], theirs: dict[str, list[float]]) -> Iterator[str]:
    positive, negative = angel.get("positive"), angel.get("negative")
    if not positive or not negative:
        return
    after = {corpus: _before(angel, corpus, "pt") for corpus in COLUMNS}
    yield STAGES.format(positive=positive["steps"], negative=negative["steps"] * 256, levels=_levels(angel, tuned))
    rows = [[f"paper, {name}", *(f"{figure:.1f}" for figure in figures)] for name, figures in theirs.items()]
    none = {corpus: _before(tuned, corpus, "none") for corpus in COLUMNS}
    shorter = ((what, angel.get(f"{what}-short")) for what in ("positive", "negative"))
    rows += [
        ["ours, not pre-trained", *map(_zero, none.values()), *(_level(runs, corpus) for corpus, runs in none.items())],
        ["ours, long pre-training", *_texts(positive["before"]), _zero(_before(tuned, "askapatient")),
         *(before_level(tuned, corpus) for corpus in COLUMNS)],
        ["ours, positive", *_texts(negative["before"]), "", "", "", ""],
        ["ours, negative", *_texts(negative["after"]), _zero(after["askapatient"]),
         *(_level(runs, corpus) for corpus, runs in after.items())],
        *(["ours, " + what + ", shorter", *_texts(one["after"]), "", "", "", ""] for what, one in shorter if one),
    ]  # fmt: skip
    yield from table(["after", *(f"{CORPORA[c]}, {how}" for how in ("zero-shot", "fine-tuned") for c in COLUMNS)], rows)
    yield ""


def _again(angel: dict[str, Any], tuned: dict[str, Any]) -> float:
    """What the likelihood brought NCBI's first seed when its pairs were trained on once more."""
    runs = _after(angel, tuned, "pre-ncbi-0-again", "angel-ncbi-0-again", "likelihood")
    return next((run["test"]["published acc@1"] - before["test"]["published acc@1"] for run, before in runs), 0.0)


def _five(angel: dict[str, Any], tuned: dict[str, Any]) -> float:
    """How much of accuracy at five names the likelihood loses at most, in the mean of a corpus and base."""
    lost = [0.0]
    for corpus, start in product(COLUMNS, ("pre", "none")):
        key = f"{FORMS[corpus]}acc@5"
        pairs = _tests(angel, tuned, corpus, "likelihood", start)
        lost += [statistics.fmean(before["test"][key] - run["test"][key] for run, before in pairs)] if pairs else []
    return max(lost)


def _levels(angel: dict[str, Any], tuned: dict[str, Any]) -> str:
    """How far fine-tuned models behind negatives are from those of the same seeds and folds without, in the mean."""
    found = []
    for corpus, key in FORMS.items():
        names = zip(numbered("pt", corpus), numbered("pre", corpus), strict=True)
        both = [(angel[a]["runs"][0], tuned[b]["runs"][0]) for a, b in names if a in angel and b in tuned]
        gained = [after["test"][f"{key}acc@1"] - before["test"][f"{key}acc@1"] for after, before in both]
        found += [f"{statistics.fmean(gained):+.1f} ({CORPORA[corpus]}, {len(gained)})"] if gained else []
    return ", ".join(found)


def _zero(runs: Runs) -> str:
    """Zero-shot figures of the first seed or fold, of the dictionary without mentions."""
    return pair(runs[0]["before"], "clean ") if runs else ""


def _texts(figures: dict[str, Any]) -> list[str]:
    """Of both corpora that have texts."""
    return [_both(figures, corpus) for corpus in ("ncbi", "bc5cdr")]


def _both(figures: dict[str, Any], corpus: str) -> str:
    """Without and with the text around."""
    return f"{pair(figures, f'{corpus} ')}; text: {pair(figures, f'{corpus}+context ')}"


def _ways(angel: dict[str, Any], tuned: dict[str, Any], theirs: dict[str, list[float]]) -> Iterator[list[str]]:
    """A row a way, what it changes on each development set, and the paper's figures."""
    for way, what in WAYS.items():
        found = {corpus: _changes(angel, corpus, way) or _more(tuned, corpus, way) for corpus in COLUMNS.values()}
        if any(found.values()):
            yield [what, *(_change(found[corpus]) for corpus in COLUMNS.values()), _said(theirs.get(way, ()))]


def _more(tuned: dict[str, Any], corpus: str, way: str) -> list[tuple[float, float]]:
    """As ``_changes``, of a fine-tuning that goes on without pairs."""
    kind, _, variant = way.rpartition(" ")
    name = "-".join(filter(None, ("more", kind, corpus, "0" if corpus == "aap" else "")))
    return [_change_of(run) for run in tuned[name]["runs"]] if variant == "more" and name in tuned else []


def _change_of(run: dict[str, Any]) -> tuple[float, float]:
    before, best, last = (run[at]["clean acc@1"] for at in ("before", "best", "last"))
    return best - before, last - before


def _changes(angel: dict[str, Any], corpus: str, way: str) -> list[tuple[float, float]]:
    """Of each seed or fold how far the best and the last figure are from that before."""
    kind, _, variant = way.rpartition(" ")
    start, slow = "none" if kind == "none" else "pre", kind == "slow"
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, one in angel.items():
        base = str(one.get("model", ""))
        if name.startswith("slow-") == slow and one["stage"] == "corpus" and base.startswith(f"{start}-{corpus}-"):
            found[base] += [_change_of(run) for run in one["runs"] if run["variant"] == variant]
    if kind == "first":
        found = {base: changes for base, changes in found.items() if _remedied(angel, base)}
    return [tuple(map(statistics.fmean, zip(*changes, strict=True))) for changes in found.values() if changes]


def _remedied(angel: dict[str, Any], base: str) -> bool:
    """Whether remedies were tried on a model."""
    return any(name.startswith("remedies-") and one.get("model") == base for name, one in angel.items())


def _change(found: list[tuple[float, float]]) -> str:
    if not found:
        return ""
    best, last = zip(*found, strict=True)
    return f"{statistics.fmean(best):+.1f} / {_difference(last, 3)} ({len(found)})"


def _said(figures: Sequence[float]) -> str:
    """Figures of the paper."""
    return " / ".join(f"{figure:.1f}" for figure in figures)


def _targets(tuned: dict[str, Any], theirs: dict[str, list[float]]) -> Iterator[list[str]]:
    for start, what in TARGET_ROWS.items():
        cells = []
        for corpus in COLUMNS.values():
            name = f"{start}-{corpus}" + ("-0" if start == "pre" or corpus == "aap" else "")
            cells.append(pair(tuned[name]["runs"][0]["best"], "clean ") if name in tuned else "")
        yield [what, *cells, _said(theirs.get(start, ()))]
