"""What is sorted or joined outside memory before a KB is built: a temporary database on disk, a merge of streams."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from nomina.errors import KnowledgeBaseError

T = TypeVar("T")

# Nothing here is worth a journal: after a crash the file is gone.
_PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", "cache_size = -65536")
_VM_STEPS = 200_000  # between two looks for a Ctrl-C: a few milliseconds
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


@contextlib.contextmanager
def working(connection: sqlite3.Connection, folder: Path | None = None) -> Iterator[None]:
    """A block that fills a database, which is closed behind it; Ctrl-C stops SQLite in the midst of a statement.

    Args:
        connection: the database.
        folder: where it lies; None for a temporary file of SQLite's own.

    Raises:
        KnowledgeBaseError: there is no room on the disk.
    """
    connection.set_progress_handler(_look_for_interrupt, _VM_STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        if error.sqlite_errorcode & 0xFF not in _NO_ROOM:
            raise
        where = f"in {folder} or " if folder else ""
        hint = f"free some space {where}for temporary files (or set SQLITE_TMPDIR to a roomier folder)"
        raise KnowledgeBaseError(f"cannot build the KB ({error}): {hint}") from error
    finally:
        connection.close()


def _look_for_interrupt() -> int:
    """Python handles a pending Ctrl-C before it runs this; the exception then stops SQLite."""
    return 0


@contextlib.contextmanager
def scratch() -> Iterator[sqlite3.Connection]:
    """A private database in a file that SQLite itself removes, in ``SQLITE_TMPDIR``, else ``TMPDIR``.

    Raises:
        KnowledgeBaseError: there is no room for it.
    """
    connection = sqlite3.connect("", isolation_level=None)
    with working(connection):
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        yield connection


class Beside(Generic[T]):
    """Values by concept, shorter ids first and then by text (so numbers in order), asked for in that order."""

    def __init__(self, groups: Iterator[tuple[str, list[T]]]) -> None:
        self._groups, self._next = groups, next(groups, None)

    def at(self, concept: str) -> list[T]:
        """The values of a concept; none where it has none."""
        place = len(concept), concept
        while self._next is not None and (len(self._next[0]), self._next[0]) < place:
            self._next = next(self._groups, None)
        return self._next[1] if self._next is not None and self._next[0] == concept else []
