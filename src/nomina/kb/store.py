"""The knowledge base as everything else sees it: a read-only SQLite file, shared by threads and processes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from nomina.errors import KnowledgeBaseError
from nomina.kb.opening import AGAIN, connect, damaged, open_file
from nomina.kb.schema import Manifest, hash_key, pack, unpack
from nomina.text import normalise
from nomina.types import SCOPES, Entity, Name, Retired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OWNERS_CACHED = 1 << 14  # rows; some 10 MB
_FETCH = 10_000

_OWNERS = """
SELECT n.entity, e.id, coalesce(p.raw, pw.surface), coalesce(n.raw, w.surface), n.scope, k.text, s.text
FROM name n JOIN row w ON w.number = n.row JOIN entity e ON e.number = n.entity
JOIN name p ON p.entity = n.entity AND p.position = 0 JOIN row pw ON pw.number = p.row
LEFT JOIN label k ON k.number = n.kind LEFT JOIN label s ON s.number = n.source
WHERE n.row = ? ORDER BY n.entity, n.position > 0, n.scope, n.position
"""
_NAMES = """
SELECT n.entity, coalesce(n.raw, w.surface), n.scope, k.text, s.text FROM name n JOIN row w ON w.number = n.row
LEFT JOIN label k ON k.number = n.kind LEFT JOIN label s ON s.number = n.source
"""
_ENTITIES = "SELECT number, id, definition, types, parents, xrefs, retired_ids FROM entity"
_UNDER = """
WITH RECURSIVE under (number) AS (
    SELECT number FROM entity WHERE live AND id IN (SELECT value FROM json_each(:under))
    UNION SELECT edge.child FROM under JOIN edge ON edge.parent = under.number
)
"""
_OF_TYPE = """
SELECT t.entity FROM entity_type t JOIN label l ON l.number = t.type
WHERE l.text IN (SELECT value FROM json_each(:types))
"""


class Owner(NamedTuple):
    """A concept that owns a row: its number (dense from 0), id, preferred name, and the raw name that it has there.

    Of several raw names under one row, ``name`` is the preferred or the one of the best scope; ``raws`` holds all of
    them, best first.
    """

    number: int
    entity_id: str
    preferred: str
    name: Name
    raws: tuple[str, ...] = ()


class Subset(NamedTuple):
    """A filter: which rows, which entities may be answered. Shapes (number of rows,) and (number of entities,)."""

    rows: NDArray[np.bool_]
    entities: NDArray[np.bool_]


class KnowledgeBase(Mapping[str, Entity]):
    """Concepts by their live ids, and the numbered list of distinct look-up keys that linkers rank.

    Rows are numbered by first appearance in the source; numbers never change, a later version only appends. Two handles
    are equal if their fingerprints are. A handle pickles as path and fingerprint and re-opens.

    Attributes:
        path: the file, absolute.
        manifest: what the KB says of itself.
        lineage: fingerprints, oldest ancestor first, its own last.
    """

    def __init__(self, path: Path, manifest: Manifest, lineage: tuple[str, ...]) -> None:
        """For ``open``."""
        self.path, self.manifest, self.lineage = path, manifest, lineage
        self._local = threading.local()
        self._cached_owners = lru_cache(_OWNERS_CACHED)(self._read_owners)

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        """Open a KB file.

        Raises:
            KnowledgeBaseError: it is missing, no KB, cut off, of another schema or normaliser, or without names.
        """
        file = Path(path).absolute()
        return cls(file, *open_file(file))

    @property
    def fingerprint(self) -> str:
        """The hash of the content and the normaliser, the same for the same input on any machine."""
        return self.manifest.fingerprint

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection in this process.

        Raises:
            KnowledgeBaseError: the file is gone, or is another build by now (its rows would have other numbers).
        """
        if getattr(self._local, "pid", None) != os.getpid():
            connection = connect(self.path)
            try:
                found = connection.execute("SELECT fingerprint FROM lineage ORDER BY position DESC LIMIT 1").fetchone()
            except sqlite3.DatabaseError as error:
                raise KnowledgeBaseError(f"{self.path} cannot be read ({error}): {AGAIN}") from error
            if not found or found[0] != self.fingerprint:
                raise KnowledgeBaseError(
                    f"{self.path} was replaced by another build while it was in use: open it again"
                )
            self._local.connection, self._local.pid = connection, os.getpid()
        current: sqlite3.Connection = self._local.connection
        return current

    def _batches(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Iterator[list[tuple[Any, ...]]]:
        """Stream a query's rows, some thousands at a time."""
        try:
            cursor = self._connection().execute(query, values)
            while batch := cursor.fetchmany(_FETCH):
                yield batch
        except sqlite3.DatabaseError as error:
            raise damaged(self.path, error) from error

    def select(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Stream the rows of a query over the tables of ``kb.schema``: for the modules beside this one."""
        return chain.from_iterable(self._batches(query, values))

    def _first(self, query: str, *values: str | int) -> tuple[Any, ...] | None:
        try:
            found: tuple[Any, ...] | None = self._connection().execute(query, values).fetchone()
        except sqlite3.DatabaseError as error:
            raise damaged(self.path, error) from error
        return found

    # Rows

    @property
    def names(self) -> Sequence[str]:
        """The distinct look-up keys by row number; streamed where iterated."""
        return _Keys(self)

    def surfaces(self, start: int = 0) -> Iterator[str]:
        """The first raw name of each row from row ``start`` on, in order, streamed."""
        return self._texts("surface", start)

    def _texts(self, column: str, start: int) -> Iterator[str]:
        query = f"SELECT {column} FROM row WHERE number >= ? ORDER BY number"
        return map(itemgetter(0), self.select(query, (start,)))

    def surface(self, row: int) -> str:
        """The first raw name of a row.

        Raises:
            IndexError: no such row.
        """
        found = self._first("SELECT surface FROM row WHERE number = ?", row)
        if found is None:
            raise self._no_row(row)
        return str(found[0])

    def _no_row(self, row: int) -> Exception:
        last = len(self.names) - 1
        return damaged(self.path, f"no row {row}") if 0 <= row <= last else IndexError(f"row {row} is not in 0..{last}")

    def row(self, key: str) -> int | None:
        """The number of a look-up key."""
        query = "SELECT row FROM row_hash JOIN row ON number = row WHERE hash = ? AND key = ?"
        found = self._first(query, hash_key(key), key)
        return found[0] if found else None

    def owners(self, row: int) -> tuple[str, ...]:
        """The ids of the concepts that have a name under this row, in the order of the source."""
        return tuple(owner.entity_id for owner in self.owners_of(row))

    def owners_of(self, row: int) -> tuple[Owner, ...]:
        """The owners of a row in the order of the source; several where it is a homonym, none where all are retired."""
        return self._cached_owners(row)

    def _read_owners(self, row: int) -> tuple[Owner, ...]:
        owners = []
        for number, group in groupby(self.select(_OWNERS, (row,)), key=itemgetter(0)):
            found = list(group)
            _, id, preferred, text, scope, kind, source = found[0]
            name = self._name(text, scope, kind, source)
            owners.append(Owner(number, id, preferred, name, tuple(dict.fromkeys(other[3] for other in found))))
        return tuple(owners)

    def lookup(self, text: str) -> tuple[Entity, ...]:
        """The concepts that have this name after normalising; those that have the very text first."""
        row = self.row(normalise(text))
        if row is None:
            return ()
        owners = sorted(self.owners_of(row), key=lambda owner: text not in owner.raws)
        return tuple(self[owner.entity_id] for owner in owners)

    @cached_property
    def ownerless(self) -> frozenset[int]:
        """Rows without an owner: all concepts that had the name are retired. None in a KB that is a first version."""
        if len(self.lineage) == 1:
            return frozenset()
        return frozenset(row for (row,) in self.select("SELECT row FROM ownerless"))

    def ancestor_rows(self, fingerprint: str) -> int | None:
        """How many rows the KB had as the version of that fingerprint; None where it is not in the lineage."""
        found = self._first("SELECT rows FROM lineage WHERE fingerprint = ?", fingerprint)
        return found[0] if found else None

    # Concepts

    def __getitem__(self, id: str) -> Entity:
        found = self._first(f"{_ENTITIES} WHERE live AND id = ?", id)
        if found is None:
            raise KeyError(id)
        return self._entity(found, self.select(f"{_NAMES} WHERE n.entity = ? ORDER BY n.position", (found[0],)))

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._number(id) is not None

    def __iter__(self) -> Iterator[str]:
        return (id for (id,) in self.select("SELECT id FROM entity WHERE live ORDER BY number"))

    def __len__(self) -> int:
        return self.manifest.counts.concepts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnowledgeBase) and other.fingerprint == self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"<KnowledgeBase {self.manifest.name}: {len(self)} concepts, {self.path}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self.path), self.fingerprint)

    def entities(self) -> Iterator[Entity]:
        """All live concepts in order, streamed: two passes side by side instead of a query each."""
        names = groupby(self.select(f"{_NAMES} ORDER BY n.entity, n.position"), key=itemgetter(0))
        number, group = next(names, (-1, iter(())))
        for found in self.select(f"{_ENTITIES} WHERE live ORDER BY number"):
            if found[0] == number:
                yield self._entity(found, group)
                number, group = next(names, (-1, iter(())))
            else:
                yield self._entity(found, ())

    def _entity(self, found: tuple[Any, ...], names: Iterable[tuple[Any, ...]]) -> Entity:
        _, id, definition, *lists = found
        try:
            return Entity(id, tuple(self._name(*name[1:]) for name in names), definition, *map(unpack, lists))
        except (ValueError, TypeError) as error:
            raise damaged(self.path, error) from error

    def _name(self, text: str, scope: int, kind: str | None, source: str | None) -> Name:
        try:
            return Name(text, SCOPES[scope], kind, source)
        except (ValueError, TypeError, IndexError) as error:
            raise damaged(self.path, error) from error

    def _number(self, id: str) -> int | None:
        found = self._first("SELECT number FROM entity WHERE live AND id = ?", id)
        return found[0] if found else None

    def resolve(self, id: str) -> str | None:
        """The live id that this id means: itself, or what replaces it in any number of steps; else None.

        Where several ids replace one, the first in order that leads to a live one is taken.
        """
        seen: set[str] = set()
        todo = [id]
        while todo:
            current = todo.pop()
            if current in self:
                return current
            if current not in seen:
                seen.add(current)
                gone = self.retired(current)
                todo.extend(reversed(gone.replaced_by if gone else ()))
        return None

    def retired(self, id: str) -> Retired | None:
        """What is known of an id out of use; None for live and unknown ids."""
        found = self._first("SELECT replaced_by FROM retired WHERE id = ?", id)
        return Retired(id, unpack(found[0])) if found else None

    # Hierarchy and types

    def parents(self, id: str) -> tuple[str, ...]:
        """The ``is_a`` parents that are in the KB. An unknown id raises ``KnowledgeBaseError``, here and below."""
        query = "SELECT p.id FROM edge JOIN entity p ON p.number = parent WHERE child = ? ORDER BY parent"
        return tuple(text for (text,) in self.select(query, (self._known(id),)))

    def children(self, id: str) -> tuple[str, ...]:
        """The concepts whose parent this is."""
        query = "SELECT c.id FROM edge JOIN entity c ON c.number = child WHERE parent = ? ORDER BY child"
        return tuple(text for (text,) in self.select(query, (self._known(id),)))

    def descendants(self, id: str) -> tuple[str, ...]:
        """The concept itself and all under it, in the order of the source; a cycle does no harm."""
        self._known(id)
        query = f"{_UNDER} SELECT id FROM entity WHERE live AND number IN (SELECT number FROM under) ORDER BY number"
        return tuple(text for (text,) in self.select(query, {"under": pack((id,))}))

    def types(self) -> dict[str, int]:
        """How many concepts have each type."""
        query = """SELECT text, n FROM (SELECT type, count(*) AS n FROM entity_type GROUP BY type)
            JOIN label ON number = type ORDER BY text"""
        return dict(self.select(query))

    def subset(self, under: Iterable[str] = (), types: Iterable[str] = ()) -> Subset:
        """The rows and entities that lie under any of these ids (themselves included) and are of any of these types.

        Raises:
            KnowledgeBaseError: an id or type that the KB does not have.
        """
        import numpy as np

        under, types = tuple(under), tuple(types)
        for id in under:
            self._known(id)
        if types and (unknown := sorted(set(types) - set(known := self.types()))):
            raise KnowledgeBaseError(f"the KB has no type {unknown[0]!r}; it has: {', '.join(known) or 'none'}")
        start = f"{_UNDER}, chosen (number) AS (SELECT number FROM entity WHERE live"
        start += " AND number IN (SELECT number FROM under)" if under else ""
        start += f" AND number IN ({_OF_TYPE})" if types else ""
        values = {"under": pack(under) or "[]", "types": pack(types) or "[]"}
        entities = np.zeros(self.manifest.entities, np.bool_)
        rows = np.zeros(self.manifest.counts.rows, np.bool_)
        entities[self._numbers(f"{start}) SELECT number FROM chosen", values)] = True
        rows[self._numbers(f"{start}) SELECT row FROM name WHERE entity IN (SELECT number FROM chosen)", values)] = True
        return Subset(rows, entities)

    def _numbers(self, query: str, values: Mapping[str, Any]) -> NDArray[np.int64]:
        import numpy as np

        return np.fromiter((number for (number,) in self.select(query, values)), np.int64)

    def _known(self, id: str) -> int:
        number = self._number(id)
        if number is None:
            live = self.resolve(id)
            raise KnowledgeBaseError(
                f"{id!r} is retired: use {live!r}"
                if live
                else f"{id!r} is not a concept of the KB {self.manifest.name}"
            )
        return number


class _Keys(Sequence[str]):
    """``KnowledgeBase.names``."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def __len__(self) -> int:
        return self._kb.manifest.counts.rows

    def __iter__(self) -> Iterator[str]:
        return self._kb._texts("key", 0)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return list(islice(self._kb._texts("key", start), max(0, stop - start)))
            return [self[i] for i in range(start, stop, step)]
        row = index + len(self) if index < 0 else index
        found = self._kb._first("SELECT key FROM row WHERE number = ?", row)
        if found is None:
            raise self._kb._no_row(row)
        return str(found[0])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._kb.row(key) is not None


def _reopen(path: str, fingerprint: str) -> KnowledgeBase:
    kb = KnowledgeBase.open(path)
    if kb.fingerprint != fingerprint:
        raise KnowledgeBaseError(f"{path} is another KB than expected: expected {fingerprint}, found {kb.fingerprint}")
    return kb
