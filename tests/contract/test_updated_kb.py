"""What every linker owes a KB that was brought up to date: new concepts are found, retired ones never are."""

from __future__ import annotations

from pathlib import Path

import pytest
from linker_cases import load_linker

from nomina.kb.store import KnowledgeBase
from nomina.kb.update import add, retire
from nomina.linkers import LINKERS
from nomina.types import Entity, Name

every_linker = pytest.mark.parametrize("linker", list(LINKERS))


@pytest.fixture
def old(make_kb) -> KnowledgeBase:
    return make_kb(
        {
            "X:1": ["myocardial infarction", "heart attack"],
            "X:2": ["ulcerative colitis", "colitis gravis"],
            "X:3": ["chest pain", "heart attack"],
        }
    )


def linked(linker: str, kb: KnowledgeBase, mention: str) -> list[str]:
    (prediction,) = load_linker(linker, kb, k=10, threshold=0.0).link_mentions([mention])
    return [candidate.entity_id for candidate in prediction.candidates]


@every_linker
def test_an_added_concept_is_found_and_old_ones_as_before(linker: str, old: KnowledgeBase, tmp_path: Path) -> None:
    new = add(
        old,
        tmp_path / "new.kb",
        [Entity("X:9", (Name("takotsubo cardiomyopathy"),)), Entity("X:2", (Name("bleeding proctocolitis"),))],
    ).kb
    assert linked(linker, new, "takotsubo cardiomyopathy")[0] == "X:9"
    assert linked(linker, new, "bleeding proctocolitis")[0] == "X:2"
    assert linked(linker, new, "myocardial infarction")[0] == "X:1"
    assert "X:9" not in linked(linker, old, "takotsubo cardiomyopathy")


@every_linker
def test_a_retired_concept_is_never_answered(linker: str, old: KnowledgeBase, tmp_path: Path) -> None:
    assert set(linked(linker, old, "heart attack")) >= {"X:1", "X:3"}
    assert linked(linker, old, "ulcerative colitis")[0] == "X:2"
    new = retire(retire(old, tmp_path / "1.kb", ["X:2"]).kb, tmp_path / "2.kb", ["X:1"], replaced_by="X:3").kb
    for mention in ("ulcerative colitis", "colitis gravis", "myocardial infarction", "heart attack"):
        assert not {"X:1", "X:2"} & set(linked(linker, new, mention))
    assert linked(linker, new, "heart attack")[0] == "X:3"


@every_linker
def test_a_concept_that_comes_back_is_found_again(linker: str, old: KnowledgeBase, tmp_path: Path) -> None:
    gone = retire(old, tmp_path / "1.kb", ["X:2"]).kb
    back = add(gone, tmp_path / "2.kb", [Entity("X:2", (Name("colitis gravis"),))]).kb
    assert linked(linker, back, "colitis gravis")[0] == "X:2"
    assert back.row("colitis gravis") == old.row("colitis gravis")


@every_linker
def test_names_of_retired_concepts_are_not_detected_in_texts(linker: str, old: KnowledgeBase, tmp_path: Path) -> None:
    text = "Ulcerative colitis, later a heart attack."
    new = retire(old, tmp_path / "new.kb", ["X:2"]).kb
    for overlaps in ("longest", "all"):
        for kb, expected in ((old, ["Ulcerative colitis", "heart attack"]), (new, ["heart attack"])):
            found = load_linker(linker, kb, overlaps=overlaps).link_text(text)
            assert [prediction.mention.text for prediction in found] == expected
