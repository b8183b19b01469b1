"""Synonym pairs, token tables, buckets."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("torch")

from nomina.training.examples import Pairs, bucketed, synonym_pairs


def test_all_pairs_of_a_small_concept():
    found = list(synonym_pairs([["a"], ["b", "c"], [], ["d", "e", "f", "g"]]))
    assert found[0] == (1, "b", "c")
    assert {(x, y) for number, x, y in found if number == 3} == set(combinations("defg", 2))
    assert len(found) == 7


def test_a_large_concept_gives_so_many_distinct_pairs():
    names = [f"n{i}" for i in range(40)]
    found = list(synonym_pairs([names], limit=50, seed=3))
    assert len(found) == len(set(found)) == 50
    assert all(names.index(x) < names.index(y) for _, x, y in found)
    assert found == list(synonym_pairs([names], limit=50, seed=3))
    assert found != list(synonym_pairs([names], limit=50, seed=4))


def test_exactly_the_limit_is_taken_whole():
    found = {(x, y) for _, x, y in synonym_pairs([list("abcde")], limit=10)}
    assert found == set(combinations("abcde", 2))


def test_pairs_stream():
    def endless():
        while True:
            yield ["a", "b"]

    stream = synonym_pairs(endless())
    assert [next(stream) for _ in range(3)] == [(0, "a", "b"), (1, "a", "b"), (2, "a", "b")]


def test_pairs_as_numbers():
    pairs = Pairs.of([range(0, 1), range(1, 3), range(3, 6)])
    assert pairs.concept.tolist() == [1, 2, 2, 2]
    assert pairs.left.tolist() == [1, 3, 3, 4]
    assert pairs.right.tolist() == [2, 4, 5, 5]
    assert len(Pairs.of([])) == 0


def test_buckets_hold_every_example_once_and_like_lengths():
    lengths = np.random.default_rng(0).integers(1, 26, 6400)
    batches = list(bucketed(lengths, 50, np.random.default_rng(1)))
    assert sorted(np.concatenate(batches).tolist()) == list(range(6400))
    assert {len(batch) for batch in batches} == {50}
    spread = np.mean([np.ptp(lengths[batch]) for batch in batches])
    assert spread < 2
    mean = [lengths[batch].mean() for batch in batches]
    assert np.abs(np.corrcoef(mean[:64], np.arange(64))[0, 1]) < 0.5


def test_what_does_not_fill_a_batch_is_left_out():
    assert [len(b) for b in bucketed(np.ones(25, dtype=int), 10, np.random.default_rng(0))] == [10, 10]
