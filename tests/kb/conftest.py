from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nomina.kb.build import BuildOptions, build
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Name, Retired


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., KnowledgeBase]:
    """Build a KB of records in a temporary folder."""

    def make(*records: Entity | Retired, name: str = "made", **options: object) -> KnowledgeBase:
        return build(tmp_path / f"{name}.kb", records, BuildOptions(name, **options))  # type: ignore[arg-type]

    return make


@pytest.fixture
def heart(made: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    """Six concepts with what a KB can hold: a homonym, a cycle, retired ids, types, several raw names in one row."""
    return made(
        Entity("T:1", (Name("Disease"),), types=("top",)),
        Entity(
            "T:2",
            (
                Name("heart-disease", "broad", "layperson", "talk"),
                Name("Heart disease", kind="preferred"),
                Name("Heart Disease", "narrow"),
                Name("MI", kind="abbreviation"),
            ),
            definition="What ails the heart",
            types=("cardiology", "organ"),
            parents=("T:1", "T:404"),
            xrefs=("UMLS:C0018799",),
            retired_ids=("T:20",),
        ),
        Entity("T:3", (Name("Mitral insufficiency", kind="preferred"), Name("mi")), types=("organ",), parents=("T:2",)),
        Entity("T:4", (Name("Round"),), parents=("T:5",)),
        Retired("T:30", ("T:31", "T:32")),
        Retired("T:31"),
        Retired("T:32", ("T:30", "T:20")),
        Retired("T:33"),
        Entity("T:5", (Name("And round"),), parents=("T:4",)),
        Entity("T:6", (), parents=("T:1",)),
        name="heart",
    )
