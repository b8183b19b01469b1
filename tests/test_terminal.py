import io

import pytest

from nomina.terminal import write_table
from nomina.types import Candidate, Mention, Prediction

SEIZURE = Candidate("HP:0001250", "Seizure", "Seizures", 0.95, 1, "inflection", 3694)
LONG = Candidate(
    "HP:0002373",
    "Febrile seizure (3 months to 6 years)",
    "Febrile seizures",
    1.0,
    1,
    "normalised",
    1,
)


def table(*predictions: Prediction, **options: object) -> str:
    stream = io.StringIO()
    write_table(predictions, stream, **options)
    return stream.getvalue()


def found(text: str, *candidates: Candidate, id: str = "a.txt", start: int = 0, **more: object) -> Prediction:
    return Prediction(id, Mention(((start, start + len(text)),), text), candidates, **more)


def test_one_document():
    assert table(
        found("seizures", SEIZURE, start=10, negated=True, probability=0.9567),
        Prediction(
            "a.txt", Mention(((20, 26), (30, 36)), "breast\ncancer"), (LONG, SEIZURE), ambiguous=True, probability=0.4
        ),
        found("x", abstained=True, experiencer="family", hypothetical=True),
        untitled="a.txt",
    ) == (
        "mention        offsets      id          name                                   matched name      rule"
        "        score  prob.  remarks\n"
        "seizures       10-18        HP:0001250  Seizure                                Seizures          inflection"
        "  0.950  0.96   negated\n"
        "breast cancer  20-26+30-36  HP:0002373  Febrile seizure (3 months to 6 years)  Febrile seizures  normalised"
        "  1.000  0.40   ambiguous\n"
        "                            HP:0001250  Seizure                                Seizures          inflection"
        "  0.950\n"
        "x              0-1                                                                                         "
        "                abstained, family, hypothetical\n"
    )


def test_several_documents_have_titles():
    assert table(found("seizures", SEIZURE), found("fit", SEIZURE, id="b\x1b[2J.txt")) == (
        "a.txt\n"
        "mention   offsets  id          name     matched name  rule        score  prob.  remarks\n"
        "seizures  0-8      HP:0001250  Seizure  Seizures      inflection  0.950\n"
        "\n"
        "b[2J.txt\n"
        "mention  offsets  id          name     matched name  rule        score  prob.  remarks\n"
        "fit      0-3      HP:0001250  Seizure  Seizures      inflection  0.950\n"
    )


def test_mentions_have_line_numbers_and_one_header(monkeypatch):
    monkeypatch.setattr("nomina.terminal._BLOCK", 2)
    predictions = [found("fit", SEIZURE, id="2"), found("fits", SEIZURE, id="3"), found("x", id="10", abstained=True)]
    assert table(*predictions, layout="mentions") == (
        "line  mention  id          name     matched name  rule        score  prob.  remarks\n"
        "2     fit      HP:0001250  Seizure  Seizures      inflection  0.950\n"
        "3     fits     HP:0001250  Seizure  Seizures      inflection  0.950\n"
        "10  x              abstained\n"
    )


def test_nothing_found():
    assert table() == table(layout="mentions") == ""


@pytest.mark.parametrize("width", [200, 120, 100, 96])
def test_long_names_are_cut_to_the_width(width):
    shown = table(
        found("febrile seizures", LONG), found("seizures", SEIZURE, negated=True), untitled="a.txt", width=width
    )
    assert max(map(len, shown.splitlines())) <= width
    assert "HP:0002373" in shown
    assert ("Febrile seizure (3 months to 6 years)" in shown) == (width == 200)
    assert ("…" in shown) == (width < 200)


def test_columns_of_names_stay_readable_on_a_narrow_terminal():
    assert table(found("febrile seizures", LONG), untitled="a.txt", width=20) == (
        "mention   offsets  id          name      matched…  rule        score  prob.  remarks\n"
        "febrile…  0-16     HP:0002373  Febrile…  Febrile…  normalised  1.000\n"
    )


def test_wide_and_combining_characters_are_aligned_by_what_they_take():
    heart = Candidate("X:1", "心臓", "cafe\u0301 au lait", 1.0, 1, "exact", 0)
    assert table(found("心臓病", heart), found("心臓", heart), layout="mentions") == (
        "line   mention  id   name  matched name  rule   score  prob.  remarks\n"
        "a.txt  心臓病   X:1  心臓  cafe\u0301 au lait  exact  1.000\n"
        "a.txt  心臓     X:1  心臓  cafe\u0301 au lait  exact  1.000\n"
    )
    assert "心臓の…" in table(found("心臓の病気の心臓の病気", heart), layout="mentions", width=10)


def test_what_a_terminal_takes_for_a_command_is_left_out():
    shown = table(found("a\x1b[31m\x07b\x9b", SEIZURE), untitled="a.txt")
    assert "\x1b" not in shown
    assert "a[31mb " in shown
