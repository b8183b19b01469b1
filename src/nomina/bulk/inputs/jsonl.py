"""JSON lines: nomina's own documents, or any objects, of which two fields are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from nomina.bulk.inputs import ID, TEXT, Columns, Fault, Item, Told
from nomina.bulk.inputs.lines import lines
from nomina.corpora.jsonl import document_parser
from nomina.types import Document

_OWN = {field.name for field in fields(Document)}
_HINT = f"; of objects of another kind, name the field of the text: --text-column {TEXT}"


def read(path: Path, columns: Columns, fault: Told) -> Iterator[Item]:
    """A document a line: as ``nomina.corpora.jsonl`` has it, or of the named fields if there are any.

    Raises:
        FormatError: the file, or the rest of it, cannot be read.
    """
    parse = document_parser() if columns == Columns() else partial(_fields, columns)
    for line in lines(path):
        if line.wrong is None and not line.text.strip():
            continue
        try:
            if line.wrong is not None:
                raise ValueError(line.wrong)
            yield Item(parse(line.text, f"{path.name}:{line.number}"), line.number, "line")
        except ValueError as error:
            hint = _HINT if line.wrong is None and columns == Columns() and _is_of_others(line.text) else ""
            fault(Fault(line.number, "line", None, f"{error}{hint}"))


def _is_of_others(line: str) -> bool:
    """Whether a line is an object that was not written as one of nomina's documents, but may be read by its fields."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict):
        return False
    return TEXT not in record or not record.keys() <= _OWN or not isinstance(record.get(ID, ""), str)


def _fields(columns: Columns, line: str, otherwise: str) -> Document:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError("is no JSON object")
    return document_of(record, columns, otherwise)


def document_of(record: dict[str, Any], columns: Columns, otherwise: str) -> Document:
    """The document of a record; ``otherwise`` is its id where no column has one and none was asked for.

    Raises:
        ValueError: no text, or no id where its column was named.
    """
    text = record.get(columns.text or TEXT)
    if not isinstance(text, str):
        raise ValueError(f"no text in {columns.text or TEXT!r}")
    id = record.get(columns.id or ID)
    if id is None or isinstance(id, bool | float | list | dict) or not str(id).strip():
        if columns.id is not None:
            raise ValueError(f"no id in {columns.id!r}")
        return Document(otherwise, text)
    return Document(str(id), text)
