"""Predictions in the forms that other tools read.

One module a format, found through ``EXPORTS`` and imported on use. Each has ``write(predictions, stream, kb, *,
dropped=None, **options)``; ``dropped`` counts, by a word for it, what the predictions say and the format leaves out.
``annotated`` makes documents of predictions, which the corpus formats (``nomina.corpora``) can hold.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import groupby
from typing import Any, TextIO

from nomina.errors import UsageError
from nomina.kb.options import Value, fitting
from nomina.kb.store import KnowledgeBase
from nomina.types import Document, Mention, Prediction

EXPORTS: dict[str, str] = {
    "sssom": "nomina.exports.sssom",
    "fhir": "nomina.exports.fhir",
    "phenopacket": "nomina.exports.phenopacket",
}
"""Format name -> module."""

Writer = Callable[[Iterable[Prediction], TextIO], None]


def exporter(
    format: str, kb: KnowledgeBase, options: Mapping[str, Value] | None = None, dropped: Counter[str] | None = None
) -> Writer:
    """What writes predictions in a format, its options and the KB checked before there are any.

    Args:
        format: a name out of ``EXPORTS``.
        kb: what the predictions are linked to.
        options: those of the format's ``write``, as values or as texts of the command line.
        dropped: counts what the format leaves out.

    Raises:
        UsageError: no such format, an option that it does not have, or a KB whose ids it cannot hold.
    """
    if format not in EXPORTS:
        raise UsageError(f"no export format {format!r}; there are: {', '.join(EXPORTS)}")
    module: Any = import_module(EXPORTS[format])
    fitted = fitting({format: module.write}, options or {})[format]
    if hasattr(module, "check"):
        module.check(kb, **fitted)

    def write(predictions: Iterable[Prediction], stream: TextIO) -> None:
        module.write(predictions, stream, kb, dropped=dropped, **fitted)

    return write


class Passing:
    """Documents on their way to a linker, kept until ``annotated`` asks for them: a batch, not the whole."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents, self.kept = documents, deque[Document]()

    def __iter__(self) -> Iterator[Document]:
        for document in self._documents:
            self.kept.append(document)
            yield document


def annotated(
    documents: Passing,
    predictions: Iterable[Prediction],
    dropped: Counter[str] | None = None,
    *,
    ties: bool = True,
) -> Iterator[Document]:
    """The documents with the mentions of their predictions, ``gold`` what they are linked to.

    A mention has the concepts of the first rank, any of which will do; one that the linker abstains from has none.
    Documents without a mention come as well. ``dropped`` counts negated, family and hypothetical mentions.

    Args:
        documents: what the predictions are made of, in their order; no two share an id.
        predictions: those of a document one after the other.
        dropped: see above.
        ties: whether an ambiguous mention keeps its concepts; if not, it has none and is counted in ``dropped``.
    """
    dropped = Counter() if dropped is None else dropped
    for id, own in groupby(predictions, key=lambda prediction: prediction.document_id):
        mentions = tuple(_answered(prediction, dropped, ties) for prediction in own)
        while (document := documents.kept.popleft()).id != id:
            yield replace(document, mentions=())
        yield replace(document, mentions=mentions)
    while documents.kept:
        yield replace(documents.kept.popleft(), mentions=())


def _answered(prediction: Prediction, dropped: Counter[str], ties: bool) -> Mention:
    for what, is_so in context(prediction).items():
        dropped[what] += is_so
    ids = tuple(dict.fromkeys(c.entity_id for c in prediction.candidates if c.rank == 1))
    is_tied = len(ids) > 1 and not ties and not prediction.abstained
    dropped["ambiguous"] += is_tied
    return replace(prediction.mention, gold=() if prediction.abstained or is_tied or not ids else (ids,))


def context(prediction: Prediction) -> dict[str, bool]:
    """What the text says of a mention, by the word that ``dropped`` counts it under."""
    return {
        "negated": prediction.negated,
        "family": prediction.experiencer == "family",
        "hypothetical": prediction.hypothetical,
    }
