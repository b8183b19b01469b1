"""Project files: SQLite, in WAL mode, opened by any number of processes of one machine."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import UsageError

APPLICATION_ID = 0x6E6F5252
"""At byte 68 of the file, big-endian: tells a project from other SQLite files (https://sqlite.org/fileformat.html)."""

SCHEMA_VERSION = 1

MAGIC = b"SQLite format 3\x00"

_PATIENCE = 10.0  # seconds that a writer waits for another one
_SCHEMA = f"""
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, sections TEXT NOT NULL, kb TEXT NOT NULL,
    revision INTEGER NOT NULL) STRICT;
CREATE TABLE saves (
    document INTEGER NOT NULL REFERENCES documents, revision INTEGER NOT NULL, annotator TEXT NOT NULL,
    time TEXT NOT NULL, save TEXT NOT NULL UNIQUE, PRIMARY KEY (document, revision)) STRICT, WITHOUT ROWID;
CREATE TABLE mentions (
    document INTEGER NOT NULL REFERENCES documents, key TEXT NOT NULL, revision INTEGER NOT NULL, spans TEXT NOT NULL,
    type TEXT, finding TEXT NOT NULL, uncertainty REAL NOT NULL, PRIMARY KEY (document, key)) STRICT, WITHOUT ROWID;
CREATE TABLE decisions (
    document INTEGER NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('decided', 'open', 'rejected')), gold TEXT NOT NULL, name TEXT,
    PRIMARY KEY (document, key, revision), FOREIGN KEY (document, key) REFERENCES mentions,
    FOREIGN KEY (document, revision) REFERENCES saves) STRICT, WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


def is_project(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a project."""
    return head.startswith(MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def open_to_write(path: Path) -> sqlite3.Connection:
    """A project, made where there is none (or an empty file). A transaction is on disk when it is done, power or not.

    Raises:
        UsageError: it cannot be made or written to, or is something else.
    """
    with _told(path):
        connection = _connected(path, "rwc")
        try:
            _make(connection)
            _check(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """A project that is not changed; one in a folder that cannot be written to as well, if nobody has it open.

    Raises:
        UsageError: it is missing, or something else.
    """
    with _told(path):
        if not path.is_file():
            raise UsageError(f"no project at {path}: make one with `nomina serve --project {path.name}`")
        modes = ["rw", "ro", *([] if _has_log(path) else ["ro&immutable=1"])]
        for mode in modes:
            connection = _connected(path, mode)
            try:
                connection.execute("PRAGMA query_only = ON")
                _check(path, connection)
                return connection
            except BaseException as error:
                connection.close()
                if mode == modes[-1] or not isinstance(error, sqlite3.OperationalError):
                    raise
    raise AssertionError(modes)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, path: Path, how: str = "IMMEDIATE") -> Iterator[None]:
    """All that is done in the block, or nothing of it; writers of other processes wait.

    Raises:
        UsageError: the file cannot be read or written.
    """
    with _told(path):
        connection.execute(f"BEGIN {how}")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    """A connection for one thread, not always the one that opened it."""
    where = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _make(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty file, in one transaction, so that two processes may try at once."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if pages:
        return
    connection.execute("BEGIN EXCLUSIVE")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        for statement in filter(str.strip, _SCHEMA.split(";")):
            connection.execute(statement)
    connection.execute("COMMIT")


def _check(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID:
        raise UsageError(f"{path} is a SQLite file but no review project: name another file")
    if schema != SCHEMA_VERSION:
        what = "an older" if schema < SCHEMA_VERSION else "a newer"
        raise UsageError(f"{path} was made by {what} nomina (schema {schema}, here {SCHEMA_VERSION}): use that one")


def _has_log(path: Path) -> bool:
    return path.with_name(f"{path.name}-wal").exists()


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in a user's words what SQLite cannot do."""
    try:
        yield
    except sqlite3.Error as error:
        why = " ".join(str(error).split())
        raise UsageError(f"the project {path} cannot be used ({why}): is it one, and may it be written to?") from error
