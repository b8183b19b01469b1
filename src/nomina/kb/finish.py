"""The second half of a build: staged records become the numbered tables of a KB, by SQL over sorted streams."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from nomina.errors import KnowledgeBaseError
from nomina.kb.dedup import deduplicate
from nomina.kb.schema import INDEXES, Counts, execute_all, fingerprint, pack, unpack
from nomina.text import NORMALISER_VERSION
from nomina.types import PREFERRED

_CONCEPTS = """
CREATE TEMP TABLE concept (first INTEGER PRIMARY KEY, id TEXT NOT NULL);
INSERT INTO concept SELECT min(seq) AS first, id FROM s_record GROUP BY id ORDER BY first;
CREATE UNIQUE INDEX temp.concept_id ON concept (id);
CREATE TEMP TABLE member (seq INTEGER PRIMARY KEY, first INTEGER NOT NULL);
INSERT INTO member SELECT r.seq, c.first FROM s_record r JOIN concept c ON c.id = r.id ORDER BY r.seq;
CREATE TEMP TABLE kept (first INTEGER PRIMARY KEY, number INTEGER NOT NULL);
"""
"""A concept is known by its first record (``first``); ``kept`` numbers those that pass the filters, densely from 0."""

_UNDER = """
WITH RECURSIVE
link (parent, child) AS MATERIALIZED (
    SELECT c.first, m.first FROM s_record r JOIN json_each(r.parents) p JOIN member m ON m.seq = r.seq
    JOIN concept c ON c.id = p.value WHERE r.parents IS NOT NULL
),
under (first) AS (
    SELECT first FROM concept WHERE id IN (SELECT value FROM json_each(:root))
    UNION SELECT link.child FROM under JOIN link ON link.parent = under.first
)
SELECT first FROM under
"""

_OF_TYPE = """
SELECT DISTINCT m.first FROM s_record r JOIN member m ON m.seq = r.seq, json_each(r.types) t
WHERE r.types IS NOT NULL AND t.value IN (SELECT value FROM json_each(:types))
"""

_ROWS = """
CREATE TEMP TABLE place (seq INTEGER PRIMARY KEY, first INTEGER NOT NULL);
INSERT INTO place SELECT n.seq, min(n.seq) OVER (PARTITION BY n.hash, n.key) FROM s_name n
    JOIN member m ON m.seq = n.record JOIN kept k ON k.first = m.first ORDER BY n.seq;
CREATE TEMP TABLE row_of (first INTEGER PRIMARY KEY, row INTEGER NOT NULL);
INSERT INTO row_of SELECT seq, row_number() OVER (ORDER BY seq) - 1 FROM place WHERE first = seq ORDER BY seq;
INSERT INTO row SELECT o.row, n.key, n.raw FROM row_of o JOIN s_name n ON n.seq = o.first ORDER BY o.row;
INSERT INTO row_hash SELECT n.hash, o.row FROM row_of o JOIN s_name n ON n.seq = o.first ORDER BY n.hash, o.row;
"""
"""A row is a distinct key, numbered by the first name (``place.first``) that has it."""

_NAMES = """
SELECT k.number, o.row, n.raw, w.surface, n.scope, n.kind, n.source FROM s_name n
JOIN member m ON m.seq = n.record JOIN kept k ON k.first = m.first
JOIN place p ON p.seq = n.seq JOIN row_of o ON o.first = p.first JOIN row w ON w.number = o.row
ORDER BY k.number, n.seq
"""

_RECORDS = """
SELECT k.number, r.id, r.definition, r.types, r.parents, r.xrefs, r.retired_ids FROM s_record r
JOIN member m ON m.seq = r.seq JOIN kept k ON k.first = m.first ORDER BY k.number, r.seq
"""

LINKS = """
INSERT INTO edge SELECT DISTINCT p.number, c.number FROM entity c, json_each(c.parents) j
    JOIN entity p ON p.id = j.value AND p.live WHERE c.parents IS NOT NULL ORDER BY p.number, c.number;
INSERT INTO entity_type SELECT DISTINCT l.number, e.number FROM entity e, json_each(e.types) j
    JOIN label l ON l.text = j.value WHERE e.types IS NOT NULL ORDER BY l.number, e.number;
"""

_RETIRED = """
WITH pair (old, new) AS (
    SELECT j.value, e.id FROM entity e, json_each(e.retired_ids) j WHERE e.retired_ids IS NOT NULL
    UNION ALL SELECT s.id, j.value FROM s_retired s LEFT JOIN json_each(s.replaced_by) j
)
SELECT old, new FROM pair WHERE NOT EXISTS (SELECT 1 FROM entity WHERE id = old) ORDER BY old
"""
"""An id that is in use is not retired, whatever another concept says of it."""

_COUNTS = """
SELECT (SELECT count(*) FROM entity), (SELECT count(*) FROM name), (SELECT count(*) FROM row),
    (SELECT count(*) FROM (SELECT row FROM name GROUP BY row HAVING min(entity) < max(entity))),
    (SELECT count(*) FROM retired),
    (SELECT count(*) FROM s_record) - (SELECT count(*) FROM concept),
    (SELECT count(*) FROM entity c, json_each(c.parents) j WHERE c.parents IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM concept p WHERE p.id = j.value)),
    (SELECT count(*) FROM entity WHERE NOT EXISTS (SELECT 1 FROM name WHERE entity = number)),
    (SELECT count(*) FROM concept) - (SELECT count(*) FROM kept)
