"""Documents put into a project: linked first, so that the page has something to propose."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from nomina.errors import UsageError
from nomina.pipeline import Pipeline
from nomina.review.project import Project
from nomina.review.records import Added, Finding, Marked
from nomina.types import Document, Prediction

_TOGETHER = 64


class Filled(NamedTuple):
    """How many documents were read, how many of them the project had already, and how many mentions are new."""

    documents: int = 0
    known: int = 0
    mentions: int = 0


def fill(project: Project, documents: Iterable[Document], pipeline: Pipeline, annotator: str) -> Filled:
    """Link documents and add them; one that is there already stays as it is, so that a broken-off call can be repeated.

    Args:
        project: where to.
        documents: with mentions, whose gold ids become the annotator's decisions, or without, then they are looked for.
        pipeline: what links.
        annotator: whose decisions gold ids are.

    Raises:
        UsageError: a document has the id of another one in the project, or something that no project can hold.
    """
    filled, stream = Filled(), iter(documents)
    while batch := list(islice(stream, _TOGETHER)):
        for added in _linked(batch, pipeline):
            is_new = not project.connection.execute("SELECT 1 FROM documents WHERE id = ?", (added.id,)).fetchone()
            project.add(added, annotator, secrets.token_hex(16))
            mentions = len(added.mentions) if is_new else 0
            filled = Filled(filled.documents + 1, filled.known + (not is_new), filled.mentions + mentions)
    return filled


def _linked(documents: list[Document], pipeline: Pipeline) -> Iterator[Added]:
    predictions: defaultdict[str, list[Prediction]] = defaultdict(list)
    for prediction in pipeline.link(documents):
        predictions[prediction.document_id].append(prediction)
    for document in documents:
        try:
            mentions = tuple(_marked(prediction) for prediction in predictions[document.id])
            yield Added(document.id, document.text, mentions, document.sections, pipeline.kb.fingerprint)
        except ValueError as error:
            raise UsageError(f"document {document.id!r} cannot be put into a project: {error}") from error


def _marked(prediction: Prediction) -> Marked:
    mention = prediction.mention
    finding = Finding(
        prediction.candidates,
        prediction.ambiguous,
        prediction.abstained,
        prediction.probability,
        prediction.negated,
        prediction.experiencer,
        prediction.hypothetical,
    )
    return Marked(mention.spans, mention.type, finding, mention.gold or None)
