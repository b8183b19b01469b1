"""Parquet: of its columns those of text and id are read, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from nomina.bulk.inputs import ID, TEXT, Columns, Fault, Item, NoColumn, Told
from nomina.bulk.inputs.jsonl import document_of
from nomina.errors import FormatError, MissingExtra

_ROWS = 64


def read(path: Path, columns: Columns, fault: Told) -> Iterator[Item]:
    """A document a row.

    Raises:
        FormatError: no Parquet file, no such column, or the rest of it cannot be read.
        MissingExtra: ``pyarrow`` is not installed.
    """
    try:
        parquet, arrow = import_module("pyarrow.parquet"), import_module("pyarrow")
    except ImportError as error:
        raise MissingExtra("parquet", f"reading {path}") from error
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            wanted = _columns(path, file.schema_arrow.names, columns)
            for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
                for row in range(batch.num_rows):
                    number += 1
                    yield from _item(batch, row, columns, path, number, fault)
    except (arrow.ArrowException, OSError) as error:
        why = " ".join(str(error).split())[:100]
        raise FormatError(path, None, f"is no whole Parquet file ({why})") from error


def _columns(path: Path, names: list[str], columns: Columns) -> list[str]:
    text, id = columns.text or TEXT, columns.id or ID
    wanted = [text] if id not in names and columns.id is None else [text, id]
    for name in wanted:
        if name not in names:
            option = "--text-column" if name == text else "--id-column"
            why = f"has no column {name!r}; there are: {', '.join(names)[:200]}: name one with {option}"
            raise NoColumn(path, None, why)
    return wanted


def _item(batch: Any, row: int, columns: Columns, path: Path, number: int, fault: Told) -> Iterator[Item]:  # noqa: ANN401
    try:
        record = {name: column[row].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
        yield Item(document_of(record, columns, f"{path.name}:{number}"), number, "row")
    except UnicodeDecodeError as error:
        fault(Fault(number, "row", None, f"byte 0x{error.object[error.start]:02x} of a text is not UTF-8"))
    except ValueError as error:
        fault(Fault(number, "row", None, str(error)))
