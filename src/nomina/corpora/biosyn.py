"""Corpora as prepared for BioSyn: a folder of ``.concept`` files, one a document, or one such file of several.

::

    9288106||40|61||Modifier||ataxia telangiectasia||D001260
    10072428||1027|1056||CompositeMention||gastric cancer|colorectal cancer||D015179|D013274

Mentions are lower-case, without punctuation, abbreviations expanded; the text that they were found in is not there. So
a document's text is made of its mentions, one a line, and the original offsets, which would point nowhere, are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nomina.corpora.common import PARTS, SHOWN, Gold, Seen, Separators, count
from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.packed import bare_name, members
from nomina.types import Document, Mention

_SUFFIX = ".concept"
_BARS = "||"
_BAR = "|"
_FIRST = re.compile(rb"\s*[^|\t\n]+\|\|\d+\|\d+\|\|[^|\n]*\|\|[^\n]+\|\|")
_OFFSETS = re.compile(r"[0-9]+\|[0-9]+")
_Row = tuple[str, str, str, str]
"""Document, type, mention, ids."""


def sniff(head: bytes) -> bool:
    """Whether the first line is ``id||start|end||type||mention||ids``."""
    return _FIRST.match(head) is not None


def holds(path: Path) -> bool:
    """Whether a folder or archive has ``.concept`` files."""
    return any(bare_name(file).endswith(_SUFFIX) for file in members(path))


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> Iterator[Document]:
    """The documents in the order of the files' names; an empty file is a document without mentions, with its name.

    The mention ``a|b`` becomes one for each part, at one place and with the gold of the whole.
    ``dropped`` counts the original offsets, and documents that come again, word for word.

    Args:
        path: the folder, an archive of it, or a file.
        skip: told of each fault; its line, or the second of two documents with one id, is left out.
        dropped: see above.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.

    Raises:
        FormatError: a line that is not of the form, two documents that differ and have one id (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    seen = Seen(path, skip, dropped)
    files = [file for file in members(path) if bare_name(file).endswith(_SUFFIX)] or [path]
    for file in files:
        for number, id, rows in _drafts(file, skip):
            document = _document(id, rows, separators, dropped)
            if seen.is_new(document, number):
                yield document


def _drafts(path: Path, skip: Skip | None) -> Iterator[tuple[int, str, list[_Row]]]:
    """First line, id and rows of each document in a file."""
    first, id, rows = 1, bare_name(path).removesuffix(_SUFFIX), list[_Row]()
    is_empty = True
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        is_empty = False
        try:
            row = _row(line)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
            continue
        if row[0] != id:
            if rows:
                yield first, id, rows
            first, id, rows = number, row[0], []
        rows.append(row)
    if rows or is_empty:
        yield first, id, rows


def _row(line: str) -> _Row:
    """What a line holds.

    Raises:
        ValueError: it is not of the form.
    """
    fields = [field.strip() for field in line.split(_BARS)]
    if len(fields) != 5 or not _OFFSETS.fullmatch(fields[1]):
        raise ValueError(f"expected 'document||start|end||type||mention||ids', found {line[:SHOWN]!r}")
    id, _, type, mention, ids = fields
    if not id:
        raise ValueError("the document has no id")
    check_parts(mention)
    return id, type, mention, ids


def check_parts(mention: str) -> None:
    """Whether there is a text before, between and behind bars.

    Raises:
        ValueError: there is not.
    """
    if not all(part.strip() for part in mention.split(_BAR)):
        raise ValueError(f"the mention {mention[:SHOWN]!r} is empty, or a part of it is")


def _document(id: str, rows: list[_Row], separators: Separators, dropped: Counter[str]) -> Document:
    mentions: list[Mention] = []
    at = 0
    for _, type, mention, ids in rows:
        mentions += mentions_of(mention, at, type or None, separators.split(ids, dropped))
        at += len(mention) + 1
    count(dropped, "offsets", len(rows))
    return Document(id, "\n".join(mention for _, _, mention, _ in rows), tuple(mentions))


def mentions_of(text: str, at: int, type: str | None, gold: Gold) -> list[Mention]:
    """The mention of a row whose text begins at an offset; of ``a|b`` one for each part that is another text."""
    spans = ((at, at + len(text)),)
    return [Mention(spans, part, type, gold) for part in dict.fromkeys(part.strip() for part in text.split(_BAR))]
