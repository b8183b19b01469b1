"""What the small generative linker reaches, out of ``generative.json``, for ``RESULTS.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import CORPORA, table

HEAD = """## Generation

A decoder of three layers on self-aligned MiniLM (29.9M parameters), beam search over all names of the dictionary with 5
beams; raw text prepared as by GenBioEL ("as-published-generative"), any id, k counts names. NCBI: MEDIC without the
corpora's mentions and, "published", with those of the sets before; BC5CDR: MeSH with open terminologies' names,
diseases and chemicals together; AskAPatient: fold 0. One seed; the development set chose the epoch, the test set was
looked at with the chosen weights. {card}, pre-trained for {minutes} minutes: {examples:.1f}M examples,
{speed:,} a second, {bare:.0%} of them a mention with no text around it.

Zero-shot, a text around the mention misleads the small model: its pre-training knows no texts but the templates'.
"""
NEGATIVES = """## Learning from negatives

ANGEL's fine-tuning of the models above on pairs of names, one epoch at a learning rate of {lr}, one seed; development
sets (of NCBI with the dictionary without mentions) before and after, at 1 and 5. "paper": pairs from the model's own
beams, DPO with beta {beta}; likelihood: the target's likelihood added; synonym: where no beam is right, the most
similar synonym is; own: the mention's own name counts as no answer; unseen: names that are training mentions may not be
written; pairwise: no reference; crossfit: pairs of 5 models that have not seen the mention, here with the likelihood
added. The weights that the development set chooses are those before wherever "after" is lower.
"""
NAMES = {**CORPORA, "aap-0": "AskAPatient, fold 0"}


def section(results: Path) -> Iterator[str]:
    """Zero-shot and fine-tuned figures."""
    path = results / "generative.json"
    if not path.exists():
        return
    result = json.loads(path.read_text(encoding="utf-8"))
    found = result["metrics"]
    first = found["pre"]
    yield HEAD.format(
        card=result["trained"]["device"],
        minutes=first["minutes"],
        examples=first["steps"] * first["batch"] / 1e6,
        bare=first["bare"],
        speed=first["examples_per_s"],
    )
    yield from table(["corpus", "set", "context", "zero-shot", "fine-tuned"], rows(found, first["after"]))
    yield ""
    yield from negatives([one for one in found.values() if one["stage"] == "corpus"])


def negatives(trained: list[dict[str, Any]]) -> Iterator[str]:
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
    before, after = _pair(run["before"], "clean "), _pair(run["last"], "clean ")
    return [NAMES[corpus], run["variant"], f"{run['pairs']:,}", before, after, chosen]


def rows(found: dict[str, Any], zero: dict[str, Any]) -> Iterator[list[str]]:
    """A row a corpus, set, context and dictionary; what was not measured stays empty."""
    tuned = [one for one in found.values() if one["stage"] == "finetune"]
    read = {one["corpus"] for one in tuned if not one["no_context"]}
    for corpus in (corpus for corpus in ("ncbi", "bc5cdr") if corpus not in read):
        yield [NAMES[corpus], "dev", "yes", _pair(zero, f"{corpus}+context "), ""]
    for one in tuned:
        run, context = one["runs"][0], "no" if one["no_context"] else "yes"
        for split, figures in (("dev", run["best"]), ("test", run.get("test", {}))):
            for form in ("clean", "published"):
                if f"{form} acc@1" in figures:
                    name = NAMES[one["corpus"]] + (", published" if form == "published" else "")
                    before = _pair(run["before"], f"{form} ") if split == "dev" else ""
                    yield [name, split, context, before, _pair(figures, f"{form} ")]


def _pair(figures: dict[str, Any], prefix: str) -> str:
    return f"{figures[f'{prefix}acc@1']:.1f} / {figures[f'{prefix}acc@5']:.1f}"
