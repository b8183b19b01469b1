"""What the small generative linker reaches, out of ``generative.json`` and those beside it, for ``RESULTS.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import CORPORA, pair, table

HEAD = """## Generation

A decoder of three layers on self-aligned MiniLM (29.9M parameters), beam search over all names of the dictionary with 5
beams; raw text prepared as by GenBioEL ("as-published-generative"), any id, at 1 and 5 names. NCBI: MEDIC without the
corpora's mentions and, "published", with those of the sets before; BC5CDR: MeSH with open terminologies' names,
diseases and chemicals together; AskAPatient: fold 0. One seed; the development set chose the epoch, the test set was
looked at with the chosen weights. {card}. Two pre-trainings:
"""
FIRST = """- first: {minutes:g} minutes, {examples:.1f}M examples, {speed:,} a second, {bare:.0%} of them a mention with
  no text around it; fine-tuned with batches of 64, a rate of 1e-4, 8 epochs"""
LONG = """- long: {minutes:g} minutes, {examples:.1f}M examples, {speed:,} a second, {bare:.0%} of them without a text,
  {noise:.0%} with noise (a typo, words in another order and so on); fine-tuned as the development sets chose below
"""
AFTER = """Zero-shot, a text around the mention misleads the small model: its pre-training knows no texts but the
templates'. Fine-tuned with texts it is below the one without on every set.

Two trainings of one description and seed need not give one model: of BC5CDR joint two others from the long pre-training
have 90.4 / 93.8 ("GenBioEL: with and without pre-training") and 90.3 / 93.9 on the development set in place of 90.2 /
94.0; the cause was not looked for. NCBI's are alike; AskAPatient's here counts names of two concepts for one (see
there)."""
SEARCH = """## Ways of fine-tuning a generator

From the first pre-training, one seed, without a text; development sets at 1 and 5. "dictionary" and "names": half of
the batches are pre-training text of the corpus's own dictionary, without its mentions, or of all diseases and findings;
"noise": two noisy copies of each mention; "sharp": no label smoothing; "top": the target is one of the three most
similar synonyms. A longer or faster training, or noise, helps AskAPatient (1,040 names) and harms NCBI disease, whose
large dictionary has concepts that training does not show. Lay terms, more layers of the decoder and the metric loss
beside: "GenBioEL: what its errors ask for, tried". A larger encoder (MPNet) was not tried.
"""
STAGES = """## The four stages of ANGEL

On the first pre-training: targets that are the most similar synonym ("positive", {positive} batches of 1,536), then all
names with the most similar name of another concept as what is rejected ("negative", {negative:,} pairs, {speed:,} a
second), fine-tuning on the corpus, then pairs from its own beams, with DPO alone ("paper") and with the target's
likelihood added with weight 1. By `generative.py` and `angel.py`, whose stages are those of `nomina train angel`, one
seed; mentions without a text. Figures at 1 and 5 are of the weights that the development sets chose, which are those
before the pairs where it says so. NCBI with the dictionary without mentions. Negatives of names move AskAPatient up and
NCBI down before fine-tuning, and neither behind it; the paper's move both up, on test sets: AskAPatient from 50.6 to
61.5, NCBI, with its texts, from 58.2 to 64.6 ("ANGEL: negative-aware pre-training").
"""
NEGATIVES = """## Learning from negatives

ANGEL's fine-tuning of the models of the first pre-training on pairs of names, one epoch at a learning rate of {lr}, one
seed, mentions without a text; development sets (of NCBI with the dictionary without mentions) before and after, at 1
and 5. "paper": pairs from the model's own beams, DPO with beta {beta}; likelihood: the target's likelihood added with
weight 1; synonym: where no beam is right, the most similar synonym is. With "synonym" as well: own: the mention's own
name counts as no answer; unseen: names that are training mentions may not be written; crossfit-likelihood: pairs of 5
models that have not seen the mention, the likelihood added; on AskAPatient it was begun, not finished, and has no row.
pairwise: no reference. The weights that the development set chooses are those before wherever "after" is lower.
"""
ERRORS = """## What fine-tuned generators get wrong

