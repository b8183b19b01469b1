"""What the tests of the evaluation share: documents, predictions and items in one line."""

from collections.abc import Sequence

from nomina.evaluation.match import Item
from nomina.types import Candidate, Document, Mention, Prediction


def candidate(id: str, rank: int, *, row: int = -1, name: str | None = None, score: float = 0.5) -> Candidate:
    return Candidate(id, f"{id} preferred", name or f"{id} name", score, rank, "tfidf", row)


def ranked(*ids: str) -> tuple[Candidate, ...]:
    """Candidates without ties: "A B" is a tie."""
    found, rank = [], 1
    for tied in ids:
        found += [candidate(id, rank) for id in tied.split()]
        rank += len(tied.split())
    return tuple(found)


def mention(start: int, text: str, *gold: str, type: str | None = None) -> Mention:
    """A mention whose gold parts are given as "A/B", A or B."""
    parts = tuple(tuple(part.split("/")) for part in gold)
    return Mention(((start, start + len(text)),), text, type, parts)


def document(id: str, *mentions: Mention, text: str = "") -> Document:
    return Document(id, text or " " * max((m.end for m in mentions), default=1), mentions)


def predicted(document_id: str, of: Mention, *ids: str, **values: object) -> Prediction:
    return Prediction(document_id, of, ranked(*ids), **values)


def item(gold: Sequence[str], *predictions: Sequence[str], text: str = "a", **values: object) -> Item:
    """An item of gold parts "A/B", and for each prediction its ranks, each of tied ids."""
    of = mention(0, text, *gold)
    made = tuple(predicted("1", of, *ids, **values) for ids in predictions)
    return Item("1", of, made, tuple(frozenset(part) for part in of.gold))
