"""Rules by which a name that several concepts share is left to one of them: the generative linkers need that.

A generated name must mean one concept. For look-up nothing is removed: there a homonym is answered with all its owners.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter

from nomina.errors import UsageError
from nomina.kb.schema import execute_all

_SHARED = """
SELECT row, entity, min(position) FROM name WHERE row IN
    (SELECT row FROM name GROUP BY row HAVING min(entity) < max(entity))
GROUP BY row, entity ORDER BY row, entity
"""
_SIZES = "SELECT entity, count(DISTINCT row) FROM name WHERE entity IN (SELECT entity FROM sharing) GROUP BY entity"
_REMOVE = """
DELETE FROM name WHERE (entity, row) IN (SELECT entity, row FROM surplus);
CREATE TEMP TABLE moved AS SELECT entity, row_number() OVER (PARTITION BY entity ORDER BY position) - 1 AS position,
    row, raw, scope, kind, source FROM name WHERE entity IN (SELECT entity FROM surplus);
DELETE FROM name WHERE entity IN (SELECT entity FROM surplus);
INSERT INTO name SELECT * FROM moved ORDER BY entity, position
"""


def genbioel(connection: sqlite3.Connection) -> int:
    """A shared name leaves the concept with more other names (GenBioEL, Appendix E.1); how many left one.

    Names are the same if their look-up keys are. The paper does not say how counts change and what breaks ties: here
    shared names are taken in the order of rows, each with the counts that the removals before it left; of concepts with
    as many names, the one keeps it whose preferred name it is, else the first of the source.
    """
    connection.execute(f"CREATE TEMP TABLE sharing AS {_SHARED}")
    sizes: dict[int, int] = dict(connection.execute(_SIZES))
    connection.execute("CREATE TEMP TABLE surplus (entity INTEGER NOT NULL, row INTEGER NOT NULL)")
    shared = connection.execute("SELECT * FROM sharing ORDER BY row, entity")
    connection.executemany("INSERT INTO surplus VALUES (?, ?)", _surplus(shared, sizes))
    connection.execute("CREATE INDEX temp.surplus_entity ON surplus (entity, row)")
    execute_all(connection, _REMOVE)
    removed: int = connection.execute("SELECT count(*) FROM surplus").fetchone()[0]
    return removed


def _surplus(shared: sqlite3.Cursor, sizes: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The (entity, row) pairs to remove, out of (row, entity, position) by row."""
    for row, group in groupby(shared, key=itemgetter(0)):
        owners = [(sizes[entity], position > 0, entity) for _, entity, position in group]
        for _, _, entity in sorted(owners)[1:]:
            sizes[entity] -= 1
            yield entity, row


RULES: dict[str, Callable[[sqlite3.Connection], int]] = {"genbioel": genbioel}
"""By the names that ``--dedup`` takes."""


def deduplicate(connection: sqlite3.Connection, rule: str | None) -> None:
    """Apply a rule to the ``name`` table, or none.

    Raises:
        UsageError: no rule of that name.
    """
    if rule is None:
        return
    if rule not in RULES:
        raise UsageError(f"no rule {rule!r} to leave shared names to one concept; there are: {', '.join(RULES)}")
    RULES[rule](connection)