{count} errors of development mentions, as many of each corpus, drawn from the distinct ones of models fine-tuned from
the long pre-training (without a text), sorted by kind by a reader; one of each as example. The right concept is among
the 5 names for {near} of them; {seen} of the mentions stand in the training set.

Related concepts and names of other concepts are what annotators and dictionaries decide; where names of nearly the same
words are passed over, the other parts of a cascade offer them ("Cascade"). Noise on the mentions, for other words, is
among the ways of fine-tuning and helps AskAPatient alone. Abbreviations need the text, which a small model reads badly.
"""
NAMES = {**CORPORA, "aap-0": "AskAPatient, fold 0"}
CORPUS_ORDER = ("ncbi", "aap-0", "bc5cdr")

Trained = dict[str, dict[str, Any]]


def section(results: Path) -> Iterator[str]:
    """Zero-shot and fine-tuned figures, then of each further question its own."""
    first, long = (_read(results / f"{name}.json") for name in ("generative", "generative_long"))
    if not first or not long:
        return
    pre = first["metrics"]["pre"], long["metrics"]["pre-long"]
    yield HEAD.format(card=first["trained"]["device"])
    yield FIRST.format(**_pre_training(pre[0]))
    yield LONG.format(**_pre_training(pre[1]))
    head = ["corpus", "set", "context", "first: zero-shot", "fine-tuned", "long: zero-shot", "fine-tuned"]
    found = [_rows(one["metrics"], zero["after"]) for one, zero in zip((first, long), pre, strict=True)]
    empty = ("", "")
    yield from table(head, ([*key, *row, *found[1].get(key, empty)] for key, row in sorted(found[0].items())))
    yield f"\n{AFTER}\n"
    yield from _search(_read(results / "generative_search.json"))
    yield from _stages(_read(results / "generative_stages.json"))
    yield from _errors(_read(results / "generative_errors.json"))
    yield from _negatives([one for one in first["metrics"].values() if one["stage"] == "corpus"])


def _read(path: Path) -> dict[str, Any]:
    """A result, empty where there is none."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _pre_training(of: dict[str, Any]) -> dict[str, Any]:
    return {**of, "examples": of["steps"] * of["batch"] / 1e6, "speed": of["examples_per_s"]}


def _search(result: dict[str, Any]) -> Iterator[str]:
    """A row a way, a column a corpus."""
    if not result:
        return
    yield SEARCH
    ways: dict[str, Trained] = {}
    for name, one in result["metrics"].items():
        ways.setdefault(name.split("-")[1], {})[one["corpus"]] = one
    head = ["way", "batch", "rate", *(f"{NAMES[corpus]} (epochs)" for corpus in CORPUS_ORDER)]
    yield from table(head, (_way(name, tried) for name, tried in ways.items()))
    yield ""


def _way(name: str, tried: Trained) -> list[str]:
    some = next(iter(tried.values()))
    cells = [
        f"{_best(tried[corpus])} ({tried[corpus]['epochs']:g})" if corpus in tried else "" for corpus in CORPUS_ORDER
    ]
    return [name, str(some["batch"]), f"{some['lr']:g}", *cells]


def _best(one: dict[str, Any]) -> str:
    return pair(one["runs"][0]["best"], "clean ")


