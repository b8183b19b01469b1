"""Rows of delimited text, with the line that each begins in: tabs, commas or semicolons, or something longer."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, lines, report


def rows(
    path: Path, delimiter: str, quoted: bool, skip: Skip | None, after: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row that is not blank; a quoted field may hold delimiters and line breaks.

    Args:
        path: the file.
        delimiter: one character, or a longer text such as the tab, bar and tab of NCBI's dumps, whose lines end with
            its beginning.
        quoted: fields may stand in double quotes, a double quote in them doubled.
        skip: told of a row that cannot be split, and of bytes that do not belong in a text.
        after: pass over so many lines first.

    Raises:
        FormatError: as ``skip`` would be told (strict reading only).
    """
    if quoted:
        yield from _quoted(path, delimiter, skip, after)
        return
    end = delimiter.rstrip() if len(delimiter) > 1 else ""
    for number, text in lines(path, skip):
        fields = text.removesuffix(end).split(delimiter)
        if number > after and any(fields):
            yield number, fields


def _quoted(path: Path, delimiter: str, skip: Skip | None, after: int) -> Iterator[tuple[int, list[str]]]:
    where = 0

    def texts() -> Iterator[str]:
        nonlocal where
        for where, text in lines(path, skip):
            if where > after:
                yield text + "\n"

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    while True:
        before = max(where, after)
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            report(FormatError(path, before + 1, f"cannot be split into fields ({error}): is a quote left open?"), skip)
            continue
        if any(fields):
            yield before + 1, fields
