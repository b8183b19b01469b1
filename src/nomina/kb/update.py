"""A new version of a KB: concepts and names added, ids retired, and every number as it was.

The new file is a copy of the old one in which rows and entities are only appended, so that a linker made for an
ancestor (see ``KnowledgeBase.lineage``) has to encode no more than the tail. Adding gives the concepts, rows and
numbers that one build of all the sources would give. What is added is newer, though, than what is there: an id that it
calls obsolete, alternative or merged is retired even where the old version has it as a concept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nomina._version import __version__
from nomina.errors import KnowledgeBaseError
from nomina.kb.build import open_sources
from nomina.kb.dedup import deduplicate
from nomina.kb.finish import LINKS, merged, ordered, replacements
from nomina.kb.options import Value
from nomina.kb.schema import Counts, Manifest, SourceInfo, execute_all, fingerprint
from nomina.kb.stage import Problems, Progress, Stage, silent, under_construction
from nomina.kb.store import KnowledgeBase
from nomina.text import NORMALISER_VERSION
from nomina.types import PREFERRED, Entity, Retired

_CONCEPTS = """
CREATE TEMP TABLE concept (first INTEGER PRIMARY KEY, id TEXT NOT NULL, number INTEGER NOT NULL, old INTEGER NOT NULL);
INSERT INTO concept SELECT s.first, s.id,
    coalesce(e.number, (SELECT count(*) FROM entity) - 1 + sum(e.number IS NULL) OVER (ORDER BY s.first)),
    coalesce(e.live, 0)
    FROM (SELECT min(seq) AS first, id FROM s_record GROUP BY id) s LEFT JOIN entity e ON e.id = s.id ORDER BY s.first;
CREATE UNIQUE INDEX temp.concept_id ON concept (id);
CREATE TEMP TABLE member (seq INTEGER PRIMARY KEY, number INTEGER NOT NULL);
INSERT INTO member SELECT r.seq, c.number FROM s_record r JOIN concept c ON c.id = r.id ORDER BY r.seq;
"""
"""A concept that is there keeps its number, a new one gets the next; ``old`` says whether it is there and live."""

_ROWS = """
CREATE TEMP TABLE place (seq INTEGER PRIMARY KEY, row INTEGER);
INSERT INTO place SELECT n.seq, (SELECT r.number FROM row_hash h JOIN row r ON r.number = h.row
    WHERE h.hash = n.hash AND r.key = n.key) FROM s_name n ORDER BY n.seq;
CREATE TEMP TABLE fresh (seq INTEGER PRIMARY KEY, first INTEGER NOT NULL);
INSERT INTO fresh SELECT n.seq, min(n.seq) OVER (PARTITION BY n.hash, n.key) FROM s_name n
    JOIN place p ON p.seq = n.seq WHERE p.row IS NULL ORDER BY n.seq;
CREATE TEMP TABLE row_of (first INTEGER PRIMARY KEY, row INTEGER NOT NULL);
INSERT INTO row_of SELECT seq, (SELECT count(*) FROM row) - 1 + row_number() OVER (ORDER BY seq) FROM fresh
    WHERE first = seq ORDER BY seq;
INSERT INTO row SELECT o.row, n.key, n.raw FROM row_of o JOIN s_name n ON n.seq = o.first ORDER BY o.row;
INSERT INTO row_hash SELECT n.hash, o.row FROM row_of o JOIN s_name n ON n.seq = o.first ORDER BY n.hash;
UPDATE place SET row = (SELECT o.row FROM fresh f JOIN row_of o ON o.first = f.first WHERE f.seq = place.seq)
    WHERE row IS NULL;
"""
"""A look-up key that is there keeps its row, a new one gets the next, by first appearance."""

_CONTENT = """
CREATE TEMP TABLE all_names AS
    SELECT c.number, 0 AS new, n.position AS seq, n.row, coalesce(n.raw, w.surface) AS raw, w.surface, n.scope, n.kind,
    n.source FROM concept c JOIN name n ON n.entity = c.number JOIN row w ON w.number = n.row
    UNION ALL SELECT m.number, 1, n.seq, p.row, n.raw, w.surface, n.scope, n.kind, n.source FROM s_name n
    JOIN member m ON m.seq = n.record JOIN place p ON p.seq = n.seq JOIN row w ON w.number = p.row;
CREATE TEMP TABLE all_records AS
    SELECT e.number, 0 AS new, 0 AS seq, e.id, e.definition, e.types, e.parents, e.xrefs, e.retired_ids
    FROM concept c JOIN entity e ON e.number = c.number WHERE e.live
    UNION ALL SELECT m.number, 1, r.seq, r.id, r.definition, r.types, r.parents, r.xrefs, r.retired_ids
    FROM s_record r JOIN member m ON m.seq = r.seq;
