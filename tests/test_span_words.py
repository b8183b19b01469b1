"""Words of phrases: families, opposites, what a KB knows."""

from __future__ import annotations

import pytest

from nomina.span_words import (
    KnownWords,
    are_opposites,
    comparable,
    eponyms,
    is_empty,
    is_narrower,
    is_restricting,
    terms,
)

NAMES = {
    "A:1": ("Abnormality of the skin", "Cutaneous abnormality"),
    "A:2": "Abnormal lumbar spine morphology",
    "A:3": "Small thumb",
}


def test_the_terms_of_names_and_phrases_meet() -> None:
    name, phrase = terms(["abnormality", "of", "the", "skin"]), terms(["cutaneous", "manifestations"])
    assert [term.word for term in name] == ["abnormality", "skin"]
    assert {term.families for term in name} == {term.families for term in phrase}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("thinning", "thick", True),
        ("increased", "decreased", True),
        ("hyperactive", "hypoactivity", True),
        ("middiastolic", "systolic", True),
        ("thin", "slim", False),
        ("thin", "thin", False),
        ("", "thin", False),
    ],
)
def test_opposites(one: str, other: str, expected: bool) -> None:
    assert are_opposites(one, other) is are_opposites(other, one) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("midsystolic", "systolic", True),
        ("hemiparesis", "paresis", True),
        ("systolic", "midsystolic", False),
        ("systolic", "systolic", False),
        ("forearm", "arm", False),  # too short to be sure
    ],
)
def test_words_that_hold_another_one(one: str, other: str, expected: bool) -> None:
    assert is_narrower(one, other) is expected


def test_words_that_narrow_a_finding_down() -> None:
    words = terms("severe infantile spasms of late infants with bilateral tears".split())
    assert [term.word for term in words if is_restricting(term)] == ["severe", "infantile", "late", "bilateral"]


@pytest.mark.parametrize(
    ("phrase", "name", "left"),
    [
        ("low blood sodium", "low blood sodium levels", ("low sodium", "low sodium")),
        ("raised ammonia", "increased plasma ammonia concentration", ("raised ammonia", "increased ammonia")),
        ("low white cell count", "low white blood cell count", ("low white count", "low white count")),
        ("blood sodium", "low blood sodium levels", None),  # the phrase does not say that it is low
        ("high blood sodium", "low blood sodium levels", None),
        ("high density lipoprotein", "increased high density lipoprotein levels", None),  # nor that it is increased
        ("low blood levels", "low blood", None),  # of what?
        ("skin cell", "skin", None),
    ],
)
def test_words_of_measuring_need_not_be_said(phrase: str, name: str, left: tuple[str, str] | None) -> None:
    compared = comparable(terms(phrase.split()), terms(name.split()))
    assert tuple(" ".join(term.word for term in side) for side in compared) == (left or (phrase, name))


def test_eponyms_by_their_genitive() -> None:
    assert eponyms("positive speed s test".split()) == {"speed"}
    assert eponyms("s".split()) == eponyms([]) == frozenset()


def test_known_words_are_made_once(make_kb, monkeypatch) -> None:
    kb = make_kb(NAMES)
    first = KnownWords(kb)
    monkeypatch.setattr("nomina.span_words.write", None)
    second = KnownWords(kb)
    for words in (first, second):
        assert [w for w in ("skin", "dermal", "thumb", "signs", "elbow", "", "7") if words.knows(w)] == [
            "skin",
            "dermal",
            "thumb",
            "signs",
        ]


def test_parts_of_the_body_are_what_is_called_abnormal_and_nothing_else(make_kb) -> None:
    words = KnownWords(make_kb(NAMES))
    asked = ("skin", "dermal", "spine", "lumbar", "thumb", "small", "signs", "the", "")
    assert [word for word in asked if words.is_part(word)] == ["skin", "dermal", "spine", "lumbar", "the"]


@pytest.mark.parametrize("word", ["", "a", "7", "12", "the", "showed", "patients", "normal"])
def test_words_without_a_finding(word: str) -> None:
    assert is_empty(word)
    assert not is_empty("skin")