"""


def finish(
    connection: sqlite3.Connection, root: tuple[str, ...], types: tuple[str, ...], dedup: str | None
) -> tuple[Counts, int, str]:
    """Fill the KB's tables out of the staged ones; its counts, its number of entities, its fingerprint.

    Raises:
        KnowledgeBaseError: an unknown root or type, or nothing to look up.
        UsageError: an unknown rule.
    """
    execute_all(connection, _CONCEPTS)
    _check_filters(connection, root, types)
    _keep(connection, root, types)
    execute_all(connection, _ROWS)
    connection.executemany("INSERT INTO entity VALUES (?, ?, 1, ?, ?, ?, ?, ?)", merged(connection.execute(_RECORDS)))
    preferred = connection.execute("SELECT number FROM label WHERE text = ?", (PREFERRED,)).fetchone()
    names = ordered(connection.execute(_NAMES), preferred[0] if preferred else None)
    connection.executemany("INSERT INTO name VALUES (?, ?, ?, ?, ?, ?, ?)", names)
    execute_all(connection, INDEXES)
    deduplicate(connection, dedup)
    execute_all(connection, LINKS)
    connection.executemany("INSERT INTO retired VALUES (?, ?)", replacements(connection.execute(_RETIRED)))
    counts = Counts(*connection.execute(_COUNTS).fetchone())
    if not counts.rows:
        raise KnowledgeBaseError(
            "no names to look up in the input: check that it is the right file, --root and --types"
        )
    return counts, counts.concepts, fingerprint(connection, NORMALISER_VERSION)


def _check_filters(connection: sqlite3.Connection, root: tuple[str, ...], types: tuple[str, ...]) -> None:
    for id in root:
        if not connection.execute("SELECT 1 FROM concept WHERE id = ?", (id,)).fetchone():
            raise KnowledgeBaseError(f"the root {id!r} is not a concept of the input")
    if types:
        query = "SELECT DISTINCT t.value FROM s_record r, json_each(r.types) t WHERE r.types IS NOT NULL"
        known = {text for (text,) in connection.execute(query)}
        for type in types:
            if type not in known:
                raise KnowledgeBaseError(
                    f"the input has no type {type!r}; it has: {', '.join(sorted(known)) or 'none'}"
                )


def _keep(connection: sqlite3.Connection, root: tuple[str, ...], types: tuple[str, ...]) -> None:
    where = "1"
    if root:
        where += f" AND first IN ({_UNDER})"
    if types:
        where += f" AND first IN ({_OF_TYPE})"
    connection.execute(
        "INSERT INTO kept SELECT first, row_number() OVER (ORDER BY first) - 1 FROM concept"
        f" WHERE {where} ORDER BY first",
        {"root": pack(root) or "[]", "types": pack(types) or "[]"},
    )


def merged(records: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """One row a concept out of its records: the first definition, the lists joined without repeats."""
    for number, group in groupby(records, key=itemgetter(0)):
        first, *others = group
        if not others:
            yield first
            continue
        definition = next((r[2] for r in (first, *others) if r[2]), None)
        lists = (pack(tuple(dict.fromkeys(v for r in (first, *others) for v in unpack(r[i])))) for i in range(3, 7))
        yield (number, first[1], definition, *lists)


def ordered(names: Iterable[tuple[Any, ...]], preferred: int | None) -> Iterator[tuple[Any, ...]]:
    """The names of each concept without repeats, its preferred one first: the first that says so, it alone."""
    for number, group in groupby(names, key=itemgetter(0)):
        found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        chosen: tuple[Any, ...] | None = None
        for _, row, raw, surface, scope, kind, source in group:
            if kind is not None and kind == preferred:
                if chosen is None:
                    chosen = row, raw, surface, scope, kind, source
                    continue
                kind = None
            found.setdefault((raw, scope, kind, source), (row, raw, surface, scope, kind, source))
        if chosen is not None:
            found.pop((chosen[1], chosen[3], None, chosen[5]), None)
        ordered = [chosen, *found.values()] if chosen is not None else found.values()
        for position, (row, raw, surface, scope, kind, source) in enumerate(ordered):
            yield number, position, row, None if raw == surface else raw, scope, kind, source


def replacements(pairs: Iterable[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    """Each retired id once, with all the ids named in its place, in a stable order."""
    for id, group in groupby(pairs, key=itemgetter(0)):
        yield id, pack(tuple(sorted({new for _, new in group if new is not None}))) or "[]"
