"""ANGEL's figures 3 and 4 on our generators, out of ``angel_bins.json``, for ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generative_tables import NAMES
from tables import percent, read, table

HEAD = """## ANGEL: errors and margins by similarity

Figures 4 and 3 of the paper (NCBI disease, GenBioEL and ANGEL) on {corpus}: {mentions:,} different development
mentions, drawn, without a text; the dictionary without mentions. Before: `{before}`; after: `{after}`, which has
learnt from pairs out of its own beams. The development set chose its weights. BC5CDR and not NCBI, as its generator is
the one that pairs make better by most.

Figure 4: mentions by the cosine (character 3-grams, TF-IDF) with the most similar name of a right concept. The paper:
most errors of both models are below 0.4, learning from negatives leaves fewer in every bin, most of all where the
similarity is low, and ANGEL is right on 34.2% of 0-0.2. Fixed / broken: first names that became right / wrong.
"""
MARGINS = """Figure 3: wrong names among the first five of either model, by their cosine with the mention; the mean of
log p of the best right name less log p of the wrong one, and in percent how many wrong names are the likelier. The
paper: the more similar a wrong name, the smaller is GenBioEL's margin, in the end below 0; ANGEL's stays above.
"""
READING = """Small counts. What ours gains it gains where a mention is nearly a name of its concept, not where the
similarity is low; margins grow most over names that were far away before, and least over similar ones, which stay as
likely to be ahead.
"""
MODELS = ("before", "after")


def section(results: Path) -> Iterator[str]:
    """Both of them, of each corpus; nothing of what was not recorded."""
    for result in read(results, "angel_bins.json"):
        for corpus, found in result["metrics"].items():
            yield HEAD.format(corpus=NAMES[corpus], mentions=found["mentions"], **result["models"])
            head = ["similarity", "mentions", *(f"{name}: right" for name in MODELS),
                    *(f"{name}: errors" for name in MODELS), "fixed / broken"]  # fmt: skip
            yield from table(head, map(_accuracy, found["accuracy"]))
            yield f"\n{MARGINS}"
            head = ["similarity", "pairs", *(f"{name}: margin" for name in MODELS),
                    *(f"{name}: wrong one likelier" for name in MODELS)]  # fmt: skip
            yield from table(head, map(_margins, found["margins"]))
            yield f"\n{READING}"


def _accuracy(one: dict[str, Any]) -> list[str]:
    """A row a bin: percent right, and how many are wrong."""
    count = one["mentions"]
    shares = [percent(one[name] / count) if count else "" for name in MODELS]
    return [one["bin"], f"{count:,}", *shares, *(str(count - one[name]) for name in MODELS),
            f"{one['fixed']} / {one['broken']}"]  # fmt: skip


def _margins(one: dict[str, Any]) -> list[str]:
    """A row a bin; empty cells where it has no pair."""
    there = [one[name] for name in MODELS]
    means = [f"{each['mean']:.2f}" if each else "" for each in there]
    return [one["bin"], f"{one['pairs']:,}", *means, *(percent(each["lost"]) if each else "" for each in there)]
