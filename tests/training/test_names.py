"""Names of a KB by concept: shared ones, held-out ones, what they are looked up among."""

import numpy as np
import pytest

from nomina.errors import RecipeError
from nomina.training.names import Concepts, check_synonyms, noisy_copies, some_rows, split

NAMES = {
    "C:1": ("Heart attack", "MI", "Myocardial infarction"),
    "C:2": ("Mitral insufficiency", "MI"),
    "C:3": ("Fit", "Seizure"),
    "C:4": ("Fitness", "Fit"),
    "C:5": "Ataxia",
}


@pytest.fixture(scope="module")
def concepts(make_kb):
    return Concepts.of(make_kb(NAMES))


def named(concepts):
    return {
        (concepts.ids[concept], concepts.texts[row])
        for concept, row in zip(concepts.concept.tolist(), concepts.row.tolist(), strict=True)
    }


def test_who_has_which_name(concepts):
    assert named(concepts) == {(id, name) for id, names in NAMES.items() for name in np.atleast_1d(names)}
    assert [concepts.texts[row] for row in concepts.firsts()] == [
        "Heart attack",
        "Mitral insufficiency",
        "Fit",
        "Fitness",
        "Ataxia",
    ]
    rows = [[concepts.texts[row] for row in rows] for rows in concepts.rows()]
    assert rows == [list(np.atleast_1d(names)) for names in NAMES.values()]
    owners = dict(zip(concepts.texts, concepts.owners(), strict=True))
    assert owners["MI"] == (0, 1)
    assert owners["Fit"] == (2, 3)
    assert owners["Ataxia"] == (4,)


def test_a_name_that_is_shared_stays_with_who_prefers_it(concepts):
    own = concepts.unshared()
    assert named(concepts) - named(own) == {("C:1", "MI"), ("C:2", "MI"), ("C:4", "Fit")}
    assert len(list(own.rows())) == 5


def test_a_name_that_two_prefer_is_nobodys(make_kb):
    own = Concepts.of(make_kb({"A": ("Fit", "a"), "B": ("Fit", "b")})).unshared()
    assert named(own) == {("A", "a"), ("B", "b")}


def test_spellings_that_are_one_row_count_once(make_kb):
    own = Concepts.of(make_kb({"A": ("Heart-attack", "heart attack", "x")})).unshared()
    assert named(own) == {("A", "Heart-attack"), ("A", "x")}


def test_held_out_names_are_never_the_first_and_one_a_concept(make_kb):
    concepts = Concepts.of(make_kb({f"C:{i}": tuple(f"n{i} {j}" for j in range(5)) for i in range(30)}))
    train, held = split(concepts, 100, seed=3)
    assert len(held.row) == 120 // 20
    assert len(np.unique(held.concept)) == len(held.row)
    assert named(train) | named(held) == named(concepts)
    assert not named(train) & named(held)
    assert set(concepts.firsts()) <= set(train.row)
    assert (split(concepts, 100, seed=3).held.row == held.row).all()
    assert set(split(concepts, 100, seed=4).held.row) != set(held.row)
    assert len(split(concepts, 2, seed=3).held.row) == 2
    assert len(split(concepts, 0, seed=3).held.row) == 0


def test_names_are_looked_for_among_all_of_their_concepts_and_some_others(make_kb):
    concepts = Concepts.of(make_kb({f"C:{i}": tuple(f"n{i} {j}" for j in range(3)) for i in range(20)}))
    wanted = np.array([4, 7])
    rows = some_rows(concepts, wanted, 10, seed=0)
    assert len(rows) == 10
    assert (np.diff(rows) > 0).all()
    assert {12, 13, 14, 21, 22, 23} <= set(rows)
    assert len(some_rows(concepts, wanted, 2, seed=0)) == 6
    assert len(some_rows(concepts, wanted, 1000, seed=0)) == 60


def test_a_kb_without_synonyms(make_kb):
    bare = Concepts.of(make_kb({"A": "a", "B": "b"}))
    with pytest.raises(RecipeError, match="the KB made has no concept with two names of its own"):
        check_synonyms(bare, "made")
    check_synonyms(Concepts.of(make_kb({"A": ("a", "b")})), "made")
    assert len(split(bare, 10, 0).held.row) == 0


def test_noisy_copies_are_lists_one_behind_the_other():
    texts = ["chronic kidney disease", "ataxia"]
    copies = noisy_copies(texts, 3, seed=1, weights={"plural": 1.0})
    assert len(copies) == 6
    assert set(copies[::2]) == {"chronic kidney diseases"}
    assert set(copies[1::2]) == {"ataxias"}
    assert noisy_copies(texts, 0, seed=1) == []
    assert noisy_copies(texts, 2, seed=1) == noisy_copies(texts, 2, seed=1)
