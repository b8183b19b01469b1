"""What a build and an update of a KB share: the database under construction, and records staged in temporary tables."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from nomina.errors import FormatError, KnowledgeBaseError
from nomina.files import atomic
from nomina.kb.opening import damaged
from nomina.kb.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, hash_key, pack
from nomina.kb.scratch import working
from nomina.text import normalise
from nomina.types import SCOPES, Entity, Retired

Progress = Callable[[str, int], None]
"""Called with what is being done and how many records are through."""

_BATCH = 5_000
_SHOWN_PROBLEMS = 20

_STAGE = """
CREATE TEMP TABLE s_record (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, definition TEXT, types TEXT, parents TEXT, xrefs TEXT, retired_ids TEXT
);
CREATE TEMP TABLE s_name (
    seq INTEGER PRIMARY KEY, record INTEGER NOT NULL, hash INTEGER NOT NULL, key TEXT NOT NULL, raw TEXT NOT NULL,
    scope INTEGER NOT NULL, kind INTEGER, source INTEGER
);
CREATE TEMP TABLE s_retired (id TEXT NOT NULL, replaced_by TEXT NOT NULL);
"""
_FAST = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
PRAGMA temp_store = FILE; PRAGMA cache_size = -65536; PRAGMA temp.cache_size = -131072;
"""
_NEW = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"


class Problems:
    """Counts the faults that a lenient build goes past and keeps the first few messages."""

    def __init__(self, lenient: bool) -> None:
        self.lenient, self.count = lenient, 0
        self.messages: list[str] = []

    def report(self, error: FormatError | KnowledgeBaseError) -> None:
        """Take note of a fault; a strict build stops with it."""
        if not self.lenient:
            raise error
        self.count += 1
        if len(self.messages) < _SHOWN_PROBLEMS:
            self.messages.append(str(error).encode("utf-8", "backslashreplace").decode("utf-8"))


def silent(doing: str, records: int) -> None:
    """No progress wanted."""


def _refuse_foreign(path: Path) -> None:
    """Never write over a file that is not a KB: it may be the source."""
    if path.is_dir():
        raise KnowledgeBaseError(f"{path} is a folder: name a file for the KB")
    if path.is_file() and path.stat().st_size:
        with open(path, "rb") as stream:
            if not stream.read(16).startswith(b"SQLite format 3\x00"):
                raise KnowledgeBaseError(f"{path} exists and is not a KB: choose another name for the KB")


@contextlib.contextmanager
def under_construction(path: Path, base: Path | None = None) -> Iterator[sqlite3.Connection]:
    """A database, empty or a copy of ``base``, that takes the place of ``path`` when the block ends well.

    If the block raises or is killed, ``path`` stays as it was. The tables to stage records in are there.

    Raises:
        KnowledgeBaseError: ``path`` is something else than a KB, or cannot be written; ``base`` is damaged.
    """
    _refuse_foreign(path)
    try:
        with atomic(path) as temporary:
            if base is not None:
                shutil.copyfile(base, temporary)
            with _database(temporary, new=base is None) as connection:
                yield connection
    except sqlite3.DatabaseError as error:
        if base is None:
            raise
        raise damaged(base, error) from error
    except OSError as error:
        raise KnowledgeBaseError(f"cannot write {path} ({error.strerror or error}): choose another place") from error


@contextlib.contextmanager
def _database(path: Path, new: bool) -> Iterator[sqlite3.Connection]:
    """The connection, made to write fast: the file counts only once it is whole, so a journal is not needed."""
    connection = sqlite3.connect(path, isolation_level=None)
    with working(connection, path.parent):
        connection.executescript(_FAST + (_NEW if new else "") + "BEGIN;" + (TABLES if new else "") + _STAGE)
        try:
            yield connection
        except UnicodeEncodeError as error:
            raise KnowledgeBaseError(
                f"the text {error.object[:60]!r} holds half of a surrogate pair: mend the input"
            ) from error
        connection.execute("COMMIT")


class Stage:
    """Takes the stream of records to the temporary tables."""

    def __init__(self, connection: sqlite3.Connection, problems: Problems) -> None:
        self._connection, self._problems = connection, problems
        self.records = self._names = 0
        self._labels: dict[str, int] = dict(connection.execute("SELECT text, number FROM label"))

    def fill(self, records: Iterable[Entity | Retired], progress: Progress) -> None:
        """Stage all records, a batch at a time."""
        entities: list[tuple[Any, ...]] = []
        names: list[tuple[Any, ...]] = []
        retired: list[tuple[Any, ...]] = []
        for record in records:
            if isinstance(record, Retired):
                retired.append((record.id, pack(record.replaced_by) or "[]"))
            else:
                entities.append(self._entity(record))
                names.extend(self._rows(record))
                self.records += 1
            if len(entities) + len(retired) == _BATCH:
                self._flush(entities, names, retired)
                progress("reading", self.records)
        self._flush(entities, names, retired)
        self._connection.executemany(
            "INSERT OR IGNORE INTO label VALUES (?, ?)", ((number, text) for text, number in self._labels.items())
        )

    def _flush(self, *batches: list[tuple[Any, ...]]) -> None:
        queries = (
            "INSERT INTO s_record VALUES (?, ?, ?, ?, ?, ?, ?)",
            "INSERT INTO s_name VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            "INSERT INTO s_retired VALUES (?, ?)",
        )
        for query, batch in zip(queries, batches, strict=True):
            self._connection.executemany(query, batch)
            batch.clear()

    def _entity(self, entity: Entity) -> tuple[Any, ...]:
        for label in entity.types:
            self._label(label)
        lists = (entity.types, entity.parents, entity.xrefs, entity.retired_ids)
        return (self.records, entity.id, entity.definition, *map(pack, lists))

    def _rows(self, entity: Entity) -> Iterator[tuple[Any, ...]]:
        for name in entity.names:
            key = normalise(name.text)
            if not key:
                self._problems.report(
                    KnowledgeBaseError(f"{entity.id}: the name {name.text!r} has no visible character")
                )
                continue
            scope = SCOPES.index(name.scope)
            labels = self._label(name.kind), self._label(name.source)
            yield (self._names, self.records, hash_key(key), key, name.text, scope, *labels)
            self._names += 1

    def _label(self, text: str | None) -> int | None:
        return None if text is None else self._labels.setdefault(text, len(self._labels))
