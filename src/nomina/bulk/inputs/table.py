"""Tables of texts: comma-separated values as spreadsheets write them, and tab-separated lines without quotes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nomina.bulk.inputs import ID, TEXT, Columns, Fault, Item, NoColumn, Told
from nomina.bulk.inputs.lines import Line, lines
from nomina.errors import FormatError
from nomina.reading import LARGEST_TEXT
from nomina.types import Document


def read(path: Path, columns: Columns, fault: Told, *, format: str | None = None) -> Iterator[Item]:
    """A document a row; the first row names the columns.

    Of ``csv`` a cell in double quotes may hold commas and line breaks; of ``tsv`` quotes mean nothing.

    Raises:
        FormatError: no such column, or the file, or the rest of it, cannot be read.
    """
    rows = _tab_rows(lines(path)) if format == "tsv" else _Csv(lines(path)).rows()
    header = next(rows, None)
    if header is None:
        return
    if header.wrong is not None:
        raise FormatError(path, header.line, header.wrong)
    names = [name.strip() for name in header.cells]
    text, id = _place(path, names, columns.text or TEXT, "--text-column"), _id_place(path, names, columns)
    for number, row in enumerate(rows, start=1):
        wrong = row.wrong
        if wrong is None and len(row.cells) != len(names):
            wrong = f"has {len(row.cells)} cells, and the first line {len(names)}"
        own = None if wrong else (f"{path.name}:{number}" if id is None else row.cells[id].strip())
        if wrong is None and not own:
            wrong = f"no id in {names[id or 0]!r}"
        if wrong is not None or own is None:
            fault(Fault(row.line, "line", None, wrong or ""))
        else:
            yield Item(Document(own, row.cells[text]), row.line, "line")


class _Row(NamedTuple):
    """The cells of a row, the line that it begins in, and what is wrong with it."""

    line: int
    cells: list[str]
    wrong: str | None = None


def _place(path: Path, names: list[str], wanted: str, option: str) -> int:
    if wanted in names:
        return names.index(wanted)
    raise NoColumn(path, 1, f"has no column {wanted!r}; there are: {', '.join(names)[:200]}: name one with {option}")


def _id_place(path: Path, names: list[str], columns: Columns) -> int | None:
    if columns.id is None and ID not in names:
        return None
    return _place(path, names, columns.id or ID, "--id-column")


def _tab_rows(found: Iterator[Line]) -> Iterator[_Row]:
    for line in found:
        text = line.text.removesuffix("\n").removesuffix("\r")
        if text or line.wrong:
            yield _Row(line.number, text.split("\t"), line.wrong)


class _Csv:
    """Rows of lines, each of which may be wrong: then its row is."""

    def __init__(self, found: Iterator[Line]) -> None:
        self._lines, self._number, self._wrong = found, 0, ""
        self._size = 0

    def rows(self) -> Iterator[_Row]:
        """The rows; where quotes do not close, all that is left is one, which is not held once it is too large."""
        # The limit of the csv module holds for the whole process; texts are bounded by lines and by the row here.
        csv.field_size_limit(2 * LARGEST_TEXT)
        reader = csv.reader(self._texts(), strict=True)
        while True:
            start, self._wrong, self._size = self._number + 1, "", 0
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield _Row(start, [], self._wrong or f"is no row of comma-separated values ({error})")
                reader = csv.reader(self._texts(), strict=True)
                continue
            if cells or self._wrong:
                yield _Row(start, cells, self._wrong or None)

    def _texts(self) -> Iterator[str]:
        for line in self._lines:
            self._number = line.number
            self._size += len(line.text)
            if self._size > LARGEST_TEXT:
                raise csv.Error(f"larger than {LARGEST_TEXT // 1_000_000} MB: a quote that does not close?")
            if line.wrong:
                self._wrong = f"line {line.number} {line.wrong}"
            yield line.text
