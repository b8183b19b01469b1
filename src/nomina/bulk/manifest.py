"""The book of a run: an SQLite file with what was asked for, and a row a shard with what came of it.

Only the process that gives out shards writes to it, in one transaction a shard, when the shard's file is in its place.
Of a run on an object store it is a copy, filled in out of what says there that a shard is done (``remote_store``).
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from nomina.bulk.find import Input
from nomina.bulk.places import bare, size_and_change
from nomina.errors import UsageError
from nomina.files import atomic
from nomina.packed import bare_name

FILE = "manifest.sqlite"
OUTPUT, ERRORS, WORK = "output", "errors", "work"
"""Folders of a run: finished shards, the errors of each, and what is on the way."""

_LAYOUT = "1"
_SCHEMA = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE shard (
    number INTEGER PRIMARY KEY, input TEXT NOT NULL, format TEXT NOT NULL, size INTEGER NOT NULL,
    changed INTEGER NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'todo',
    documents INTEGER, mentions INTEGER, errors INTEGER, bytes INTEGER, sha256 TEXT, errors_sha256 TEXT,
    deleted TEXT NOT NULL DEFAULT '[]', seconds REAL
);
"""
_TODO = (
    "UPDATE shard SET state = 'todo', documents = NULL, mentions = NULL, errors = NULL, bytes = NULL, sha256 = NULL,"
    " errors_sha256 = NULL, deleted = '[]', seconds = NULL"
)
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


class Shard(NamedTuple):
    """A file to be read and the name of the file to be written, as the manifest has them.

    ``input`` is an absolute path or a URL; ``size`` in bytes and ``changed`` (see ``places.size_and_change``) are those
    that it had when the run was begun, 0 where it was not there, as behind a link that leads nowhere.
    """

    number: int
    input: str
    format: str
    size: int
    changed: int
    name: str

    def has_changed(self) -> bool:
        """Whether the file is another than then, by size and time; one that is gone has not.

        Raises:
            NominaError: it cannot be reached.
        """
        try:
            return size_and_change(self.input) != (self.size, self.changed)
        except OSError:
            return False


class Done(NamedTuple):
    """What came of a shard: counts, bytes and SHA-256 of its output, SHA-256 of its errors ("" where it has none).

    ``whole``: whether its input could be read to its end. ``deleted``: ids that the input takes back.
    """

    documents: int
    mentions: int
    errors: int
    bytes: int
    sha256: str
    errors_sha256: str
    whole: bool
    deleted: tuple[str, ...]
    seconds: float


class Totals(NamedTuple):
    """Sums over the shards of a run; ``broken`` are done, but their input could not be read to its end."""

    shards: int
    done: int
    broken: int
    documents: int
    mentions: int
    errors: int
    size: int
    size_done: int
    seconds: float


def is_unfinished(name: str) -> bool:
    """Whether a file is a manifest that was being made; the next one that is made removes it."""
    return name.startswith(f".{FILE}.") and name.endswith(".tmp")


