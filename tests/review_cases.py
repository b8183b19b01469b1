"""Made projects for the tests of reviewing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from nomina.review.project import Project
from nomina.review.records import Added, Change, Finding, Gold, Marked
from nomina.types import Candidate

_SAVES = count()
NIL: Gold = (("-1",),)


def save() -> str:
    """A number that no other save has."""
    return f"{next(_SAVES):016x}"


def candidate(id: str, score: float = 1.0, rank: int = 1) -> Candidate:
    return Candidate(id, f"name of {id}", "name", score, rank, "exact", 0)


def marked(start: int, end: int, probability: float | None = None, gold: Gold | None = None) -> Marked:
    return Marked(((start, end),), None, Finding((candidate("A:1"),), probability=probability), gold)


def decided(key: str, *ids: str) -> Change:
    return Change(key, "decided", tuple((id,) for id in ids))


def rejected(key: str) -> Change:
    return Change(key, "rejected")


def added(key: str, *ids: str) -> Change:
    start, end = map(int, key.split("-"))
    return Change(key, "decided", tuple((id,) for id in ids), None, marked(start, end))


class Made:
    """A project with one document of ten letters for each name, each with mentions at 0-1, 2-3, 4-5 and 6-7."""

    def __init__(self, path: Path, documents: tuple[str, ...] = ("one",), text: str = "abcdefghij") -> None:
        self.path = path
        mentions = tuple(marked(at, at + 1) for at in range(0, 8, 2))
        with Project(path) as project:
            self.numbers = {id: project.add(Added(id, text, mentions), "adder", save()) for id in documents}
        self.revisions = dict.fromkeys(documents, 0)

    def decide(self, annotator: str, changes: Mapping[str, tuple[Change, ...]]) -> None:
        with Project(self.path) as project:
            for id, each in changes.items():
                number = self.numbers[id]
                self.revisions[id] = project.change(number, self.revisions[id], each, annotator, save())
