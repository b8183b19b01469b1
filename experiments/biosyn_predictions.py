"""BioSyn's stored candidates for the NCBI test set, as predictions that ``nomina evaluate`` reads.

    python experiments/biosyn_predictions.py -o biosyn.jsonl
    nomina evaluate biosyn.jsonl --gold .../ncbi-disease/biosyn/processed_test --protocol as-published

The authors' file (``reference-outputs``) holds 960 queries with 20 names each and neither documents nor offsets. Its
documents stand in another order than the files of ``processed_test``; within a document the order is that of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import benchmark, parser

from nomina.corpora import read_corpus
from nomina.files import atomic
from nomina.output import write_jsonl
from nomina.types import Candidate, Document, Mention, Prediction

RULE = "biosyn"
"""``Candidate.rule`` of every candidate."""


class Asked(NamedTuple):
    """What a stored query asks: the mention's text and the ids of gold, in any order."""

    text: str
    ids: frozenset[str]


def main() -> None:
    """Convert and write."""
    options = parser(__doc__)
    options.add_argument("-o", "--output", type=Path, required=True)
    given = options.parse_args()
    stored = benchmark(given.shared, "reference-outputs", "biosyn_preds_ncbi-disease.json")
    folder = benchmark(given.shared, "ncbi-disease", "biosyn", "processed_test")
    documents = list(read_corpus(folder, "biosyn"))
    queries = json.loads(stored.read_text(encoding="utf-8"))["queries"]
    with atomic(given.output) as path, open(path, "w", encoding="utf-8", newline="\n") as stream:
        write_jsonl(predictions(queries, documents), stream)
    print(f"{len(queries)} queries: {given.output}")


def predictions(queries: Sequence[dict[str, Any]], documents: Sequence[Document]) -> Iterator[Prediction]:
    """One prediction for each mention, in the order of the queries; a composite has one for each of its parts.

    Raises:
        ValueError: the queries are not the mentions of the documents.
    """
    parts = [part for query in queries for part in query["mentions"]]
    at = 0
    for document in ordered([_asked(part) for part in parts], documents):
        for mention, part in zip(document.mentions, parts[at : at + len(document.mentions)], strict=True):
            yield Prediction(document.id, mention, tuple(_candidates(part["candidates"])))
        at += len(document.mentions)


def ordered(asked: Sequence[Asked], documents: Sequence[Document]) -> list[Document]:
    """The documents in the order in which their mentions are asked for, each once.

    Where several begin alike, the one with most mentions is tried first, and taken back if no way goes on from there.
    """
    own = {i: [_gold(mention) for mention in document.mentions] for i, document in enumerate(documents)}
    longest_first = sorted(own, key=lambda i: -len(own[i]))
    chosen: list[int] = []
    tried: list[Iterator[int]] = [iter(longest_first)]
    at = 0
    while at < len(asked) or len(chosen) < len(own):
        fits = (i for i in tried[-1] if i not in chosen and asked[at : at + len(own[i])] == own[i])
        found = next(fits, None)
        if found is not None:
            chosen.append(found)
            tried.append(iter(longest_first))
            at += len(own[found])
        elif chosen:
            tried.pop()
            at -= len(own[chosen.pop()])
        else:
            raise ValueError(f"the {len(asked)} stored mentions are not those of the {len(documents)} documents")
    return [documents[i] for i in chosen]


def _asked(part: dict[str, Any]) -> Asked:
    return Asked(part["mention"], _split([part["golden_cui"]]))


def _gold(mention: Mention) -> Asked:
    return Asked(mention.text, _split([id for part in mention.gold for id in part]))


def _split(ids: Sequence[str]) -> frozenset[str]:
    return frozenset(id.strip() for joined in ids for id in joined.replace("+", "|").split("|"))


def _candidates(stored: Sequence[dict[str, Any]]) -> Iterator[Candidate]:
    """The names in order; no scores are stored, so that minus the rank stands in their place."""
    for rank, candidate in enumerate(stored, start=1):
        name = candidate["name"]
        yield Candidate(candidate["cui"], name, name, float(-rank), rank, RULE, -1)


if __name__ == "__main__":
    main()