class Manifest:
    """The manifest of a run, opened; ``folder`` is the run's."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        """For ``open``."""
        self.folder, self._connection = folder, connection

    @classmethod
    def create(cls, folder: Path, about: Mapping[str, str], inputs: Sequence[Input], ending: str) -> None:
        """Write the manifest of a new run; it appears when it is whole.

        Raises:
            UsageError: there is no room.
            OSError: the folder cannot be written to.
            NominaError: an input cannot be reached.
        """
        with atomic(folder / FILE) as temporary, contextlib.closing(sqlite3.connect(temporary)) as connection:
            try:
                # A file beside this temporary one would stay when the process is killed; the whole is written anew.
                connection.execute("PRAGMA journal_mode=MEMORY")
                connection.executescript(_SCHEMA)
                connection.executemany("INSERT INTO run VALUES (?, ?)", {"layout": _LAYOUT, **about}.items())
                columns = "number, input, format, size, changed, name"
                rows = (_shard(one, ending) for one in inputs)
                connection.executemany(f"INSERT INTO shard ({columns}) VALUES (?, ?, ?, ?, ?, ?)", rows)
                connection.commit()
            except sqlite3.OperationalError as error:
                raise UsageError(f"cannot write to {folder} ({error}): make room, or name another folder") from error

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path, shown: str | None = None) -> Iterator[Self]:
        """The manifest of a run, whose folder may be known to the user by another name.

        Raises:
            UsageError: there is none in the folder, it is damaged, or of another version.
        """
        path, shown = folder / FILE, shown or str(folder)
        if not path.is_file():
            raise no_run(shown)
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
                manifest = cls(folder, connection)
                if (layout := manifest.about().get("layout")) != _LAYOUT:
                    why = f"is of another version of nomina (layout {layout}): use that one"
                    raise UsageError(f"{shown}/{FILE} {why}")
                yield manifest
        except sqlite3.DatabaseError as error:
            why = f"cannot be read or written ({error}): see whether the disk is full; else begin a new run"
            raise UsageError(f"{shown}/{FILE} {why}") from error

    def about(self) -> dict[str, str]:
        """What was asked for: ``options``, fingerprints of ``kb`` and ``linker``, version of ``nomina``."""
        return dict(self._connection.execute("SELECT key, value FROM run"))

    def inputs(self) -> list[Input]:
        """The files that are read, in order."""
        return [Input(shard.input, shard.format, shard.number) for shard in self.shards()]

    def shards(self, *states: str) -> list[Shard]:
        """The shards in order, or those in one of some states: ``todo``, ``done``, ``broken``."""
        chosen = f"WHERE state IN ({', '.join('?' * len(states))})" if states else ""
        columns = ", ".join(Shard._fields)
        return [
            Shard(*row)
            for row in self._connection.execute(f"SELECT {columns} FROM shard {chosen} ORDER BY number", states)
        ]

    def record(self, number: int, done: Done) -> None:
        """Say what came of a shard, whose files are in their places."""
        self.record_all([(number, done)])

    def record_all(self, found: Iterable[tuple[int, Done]]) -> None:
        """As ``record``, of many at once."""
        with self._connection:
            self._connection.executemany(
                "UPDATE shard SET state = ?, documents = ?, mentions = ?, errors = ?, bytes = ?, sha256 = ?,"
                " errors_sha256 = ?, deleted = ?, seconds = ? WHERE number = ?",
                (
                    (
                        "done" if done.whole else "broken", done.documents, done.mentions, done.errors, done.bytes,
                        done.sha256, done.errors_sha256, json.dumps(done.deleted), done.seconds, number,
                    )
                    for number, done in found
                ),
            )  # fmt: skip

    def redo(self, numbers: Collection[int]) -> list[Shard]:
        """Put shards back among what is to be done; their inputs are taken as they are now.

        Returns:
            Those whose inputs are gone, which are left as they are.

        Raises:
            NominaError: an input cannot be reached; then nothing is put back.
        """
        gone = []
        with self._connection:
            for shard in self.shards():
                if shard.number not in numbers:
                    continue
                try:
                    found = size_and_change(shard.input)
                except OSError:
                    gone.append(shard)
                    continue
                now = "UPDATE shard SET size = ?, changed = ? WHERE number = ?"
                self._connection.execute(now, (*found, shard.number))
                self._connection.execute(f"{_TODO} WHERE number = ?", (shard.number,))
        return gone

    def redo_all(self) -> None:
        """As ``redo``, of all shards, whose inputs are those that they were."""
        with self._connection:
            self._connection.execute(_TODO)

    def recorded(self) -> Iterator[tuple[Shard, Done]]:
        """The finished shards in order, with what came of them."""
        columns = ", ".join((*Shard._fields, "documents", "mentions", "errors", "bytes", "sha256", "errors_sha256"))
        query = f"SELECT {columns}, state, deleted, seconds FROM shard WHERE state != 'todo' ORDER BY number"
        cut = len(Shard._fields)
        for row in self._connection.execute(query):
            documents, mentions, errors, size, digest, errors_digest, state, deleted, seconds = row[cut:]
            whole, ids = state == "done", tuple(json.loads(deleted))
            done = Done(documents, mentions, errors, size, digest, errors_digest, whole, ids, seconds)
            yield Shard(*row[:cut]), done

    def totals(self) -> Totals:
        """The sums over all shards."""
        row = self._connection.execute(
            "SELECT count(*), total(state != 'todo'), total(state = 'broken'), total(documents), total(mentions),"
            " total(errors), total(size), total((state != 'todo') * size), total(seconds) FROM shard"
        ).fetchone()
        return Totals._make([*map(int, row[:-1]), row[-1]])


def _shard(one: Input, ending: str) -> Shard:
    stem = bare_name(bare(one.place))
    stem = _NO_NAME.sub("_", stem.rpartition(".")[0] or stem)[:_LONGEST_NAME]
    try:
        size, changed = size_and_change(one.place)
    except OSError:  # said when it is read
        size = changed = 0
    return Shard(one.number, one.place, one.format, size, changed, f"{one.number:05d}-{stem}{ending}")


def no_run(shown: str) -> UsageError:
    """What to say of a folder without a manifest."""
    return UsageError(f"{shown} is no bulk run: begin one with nomina bulk run INPUTS --out {shown}")