def _stages(result: dict[str, Any]) -> Iterator[str]:
    """After which stage, a column a corpus; test figures behind the last ones."""
    if not result:
        return
    found: Trained = result["metrics"]
    negative = found["negative"]
    pairs = negative["steps"] * 256
    yield STAGES.format(positive=found["positive"]["steps"], negative=pairs, speed=negative["pairs_per_s"])
    rows = []
    for stage in ("positive", "negative"):
        tuned = {corpus: found[f"ft-{stage}-{corpus}"]["runs"][0] for corpus in ("ncbi", "aap-0")}
        rows.append([f"{stage}, zero-shot", *(pair(run["before"], "clean ") for run in tuned.values()), "", ""])
        tests = (pair(run["test"], "clean ") for run in tuned.values())
        rows.append([f"{stage}, fine-tuned", *(pair(run["best"], "clean ") for run in tuned.values()), *tests])
    for place, run in enumerate(found["angel-negative-ncbi"]["runs"]):
        both = run, found["angel-negative-aap-0"]["runs"][place]
        cells = [f"{pair(one['best'], 'clean ')}{'' if one['best']['step'] else ' (before)'}" for one in both]
        rows.append([f"and pairs of beams, {run['variant']}", *cells, *(pair(one["test"], "clean ") for one in both)])
    dev = [f"{NAMES[corpus]}, {split}" for split in ("dev", "test") for corpus in ("ncbi", "aap-0")]
    yield from table(["after", *dev], rows)
    yield ""


def _errors(result: dict[str, Any]) -> Iterator[str]:
    """A row a kind, the most frequent first, with how many of each corpus and the first of them."""
    cases = [case for case in result.get("metrics", {}).get("errors", []) if "kind" in case]
    if not cases:
        return
    near, seen = sum(case["place"] is not None for case in cases), sum(case["seen"] for case in cases)
    yield ERRORS.format(count=len(cases), near=near, seen=seen)
    kinds: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        kinds.setdefault(case["kind"], []).append(case)
    rows = []
    for kind, some in sorted(kinds.items(), key=lambda each: (-len(each[1]), each[0])):
        each = [str(sum(case["corpus"] == corpus for case in some)) for corpus in CORPUS_ORDER]
        first = min(
            some, key=lambda case: (len(case["mention"]) + sum(map(len, case["gold_names"][:1])), case["mention"])
        )
        right = (first["gold_names"] or ["a name that is not there"])[0]
        rows.append([kind, *each, f"{first['mention']}: {first['answers'][0]}, not {right}"])
    yield from table(["kind", *(NAMES[corpus] for corpus in CORPUS_ORDER), "for example"], rows)
    yield ""


def _negatives(trained: list[dict[str, Any]]) -> Iterator[str]:
    """What learning from negatives changes."""
    if not trained:
        return
    yield NEGATIVES.format(lr=trained[0]["lr"], beta=trained[0]["beta"])
    head = ["corpus", "pairs from", "pairs", "before", "after", "chosen"]
    lines = ((one["corpus"], run) for one in sorted(trained, key=lambda one: one["corpus"]) for run in one["runs"])
    yield from table(head, (_negative(corpus, run) for corpus, run in lines))
    yield ""


def _negative(corpus: str, run: dict[str, Any]) -> list[str]:
    """A row: whether the development set chooses the weights before the training, and else after how many steps."""
    step = run["best"]["step"]
    chosen = f"step {step} of {run['steps']}" if step else "before"
    before, after = pair(run["before"], "clean "), pair(run["last"], "clean ")
    return [NAMES[corpus], run["variant"], f"{run['pairs']:,}", before, after, chosen]


def _rows(found: Trained, zero: dict[str, Any]) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Zero-shot and fine-tuned figures by corpus and dictionary, set, context; what was not measured stays empty."""
    tuned = [one for one in found.values() if one["stage"] == "finetune"]
    rows = {}
    for one in tuned:
        run, context = one["runs"][0], "no" if one["no_context"] else "yes"
        for split, figures in (("dev", run["best"]), ("test", run.get("test", {}))):
            for form in ("clean", "published"):
                if f"{form} acc@1" in figures:
                    name = NAMES[one["corpus"]] + (", published" if form == "published" else "")
                    before = pair(run["before"], f"{form} ") if split == "dev" else ""
                    rows[name, split, context] = before, pair(figures, f"{form} ")
    read = {one["corpus"] for one in tuned if not one["no_context"]}
    for corpus in (corpus for corpus in ("ncbi", "bc5cdr") if corpus not in read):
        rows[NAMES[corpus], "dev", "yes"] = pair(zero, f"{corpus}+context "), ""
    return rows
