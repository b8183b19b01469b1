"""Noise: what each kind does to a name, by hand; never an empty name."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.training.noise import (
    NOISE,
    abbreviation,
    british,
    fewer_words,
    noisy,
    order,
    plural,
    predicate,
    punctuation,
    qualified,
    relative,
    typo,
)


def many(kind, name, tries=200):
    return {kind(name, random.Random(seed)) for seed in range(tries)}


def test_a_typo_changes_one_place_of_a_longer_word():
    found = many(typo, "heart of stone")
    assert {"hert of stone", "haert of stone", "heeart of stone", "heart of stne"} <= found
    assert all(name.startswith("h") and " of s" in name and abs(len(name) - 14) <= 1 for name in found)
    assert many(typo, "of 5 men") == {"of 5 men"}


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("seizure", "seizures"), ("seizures", "seizure"), ("metastasis", "metastases"), ("deformity", "deformities"),
        ("tooth decay", "tooth decays"), ("type 2", "type 2"), ("", ""),
    ],
)  # fmt: skip
def test_plural(name, other):
    assert plural(name, random.Random(0)) == other


def test_order_sets_an_inverted_name_right():
    assert many(order, "Breast Cancer, Familial") == {"Familial Breast Cancer"}


def test_order_moves_one_word():
    assert many(order, "a b") == {"a b", "b a", "a, b", "b, a"}
    assert many(order, "one") == {"one"}


def test_abbreviation_of_all_words_or_all_but_the_last():
    assert many(abbreviation, "acute kidney injury of the left side") == {"AKILS", "AKIL side"}
    assert many(abbreviation, "kidney injury") == {"kidney injury"}
    assert many(abbreviation, "type 2 kidney injury") == {"type 2 kidney injury"}


def test_punctuation_and_small_words():
    assert punctuation("non-Hodgkin's (B-cell)", random.Random(0)) == "non Hodgkin s B cell"
    assert punctuation("()", random.Random(0)) == "()"
    assert fewer_words("cancer of the breast", random.Random(0)) == "cancer breast"
    assert many(fewer_words, "a b c") == {"b c"}
    assert many(fewer_words, "w x y z") == {"x y z", "w y z", "w x z", "w x y"}


@given(st.text(max_size=40).filter(str.strip), st.integers(0, 100), st.sampled_from(sorted(NOISE)))
def test_noise_leaves_something_and_is_the_same_for_a_seed(name, seed, kind):
    changed = noisy(name, random.Random(seed), {kind: 1.0})
    assert changed
    assert changed == noisy(name, random.Random(seed), {kind: 1.0})


def test_british_spelling():
    assert british("Uterine hemorrhage and anemia", random.Random(0)) == "Uterine haemorrhage and anaemia"
    assert british("hemiplegia", random.Random(0)) == "hemiplegia"


def test_a_relative_of_one_word():
    assert many(relative, "Kidney tumor") == {
        "renal tumor", "Kidney neoplasm", "Kidney neoplasia", "Kidney neoplastic",
    }  # fmt: skip
    assert many(relative, "gout") == {"gout"}


def test_qualified_keeps_the_name():
    found = many(qualified, "gout", 500)
    assert {"history of gout", "gout in childhood", "mild gout"} <= found
    assert all(name.startswith("gout ") or name.endswith(" gout") for name in found)


def test_predicate_puts_an_adjective_behind():
    assert {"fingers are short", "fingers short"} <= many(predicate, "short fingers")
    assert many(predicate, "fingers") == {"fingers"}
    assert many(predicate, "finger joint") == {"finger joint"}
