"""A temporary database on disk, for what is sorted or joined outside memory before a KB is built."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


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
