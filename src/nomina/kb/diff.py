"""What happened to the concepts between two versions or releases of a KB."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Literal, NamedTuple

from nomina.errors import KnowledgeBaseError
from nomina.kb.opening import AGAIN, connect
from nomina.kb.store import KnowledgeBase

Kind = Literal["added", "renamed", "retired", "merged"]
KINDS: tuple[Kind, ...] = ("added", "renamed", "retired", "merged")
"""In the order in which ``diff`` gives them."""

_CONCEPT = """
{side} AS (SELECT e.number, e.id, coalesce(n.raw, w.surface, e.id) AS name FROM {schema}.entity e
    LEFT JOIN {schema}.name n ON n.entity = e.number AND n.position = 0 LEFT JOIN {schema}.row w ON w.number = n.row
    WHERE e.live)
"""
_BOTH = f"WITH {_CONCEPT.format(side='old', schema='main')}, {_CONCEPT.format(side='new', schema='later')}"
_ADDED = f"{_BOTH} SELECT id, name FROM new WHERE id NOT IN (SELECT id FROM main.entity WHERE live) ORDER BY number"
_RENAMED = f"""{_BOTH} SELECT o.id, n.name, o.name FROM old o JOIN new n USING (id) WHERE n.name != o.name
    ORDER BY o.number"""
_GONE = f"{_BOTH} SELECT id, name FROM old WHERE id NOT IN (SELECT id FROM later.entity WHERE live) ORDER BY number"


class Change(NamedTuple):
    """One change to one concept.

    ``name`` is the preferred name (of the newest version that has the concept), ``before`` the one that a renamed
    concept had, ``into`` the living concept that a merged one means now.
    """

    change: Kind
    id: str
    name: str
    before: str | None = None
    into: str | None = None


def diff(old: KnowledgeBase, new: KnowledgeBase) -> Iterator[Change]:
    """The changes of the concepts with an id in either: added, renamed, retired, merged, each in the order of its KB.

    A concept is merged where its id leads to another concept of ``new``, retired where it leads to none.
    """
    yield from (Change("added", id, name) for id, name in _rows(old, new, _ADDED))
    yield from (Change("renamed", id, name, before=before) for id, name, before in _rows(old, new, _RENAMED))
    last: tuple[Kind, ...] = ("retired", "merged")
    for kind in last:  # two passes, so that nothing has to be kept
        for id, name in _rows(old, new, _GONE):
            into = new.resolve(id)
            if (into is None) == (kind == "retired"):
                yield Change(kind, id, name, into=into)


def _rows(old: KnowledgeBase, new: KnowledgeBase, query: str) -> Iterator[tuple[str, ...]]:
    connection = connect(old.path)
    try:
        connection.execute("ATTACH ? AS later", (f"{new.path.as_uri()}?mode=ro&immutable=1",))
        yield from connection.execute(query)
    except sqlite3.DatabaseError as error:
        raise KnowledgeBaseError(f"{old.path} or {new.path} is damaged ({error}): {AGAIN}") from error
    finally:
        connection.close()
