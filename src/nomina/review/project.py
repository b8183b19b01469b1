"""A project that is open: documents are added, decisions are saved, each save with an annotator, a time and a revision.

Nothing is ever changed or removed: a decision is a row more, and the latest one of a mention counts. So both versions
of what two annotators decided at the same time are there, and each annotator's own can be read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from nomina.errors import NominaError, UsageError
from nomina.review.opening import open_to_read, open_to_write, transaction
from nomina.review.records import Added, Change, Gold, Marked, State, key_of, keys_of, place_of
from nomina.review.uncertainty import uncertainty


class Conflict(NominaError):
    """A save that was made without knowing of another one."""

    def __init__(self, revision: int, annotator: str, time: str) -> None:
        self.revision, self.annotator, self.time = revision, annotator, time
        super().__init__(f"{annotator} has changed this document meanwhile ({time}): read it again, then save")


class Unknown(NominaError):
    """A document that the project does not have."""


class _Decision(NamedTuple):
    key: str
    state: State
    gold: Gold
    name: str | None


class _Saved(NamedTuple):
    document: int
    revision: int
    annotator: str


class Project:
    """A project file; used by one thread at a time, each process has its own.

    Args:
        path: made where it is missing.
        writes: whether it may be changed; otherwise it has to be there.

    Raises:
        UsageError: it cannot be opened, or is no project.
    """

    def __init__(self, path: str | Path, *, writes: bool = True) -> None:
        self.path = Path(path)
        self.connection = (open_to_write if writes else open_to_read)(self.path)

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, document: Added, annotator: str, save: str) -> int:
        """Add a document at the end; its number. Gold that its mentions have is what the annotator decided.

        The very document again is the one that is there.

        Raises:
            UsageError: another document has its id, or another save has this number.
        """
        sections = json.dumps([[s.start, s.end, s.name] for s in document.sections])
        marked = list(zip(keys_of(m.spans for m in document.mentions), document.mentions, strict=True))
        golds = [_Decision(key, "decided", m.gold, m.name) for key, m in marked if m.gold is not None]
        with transaction(self.connection, self.path):
            if (had := self._before(save)) is not None:
                query = "SELECT id, text, sections, kb FROM documents WHERE number = ?"
                whole = self.connection.execute(query, (had.document,)).fetchone()
                same = whole == (document.id, document.text, sections, document.kb)
                if same and had.revision == 0 and self._is_same(had, annotator, marked, golds):
                    return had.document
                raise _taken()
            query = "SELECT number, text FROM documents WHERE id = ?"
            for number, text in self.connection.execute(query, (document.id,)):
                if text != document.text:
                    raise UsageError(f"another document has the id {document.id!r}: give this one another")
                return int(number)
            cursor = self.connection.execute(
                "INSERT INTO documents (id, text, sections, kb, revision) VALUES (?, ?, ?, ?, 0)",
                (document.id, document.text, sections, document.kb),
            )
            number = int(cursor.lastrowid or 0)
            self._saved(number, 0, annotator, save)
            self._insert_mentions(number, 0, marked)
            self._insert_decisions(number, 0, golds)
        return number

    def change(self, number: int, revision: int, changes: Sequence[Change], annotator: str, save: str) -> int:
        """Save what an annotator decided, having seen a revision; the new one.

        The very same save again, as after an answer that was lost, changes nothing and has the same answer.

        Raises:
            Conflict: there is a newer revision.
            Unknown: no such document.
            UsageError: a mention that the document does not have, or that is not in its text; or another save has this
                number.
        """
        decisions = [_Decision(change.key, change.state, change.gold, change.name) for change in changes]
        with transaction(self.connection, self.path):
            row = self.connection.execute("SELECT revision, text FROM documents WHERE number = ?", (number,)).fetchone()
            if row is None:
                raise Unknown(f"the project has no document {number}")
            if (had := self._before(save)) is not None:
                marked = [(change.key, change.mention) for change in changes if change.mention is not None]
                if had[:2] == (number, revision + 1) and self._is_same(had, annotator, marked, decisions):
                    return had.revision
                raise _taken()
            if row[0] != revision:
                query = "SELECT annotator, time FROM saves WHERE document = ? AND revision = ?"
                raise Conflict(row[0], *self.connection.execute(query, (number, row[0])).fetchone())
            new = self._new(number, changes, len(row[1]))
            self._saved(number, revision + 1, annotator, save)
            self._insert_mentions(number, revision + 1, new)
            self._insert_decisions(number, revision + 1, decisions)
            update = "UPDATE documents SET revision = ? WHERE number = ?"
            self.connection.execute(update, (revision + 1, number))
        return revision + 1

    def _new(self, number: int, changes: Sequence[Change], length: int) -> list[tuple[str, Marked]]:
        """The mentions among changes that the document does not have yet."""
        new: list[tuple[str, Marked]] = []
        keys = [change.key for change in changes]
        if not keys or len(set(keys)) < len(keys):
            raise UsageError("a save changes at least one mention, and each once")
        query = "SELECT 1 FROM mentions WHERE document = ? AND key = ?"
        for change in changes:
            if self.connection.execute(query, (number, change.key)).fetchone():
                continue
            if change.mention is None or key_of(change.mention.spans) != place_of(change.key):
                raise UsageError(f"the document has no mention {change.key[:60]!r}")
            if change.mention.spans[-1][1] > length:
                raise UsageError(f"the span {change.key[:60]} ends behind the text ({length} characters)")
            new.append((change.key, change.mention))
        return new

    def _before(self, save: str) -> _Saved | None:
        """What was saved with this number."""
        query = "SELECT document, revision, annotator FROM saves WHERE save = ?"
        found = self.connection.execute(query, (save,)).fetchone()
        return _Saved(*found) if found else None

    def _is_same(
        self,
        had: _Saved,
        annotator: str,
        marked: Sequence[tuple[str, Marked]],
        decisions: Sequence[_Decision],
    ) -> bool:
        """Whether this is what was saved; mentions that were there before a save are not looked at."""
        place = had.document, had.revision
        query = "SELECT key, spans, type, finding FROM mentions WHERE document = ? AND revision = ?"
        new = {key: tuple(rest) for key, *rest in self.connection.execute(query, place)}
        if had.revision == 0 and len(new) != len(marked):
            return False
        query = "SELECT key, state, gold, name FROM decisions WHERE document = ? AND revision = ?"
        given = {key: (json.dumps(m.spans), m.type, _dumped(asdict(m.finding))) for key, m in marked if key in new}
        made = {key: tuple(rest) for key, *rest in self.connection.execute(query, place)}
        decided = {each.key: (each.state, _dumped(each.gold), each.name) for each in decisions}
        return had.annotator == annotator and given == new and decided == made

    def _saved(self, number: int, revision: int, annotator: str, save: str) -> None:
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.connection.execute(
            "INSERT INTO saves (document, revision, annotator, time, save) VALUES (?, ?, ?, ?, ?)",
            (number, revision, annotator, time, save),
        )

    def _insert_mentions(self, number: int, revision: int, marked: Sequence[tuple[str, Marked]]) -> None:
        self.connection.executemany(
            "INSERT INTO mentions (document, key, revision, spans, type, finding, uncertainty)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (number, key, revision, json.dumps(m.spans), m.type, _dumped(asdict(m.finding)), uncertainty(m.finding))
                for key, m in marked
            ],
        )

    def _insert_decisions(self, number: int, revision: int, decisions: Sequence[_Decision]) -> None:
        self.connection.executemany(
            "INSERT INTO decisions (document, key, revision, state, gold, name) VALUES (?, ?, ?, ?, ?, ?)",
            [(number, each.key, revision, each.state, _dumped(each.gold), each.name) for each in decisions],
        )


def _taken() -> UsageError:
    return UsageError("another save has this number already, and nothing was saved: take a new one")


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
