"""A vocabulary as a table: TSV or CSV with a header, or bare ``id<tab>name`` pairs.

Columns: ``id``, ``name`` and, where wanted, ``synonyms``, ``definition``, ``types``, ``parents``; several values in one
field stand apart by ``|``. Rows with the same id are one concept with the names of all its rows. Tab-separated fields
are taken as they are; comma- and semicolon-separated ones may be quoted with ``"``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, head, report
from nomina.kb.delimited import rows
from nomina.types import PREFERRED, Entity, Name

COLUMNS = ("id", "name", "synonyms", "definition", "types", "parents")
_ALIASES = {"synonym": "synonyms", "type": "types", "parent": "parents", "identifier": "id", "label": "name"}
_EXPECTED = f"expected the columns id, name and, where wanted, {', '.join(COLUMNS[2:])}"
_ID = re.compile(r"(?=\S*\d)\S+")
_LOOK = 1 << 16
_PAIRS_LOOKED_AT = 100

Header = tuple[str, list[str] | None]
"""The delimiter, and the column of each field; None where the file has no header (``id``, ``name``)."""


def sniff(head: bytes) -> bool:
    """Whether the first line has a delimiter at all; what the columns are is for ``read`` to say."""
    first = head.lstrip().partition(b"\n")[0]
    return any(delimiter in first for delimiter in (b"\t", b",", b";"))


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity]:
    """One concept a row, in order; what has the same id is joined when the KB is built.

    Args:
        path: the table.
        skip: told of each fault, where given; faulty rows are left out.

    Raises:
        FormatError: wrong columns, a row with too few or too many fields, an empty id or name (strict reading only).
    """
    delimiter, columns = header(path)
    names = columns or ["id", "name"]
    found = rows(path, delimiter, delimiter != "\t", skip)
    for number, fields in islice(found, 0 if columns is None else 1, None):
        try:
            yield _entity(names, fields)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)


def header(path: Path) -> Header:
    """How the file is laid out, by its first lines.

    Raises:
        FormatError: no layout that is known.
    """
    sample = head(path, _LOOK).decode("utf-8", errors="replace").split("\n")
    filled = [line.rstrip("\r") for line in sample[:-1] or sample if line.strip()]
    if not filled:
        raise FormatError(path, None, "is empty")
    for delimiter in ("\t", ",", ";"):
        reader = csv.reader([filled[0]], delimiter=delimiter)
        fields = filled[0].split("\t") if delimiter == "\t" else next(reader, [])
        columns = [field.strip().lstrip("#").strip().casefold() for field in fields]
        columns = [_ALIASES.get(column, column) for column in columns]
        if "id" in columns:
            return delimiter, _checked(path, columns)
    pairs = [line.split("\t") for line in filled[:_PAIRS_LOOKED_AT]]
    if all(len(pair) == 2 and _ID.fullmatch(pair[0]) for pair in pairs):
        return "\t", None
    raise FormatError(path, 1, f"{_EXPECTED}, in a first line that names them; found {filled[0][:60]!r}")


def _checked(path: Path, columns: list[str]) -> list[str]:
    for column in columns:
        if column not in COLUMNS:
            raise FormatError(path, 1, f"unknown column {column!r}: {_EXPECTED}")
        if columns.count(column) > 1:
            raise FormatError(path, 1, f"the column {column!r} is there twice")
    if "name" not in columns:
        raise FormatError(path, 1, f"the column 'name' is missing: {_EXPECTED}")
    return columns


def _entity(columns: list[str], fields: list[str]) -> Entity:
    if len(fields) != len(columns):
        raise ValueError(f"{len(fields)} fields in place of {len(columns)} ({', '.join(columns)})")
    row = {column: field.strip() for column, field in zip(columns, fields, strict=True)}
    synonyms = [Name(text) for text in _values(row, "synonyms")]
    names = synonyms if synonyms and not row["name"] else [Name(row["name"], kind=PREFERRED), *synonyms]
    return Entity(
        row["id"], tuple(names), row.get("definition") or None, _values(row, "types"), _values(row, "parents")
    )


def _values(row: dict[str, str], column: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in row.get(column, "").split("|") if text.strip())
