"""KB files whose rows were changed by hand: whatever is asked of them ends in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from nomina.errors import KnowledgeBaseError
from nomina.kb.join import expand, merge
from nomina.kb.store import KnowledgeBase
from nomina.kb.update import add
from nomina.types import Entity, Name


def new(kb: KnowledgeBase) -> KnowledgeBase:
    return add(kb, kb.path.with_name("new.kb"), [Entity("X:1", (Name("new"),))]).kb


def changed(kb: KnowledgeBase, statement: str) -> KnowledgeBase:
    connection = sqlite3.connect(kb.path)
    with connection:
        connection.execute(statement)
    connection.close()
    return KnowledgeBase.open(kb.path)


@pytest.mark.parametrize(
    ("statement", "ask"),
    [
        ("DELETE FROM row WHERE number = 1", lambda kb: kb.surface(1)),
        ("DELETE FROM row WHERE number = 1", lambda kb: kb.names[1]),
        ("DELETE FROM row WHERE number = 1", new),
        ("UPDATE entity SET parents = 'x'", lambda kb: kb["T:2"]),
        ("UPDATE entity SET parents = 'x'", lambda kb: list(kb.entities())),
        ("UPDATE entity SET parents = 'x'", new),
        ("UPDATE entity SET xrefs = '5'", lambda kb: kb["T:2"]),
        ("UPDATE name SET scope = 99", lambda kb: kb["T:2"]),
        ("UPDATE name SET scope = 99", lambda kb: kb.owners_of(0)),
        ("UPDATE row SET surface = ''", lambda kb: list(kb.entities())),
        ("UPDATE row SET surface = ''", lambda kb: merge(kb.path.with_name("m.kb"), [kb, kb], "id")),
        ("UPDATE entity SET parents = 'x'", lambda kb: expand(kb.path.with_name("e.kb"), kb, kb, "id")),
    ],
)
def test_damage_is_one_line(heart: KnowledgeBase, statement: str, ask: Callable[[KnowledgeBase], object]) -> None:
    kb = changed(heart, statement)
    with pytest.raises(KnowledgeBaseError, match=r"heart.kb is damaged \(.+\): remove it and build it again") as caught:
        ask(kb)
    assert "\n" not in str(caught.value)
    assert [path.name for path in Path(kb.path).parent.iterdir()] == ["heart.kb"]


def test_a_row_behind_the_last_is_an_index_error(heart: KnowledgeBase) -> None:
    last = len(heart.names) - 1
    for row in (last + 1, -1):
        with pytest.raises(IndexError, match=rf"row {row} is not in 0\.\.{last}"):
            heart.surface(row)
    with pytest.raises(IndexError, match="is not in 0"):
        heart.names[last + 1]
