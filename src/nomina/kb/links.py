"""Which concept of one KB is which of another: by the same id, or by an xref of either that names the other."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Literal

from nomina.kb.schema import execute_all, unpack
from nomina.kb.scratch import scratch
from nomina.kb.store import KnowledgeBase
from nomina.kb.xrefs import canonical, own_prefix

By = Literal["id", "xref"]

_KEYS = "SELECT number, id, retired_ids, xrefs FROM entity WHERE live ORDER BY number"
_GONE = """
WITH RECURSIVE meaning (old, id) AS (
    SELECT r.id, j.value FROM retired r, json_each(r.replaced_by) j
    UNION SELECT m.old, j.value FROM meaning m JOIN retired r ON r.id = m.id, json_each(r.replaced_by) j
)
SELECT min(e.number), min(e.id), m.old, min(e.xrefs) FROM meaning m JOIN entity e ON e.id = m.id AND e.live
GROUP BY m.old HAVING count(DISTINCT e.number) = 1
"""
"""Ids out of use that mean one live concept, in any number of steps."""

_SCRATCH = """
CREATE TABLE concept (side INTEGER NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (side, number))
    WITHOUT ROWID;
CREATE TABLE key (
    side INTEGER NOT NULL, number INTEGER NOT NULL, trust INTEGER NOT NULL, bare INTEGER NOT NULL, text TEXT NOT NULL
)
"""
"""A ``bare`` key is an id without the prefix that it is known to have; two of them are no link: 106004 is a concept of
SNOMED CT and another one of RxNorm."""


_LINK = """
CREATE INDEX key_text ON key (text, side);
CREATE TABLE link AS
    SELECT t.number AS target, s.number AS source, max(t.trust + s.trust) AS trust FROM key t JOIN key s
    ON s.text = t.text WHERE t.side = 0 AND s.side = 1 AND max(t.trust, s.trust) > 0
    AND NOT (t.bare AND s.bare) GROUP BY t.number, s.number;
CREATE TABLE same AS SELECT target, source FROM link WHERE trust = 4;
DELETE FROM link WHERE trust < 4
    AND (target IN (SELECT target FROM same) OR source IN (SELECT source FROM same))
"""
_ONE_TO_ONE = """
CREATE TABLE one_target AS SELECT target FROM link GROUP BY target HAVING count(*) = 1;
CREATE TABLE one_source AS SELECT source FROM link GROUP BY source HAVING count(*) = 1;
CREATE TABLE ambiguous AS SELECT DISTINCT source FROM link WHERE target NOT IN (SELECT target FROM one_target)
    OR source NOT IN (SELECT source FROM one_source);
DELETE FROM link WHERE source IN (SELECT source FROM ambiguous)
"""
_PAIR = """
CREATE TABLE pair AS SELECT t.id AS target, s.id AS source FROM link
    JOIN concept t ON t.side = 0 AND t.number = link.target JOIN concept s ON s.side = 1 AND s.number = link.source
    ORDER BY link.target, link.source;
CREATE INDEX pair_source ON pair (source)
"""
_OWN, _RETIRED, _XREF = 2, 1, 0  # trust in a key: two live ids that are the same overrule every other link


_Key = tuple[int, int, int, int, str]


class Links:
    """Pairs of concepts that are the same; held in a temporary file, not in memory. Made by ``links``.

    Attributes:
        count: how many pairs there are.
        ambiguous: how many concepts of the source were left out, because the link is not one to one.
    """

    def __init__(self, connection: sqlite3.Connection, ambiguous: int) -> None:
        self._connection, self.ambiguous = connection, ambiguous
        self.count: int = connection.execute("SELECT count(*) FROM pair").fetchone()[0]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Ids of the target and of the source, in the order of the target."""
        return iter(self._connection.execute("SELECT target, source FROM pair ORDER BY rowid"))

    def target_of(self, id: str) -> str | None:
        """The target's concept that is this one of the source."""
        found = self._connection.execute("SELECT target FROM pair WHERE source = ?", (id,)).fetchone()
        return found[0] if found else None


@contextlib.contextmanager
def links(target: KnowledgeBase, source: KnowledgeBase, by: By, many: bool = False) -> Iterator[Links]:
    """The links between two KBs while the block runs.

    Ids are compared as ``xrefs.canonical`` writes them. By ``id``, concepts are the same that have the same id. By
    ``xref``, so are those of which one has an xref (or a retired id) that is the other's id (or retired id); two that
    only point at a common third are not. A bare id has the prefix of an xref in which its own concept names itself.

    Args:
        target: one KB.
        source: the other.
        by: see above.
        many: keep the links of a concept that has several; otherwise only one-to-one links are kept.

    Raises:
        KnowledgeBaseError: there is no room for the temporary file.
    """
    with scratch() as connection:
        execute_all(connection, _SCRATCH)
        for side, kb in enumerate((target, source)):
            _fill(connection, side, kb, by)
        execute_all(connection, _LINK)
        ambiguous = 0
        if not many:
            execute_all(connection, _ONE_TO_ONE)
            ambiguous = connection.execute("SELECT count(*) FROM ambiguous").fetchone()[0]
        execute_all(connection, _PAIR)
        yield Links(connection, ambiguous)


def _fill(connection: sqlite3.Connection, side: int, kb: KnowledgeBase, by: By) -> None:
    def keys() -> Iterator[_Key]:
        for number, id, retired, xrefs in kb.select(_KEYS):
            others = unpack(xrefs)
            prefix = own_prefix(id, others)
            yield from _written(side, number, _OWN, id, prefix)
            if by == "xref":
                for other in unpack(retired):
                    yield from _written(side, number, _RETIRED, other, prefix)
                yield from ((side, number, _XREF, 0, canonical(other)) for other in others)
        if by == "xref":
            for number, id, old, xrefs in kb.select(_GONE):
                yield from _written(side, number, _RETIRED, old, own_prefix(id, unpack(xrefs)))

    connection.executemany("INSERT INTO key VALUES (?, ?, ?, ?, ?)", keys())
    concepts = ((side, number, id) for number, id, _, _ in kb.select(_KEYS))
    connection.executemany("INSERT INTO concept VALUES (?, ?, ?)", concepts)


def _written(side: int, number: int, trust: int, id: str, prefix: str | None) -> Iterator[_Key]:
    """The keys of an id: with the prefix that its concept is known to have, and as it stands."""
    text = canonical(id)
    bare = prefix is not None and ":" not in text
    if bare:
        yield side, number, trust, 0, f"{prefix}:{text}"
    yield side, number, trust, int(bare), text
