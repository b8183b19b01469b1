"""From a stream of records to a KB file: staged in SQLite's temporary tables and sorted there, outside memory.

Nothing here holds all names or all ids: the stream goes to temporary tables, SQLite sorts and joins them in files of
its own (in ``SQLITE_TMPDIR``, else ``TMPDIR``), and each table of the KB is then written once, in its final order.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

from nomina._version import __version__
from nomina.errors import FormatError, KnowledgeBaseError, UsageError
from nomina.files import atomic, sha256
from nomina.kb import reader_for
from nomina.kb.finish import finish
from nomina.kb.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, Manifest, SourceInfo, hash_key, pack
from nomina.kb.store import KnowledgeBase
from nomina.text import NORMALISER_VERSION, normalise
from nomina.types import SCOPES, Entity, Retired

Progress = Callable[[str, int], None]
"""Called with what is being done and how many records are through."""

_BATCH = 5_000
_SHOWN_PROBLEMS = 20
_VM_STEPS = 200_000  # between two looks for a Ctrl-C: a few milliseconds

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


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What goes into a KB.

    ``types``: only concepts of one of these; ``root``: only what lies under one of these ids by ``is_a``, themselves
    included; ``lenient``: report and go on where the strict build stops.
    """

    name: str
    types: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    lenient: bool = False


def build(
    path: str | Path,
    records: Iterable[Entity | Retired],
    options: BuildOptions | None = None,
    sources: Sequence[SourceInfo] = (),
    progress: Progress | None = None,
) -> KnowledgeBase:
    """Write a KB file and open it. Records with the same id become one concept with the names of all.

    The old file stays whole until the new one is on disk; two builders at once do not meet.

    Raises:
        KnowledgeBaseError: nothing to look up in the records, an unknown root or type, a place that cannot be written.
    """
    options = options or BuildOptions(Path(path).stem)
    return _build(path, records, options, lambda: sources, Problems(options.lenient), progress)


def build_from_files(
    path: str | Path,
    files: Sequence[str | Path],
    options: BuildOptions | None = None,
    *,
    format: str | None = None,
    progress: Progress | None = None,
    **reader_options: bool | str,
) -> KnowledgeBase:
    """Build a KB from the files of terminologies: each sniffed, read, hashed and described in the manifest.

    Args:
        path: the KB file to write.
        files: one or more; concepts with the same id in several files become one.
        options: see ``BuildOptions``; the name is by default that of the file.
        format: a key of ``FORMATS`` where sniffing is not wanted.
        progress: told how far the build is.
        **reader_options: what the format's ``read`` takes beside.

    Raises:
        FormatError: a file that is not what it should be.
        UsageError: an unknown format or reader option.
        KnowledgeBaseError: as ``build``.
    """
    options = options or BuildOptions(Path(path).stem)
    problems = Problems(options.lenient)
    readers = [(Path(file), *reader_for(file, format)) for file in files]
    for _, name, reader in readers:
        if unknown := sorted(set(reader_options) - set(signature(reader.read).parameters)):
            raise UsageError(f"the format {name} has no option {unknown[0]}")

    def describe() -> Iterator[SourceInfo]:
        for file, name, reader in readers:
            info = reader.describe(file) if hasattr(reader, "describe") else SourceInfo(file.name)
            yield replace(info, format=name, sha256=sha256(file))

    def records() -> Iterator[Entity | Retired]:
        for file, _, reader in readers:
            yield from reader.read(file, skip=problems.report if options.lenient else None, **reader_options)

    return _build(path, records(), options, lambda: tuple(describe()), problems, progress)


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
            self.messages.append(str(error))


def _build(
    path: str | Path,
    records: Iterable[Entity | Retired],
    options: BuildOptions,
    sources: Callable[[], Sequence[SourceInfo]],
    problems: Problems,
    progress: Progress | None,
) -> KnowledgeBase:
    progress = progress or _silent
    _refuse_foreign(Path(path))
    try:
        with atomic(path) as temporary, _database(temporary) as connection:
            stage = Stage(connection, problems)
            stage.fill(records, progress)
            progress("sorting", stage.records)
            counts, entities, fingerprint = finish(connection, options.root, options.types)
            manifest = Manifest(
                options.name, tuple(sources()), NORMALISER_VERSION, SCHEMA_VERSION, __version__, fingerprint, entities,
                options.root, options.types, options.lenient,
                replace(counts, problems=problems.count), tuple(problems.messages),
            )  # fmt: skip
            _sign(connection, manifest)
            progress("writing", stage.records)
    except OSError as error:
        raise KnowledgeBaseError(f"cannot write {path} ({error.strerror}): choose another place") from error
    return KnowledgeBase.open(path)


def _silent(doing: str, records: int) -> None:
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
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """A new database, written fast: the file counts only once it is whole, so SQLite's own journal is not needed."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.set_progress_handler(_look_for_interrupt, _VM_STEPS)
    try:
        connection.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
            "PRAGMA temp_store = FILE; PRAGMA cache_size = -65536; PRAGMA temp.cache_size = -131072;"
            f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; BEGIN;"
            + TABLES
            + _STAGE
        )
        yield connection
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            raise
        hint = f"free some space in {path.parent} or for temporary files (or set SQLITE_TMPDIR to a roomier folder)"
        raise KnowledgeBaseError(f"cannot build the KB ({error}): {hint}") from error
    except UnicodeEncodeError as error:
        raise KnowledgeBaseError(
            f"the text {error.object[:60]!r} holds half of a surrogate pair: mend the input"
        ) from error
    finally:
        connection.close()


def _look_for_interrupt() -> int:
    """Python handles a pending Ctrl-C before it runs this; the exception then stops SQLite."""
    return 0


class Stage:
    """Takes the stream of records to the temporary tables."""

    def __init__(self, connection: sqlite3.Connection, problems: Problems) -> None:
        self._connection, self._problems = connection, problems
        self.records = self._names = 0
        self._labels: dict[str, int] = {}

    def fill(self, records: Iterable[Entity | Retired], progress: Progress) -> None:
        """Stage all records, a batch at a time."""
        entities: list[tuple[Any, ...]] = []
        names: list[tuple[Any, ...]] = []
        retired: list[tuple[Any, ...]] = []
        for record in records:
            if isinstance(record, Retired):
                retired.append((record.id, pack(record.replaced_by) or "[]"))
                continue
            entities.append(self._entity(record))
            names.extend(self._rows(record))
            self.records += 1
            if self.records % _BATCH == 0:
                self._flush(entities, names, retired)
                progress("reading", self.records)
        self._flush(entities, names, retired)
        self._connection.executemany(
            "INSERT INTO label VALUES (?, ?)", ((number, text) for text, number in self._labels.items())
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


def _sign(connection: sqlite3.Connection, manifest: Manifest) -> None:
    connection.executemany("INSERT INTO manifest VALUES (?, ?)", manifest.rows())
    rows = manifest.counts.rows
    connection.execute("INSERT INTO lineage VALUES (0, ?, ?, ?)", (manifest.fingerprint, rows, manifest.entities))
