"""The files of an RRF release (UMLS Metathesaurus, RxNorm): where they lie, their rows, their rows by concept.

Rows are joined by concept as sorted files are merged: side by side, a concept at a time. A file in another order is
sorted first, outside memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from nomina.errors import FormatError
from nomina.files import Skip, lines, open_bytes, report
from nomina.kb.scratch import scratch
from nomina.packed import bare_name, members

Row = tuple[int, list[str]]
"""Line number and fields."""

COLUMNS = {"CONSO": 18, "STY": 6, "DEF": 8, "REL": 16, "DOC": 4, "SAB": 25}
_PREFIXES = ("MR", "RXN")
_PART = re.compile(r"(?:MR|RXN)\w+\.RRF")
_BOM = b"\xef\xbb\xbf"


class Release(NamedTuple):
    """Where the files lie: ``MRCONSO.RRF`` and those beside it, by the name without ``MR`` or ``RXN``."""

    prefix: str
    files: dict[str, Path]


def is_file_of_release(name: str) -> bool:
    """Whether a file of that name is one of a release."""
    return _PART.fullmatch(name.upper()) is not None


def main_files(names: Iterable[str]) -> set[str]:
    """Those of the names that are a release's file of names, in capitals."""
    return {name.upper() for name in names} & {f"{prefix}CONSO.RRF" for prefix in _PREFIXES}


def find_release(path: Path) -> Release:
    """The files of a release, by its folder, an archive of it, or one of its files with the others beside.

    Of several file sets in a folder the one nearest to the top is taken, UMLS before RxNorm. A file of names that is
    called otherwise is read alone.

    Raises:
        FormatError: a folder or archive without a file of names, another file without one beside.
    """
    if is_file_of_release(bare_name(path)) and not path.is_dir():
        files = members(path.parent) if path.parent.is_dir() else _siblings(path)
        beside = [file for file in (path, *files) if file.parent == path.parent and main_files([bare_name(file)])]
        fitting = [file for file in beside if bare_name(file).upper()[:2] == bare_name(path).upper()[:2]]
        if not fitting:
            raise FormatError(path, None, "is a part of UMLS or RxNorm, without MRCONSO.RRF or RXNCONSO.RRF beside it")
        return _beside(fitting[0], files)
    inside = members(path)
    found = [file for file in inside if main_files([bare_name(file)])]
    if found:
        nearest = min(found, key=lambda file: (len(file.parts), bare_name(file).upper()))
        return _beside(nearest, inside)
    if len(inside) > 1 or path.is_dir():
        raise FormatError(path, None, "holds neither MRCONSO.RRF nor RXNCONSO.RRF")
    return Release("MR", {"CONSO": path})


def _siblings(path: Path) -> list[Path]:
    """What lies beside a file in an archive."""
    for parent in path.parents:
        if parent.is_file():
            return members(parent)
    return [path]


def _beside(main: Path, files: Iterable[Path]) -> Release:
    prefix = bare_name(main).upper().removesuffix("CONSO.RRF")
    found = {"CONSO": main}
    for file in files:
        name = bare_name(file).upper()
        if file.parent == main.parent and name.startswith(prefix) and name.endswith(".RRF"):
            found.setdefault(name.removeprefix(prefix).removesuffix(".RRF"), file)
    return Release(prefix, found)


def rows(path: Path, columns: int, skip: Skip | None) -> Iterator[Row]:
    """The rows of a file, each with a concept as its first field."""
    for number, line in lines(path, skip):
        fields = split(path, number, line, columns, skip)
        if not fields:
            continue
        if fields[0] and fields[0] == fields[0].strip() and "\t" not in fields[0]:
            yield number, fields
        else:
            report(FormatError(path, number, f"the first field must be a concept's id, not {fields[0]!r}"), skip)


def split(path: Path, number: int, line: str, columns: int, skip: Skip | None) -> list[str]:
    """The fields of a line and an empty one behind the last ``|``; none for a blank line and a reported fault."""
    fields = line.split("|")
    if len(fields) == columns + 1 and not fields[columns]:
        return fields
    if line and not line.isspace():
        why = f"expected {columns} fields, each closed by '|', found {len(fields) - 1}: is the line cut off?"
        report(FormatError(path, number, why), skip)
    return []


def in_order(
    path: Path, wanted: Container[bytes] = frozenset(), visit: Callable[[int, bytes], None] | None = None
) -> bool:
    """Whether the rows stand in ascending order of concept, shorter ids first; a pass over the bytes.

    Args:
        path: the file.
        wanted: concepts whose rows are shown to ``visit`` on the way.
        visit: called with line number and line.
    """
    before, ordered = b"", True
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            concept = raw[: raw.find(b"|")]
            if visit is not None and concept in wanted:
                visit(number, raw)
            if concept == before or not concept.strip():
                continue
            if number == 1:
                concept = concept.removeprefix(_BOM)
            elif (len(concept), concept) < (len(before), before):
                ordered = False
                if visit is None:
                    break
            before = concept
    return ordered


def by_concept(found: Iterable[Row], ordered: bool) -> Iterator[tuple[str, list[Row]]]:
    """Rows by their first field, in the order of ``in_order``."""
    for concept, group in groupby(found if ordered else _sorted(found), key=lambda row: row[1][0]):
        yield concept, list(group)


def _sorted(found: Iterable[Row]) -> Iterator[Row]:
    with scratch() as database:
        database.execute("CREATE TABLE line (length INTEGER, concept TEXT, number INTEGER, text TEXT)")
        database.executemany(
            "INSERT INTO line VALUES (?, ?, ?, ?)",
            ((len(fields[0]), fields[0], number, "|".join(fields)) for number, fields in found),
        )
        for number, text in database.execute("SELECT number, text FROM line ORDER BY length, concept, number"):
            yield number, text.split("|")
