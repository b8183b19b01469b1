from __future__ import annotations

from pathlib import Path

from nomina.kb.diff import Change, diff
from nomina.kb.store import KnowledgeBase
from nomina.kb.update import add, retire
from nomina.types import Entity, Name, Retired


def test_each_kind_of_change(made) -> None:
    old = made(
        Entity("X:1", (Name("same"), Name("as before"))),
        Entity("X:2", (Name("old name"),)),
        Entity("X:3", (Name("gone"),)),
        Entity("X:4", (Name("merged"),)),
        Entity("X:5", (Name("vanished"),)),
        Entity("X:6"),
        Entity("X:7", (Name("merged too"),)),
        name="old",
    )
    new = made(
        Entity("X:9", (Name("newest"),)),
        Entity("X:2", (Name("old name"), Name("new name", kind="preferred"))),
        Entity("X:1", (Name("same"), Name("another"))),
        Entity("X:8", (Name("new"),), retired_ids=("X:4",)),
        Entity("X:6", (Name("has a name now"),)),
        Retired("X:3"),
        Retired("X:7", ("X:4",)),
        name="new",
    )
    assert list(diff(old, new)) == [
        Change("added", "X:9", "newest"),
        Change("added", "X:8", "new"),
        Change("renamed", "X:2", "new name", before="old name"),
        Change("renamed", "X:6", "has a name now", before="X:6"),
        Change("retired", "X:3", "gone"),
        Change("retired", "X:5", "vanished"),
        Change("merged", "X:4", "merged", into="X:8"),
        Change("merged", "X:7", "merged too", into="X:8"),
    ]
    assert list(diff(old, old)) == []


def test_between_versions(heart: KnowledgeBase, tmp_path: Path) -> None:
    new = add(heart, tmp_path / "2.kb", [Entity("T:7", (Name("Angina"),))]).kb
    new = retire(retire(new, tmp_path / "3.kb", ["T:4"]).kb, tmp_path / "4.kb", ["T:3"], "T:2").kb
    assert list(diff(heart, new)) == [
        Change("added", "T:7", "Angina"),
        Change("retired", "T:4", "Round"),
        Change("merged", "T:3", "Mitral insufficiency", into="T:2"),
    ]
    assert [change.change for change in diff(new, heart)] == ["added", "added", "retired"]
