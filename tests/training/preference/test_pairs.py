"""Which pairs are made of ranked names, against the paper's rule read aloud; folds."""

import itertools

import numpy as np
import pytest

from nomina.errors import RecipeError
from nomina.training.preference.pairs import PairOptions, Pairs, Ranked, folds, joined, select


def ranked(*patterns):
    """Of "RW." a right row 0, a wrong row 1 and nothing; mention i has rows 10 * i + place."""
    rows = [[10 * i + j if c != "." else -1 for j, c in enumerate(pattern)] for i, pattern in enumerate(patterns)]
    return Ranked(np.array(rows), np.array([[c == "R" for c in pattern] for pattern in patterns]))


def told(pairs):
    return list(zip(*(part.tolist() for part in pairs), strict=True))


def test_a_wrong_name_above_a_right_one_is_a_pair():
    assert told(select(ranked("WWRWR"), PairOptions())) == [(0, 2, 0), (0, 2, 1), (0, 4, 0), (0, 4, 1), (0, 4, 3)]


def test_a_right_best_name_is_paired_with_the_first_wrong_one():
    assert told(select(ranked("RRWW.", "RRRRR"), PairOptions())) == [(0, 0, 2)]
    assert told(select(ranked("RWRW."), PairOptions())) == [(0, 0, 1), (0, 2, 1)]


def test_without_a_right_name_a_mention_is_left_out():
    assert told(select(ranked("WWW..", ".....", "WR..."), PairOptions())) == [(2, 21, 20)]


@pytest.mark.parametrize("which", ["above", "all"])
def test_every_list_of_five_gives_the_pairs_of_the_rule(which):
    for pattern in map("".join, itertools.product("RW", repeat=5)):
        every = {(i, j) for i in range(5) for j in range(5) if pattern[i] == "R" and pattern[j] == "W"}
        first = {(0, pattern.index("W"))} if pattern[0] == "R" and "W" in pattern else set()
        expected = every if which == "all" else {(i, j) for i, j in every if j < i} | first
        found = [(chosen, rejected) for _, chosen, rejected in told(select(ranked(pattern), PairOptions(which)))]
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_only_the_top_is_looked_at():
    given = ranked("WWWWWR", "RRRRRW")
    assert told(select(given, PairOptions(top=5))) == []
    assert told(select(given, PairOptions(top=10))) == [*((0, 5, j) for j in range(5)), (1, 10, 15)]


def test_a_synonym_can_be_chosen_where_nothing_is_right():
    given, options = ranked("WW...", "WR...", "W....", "....."), PairOptions(missing="synonym")
    found = told(select(given, options, synonyms=np.array([7, 8, -1, 9])))
    assert found == [(0, 7, 0), (0, 7, 1), (1, 11, 10)]


def test_similar_names_take_the_place_of_ranked_ones():
    given, options = ranked("WRR", "WWW"), PairOptions(negatives="tfidf", top=3)
    similar = [np.array([90, 91]), np.array([92])]
    assert told(select(given, options, similar=similar)) == [(0, 1, 90), (0, 1, 91)]
    found = told(select(given, options, synonyms=np.array([7, 8]), similar=similar))
    assert found == [(0, 1, 90), (0, 1, 91), (1, 8, 92)]


def test_values_that_cannot_be_are_refused():
    with pytest.raises(RecipeError, match="which of pairs is one of above, all, not 'some'"):
        PairOptions(which="some")
    with pytest.raises(RecipeError, match="2 or more"):
        PairOptions(top=1)


def test_pairs_of_parts_are_those_of_the_whole_by_mention():
    given = ranked("WR", "RW", "WW", "WR")
    parts = []
    for numbers in (np.array([1, 3]), np.array([0, 2])):
        some = Ranked(given.rows[numbers], given.right[numbers])
        parts.append((numbers, select(some, PairOptions())))
    assert told(joined(parts)) == told(select(given, PairOptions())) != []


def test_folds_keep_groups_together_and_are_of_like_size():
    groups = [f"d{i % 23}" for i in range(200)] + ["big"] * 30
    found = folds(groups, 5, seed=1)
    assert set(found.tolist()) == set(range(5))
    assert all(len({fold for fold, group in zip(found.tolist(), groups, strict=True) if group == of}) == 1
               for of in set(groups))  # fmt: skip
    assert np.ptp(np.bincount(found)) <= 9
    assert found.tolist() == folds(groups, 5, seed=1).tolist() != folds(groups, 5, seed=2).tolist()
    with pytest.raises(RecipeError, match="2 documents cannot be dealt into 3 folds"):
        folds(["a", "b", "a"], 3)


def test_no_mentions_have_no_pairs():
    empty = Ranked(np.zeros((0, 5), np.int64), np.zeros((0, 5), np.bool_))
    assert [len(part) for part in select(empty, PairOptions())] == [0, 0, 0]
    assert isinstance(select(empty, PairOptions()), Pairs)
