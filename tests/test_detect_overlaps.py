"""Which of overlapping mentions are found."""

from __future__ import annotations

import pytest

from nomina.detect import Detector
from nomina.lexicon import Lexicon


def found(detector: Detector, text: str) -> list[str]:
    """What is found, sliced out of the text."""
    return ["+".join(text[start:end] for start, end in f.spans) for f in detector.find([text])[0]]


@pytest.fixture(scope="module")
def colitis(make_kb) -> Lexicon:
    return Lexicon.open(
        make_kb(
            {
                "B:1": "Abnormality",
                "B:2": "Colitis",
                "B:3": "Ulcerative colitis",
                "B:4": "Retinitis",
                "B:5": "Retinitis pigmentosa",
                "B:6": "Severe ulcerative colitis",
                "B:7": "Ulcerative",
            },
            parents={"B:2": ("B:1",), "B:3": ("B:2",), "B:5": ("B:1",), "B:6": ("B:3",)},
        )
    )


@pytest.mark.parametrize(
    ("text", "longest", "every"),
    [
        ("ulcerative colitis", ["ulcerative colitis"], ["ulcerative colitis", "colitis"]),
        ("retinitis pigmentosa", ["retinitis pigmentosa"], ["retinitis pigmentosa"]),
        (
            "severe ulcerative colitis",
            ["severe ulcerative colitis"],
            ["severe ulcerative colitis", "ulcerative colitis", "colitis"],
        ),
    ],
)
def test_overlaps(colitis: Lexicon, text: str, longest: list[str], every: list[str]) -> None:
    assert found(Detector(colitis, "longest"), text) == longest
    assert found(Detector(colitis, "all"), text) == every


def test_of_two_equally_long_names_that_overlap_the_first_is_kept(make_kb) -> None:
    detector = Detector(Lexicon.open(make_kb({"A:1": "Heart disease"})))
    assert [f.spans for f in detector.find(["disease heart disease"])[0]] == [((0, 13),)]


def test_all_keeps_every_one_where_the_kb_has_no_hierarchy(make_kb) -> None:
    detector = Detector(Lexicon.open(make_kb({"A:1": "Retinitis", "A:2": "Retinitis pigmentosa"})), "all")
    assert found(detector, "retinitis pigmentosa") == ["retinitis pigmentosa", "retinitis"]


def test_all_does_not_say_the_same_concept_twice(make_kb) -> None:
    detector = Detector(Lexicon.open(make_kb({"A:1": ("Severe pain", "Pain")})), "all")
    assert found(detector, "severe pain") == ["severe pain"]


def test_a_cycle_of_parents_does_no_harm(make_kb) -> None:
    kb = make_kb({"A:1": "Pain", "A:2": "Severe pain"}, parents={"A:1": ("A:2",), "A:2": ("A:1",)})
    assert found(Detector(Lexicon.open(kb), "all"), "severe pain") == ["severe pain", "pain"]


def test_a_name_that_joins_two_others_gives_way_to_them(make_kb) -> None:
    detector = Detector(Lexicon.open(make_kb({"A:1": "Nausea", "A:2": "Vomiting", "A:3": "Nausea and vomiting"})))
    assert found(detector, "nausea and vomiting") == ["nausea", "vomiting"]
    detector = Detector(Lexicon.open(make_kb({"A:1": "Neck cancer", "A:3": "Head and neck cancer"})))
    assert found(detector, "head and neck cancer") == ["head and neck cancer"]
