"""Trade names and parents out of the relations of an RRF release: a pass over the bytes, what counts on disk.

A row says what its *second* concept is to its first: ``C1|...|PAR|C2`` that C2 is a parent of C1, ``tradename_of`` that
C2 is a brand of C1. Each relation stands there in both directions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, decoded, open_bytes, report
from nomina.kb.rrf_files import COLUMNS, split

_TABLES = (
    "CREATE TABLE parent (child TEXT, parent TEXT)",
    "CREATE TABLE brand (generic TEXT, brand TEXT)",
    "CREATE TABLE brand_name (brand TEXT, text TEXT, source TEXT)",
)
_TRADE_NAMES = """
SELECT DISTINCT b.generic, n.text, n.source FROM (SELECT DISTINCT generic, brand FROM brand) b
JOIN brand_name n ON n.brand = b.brand ORDER BY length(b.generic), b.generic, n.rowid
"""
_PARENTS = "SELECT DISTINCT child, parent FROM parent ORDER BY length(child), child, length(parent), parent"
_BATCH = 10_000


class Links:
    """The relations that are wanted, in a temporary database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        for table in _TABLES:
            database.execute(table)

    def fill(self, path: Path, skip: Skip | None, tradenames: bool, parents: bool, suppress: frozenset[str]) -> None:
        """Take what is wanted out of the file of relations.

        Raises:
            FormatError: a wanted row with a fault, or a file that is cut off.
        """
        marks = [b"tradename"] if tradenames else []
        marks += [b"|PAR|", b"|inverse_isa|"] if parents else []
        found: dict[str, list[tuple[str, str]]] = {"parent": [], "brand": []}
        raw, number = b"", 0
        with open_bytes(path) as stream:
            for number, raw in enumerate(stream, start=1):
                for mark in marks:
                    if mark in raw:
                        break
                else:
                    continue
                line = decoded(path, number, raw.rstrip(b"\r\n"), skip)
                fields = split(path, number, line, COLUMNS["REL"], skip)
                if fields and (fields[14] or "N") in suppress:
                    _sort_in(fields, found, tradenames, parents)
                    if len(found["parent"]) + len(found["brand"]) >= _BATCH:
                        self._store(found)
        self._store(found)
        if raw.strip() and not raw.rstrip().endswith(b"|"):
            report(FormatError(path, number, "the last line is cut off: fetch the file again"), skip)

    def _store(self, found: dict[str, list[tuple[str, str]]]) -> None:
        for table, pairs in found.items():
            self._database.executemany(f"INSERT INTO {table} VALUES (?, ?)", pairs)
            pairs.clear()

    def brands(self) -> frozenset[bytes]:
        """The concepts that are a brand of another, as bytes."""
        return frozenset(brand.encode() for (brand,) in self._database.execute("SELECT DISTINCT brand FROM brand"))

    def add_brand_name(self, brand: str, text: str, source: str) -> None:
        """Take note of a name of a brand."""
        self._database.execute("INSERT INTO brand_name VALUES (?, ?, ?)", (brand, text, source))

    def trade_names(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Concepts in ascending order, each with the names of its brands and their sources."""
        self._database.execute("CREATE INDEX brand_name_brand ON brand_name (brand)")
        for generic, group in groupby(self._database.execute(_TRADE_NAMES), key=itemgetter(0)):
            yield generic, [(text, source) for _, text, source in group]

    def parents(self) -> Iterator[tuple[str, list[str]]]:
        """Concepts in ascending order, each with its parents."""
        for child, group in groupby(self._database.execute(_PARENTS), key=itemgetter(0)):
            yield child, [parent for _, parent in group]


def _sort_in(fields: list[str], found: dict[str, list[tuple[str, str]]], tradenames: bool, parents: bool) -> None:
    first, second, relation, attribute = fields[0], fields[4], fields[3], fields[7]
    if not first or not second or first == second:  # RxNorm also relates atoms, without their concepts
        return
    if tradenames and attribute == "tradename_of":
        found["brand"].append((first, second))
    elif tradenames and attribute == "has_tradename":
        found["brand"].append((second, first))
    elif parents and (relation == "PAR" or attribute == "inverse_isa"):
        found["parent"].append((first, second))
