"""What is read out of a project: what is open, what is next, what annotators see, what is a corpus."""

from __future__ import annotations

from collections import Counter

import pytest
from review_cases import NIL, Made, added, candidate, decided, marked, rejected, save

from nomina.errors import UsageError
from nomina.review import views
from nomina.review.project import Project
from nomina.review.records import Added, Finding
from nomina.review.uncertainty import uncertainty
from nomina.types import Document, Mention


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Finding(), 1.0),
        (Finding((candidate("A:1"),), probability=0.75), 0.25),
        (Finding((candidate("A:1"), candidate("A:2", 0.9)), probability=0.25), 0.75),
        (Finding((candidate("A:1", 0.75), candidate("A:2", 0.5, 2))), 0.75),
        (Finding((candidate("A:1", 0.75),)), 0.25),
        (Finding((candidate("A:1"), candidate("A:2")), ambiguous=True, probability=0.75), 1.0),
        (Finding((candidate("A:1", 7.0),)), 0.0),
        (Finding((candidate("A:1", -3.0),)), 1.0),
    ],
)
def test_uncertainty(found, expected) -> None:
    assert uncertainty(found) == expected


def test_documents_are_ordered_by_the_mean_uncertainty_of_what_is_open(tmp_path) -> None:
    probabilities = {"sure": (0.75, 1.0), "first": (0.5, 0.25), "second": (0.25, 0.5), "done": (0.0,)}
    with Project(tmp_path / "p") as project:
        for id, values in probabilities.items():
            mentions = tuple(marked(2 * at, 2 * at + 1, value) for at, value in enumerate(values))
            project.add(Added(id, "abcd", mentions), "anna", save())
        project.add(Added("empty", ""), "anna", save())
        project.change(4, 0, [rejected("0-1")], "anna", save())
        found = views.most_uncertain(views.rows(project))
        assert [(row.id, row.open, row.mentions, row.uncertainty) for row in found] == [
            ("first", 2, 2, 0.625),
            ("second", 2, 2, 0.625),
            ("sure", 2, 2, 0.125),
        ]
        project.change(2, 0, [decided("2-3", "A:1")], "ben", save())
        found = views.most_uncertain(views.rows(project))
        assert [(row.id, row.open, row.uncertainty) for row in found] == [
            ("second", 2, 0.625),
            ("first", 1, 0.5),
            ("sure", 2, 0.125),
        ]
        of_anna = {row.id: row.open for row in views.rows(project, ("anna",))}
        assert of_anna == {"sure": 2, "first": 2, "second": 2, "done": 0, "empty": 0}


def test_an_annotator_sees_what_was_proposed_and_his_own(tmp_path) -> None:
    made = Made(tmp_path / "p")
    made.decide("anna", {"one": (decided("0-1", "A:1"), added("8-9", "A:2"))})
    made.decide("ben", {"one": (rejected("0-1"),)})
    with Project(made.path, writes=False) as project:
        states = {
            names: {each.key: each.state for each in views.mentions(project, 1, names) if each.is_own}
            for names in ((), ("anna",), ("ben",), ("anna", "ben"))
        }
        assert views.annotators_of(project) == {"anna": 2, "ben": 1}
    untouched = {"2-3": "open", "4-5": "open", "6-7": "open"}
    assert states[()] == states["anna", "ben"] == {"0-1": "rejected", "8-9": "decided", **untouched}
    assert states["anna",] == {"0-1": "decided", "8-9": "decided", **untouched}
    assert states["ben",] == {"0-1": "rejected", **untouched}


def test_only_what_is_decided_is_in_the_corpus_and_nil_stays_nil(tmp_path) -> None:
    made = Made(tmp_path / "p")
    made.decide("anna", {"one": (decided("0-1", "A:1", "A:2"), decided("2-3", "-1"), rejected("4-5"))})
    dropped: Counter[str] = Counter()
    with Project(made.path, writes=False) as project:
        found = list(views.documents(project, (), dropped))
        with pytest.raises(UsageError, match="there are: anna"):
            views.check_annotators(project, ("cleo",))
    a, c = Mention(((0, 1),), "a", None, (("A:1",), ("A:2",))), Mention(((2, 3),), "c", None, NIL)
    assert found == [Document("one", "abcdefghij", (a, c))]
    assert dropped == {"undecided mentions": 1, "rejected mentions": 1}
