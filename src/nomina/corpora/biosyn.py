"""Mentions as BioSyn processed them: ``.concept`` files, one a document, without its text.

``pmid||start|end||type||mention||ids``, a mention a line; the mention is lower-cased, its abbreviations are expanded,
and of a composite all parts are written out, ``breast cancers|ovarian cancers``. The text of the document is made of
the mentions, a line each; offsets of the file belong to a text that is not there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nomina.corpora.common import PARTS, Gold, Separators, count
from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.packed import bare_name, members
from nomina.types import Document, Mention

_LINE = re.compile(r"(.+?)\|\|(\d+)\|(\d+)\|\|([^|]*)\|\|(.*)\|\|(.*)")
_FIRST = re.compile(rb"[^|\n]+\|\|\d+\|\d+\|\|")
_COMPOSITE = "|"
_SUFFIX = ".concept"

_Row = tuple[str, str, str | None, Gold]
"""Document, mention, type, gold."""


def sniff(head: bytes) -> bool:
    """Whether the first line starts with a document, two offsets and a type."""
    return _FIRST.match(head.lstrip()) is not None


def holds(path: Path) -> bool:
    """Whether a folder or archive has .concept files."""
    return any(bare_name(file).endswith(_SUFFIX) for file in members(path))


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> Iterator[Document]:
    """The documents of a folder, an archive or one file, sorted by the names of the files.

    A composite becomes one mention for each part of it, all at the same place and with the gold of the whole.
    ``dropped`` counts the offsets.

    Args:
        path: see above.
        skip: told of each fault; its line is left out.
        dropped: see above.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.

    Raises:
        FormatError: a line that is not of the form, or of another document than the lines before it (strict reading
            only).
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    files = [file for file in members(path) if bare_name(file).endswith(_SUFFIX)] or [path]
    for file in sorted(files, key=bare_name):
        rows = list(_rows(file, separators, skip, dropped))
        if rows:
            yield document_of(rows[0][0], rows)


def _rows(file: Path, separators: Separators, skip: Skip | None, dropped: Counter[str]) -> Iterator[_Row]:
    id = None
    for number, line in lines(file, skip):
        if not line.strip():
            continue
        found = _LINE.fullmatch(line)
        if found is None or not found[5].strip():
            why = f"expected 'document||start|end||type||mention||ids', found {line[:60]!r}"
            report(FormatError(file, number, why), skip)
            continue
        if found[1] != (id or found[1]):
            report(FormatError(file, number, f"the document is {found[1]!r}, above {id!r}"), skip)
            continue
        id = found[1]
        count(dropped, "offsets")
        yield id, found[5].strip(), found[4] or None, separators.split(found[6], dropped)


def document_of(id: str, rows: list[_Row]) -> Document:
    """A document whose text is the mentions of some rows, a line each."""
    mentions: list[Mention] = []
    start = 0
    for _, text, type, gold in rows:
        span = (start, start + len(text))
        texts = [part.strip() for part in text.split(_COMPOSITE) if part.strip()] or [text]
        mentions += (Mention((span,), part, type, gold) for part in texts)
        start = span[1] + 1
    return Document(id, "\n".join(text for _, text, _, _ in rows), tuple(mentions))
