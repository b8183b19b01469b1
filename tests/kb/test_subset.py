from __future__ import annotations

from pathlib import Path

import pytest

from nomina.errors import KnowledgeBaseError, UsageError
from nomina.kb.store import KnowledgeBase
from nomina.kb.subset import subset
from nomina.types import Entity, Name, Retired


def test_by_subtree_and_type(heart: KnowledgeBase, tmp_path: Path) -> None:
    kb = subset(tmp_path / "a.kb", heart, under=["T:2"])
    assert list(kb) == ["T:2", "T:3"]
    assert kb["T:2"] == heart["T:2"]
    assert list(kb.names) == ["heart disease", "mi", "mitral insufficiency"]
    assert kb.manifest.name == "a"
    assert list(subset(tmp_path / "b.kb", heart, types=["organ", "top"])) == ["T:1", "T:2", "T:3"]
    assert list(subset(tmp_path / "b.kb", heart, under=["T:2", "T:4"], types=["cardiology"])) == ["T:2"]


def test_retired_ids_come_along_that_lead_there(heart: KnowledgeBase, tmp_path: Path) -> None:
    kb = subset(tmp_path / "a.kb", heart, under=["T:2"])
    assert (kb.resolve("T:30"), kb.retired("T:32")) == ("T:2", Retired("T:32", ("T:20", "T:30")))
    assert (kb.retired("T:31"), kb.retired("T:33")) == (None, None)
    assert subset(tmp_path / "b.kb", heart, types=["top"]).retired("T:20") is None


def test_by_source_of_the_names(made, tmp_path: Path) -> None:
    whole = made(
        Entity("X:1", (Name("a", source="MSH"), Name("b", source="HPO", kind="preferred")), types=("t",)),
        Entity("X:2", (Name("c", source="HPO"), Name("d"))),
        Entity("X:3", (Name("e", source="MSH"),)),
        Retired("X:4", ("X:2",)),
        Retired("X:5", ("X:1",)),
    )
    kb = subset(tmp_path / "a.kb", whole, sources=["MSH"])
    assert [(id, kb[id].names) for id in kb] == [
        ("X:1", (Name("a", source="MSH"),)),
        ("X:3", (Name("e", source="MSH"),)),
    ]
    assert (kb.retired("X:4"), kb.resolve("X:5")) == (None, "X:1")
    assert list(subset(tmp_path / "b.kb", whole, sources=["MSH", "HPO"], types=["t"])) == ["X:1"]
    with pytest.raises(KnowledgeBaseError, match="has the source 'x'; there are: HPO, MSH"):
        subset(tmp_path / "c.kb", whole, sources=["x"])


def test_shared_names_may_be_left_to_one(heart: KnowledgeBase, tmp_path: Path) -> None:
    kb = subset(tmp_path / "a.kb", heart, under=["T:2"], dedup="genbioel")
    assert kb.owners(1) == ("T:2",)
    assert len(subset(tmp_path / "b.kb", heart, dedup="genbioel")) == len(heart)


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ({}, "say what to keep: --under, --types or --source"),
        ({"under": ["T:9"]}, "'T:9' is not a concept"),
        ({"types": ["x"]}, "no type 'x'; it has: cardiology, organ, top"),
        ({"under": ["T:6"]}, "no names to look up"),
    ],
)
def test_what_cannot_be_kept(heart: KnowledgeBase, tmp_path: Path, conditions, why: str) -> None:
    with pytest.raises((UsageError, KnowledgeBaseError), match=why):
        subset(tmp_path / "a.kb", heart, **conditions)
    assert not (tmp_path / "a.kb").exists()
