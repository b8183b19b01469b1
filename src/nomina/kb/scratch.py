"""What is sorted or joined outside memory before a KB is built: a temporary database on disk, a merge of streams."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def scratch() -> Iterator[sqlite3.Connection]:
    """A private database in a file that SQLite itself removes, in ``SQLITE_TMPDIR``, else ``TMPDIR``."""
    connection = sqlite3.connect("", isolation_level=None)
    try:
        # Nothing here is worth a journal: after a crash the file is gone.
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", "cache_size = -65536"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


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
