"""Opening a KB file: is it one, is it whole, is it of this version of nomina?

Changed bytes within a page are not looked for: SQLite's own ``PRAGMA quick_check`` takes 20 ms for HPO (220 ms on the
first reading), and sees damage to the structure only, not another letter in a name.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from nomina.errors import KnowledgeBaseError
from nomina.kb.schema import APPLICATION_ID, SCHEMA_VERSION, Manifest
from nomina.text import NORMALISER_VERSION

AGAIN = "remove it and build it again with `nomina kb build`"
"""What to do about a KB file that cannot be used."""


def damaged(path: Path, why: object) -> KnowledgeBaseError:
    """What is said of a KB file whose content is not as it was written."""
    return KnowledgeBaseError(f"{path} is damaged ({why}): {AGAIN}")


def open_file(path: Path) -> tuple[Manifest, tuple[str, ...]]:
    """The manifest and the lineage of a KB file.

    Raises:
        KnowledgeBaseError: it is missing, no KB, cut off, damaged, of another schema or normaliser, or without names.
    """
    _check_file(path)
    connection = connect(path)
    try:
        _check_header(path, connection)
        manifest = Manifest.from_rows(dict(connection.execute("SELECT key, value FROM manifest")))
        query = "SELECT fingerprint FROM lineage ORDER BY position"
        lineage = tuple(text for (text,) in connection.execute(query))
    except (sqlite3.DatabaseError, ValueError, TypeError, KeyError) as error:
        raise KnowledgeBaseError(f"{path} is a damaged KB ({error}): {AGAIN}") from error
    finally:
        connection.close()
    if manifest.normaliser != NORMALISER_VERSION:
        found = f"normaliser {manifest.normaliser}, this nomina uses {NORMALISER_VERSION}"
        raise KnowledgeBaseError(f"{path} was built with {found}: {AGAIN}")
    if not manifest.counts.rows:
        raise KnowledgeBaseError(f"{path} has no names: {AGAIN}")
    return manifest, lineage


def connect(path: Path) -> sqlite3.Connection:
    """Read-only; ``immutable`` because a KB file is replaced whole and never written in place."""
    try:
        return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise KnowledgeBaseError(f"{path} cannot be opened ({error})") from error


def _check_file(path: Path) -> None:
    """Look at the first 100 bytes (https://www.sqlite.org/fileformat.html): is it SQLite, and is all of it there?"""
    try:
        with open(path, "rb") as stream:
            start = stream.read(100)
        size = path.stat().st_size
    except OSError as error:
        raise KnowledgeBaseError(f"no KB at {path} ({error.strerror}): build one with `nomina kb build`") from error
    if len(start) < 100 or not start.startswith(b"SQLite format 3\x00"):
        raise KnowledgeBaseError(f"{path} is not a KB: build one from it with `nomina kb build {path.name} -o FILE`")
    page = int.from_bytes(start[16:18], "big")
    expected = (65_536 if page == 1 else page) * int.from_bytes(start[28:32], "big")
    if size < expected:
        raise KnowledgeBaseError(f"{path} is cut off ({size} of {expected} bytes): {AGAIN}, or copy it again")


def _check_header(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise KnowledgeBaseError(f"{path} is a SQLite file but not a KB of nomina")
    if schema != SCHEMA_VERSION:
        what = "an older" if schema < SCHEMA_VERSION else "a newer"
        raise KnowledgeBaseError(f"{path} was built by {what} nomina (schema {schema}, here {SCHEMA_VERSION}): {AGAIN}")
