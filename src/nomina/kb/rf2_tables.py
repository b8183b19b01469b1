"""The rows of a SNOMED CT release in a temporary database, joined there by concept.

The files are in the order of identifiers that have nothing to do with concepts, so all are staged on disk first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.kb.rf2_files import rows

FSN, SYNONYM, DEFINITION = 900000000000003001, 900000000000013009, 900000000000550004
"""Types of descriptions."""

LONGEST_ID = 18
"""Digits of an identifier."""

IS_A = 116680003
SAME = (900000000000527005, 900000000000526001)
"""The associations SAME AS and REPLACED BY."""

PERHAPS = (900000000000523009, 1186921001, 1186924009, 900000000000530003, 900000000000528000)
"""POSSIBLY EQUIVALENT TO, POSSIBLY REPLACED BY, PARTIALLY EQUIVALENT TO, ALTERNATIVE, WAS A."""

_ACCEPTABILITY = {"900000000000548007": 1, "900000000000549004": 0}  # preferred, acceptable

_TABLES = (
    "CREATE TABLE concept (file INTEGER, line INTEGER, time TEXT, active INTEGER, id INTEGER)",
    "CREATE TABLE description (file INTEGER, line INTEGER, time TEXT, active INTEGER, id INTEGER, concept INTEGER,"
    " type INTEGER, language TEXT, term TEXT)",
    "CREATE TABLE parent (child INTEGER, parent INTEGER)",
    "CREATE TABLE standing (description INTEGER, refset INTEGER, preferred INTEGER)",
    "CREATE TABLE association (concept INTEGER, kind INTEGER, target INTEGER)",
)
_OLDER = """
DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM {table} newer
    WHERE newer.id = {table}.id AND (newer.time, newer.rowid) > ({table}.time, {table}.rowid))
"""
_STANDING = (
    "CREATE INDEX standing_description ON standing (description, refset, preferred)",
    "CREATE TABLE listed AS SELECT DISTINCT d.language FROM description d JOIN standing s ON s.description = d.id",
)
_CONCEPTS = "SELECT id, max(active) FROM concept GROUP BY id ORDER BY id"
_DESCRIPTIONS = """
SELECT d.concept, d.type, d.language, d.term,
    coalesce((SELECT max(preferred) FROM standing s WHERE s.description = d.id), -1) AS standing,
    coalesce((SELECT max(preferred) FROM standing s WHERE s.description = d.id AND s.refset = ?), -1)
