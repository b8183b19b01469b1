"""BigBIO's KB schema as JSON lines: a document a line, of passages and of entities with their concepts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from nomina.corpora.bigbio import PARTS as EACH
from nomina.corpora.bigbio import Builder, concepts, record_of
from nomina.corpora.common import PARTS, Seen, Separators, written
from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.types import Document

_KEYS = tuple(re.compile(rb'"%s"\s*:' % key) for key in (b"document_id", b"passages"))


def sniff(head: bytes) -> bool:
    """Whether the first line is an object with the fields of the schema."""
    first = head.lstrip().partition(b"\n")[0]
    return first.startswith(b"{") and all(key.search(first) for key in _KEYS)


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
    several: str = EACH,
    database: bool = False,
) -> Iterator[Document]:
    """The documents of a file in order, one in memory at a time.

    ``dropped`` counts events, coreferences, relations, further fields, names of databases, entities without a place,
    and documents that come again, word for word.

    Args:
        path: the file.
        skip: told of each fault; its entity or document is left out.
        dropped: see above.
        parts: characters in a ``db_id`` between ids that are all needed.
        alternatives: characters in a ``db_id`` between ids of which any will do.
        several: what the concepts of an entity are, where it has several: "parts", "alternatives". Data sets differ.
        database: put the name of the database before each id: ``MESH:D003110``.

    Raises:
        FormatError: a line that is no record of the schema, an entity that does not stand at its offsets, two documents
            that differ and have one id (strict reading only).
        UsageError: ``several`` is another word.
    """
    dropped = Counter() if dropped is None else dropped
    builder = Builder(path, skip, dropped, concepts(parts, alternatives, several, database))
    seen = Seen(path, skip, dropped)
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            report(FormatError(path, number, f"is not JSON ({error})"), skip)
            continue
        document = builder.document(value, number)
        if document and seen.is_new(document, number):
            yield document


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
    db_name: str = "",
) -> None:
    """Write documents, one a line; each part of gold is a concept.

    ``dropped`` counts sections that are not in order and apart, and texts of mentions that do not stand at their
    spans.

    Raises:
        UsageError: a part of gold whose ids cannot stand in one ``db_id``, or the file cannot be written.
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    with written(path) as stream:
        for document in documents:
            line = json.dumps(record_of(document, separators, db_name, dropped), ensure_ascii=False)
            stream.write(line.replace("\x7f", "\\u007f") + "\n")  # no reader takes this one as it is
