"""Agreement of two annotators, against figures computed by hand and by another formula."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_cases import Made, added, decided, rejected

from nomina.errors import UsageError
from nomina.review.agreement import Agreement, Side, agreement, kappa, label_of
from nomina.review.project import Project


def oracle(first: list[str], second: list[str]) -> Fraction | None:
    """Cohen 1960, by the table of counts, exactly."""
    labels = sorted({*first, *second})
    table = np.zeros((len(labels), len(labels)), dtype=int)
    for a, b in zip(first, second, strict=True):
        table[labels.index(a), labels.index(b)] += 1
    total = int(table.sum())
    if not total:
        return None
    observed = Fraction(int(np.trace(table)), total)
    expected = sum(
        (Fraction(int(row), total) * Fraction(int(column), total))
        for row, column in zip(table.sum(1), table.sum(0), strict=True)
    )
    return None if expected == 1 else (observed - expected) / (1 - expected)


def test_kappa_of_a_published_table() -> None:
    """Fifty grant applications, both yes 20, both no 15: 0.4."""
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert kappa(first, second) == pytest.approx(0.4)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30))
def test_kappa_is_that_of_the_oracle(pairs) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    expected = oracle(first, second)
    found = kappa(first, second)
    assert (found is None) == (expected is None)
    assert expected is None or found == pytest.approx(float(expected))


def test_gold_is_compared_without_order_and_nil() -> None:
    assert label_of((("A:1", "A:2"), ("A:3",))) == label_of((("A:3",), ("A:2", "A:1")))
    assert label_of((("-1",),)) == label_of((("NIL",),)) == frozenset()
    assert label_of((("A:1",),)) != label_of((("A:2",),))


def compared(first: Made, second: Made, one: str | None = None, other: str | None = None):
    sides = (one,) if one else (), (other,) if other else ()
    with Project(first.path, writes=False) as a, Project(second.path, writes=False) as b:
        return agreement(Side(a, sides[0]), Side(b, sides[1]))


FIRST = {
    "one": (decided("0-1", "A:1"), decided("2-3", "A:1"), decided("4-5", "A:2"), rejected("6-7"), added("8-9", "A:9")),
    "two": (decided("0-1", "-1"), rejected("2-3"), decided("4-5", "A:5")),
}
SECOND = {
    "one": (decided("0-1", "A:1"), decided("2-3", "A:2"), decided("4-5", "A:2"), decided("6-7", "A:1")),
    "two": (decided("0-1", "-1"), rejected("2-3")),
}
EXPECTED = Agreement(
    documents=2,
    left_out=1,
    undecided=2,  # of two: 4-5, that the second has not decided, and 6-7, that nobody has
    both=4,  # of one 0-1, 2-3, 4-5, of two 0-1
    only_first=1,  # 8-9
    only_second=1,  # 6-7
    same=3,
    proposed=6,
    span_f1=8 / 10,
    concepts=3 / 4,
    concept_kappa=float((Fraction(3, 4) - Fraction(5, 16)) / (1 - Fraction(5, 16))),
    mention_kappa=float((Fraction(5, 6) - Fraction(22, 36)) / (1 - Fraction(22, 36))),
)
# Concepts: A:1 A:1 A:2 NIL against A:1 A:2 A:2 NIL, by chance (2*1 + 1*2 + 1*1) / 16. Mentions or not: 0-1, 2-3, 4-5,
# 6-7 of one and 0-1, 2-3 of two are TTTFTF against TTTTTF, by chance (4*5 + 2*1) / 36.


def test_two_projects(tmp_path) -> None:
    first = Made(tmp_path / "first", ("one", "two", "three"))
    second = Made(tmp_path / "second", ("one", "two", "three"))
    first.decide("anna", {**FIRST, "three": (decided("0-1", "A:1"),)})
    second.decide("ben", SECOND)
    figures, found = compared(first, second)
    assert figures == EXPECTED
    shown = [
        (each.document_id, each.text, each.first and each.first.gold, each.second and each.second.gold)
        for each in found
    ]
    assert shown == [
        ("one", "c", (("A:1",),), (("A:2",),)),
        ("one", "g", None, (("A:1",),)),
        ("one", "i", (("A:9",),), None),
    ]


def test_two_annotators_of_one_project_come_to_the_same(tmp_path) -> None:
    both = Made(tmp_path / "both", ("one", "two", "three"))
    both.decide("anna", {**FIRST, "three": (decided("0-1", "A:1"),)})
    both.decide("ben", SECOND)
    first = Made(tmp_path / "first", ("one", "two", "three"))
    second = Made(tmp_path / "second", ("one", "two", "three"))
    first.decide("anna", {**FIRST, "three": (decided("0-1", "A:1"),)})
    second.decide("ben", SECOND)
    assert compared(both, both, "anna", "ben") == compared(first, second)
    with pytest.raises(UsageError, match="'cleo' has decided nothing"):
        compared(both, both, "anna", "cleo")


def test_documents_with_another_text_or_of_one_project_only_are_left_out(tmp_path) -> None:
    first = Made(tmp_path / "first", ("one", "two"))
    second = Made(tmp_path / "second", ("one", "four"), text="ABCDEFGHIJ")
    for made in (first, second):
        made.decide("anna", {"one": (decided("0-1", "A:1"),)})
    figures, found = compared(first, second)
    assert (figures.documents, figures.left_out, found) == (0, 3, [])
    assert {figures.span_f1, figures.concepts, figures.concept_kappa, figures.mention_kappa} == {None}


def test_full_agreement_on_one_concept_has_no_kappa(tmp_path) -> None:
    made = Made(tmp_path / "p")
    made.decide("anna", {"one": (decided("0-1", "A:1"), decided("2-3", "A:1"))})
    figures, _ = compared(made, made)
    assert (figures.span_f1, figures.concepts, figures.concept_kappa) == (1.0, 1.0, None)