DELETE FROM name WHERE entity IN (SELECT number FROM concept);
"""

_RETIRED = """
CREATE TEMP TABLE pair AS
    SELECT j.value AS id, r.id AS replaced_by FROM s_record r, json_each(r.retired_ids) j
    WHERE r.retired_ids IS NOT NULL
    UNION ALL SELECT s.id, j.value FROM s_retired s LEFT JOIN json_each(s.replaced_by) j;
DELETE FROM pair WHERE id IN (SELECT id FROM concept);
INSERT INTO pair SELECT r.id, j.value FROM retired r, json_each(r.replaced_by) j
    WHERE r.id IN (SELECT id FROM pair) ORDER BY r.id;
CREATE TEMP TABLE gone AS SELECT number FROM entity WHERE live AND id IN (SELECT id FROM pair);
CREATE TABLE IF NOT EXISTS ownerless (row INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO ownerless SELECT row FROM name WHERE entity IN (SELECT number FROM gone);
DELETE FROM name WHERE entity IN (SELECT number FROM gone);
UPDATE entity SET live = 0, definition = NULL, types = NULL, parents = NULL, xrefs = NULL, retired_ids = NULL
    WHERE number IN (SELECT number FROM gone);
DELETE FROM ownerless WHERE EXISTS (SELECT 1 FROM name WHERE name.row = ownerless.row);
DELETE FROM retired WHERE id IN (SELECT id FROM concept);
"""
"""What the new records say of ids out of use, beside what is known of the same ids; their concepts end here."""

_DANGLING = """
SELECT count(*) FROM entity c, json_each(c.parents) j WHERE c.parents IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM entity p WHERE p.id = j.value AND p.live)
"""

_COUNTS = """
SELECT (SELECT count(*) FROM entity WHERE live), (SELECT count(*) FROM name), (SELECT count(*) FROM row),
    (SELECT count(*) FROM (SELECT row FROM name GROUP BY row HAVING min(entity) < max(entity))),
    (SELECT count(*) FROM retired),
    (SELECT count(*) FROM s_record) - (SELECT count(*) FROM concept WHERE NOT old),
    (SELECT count(*) FROM entity WHERE live AND NOT EXISTS (SELECT 1 FROM name WHERE entity = number))