FROM description d
WHERE d.active AND (d.type = ? OR standing >= 0 OR d.language NOT IN (SELECT language FROM listed))
ORDER BY d.concept, d.file, d.line
"""
"""A description that no language reference set lists is not in use, where its language has such a set at all."""


class Description(NamedTuple):
    """A description; its standing is 1 for preferred, 0 for acceptable, -1 for neither."""

    type: int
    language: str
    term: str
    standing: int
    standing_in_dialect: int


class Tables:
    """What is wanted of a release, staged out of its files."""

    def __init__(self, database: sqlite3.Connection, files: dict[str, list[Path]], skip: Skip | None) -> None:
        self._database, self._skip = database, skip
        self._paths: list[Path] = []
        for table in _TABLES:
            database.execute(table)
        for kind, table, take in (
            ("Concept", "concept", _concept),
            ("Description", "description", _description),
            ("TextDefinition", "description", _description),
            ("Relationship", "parent", _parent),
            ("Language", "standing", _standing),
            ("Association", "association", _association),
        ):
            for path in files.get(kind, ()):
                self._fill(path, kind, table, take)
        for table, kinds in (("concept", ("Concept",)), ("description", ("Description", "TextDefinition"))):
            self._check(table, several=any(len(files.get(kind, ())) > 1 for kind in kinds))
        for statement in _STANDING:
            database.execute(statement)

    def _fill(self, path: Path, kind: str, table: str, take: Callable[[list[str]], tuple[object, ...] | None]) -> None:
        number_of_file = len(self._paths)
        self._paths.append(path)
        in_file = table in ("concept", "description")

        def taken() -> Iterator[tuple[object, ...]]:
            for number, fields in rows(path, kind, self._skip):
                try:
                    values = take(fields)
                except ValueError as error:
                    report(FormatError(path, number, str(error)), self._skip)
                    continue
                if values is not None:
                    yield (number_of_file, number, *values) if in_file else values

        columns = self._database.execute(f"SELECT count(*) FROM pragma_table_info('{table}')").fetchone()[0]
        marks = ", ".join("?" * columns)
        self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", taken())

    def _check(self, table: str, several: bool) -> None:
        """A second row of a component in one file is a fault; of several files the latest row counts."""
        self._database.execute(f"CREATE INDEX {table}_id ON {table} (id, file)")
        twice = f"SELECT file, max(line), id FROM {table} GROUP BY id, file HAVING count(*) > 1 ORDER BY file, line"
        for file, line, id in self._database.execute(twice).fetchall():
            why = f"a second row of {id}: is it a snapshot?"
            report(FormatError(self._paths[file], line, why), self._skip)
        if several:
            self._database.execute(_OLDER.format(table=table))

    def concepts(self) -> Iterator[tuple[str, bool]]:
        """Ids in ascending order, and whether they are in use."""
        return ((str(id), bool(active)) for id, active in self._database.execute(_CONCEPTS))

    def descriptions(self, dialect: int) -> Iterator[tuple[str, list[Description]]]:
        """The descriptions in use, by concept in ascending order."""
        found = self._database.execute(_DESCRIPTIONS, (dialect, DEFINITION))
        for concept, group in groupby(found, key=itemgetter(0)):
            yield str(concept), [Description(*values) for _, *values in group]

    def parents(self) -> Iterator[tuple[str, list[str]]]:
        """The parents, by concept in ascending order."""
        return self._pairs("SELECT DISTINCT child, parent FROM parent ORDER BY child, parent", ())

    def replacements(self, kinds: tuple[int, ...]) -> Iterator[tuple[str, list[str]]]:
        """What the historical associations of these kinds name, by concept in ascending order."""
        places = " ".join(f"WHEN {kind} THEN {place}" for place, kind in enumerate(kinds))
        query = (
            f"SELECT concept, target FROM association WHERE kind IN ({', '.join('?' * len(kinds))})"
            f" ORDER BY concept, CASE kind {places} END, target"
        )
        return self._pairs(query, kinds)

    def _pairs(self, query: str, values: tuple[int, ...]) -> Iterator[tuple[str, list[str]]]:
        for first, group in groupby(self._database.execute(query, values), key=itemgetter(0)):
            yield str(first), [str(second) for _, second in group]

    def dialects(self) -> set[int]:
        """The language reference sets that there are."""
        return {refset for (refset,) in self._database.execute("SELECT DISTINCT refset FROM standing")}

    def languages(self) -> set[str]:
        """The languages of the descriptions."""
        return {language for (language,) in self._database.execute("SELECT DISTINCT language FROM description")}


def _id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_ID):
        raise ValueError(f"expected an identifier of up to {LONGEST_ID} digits, found {text[:40]!r}")
    return int(text)


def _concept(fields: list[str]) -> tuple[object, ...]:
    return fields[1], int(fields[2]), _id(fields[0])


def _description(fields: list[str]) -> tuple[object, ...]:
    if not fields[7].strip():
        raise ValueError("the term is empty")
    id, concept, type = _id(fields[0]), _id(fields[4]), _id(fields[6])
    return fields[1], int(fields[2]), id, concept, type, fields[5].casefold(), fields[7].strip()


def _parent(fields: list[str]) -> tuple[object, ...] | None:
    if fields[2] == "0" or fields[7] != str(IS_A):
        return None
    return _id(fields[4]), _id(fields[5])


def _standing(fields: list[str]) -> tuple[object, ...] | None:
    if fields[6] not in _ACCEPTABILITY:
        raise ValueError(f"the acceptability must be {' or '.join(_ACCEPTABILITY)}, not {fields[6]!r}")
    return None if fields[2] == "0" else (_id(fields[5]), _id(fields[4]), _ACCEPTABILITY[fields[6]])


def _association(fields: list[str]) -> tuple[object, ...] | None:
    kind = _id(fields[4])
    if fields[2] == "0" or kind not in SAME + PERHAPS:
        return None
    return _id(fields[5]), kind, _id(fields[6])
