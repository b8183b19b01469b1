"""What the outputs share that are corpora: the documents with what was found as gold, those without anything too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from nomina.bulk.outputs import Batch, Failed
from nomina.corpora import write_corpus
from nomina.corpora.common import PARTS
from nomina.errors import UsageError
from nomina.exports import Passing, annotated
from nomina.types import Document, Prediction

_SUSPECT = frozenset(PARTS)


def write(batches: Iterable[Batch], path: Path, format: str, failed: Failed) -> None:
    """Write a corpus; a mention with several concepts that nothing tells apart has none, as in ``nomina link``."""
    trial = path.with_name(f"{path.name}.trial")
    try:
        write_corpus(_held(batches, format, trial, failed), path, format)
    finally:
        trial.unlink(missing_ok=True)


def _held(batches: Iterable[Batch], format: str, trial: Path, failed: Failed) -> Iterator[Document]:
    """Those that the format can hold."""
    for batch in batches:
        for given, predictions in zip(batch.documents, batch.predictions, strict=True):
            (document,) = _answered(given, predictions)
            if _is_suspect(document):
                try:
                    write_corpus([document], trial, format)
                except UsageError as error:
                    failed(document, str(error))
                    continue
            yield document


def _answered(document: Document, predictions: Iterable[Prediction]) -> Iterator[Document]:
    passing = Passing(())
    passing.kept.append(document)
    return annotated(passing, predictions, Counter(), ties=False)


def _is_suspect(document: Document) -> bool:
    """Whether an id has a character that may not be let stand: only then is it worth a trial."""
    ids = [id for mention in document.mentions for part in mention.gold for id in part]
    return any(not id or id != id.strip() or not id.isprintable() or _SUSPECT & set(id) for id in (document.id, *ids))
