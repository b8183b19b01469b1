"""The folds of AskAPatient and TwADR-L: ``id<TAB>label<TAB>phrase``, a patient's phrase a line.

The files mix encodings: a line that is not UTF-8 is read as Windows-1252. Each phrase is a document, numbered by its
line. Source: Limsopatham and Collier, ACL 2016.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nomina.corpora.common import count
from nomina.errors import FormatError
from nomina.files import Skip, open_bytes, report
from nomina.types import Document, Mention

_LINE = re.compile(rb"[A-Z]?[0-9]{5,18}\t[^\t\n]+\t[^\t\n]+")
_LOOKED_AT = 3
_OTHER = "windows-1252"


def sniff(head: bytes) -> bool:
    """Whether the first lines have three columns, the first an id of SNOMED CT or UMLS."""
    first = [line for line in head.split(b"\n")[: 2 * _LOOKED_AT] if line.strip()][:_LOOKED_AT]
    return bool(first) and all(_LINE.fullmatch(line) for line in first)


def read(path: Path, *, skip: Skip | None = None, dropped: Counter[str] | None = None) -> Iterator[Document]:
    """The phrases in order; ``dropped`` counts the labels, which are names of the concepts, not of the phrases.

    Args:
        path: a file of one fold.
        skip: told of each fault; its line is left out.
        dropped: see above.

    Raises:
        FormatError: a line without three columns, an empty id or phrase (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    for number, (id, _, phrase) in rows(path, skip):
        count(dropped, "labels")
        yield Document(str(number), phrase, (Mention(((0, len(phrase)),), phrase, None, ((id,),)),))


def rows(path: Path, skip: Skip | None = None) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Number of the line, and its id, label and phrase.

    Raises:
        FormatError: as ``read``.
    """
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if not raw.strip():
                continue
            cells = [cell.strip() for cell in _decoded(raw).split("\t")]
            if len(cells) != 3 or not all(cells):
                why = f"expected an id, a label and a phrase between tabs, found {len(cells)} columns"
                report(FormatError(path, number, why if len(cells) != 3 else "an empty column"), skip)
                continue
            yield number, (cells[0], cells[1], cells[2])


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode(_OTHER, errors="replace")
