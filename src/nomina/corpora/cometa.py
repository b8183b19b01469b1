"""COMETA: terms of patients in posts, with SNOMED CT ids (Basaldella and others, 2020): a TSV named .csv.

Columns: ID, Term, General SNOMED Label, General SNOMED ID, Specific SNOMED Label, Specific SNOMED ID, Example,
Subreddit.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nomina.corpora.common import SHOWN, Seen, count
from nomina.errors import FormatError, UsageError
from nomina.files import Skip, open_bytes, report
from nomina.types import Document, Mention

_LEVELS = ("general", "specific")
_HEADER = b"ID\tTerm\tGeneral SNOMED Label\t"


def sniff(head: bytes) -> bool:
    """Whether the first line names COMETA's columns."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith(_HEADER)


def read(
    path: Path, *, skip: Skip | None = None, dropped: Counter[str] | None = None, level: str = "general"
) -> Iterator[Document]:
    """The examples in order, the term marked where it stands first; an example without its term is the term alone.

    ``dropped`` counts labels, subreddits, ids of the other level, examples without their term, rows that come again.

    Args:
        path: the file of a split.
        skip: told of each fault; its line is left out.
        dropped: see above.
        level: general (what the term means) or specific (what it means in its example).

    Raises:
        FormatError: columns that are not there, a row without id, term or concept, two that differ and have one
            id (strict reading only).
        UsageError: no such level.
    """
    if level not in _LEVELS:
        raise UsageError(f"the option level is {' or '.join(_LEVELS)}, not {level!r}")
    dropped = Counter() if dropped is None else dropped
    seen = Seen(path, skip, dropped)
    for number, row in rows(path, skip):
        count(dropped, "labels", 2)
        count(dropped, "ids of the other level")
        count(dropped, "subreddits", bool(row["Subreddit"]))
        id, term = row["ID"].strip(), row["Term"].strip()
        concept = row[f"{level.capitalize()} SNOMED ID"].strip()
        if not (id and term and concept):
            report(FormatError(path, number, "a row without id, term or concept"), skip)
            continue
        text, start = _placed(term, row["Example"], dropped)
        found = text[start : start + len(term)]
        document = Document(id, text, (Mention(((start, start + len(term)),), found, None, ((concept,),)),))
        if seen.is_new(document, number):
            yield document


def rows(path: Path, skip: Skip | None = None) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the line on which a row ends, and its cells by column.

    Raises:
        FormatError: columns that are not there; a row with more or fewer (strict reading only).
    """
    with open_bytes(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        table = csv.reader(text, delimiter="\t", strict=True)
        try:
            header = next(table, [])
            needed = {"ID", "Term", "Example", "Subreddit", *(f"{level.capitalize()} SNOMED ID" for level in _LEVELS)}
            if missing := sorted(needed - set(header)):
                raise FormatError(path, 1, f"has no column {missing[0]!r}; it has: {', '.join(header)[:SHOWN]}")
            for cells in table:
                if len(cells) == len(header):
                    yield table.line_num, dict(zip(header, cells, strict=True))
                else:
                    why = f"{len(cells)} columns where the first line has {len(header)}"
                    report(FormatError(path, table.line_num, why), skip)
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(path, table.line_num, f"is no line of a table in UTF-8 ({error})") from error


def _placed(term: str, example: str, dropped: Counter[str]) -> tuple[str, int]:
    """The text of a document, and where the term starts in it: as whole words, else anywhere, whatever its case."""
    for pattern in (rf"(?<!\w){re.escape(term)}(?!\w)", re.escape(term)):
        found = re.search(pattern, example, re.IGNORECASE)
        if found and len(found.group()) == len(term):
            return example, found.start()
    count(dropped, "examples without their term")
    return term, 0
