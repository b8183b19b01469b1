"""Finding concepts by id and by the start of a name; expected answers by hand."""

from __future__ import annotations

import pytest

from nomina.kb.build import BuildOptions, build
from nomina.kb.find import find
from nomina.types import Entity, Name

ENTITIES = [
    Entity("HP:1", (Name("Seizure"), Name("Fit")), retired_ids=("HP:9",)),
    Entity("HP:12", (Name("Febrile seizure"), Name("Seizure, febrile"))),
    Entity("HP:3", (Name("Palmar pits"),)),
    Entity("HP:4", (Name("Pit of the palm"),)),
    Entity("HP_5%", (Name("Seiza"), Name("Fit"))),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return build(tmp_path_factory.mktemp("find") / "made.kb", ENTITIES, BuildOptions("made"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("HP:1", [("HP:1", "Seizure", "id")]),
        (" hp:12 ", [("HP:12", "Febrile seizure", "id")]),
        ("hp:9", [("HP:1", "Seizure", "retired id")]),
        ("hp_5%", [("HP_5%", "Seiza", "id")]),
        ("h_:1", []),
        ("hp_5", [("HP_5%", "Seiza", "id begins")]),
        ("HP:", []),
        ("Fit", [("HP:1", "Fit", "name"), ("HP_5%", "Fit", "name")]),
        (
            "sei",
            [
                ("HP_5%", "Seiza", "name begins"),
                ("HP:1", "Seizure", "name begins"),
                ("HP:12", "Seizure, febrile", "name begins"),
            ],
        ),
        (
            "pal pi",
            [
                ("HP:3", "Palmar pits", "name has word beginnings"),
                ("HP:4", "Pit of the palm", "name has word beginnings"),
            ],
        ),
        ("palm", [("HP:3", "Palmar pits", "name begins"), ("HP:4", "Pit of the palm", "name has words")]),
        ("alm", []),
        ("%", []),
    ],
)
def test_what_is_found_and_why(kb, words, expected) -> None:
    found = find(kb, words, 10)
    assert [(each.entity_id, each.name, each.rule) for each in found] == expected
    assert [(each.score, each.rank) for each in found] == [(1.0, rank + 1) for rank in range(len(found))]
    for each in found:
        assert each.preferred == kb[each.entity_id].name
        assert kb.surface(each.row) == each.name


def test_no_more_than_wanted_and_each_once(kb) -> None:
    assert [each.entity_id for each in find(kb, "sei", 2)] == ["HP_5%", "HP:1"]