"""


class Update(NamedTuple):
    """A new version, opened, and what it brought: new concepts, concepts with new content, concepts out of use."""

    kb: KnowledgeBase
    added: int
    changed: int
    retired: int


def add(
    base: KnowledgeBase,
    path: str | Path,
    records: Iterable[Entity | Retired],
    *,
    lenient: bool = False,
    sources: Sequence[SourceInfo] = (),
    progress: Progress | None = None,
    name: str | None = None,
    dedup: str | None = None,
) -> Update:
    """Write a version of ``base`` with these records too. A concept that is there gains their names and all else.

    The old file stays whole; ``path`` may be the old file itself.

    Args:
        base: the old version.
        path: where the new one goes.
        records: what is added.
        lenient: report and go on where a strict update stops.
        sources: where the records come from, for the manifest.
        progress: told how far it is.
        name: where given, the new one calls itself so, and no longer that it is a part of its source.
        dedup: see ``BuildOptions``; by default, as in the old version.

    Raises:
        KnowledgeBaseError: nothing new in the records, no name left, or a place that cannot be written.
    """
    return _update(base, path, records, Problems(lenient), lambda: sources, progress, name, dedup)


def add_files(
    base: KnowledgeBase,
    path: str | Path,
    files: Sequence[str | Path],
    reader_options: Mapping[str, Value] | None = None,
    *,
    format: str | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> Update:
    """``add`` what the files of terminologies hold; see ``build_from_files`` for the arguments.

    Raises:
        FormatError: a file that is not what it should be.
        UsageError: an unknown format or reader option.
        KnowledgeBaseError: as ``add``.
    """
    problems = Problems(lenient)
    records, describe = open_sources(files, problems, format, reader_options or {})
    return _update(base, path, records, problems, describe, progress)


def retire(base: KnowledgeBase, path: str | Path, ids: Sequence[str], replaced_by: str | None = None) -> Update:
    """Write a version of ``base`` without these concepts; their ids resolve to ``replaced_by``, where given.

    Raises:
        KnowledgeBaseError: an id that is no concept of the KB, a replacement that is retired itself, nothing left.
    """
    for id in (*ids, *((replaced_by,) if replaced_by else ())):
        base.parents(id)  # refuses an id that is not in the KB, and names what replaces a retired one
    if replaced_by in ids:
        raise KnowledgeBaseError(f"{replaced_by} cannot be retired and replace others: name another replacement")
    records = [Retired(id, (replaced_by,) if replaced_by else ()) for id in dict.fromkeys(ids)]
    return _update(base, path, records, Problems(False), tuple, None)


def _update(
    base: KnowledgeBase,
    path: str | Path,
    records: Iterable[Entity | Retired],
    problems: Problems,
    sources: Callable[[], Sequence[SourceInfo]],
    progress: Progress | None,
    name: str | None = None,
    dedup: str | None = None,
) -> Update:
    old = base.manifest
    old = replace(old, name=name, root=(), types=()) if name else old
    old = replace(old, dedup=dedup or old.dedup)
    progress = progress or silent
    with under_construction(Path(path), base.path) as connection:
        _check(connection, base)
        stage = Stage(connection, problems)
        stage.fill(records, progress)
        progress("sorting", stage.records)
        dangling = connection.execute(_DANGLING).fetchone()[0]
        _apply(connection, old.dedup)
        added, changed, retired = connection.execute(
            "SELECT (SELECT count(*) FROM concept WHERE NOT old), (SELECT count(*) FROM concept WHERE old),"
            " (SELECT count(*) FROM gone)"
        ).fetchone()
        manifest = _manifest(connection, old, dangling, problems, sources())
        if manifest.fingerprint == base.fingerprint:
            raise KnowledgeBaseError(f"nothing new for {base.path}: it has all of that already")
        _sign(connection, manifest)
        progress("writing", stage.records)
    return Update(KnowledgeBase.open(path), added, changed, retired)


def _check(connection: sqlite3.Connection, base: KnowledgeBase) -> None:
    query = "SELECT fingerprint FROM lineage ORDER BY position DESC LIMIT 1"
    if connection.execute(query).fetchone() != (base.fingerprint,):
        raise KnowledgeBaseError(f"{base.path} was replaced by another build while it was in use: open it again")


def _apply(connection: sqlite3.Connection, dedup: str | None) -> None:
    """Move what is staged into the KB's tables."""
    execute_all(connection, _CONCEPTS + _ROWS + _CONTENT)
    records = connection.execute(
        "SELECT number, id, definition, types, parents, xrefs, retired_ids FROM all_records ORDER BY number, new, seq"
    )
    connection.executemany("REPLACE INTO entity VALUES (?, ?, 1, ?, ?, ?, ?, ?)", merged(records))
    preferred = connection.execute("SELECT number FROM label WHERE text = ?", (PREFERRED,)).fetchone()
    all_names = connection.execute(
        "SELECT number, row, raw, surface, scope, kind, source FROM all_names ORDER BY number, new, seq"
    )
    connection.executemany(
        "INSERT INTO name VALUES (?, ?, ?, ?, ?, ?, ?)", ordered(all_names, preferred[0] if preferred else None)
    )
    execute_all(connection, _RETIRED)
    pairs = connection.execute("SELECT id, replaced_by FROM pair ORDER BY id")
    connection.executemany("REPLACE INTO retired VALUES (?, ?)", replacements(pairs))
    deduplicate(connection, dedup)
    execute_all(connection, "DELETE FROM edge;\nDELETE FROM entity_type;" + LINKS)


def _manifest(
    connection: sqlite3.Connection,
    old: Manifest,
    dangling: int,
    problems: Problems,
    sources: Sequence[SourceInfo],
) -> Manifest:
    """The new version's; what the old one has counted of faults and of sources stays."""
    concepts, names, rows, homonyms, retired, merged, nameless = connection.execute(_COUNTS).fetchone()
    if not names:
        raise KnowledgeBaseError("that would leave no name to look up")
    missing = connection.execute(_DANGLING).fetchone()[0] - dangling
    counts = Counts(
        concepts, names, rows, homonyms, retired, old.counts.merged + merged, old.counts.missing_parents + missing,
        nameless, old.counts.filtered, old.counts.problems + problems.count,
    )  # fmt: skip
    return replace(
        old,
        sources=(*old.sources, *(source for source in sources if source not in old.sources)),
        nomina=__version__,
        fingerprint=fingerprint(connection, NORMALISER_VERSION),
        entities=connection.execute("SELECT count(*) FROM entity").fetchone()[0],
        lenient=old.lenient or problems.lenient,
        counts=counts,
        problems=(*old.problems, *problems.messages),
    )


def _sign(connection: sqlite3.Connection, manifest: Manifest) -> None:
    connection.executemany("REPLACE INTO manifest VALUES (?, ?)", manifest.rows())
    connection.execute(
        "INSERT INTO lineage SELECT max(position) + 1, ?, ?, ? FROM lineage",
        (manifest.fingerprint, manifest.counts.rows, manifest.entities),
    )
