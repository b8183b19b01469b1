"""Precision, recall and F1 of abbreviation definitions on MED1250, and their speed.

A definition counts as found when both strings are exactly the gold ones; each distinct pair of a document counts once.
The rules were made on the documents of even position; those of odd position confirm them.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import NamedTuple

from common import benchmark, parser, record

from nomina.abbreviations import definitions

Pairs = set[tuple[str, str]]


class Labelled(NamedTuple):
    """An abstract and its gold (short, long) pairs."""

    text: str
    gold: Pairs


def read(path: Path) -> list[Labelled]:
    """Blocks of a PubMed id, lines of text, and gold lines ``  short|long``; ``//`` begins an annotator's remark."""
    documents: list[Labelled] = []
    lines: list[str] = []
    for line in path.read_text(encoding="latin-1").split("\n"):
        if re.fullmatch(r"\d{2,8}\s*", line):
            lines = []
            documents.append(Labelled("", set()))
        elif line.startswith("  ") and "|" in line:
            short, _, long = line.strip().partition("|")
            documents[-1].gold.add((short.strip(), long.strip()))
        elif line.strip() and not line.startswith("//"):
            lines.append(line)
            documents[-1] = documents[-1]._replace(text="\n".join(lines))
    return documents


def found(text: str) -> Pairs:
    """The distinct pairs of a text; gold pairs have no line breaks in them."""
    return {(" ".join(pair.short.split()), " ".join(pair.long.split())) for pair in definitions(text)}


def score(documents: list[Labelled]) -> dict[str, float | int]:
    """Micro-averaged precision, recall and F1."""
    results = [(found(document.text), document.gold) for document in documents]
    right = sum(len(answer & gold) for answer, gold in results)
    n_found, n_gold = (sum(map(len, pairs)) for pairs in zip(*results, strict=True))
    return {
        "precision": round(right / n_found, 4),
        "recall": round(right / n_gold, 4),
        "f1": round(2 * right / (n_found + n_gold), 4),
        "documents": len(documents),
        "gold": n_gold,
        "found": n_found,
    }


def microseconds(documents: list[Labelled]) -> float:
    """Mean time for one text, best of five passes."""
    passes = []
    for _ in range(5):
        definitions.cache_clear()
        start = time.perf_counter()
        for document in documents:
            definitions(document.text)
        passes.append(time.perf_counter() - start)
    return round(min(passes) / len(documents) * 1e6, 1)


def main() -> None:
    """Print the figures and record them."""
    options = parser(__doc__).parse_args()
    documents = read(benchmark(options.shared, "abbreviations", "MED1250_labeled"))
    halves = {"all": documents, "even": documents[::2], "odd": documents[1::2]}
    metrics = {name: score(half) for name, half in halves.items()}
    speed = {
        "all": microseconds(documents),
        "three brackets": microseconds([d for d in documents if d.text.count("(") == 3]),
        "no bracket": microseconds([d for d in documents if "(" not in d.text and "[" not in d.text]),
    }
    for name, row in metrics.items():
        print(f"{name:5} P {row['precision']:.3f}  R {row['recall']:.3f}  F {row['f1']:.3f}  of {row['gold']} pairs")
    print("microseconds per text: " + ", ".join(f"{name} {value}" for name, value in speed.items()))
    print(record("abbreviations", metrics, microseconds_per_text=speed))


if __name__ == "__main__":
    main()
