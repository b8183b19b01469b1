"""The SQLite file of a KB: its tables, its manifest, its fingerprint."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SCHEMA_VERSION = 1
APPLICATION_ID = 0x6E6F6D69  # "nomi", in the header of the SQLite file

TABLES = """
CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE lineage (
    position INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, rows INTEGER NOT NULL, entities INTEGER NOT NULL
);
CREATE TABLE label (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE entity (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, live INTEGER NOT NULL, definition TEXT,
    types TEXT, parents TEXT, xrefs TEXT, retired_ids TEXT
);
CREATE TABLE row (number INTEGER PRIMARY KEY, key TEXT NOT NULL, surface TEXT NOT NULL);
CREATE TABLE row_hash (hash INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (hash, row)) WITHOUT ROWID;
CREATE TABLE name (
    entity INTEGER NOT NULL, position INTEGER NOT NULL, row INTEGER NOT NULL, raw TEXT,
    scope INTEGER NOT NULL, kind INTEGER, source INTEGER, PRIMARY KEY (entity, position)
) WITHOUT ROWID;
CREATE TABLE edge (parent INTEGER NOT NULL, child INTEGER NOT NULL, PRIMARY KEY (parent, child)) WITHOUT ROWID;
CREATE TABLE entity_type (type INTEGER NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (type, entity)) WITHOUT ROWID;
CREATE TABLE retired (id TEXT PRIMARY KEY, replaced_by TEXT NOT NULL) WITHOUT ROWID;
"""
"""Numbers of rows and entities are dense from 0 and never change; a later version only appends.

``name.position`` 0 is the preferred name, ``name.raw`` is NULL where it is the row's surface, ``name.scope`` an index
into ``types.SCOPES``; kinds, sources and types are ``label`` numbers. Lists (types, parents, xrefs, retired_ids,
replaced_by) are JSON arrays, NULL where empty. An entity that is retired in a later version keeps its number with
``live`` 0 and loses its names, edges and types; a table ``ownerless`` (row) then holds the rows that nobody has left.
``edge`` holds the parents that are in the KB, ``entity.parents`` all that the source names. Row look-up goes over a
64-bit hash of the key: an index over the keys themselves would make the file a third larger.
"""

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

INDEXES = """
CREATE UNIQUE INDEX entity_id ON entity (id);
CREATE INDEX name_row ON name (row);
CREATE INDEX edge_child ON edge (child);
"""

_CONTENT = (
    "SELECT number || char(31) || surface FROM row ORDER BY number",
    """SELECT number || char(31) || id || char(31) || live || char(31) || coalesce(definition, '') || char(31)
        || coalesce(types, '') || char(31) || coalesce(parents, '') || char(31) || coalesce(xrefs, '') || char(31)
        || coalesce(retired_ids, '') FROM entity ORDER BY number""",
    """SELECT entity || char(31) || row || char(31) || coalesce(raw, '') || char(31) || scope || char(31)
        || coalesce(k.text, '') || char(31) || coalesce(s.text, '') FROM name
        LEFT JOIN label k ON k.number = name.kind LEFT JOIN label s ON s.number = name.source
        ORDER BY entity, position""",
    "SELECT id || char(31) || replaced_by FROM retired ORDER BY id",
)


def execute_all(connection: sqlite3.Connection, script: str) -> None:
    """Run statements one by one inside the open transaction (``executescript`` would commit it)."""
    for statement in script.split(";\n"):
        connection.execute(statement)


def hash_key(key: str) -> int:
    """The signed 64-bit number under which a look-up key is indexed; collisions are told apart by the key itself."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little", signed=True)


def fingerprint(connection: sqlite3.Connection, normaliser: str) -> str:
    """A hash of the whole content (rows, concepts, names, retired ids) and of the normaliser that made the keys."""
    digest = hashlib.sha256(f"schema {SCHEMA_VERSION}, normaliser {normaliser}\n".encode())
    for query in _CONTENT:
        cursor = connection.execute(query)
        while batch := cursor.fetchmany(10_000):
            digest.update("".join(f"{text}\n" for (text,) in batch).encode())
        digest.update(b"\x00")
    return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A file that went into a KB: what it is, what is known of its release and licence, which reader options it had.

    ``sha256`` is of the file as it lies on disk (of the archive, where it lies in one); of what ``nomina kb get`` takes
    out of a package, it is of the file in the package.
    """

    file: str
    format: str | None = None
    sha256: str | None = None
    title: str | None = None
    release: str | None = None
    licence: str | None = None
    imports: int = 0
    options: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is in a KB, and what was met while it was built.

    ``homonyms`` are rows with several owners; ``merged`` records that had an id seen before; ``missing_parents``
    parents that the source names and does not have; ``nameless`` concepts without any name; ``filtered`` concepts that
    a root or type kept out; ``problems`` faults that a lenient build reported.
    """

    concepts: int = 0
    names: int = 0
    rows: int = 0
    homonyms: int = 0
    retired: int = 0
    merged: int = 0
    missing_parents: int = 0
    nameless: int = 0
    filtered: int = 0
    problems: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a KB says of itself: where it comes from, how it was made, how much is in it."""

    name: str
    sources: tuple[SourceInfo, ...]
    normaliser: str
    schema: int
    nomina: str
    fingerprint: str
    entities: int
    root: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    lenient: bool = False
    counts: Counts = field(default_factory=Counts)
    problems: tuple[str, ...] = ()
    dedup: str | None = None

    @property
    def release(self) -> str | None:
        """The release of the source, or of all sources that name one."""
        return "; ".join(dict.fromkeys(s.release for s in self.sources if s.release)) or None

    @property
    def licence(self) -> str | None:
        """The licence of the source, or of all sources that name one."""
        return "; ".join(dict.fromkeys(s.licence for s in self.sources if s.licence)) or None

    def rows(self) -> list[tuple[str, str]]:
        """Key and JSON value of each field, as the table holds them."""
        return [(key, json.dumps(value, ensure_ascii=False)) for key, value in asdict(self).items()]

    @classmethod
    def from_rows(cls, rows: Mapping[str, str]) -> Manifest:
        """The manifest again.

        Raises:
            ValueError, TypeError: the rows are not a manifest.
        """
        values: dict[str, Any] = {key: json.loads(value) for key, value in rows.items()}
        return replace(
            cls(**values),
            sources=tuple(SourceInfo(**source) for source in values["sources"]),
            counts=Counts(**values["counts"]),
            root=tuple(values["root"]),
            types=tuple(values["types"]),
            problems=tuple(values["problems"]),
        )


def pack(values: tuple[str, ...]) -> str | None:
    """A list as the tables hold it."""
    return _ENCODE(values) if values else None


def unpack(text: str | None) -> tuple[str, ...]:
    """The list again."""
    return tuple(json.loads(text)) if text else ()
