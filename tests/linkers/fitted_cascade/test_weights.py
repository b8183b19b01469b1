"""Shares of names, and how sure the best concept is, by hand."""

import math

import numpy as np
import pytest

from nomina.linkers.base import NO_ROW, Ranking, Rule
from nomina.linkers.fitted_cascade.pools import Pools
from nomina.linkers.fitted_cascade.weights import Stage, judged_by, log_shares, sigmoid


@pytest.fixture
def pools():
    """Of mention 0 rows 1, 2, 3; of mention 1 none; of mention 2 row 2."""
    rows = np.array([[1, 2, 3], [NO_ROW] * 3, [2, NO_ROW, NO_ROW]])
    scores = np.array([[0.9, 0.5, 0.1], [0.0] * 3, [0.7, 0, 0]])
    rules = np.where(rows == NO_ROW, 0, Rule.TFIDF).astype(np.uint8)
    return Pools.empty(3).united(Ranking(rows, scores.astype(np.float32), rules), scores)


def test_shares_are_the_softmax_among_the_names_of_a_mention(pools):
    found = log_shares(np.array([2.0, 1.0, -1.0, 700.0]), pools.mention, 3)
    all_three = math.exp(2) + math.exp(1) + math.exp(-1)
    assert np.exp(found).tolist() == pytest.approx(
        [math.exp(2) / all_three, math.exp(1) / all_three, math.exp(-1) / all_three, 1]
    )
    stage = Stage((2.0,), (0.0,) * 4)
    assert stage.log_shares(pools).tolist() == pytest.approx(
        log_shares(2 * pools.features[:, 0], pools.mention, 3).tolist()
    )


def test_the_share_of_a_concept_is_that_of_all_its_names(pools):
    owners = {1: frozenset({10}), 2: frozenset({20}), 3: frozenset({10, 30})}.__getitem__
    shares = np.log(np.array([0.5, 0.3, 0.2, 1.0]))
    mention, inputs = judged_by(pools, shares, owners)
    assert mention.tolist() == [0, 2]
    assert inputs[0].tolist() == pytest.approx([1, math.log(0.7 / 0.3), 0.9, 1.0])
    assert inputs[1].tolist() == pytest.approx([1, math.log((1 - 1e-6) / 1e-6), 0.7, 1.0])


def test_where_nothing_is_offered_nothing_is_likely(pools):
    stage = Stage((1.0,), (0.5, 0.0, 1.0, 0.0))
    shares = stage.log_shares(pools)
    chance = stage.probability(pools, shares, lambda row: frozenset({row}))
    assert chance.tolist() == pytest.approx([1 / (1 + math.exp(-1.4)), 0.0, 1 / (1 + math.exp(-1.2))])
    assert sigmoid(np.array([1e9, -1e9])).tolist() == pytest.approx([1, 0], abs=1e-12)
