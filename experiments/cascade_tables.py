"""What a cascade reaches beside its parts on development sets, out of ``cascade_*.json``, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables import CORPORA, read, table

HEAD = """## Cascade

Development mentions, the first concept, any id; a mention that the KB lacks is always wrong. Weights are learnt on
other documents than they are judged on, the generator was fine-tuned on the training set. It reads mentions without
their texts, scores the 16 names that are best so far and offers 5 of its own (`--beams 5`). A part alone ranks all
names. A mention whose best concept is as likely to be right as "sure" says is given to no further part. Differences to
the cascade in points, with the exact McNemar test over mentions. ECE: how far probabilities are from what is right, of
which 0.01 is a point. Generator on: {cards};
"long" are those of the long pre-training ("Generation"), "ANGEL" one of them trained on pairs of its own beams.
Encoder "tuned": fine-tuned on the training set, else the one that nomina comes with. Models that are better alone
make a cascade of BC5CDR better here (that it is surer before it passes no further counts in it; of chemicals not on
their test set, below), and not one of NCBI. BC5CDR-d's mentions, as they stand in the texts, are looked up in the
dictionary of clean-kb.
AskAPatient's KB has one label for each of 1,036 ids, its generator was trained with all 1,042 labels: without "Joint
pain", "Cramp" and "Disorder of muscle" it has 16 mentions less than in "Generation" (85.6 for 87.5).
{speed}"""
COLUMNS = {
    "dictionary": "dictionary", "tfidf": "TF-IDF", "embedding": "embedding", "generative": "generator",
    "default": "default", "all parts for every mention": "all parts, every mention",
}  # fmt: skip
NAMES = {**CORPORA, "aap-0": "AskAPatient, fold 0"}
GENERATORS = {"-long": "long", "/angel-": "ANGEL", "/slow-": "ANGEL"}
"""What names of models say of the generator."""
SURE = 0.95
"""Where a result does not say it: it was always this at first."""
ELSEWHERE = ("cascade_test_", "cascade_errors", "cascade_remedies", "cascade_brackets")
"""Results of which other modules tell."""
_LEAST = 0.001


def section(results: Path) -> Iterator[str]:
    """A row a development set."""
    found = [result for result in read(results, "cascade_*.json") if not result["name"].startswith(ELSEWHERE)]
    if not found:
        return
    cards = sorted({result["card"] or "CPU" for result in found})
    yield HEAD.format(cards=", ".join(cards), speed="".join(map(_speed, found)))
    head = [
        "development set",
        "mentions",
        "generator",
        "encoder",
        "sure",
        "cascade",
        *COLUMNS.values(),
        "asked of the generator",
        "ECE",
    ]
    yield from table(head, (_row(result, *pair) for result in found for pair in result["metrics"].items()))
    yield ""


def generator_of(command: str) -> str:
    """What the name of the model says of the generator of a run."""
    return next((name for part, name in GENERATORS.items() if part in command), "first")


def _speed(result: dict[str, Any]) -> str:
    """How fast a cascade is, where that was measured."""
    where = f"a second in one process on {result['hardware']}"
    each = [
        f"All parts together link {figures['mentions_a_second']:.0f} mentions of {NAMES[corpus]} {where}.\n"
        for corpus, figures in result["metrics"].items()
        if "mentions_a_second" in figures
    ]
    return "".join(each)


def _row(result: dict[str, Any], corpus: str, figures: dict[str, Any]) -> list[str]:
    others = [_against(figures["against"][name]) for name in COLUMNS]
    reached = figures["parts"][-1]["reached"] / figures["mentions"]
    told = result["command"]
    generator = generator_of(told)
    encoder, sure = "tuned" if "--encoder" in told else "default", f"{result.get('sure', SURE):.0%}"
    return [NAMES[corpus], f"{figures['mentions']:,}", generator, encoder, sure, f"**{100 * figures['accuracy']:.1f}**",
            *others, f"{reached:.0%}", f"{figures['ece']:.3f}"]  # fmt: skip


def _against(other: dict[str, Any]) -> str:
    """The accuracy of another, how much better the cascade is, and how sure that is."""
    p = other["mcnemar_p"]
    sure = f"p < {_LEAST}" if p < _LEAST else f"p = {p:.3f}"
    return f"{other['accuracy']:.1f} ({other['difference']:+.1f}, {sure})"
