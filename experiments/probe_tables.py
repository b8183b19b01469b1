"""The probes of the ResCNN paper, tables 1 and 2, beside ours, for ``RESULTS.md``."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tables import CORPORA, read, table

PROBES = ("none", "shuffled words", "shuffled bigrams", "shuffled trigrams", "window 3", "window 5")
PROBED = ("ncbi", "bc5cdr-d")
HEAD = """## Probing

acc@1 where the words of mentions and names are shuffled, or each token attends to a window only (ResCNN paper, tables 1
and 2); in brackets the change in percent. A row says which model, fine-tuned or not, and which split. The papers' rows:
BERT-base, fine-tuned, as-published. Ours: MiniLM's size, clean-kb, each corpus with its own fine-tuned weights where
there are such; "names": how large the dictionary was, as a part of it saves time and is easier. BC5CDR-c, which the
papers have too, was not probed: its dictionary has ten times the names.

Shuffling costs sapbert-mini about as little as the paper's SapBERT. Windows cost it more than shuffling, fine-tuned
even more so, the opposite of the paper, where a window of 3 costs SapBERT 0.3% on these two corpora: MiniLM has 6
layers for the 12 of BERT-base, so that with a window a token sees half as far, and its pooling is the mean over all
tokens, which all stand under the window, while the paper's [CLS] attends to every token in the last layer; names are
short, so that shuffling changes little. That is our reading, not a measurement of ours.
"""
CHANGES = """\
Mean over NCBI and BC5CDR-d of the change in percent; "as printed": the papers' own mean, over all of their sets.
"""


def section(results: Path, papers: dict[str, Any]) -> Iterator[str]:
    """A table for each corpus, and the mean changes."""
    found = read(results, "probing*.json")
    if not found:
        return
    yield HEAD
    for corpus in PROBED:
        rows = [[paper["system"], "", *_with_changes(paper[corpus])] for paper in papers.get("probing", ())]
        for result in (r for r in found if corpus in r["metrics"]["accuracy"]):
            names = f"{result['sizes'][corpus]['names']:,}"
            rows.append([_title(result), names, *_with_changes(_accuracy(result, corpus))])
        yield from table([f"{CORPORA[corpus]}: system", "names", *PROBES], rows)
        yield ""
    yield CHANGES
    yield from table(["system", *PROBES[1:]], changes(found, papers))
    yield ""


def changes(found: Sequence[dict[str, Any]], papers: dict[str, Any]) -> Iterator[list[str]]:
    """Mean changes of the papers' systems and of ours."""
    for paper in papers.get("probing", ()):
        yield [paper["system"], *_means([paper[corpus] for corpus in PROBED])]
        if "change" in paper:
            yield [f"{paper['system']}, as printed, {paper['sets']} sets", *(f"{c:+.1f}" for c in paper["change"])]
    for result in found:
        there = [_accuracy(result, corpus) for corpus in PROBED if corpus in result["metrics"]["accuracy"]]
        if len(there) == len(PROBED):
            yield [_title(result), *_means(there)]


def _title(result: dict[str, Any]) -> str:
    return f"**{result['title']}, {result['split']}**"


def _accuracy(result: dict[str, Any], corpus: str) -> list[float]:
    return [result["metrics"]["accuracy"][corpus][probe] for probe in PROBES]


def _change(first: float, value: float) -> float:
    return 100 * (value / first - 1)


def _with_changes(accuracy: Sequence[float]) -> list[str]:
    first, *others = accuracy
    return [f"{first:.1f}", *(f"{value:.1f} ({_change(first, value):+.1f})" for value in others)]


def _means(each: Sequence[Sequence[float]]) -> list[str]:
    columns = [[_change(first, value) for value in others] for first, *others in each]
    return [f"{statistics.mean(column):+.1f}" for column in zip(*columns, strict=True)]
