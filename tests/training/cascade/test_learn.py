"""What is learnt is the least of a loss that is written here once more, one mention at a time."""

import math

import numpy as np
import pytest

from nomina.training.cascade.learn import PENALTY, judge_weights, rank_weights


def least(loss, weights, by=1e-3):
    """Whether no small change of a weight makes the loss smaller."""
    here = loss(weights)
    for i in range(len(weights)):
        for step in (-by, by):
            moved = [w + step * (j == i) for j, w in enumerate(weights)]
            if loss(moved) < here - 1e-9:
                return False
    return True


def rank_loss(features, mention, right):
    spread = [float(np.std(column)) for column in features.T]

    def loss(weights):
        total = sum(PENALTY / 2 * (w * s) ** 2 for w, s in zip(weights, spread, strict=True))
        for m in sorted(set(mention.tolist())):
            own = [i for i in range(len(mention)) if mention[i] == m]
            good = [i for i in own if right[i]]
            if 0 < len(good) < len(own):
                worth = {i: math.exp(sum(w * x for w, x in zip(weights, features[i], strict=True))) for i in own}
                total -= math.log(sum(worth[i] for i in good) / sum(worth.values()))
        return total

    return loss


def test_rank_weights_are_the_least_of_the_penalised_likelihood():
    rng = np.random.default_rng(1)
    mention = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    features = rng.normal(size=(len(mention), 3)) * [1.0, 5.0, 0.1]
    right = features @ [1.0, -0.1, 3.0] + rng.normal(size=len(mention)) > 0.8
    weights = rank_weights(features, mention, right)
    assert least(rank_loss(features, mention, right), weights)
    assert weights[0] > 0 > weights[1]


def test_judge_weights_are_the_least_of_the_penalised_likelihood():
    rng = np.random.default_rng(2)
    inputs = np.hstack([np.ones((80, 1)), rng.normal(size=(80, 2)) * [1.0, 4.0]])
    right = rng.random(80) < 1 / (1 + np.exp(-(0.5 + inputs[:, 1])))
    weights = judge_weights(inputs, right)
    spread = inputs.std(axis=0)

    def loss(values):
        chance = [1 / (1 + math.exp(-sum(w * x for w, x in zip(values, row, strict=True)))) for row in inputs]
        fits = sum(-math.log(c if good else 1 - c) for c, good in zip(chance, right, strict=True))
        return fits + sum(PENALTY / 2 * (v * s) ** 2 for v, s in zip(values[1:], spread[1:], strict=True))

    assert least(loss, weights)
    # A constant that is free makes the mean chance the share that is right, but for its tiny penalty.
    chance = 1 / (1 + np.exp(-(inputs @ np.array(weights))))
    assert chance.mean() == pytest.approx(right.mean(), abs=1e-5)


def test_nothing_to_learn_leaves_no_weights():
    features, mention = np.array([[1.0], [2.0]]), np.array([0, 0])
    assert rank_weights(features, mention, np.array([False, False])) == (0.0,)
    assert rank_weights(features, mention, np.array([True, True])) == (0.0,)
    assert rank_weights(np.zeros((0, 2)), np.zeros(0, np.int64), np.zeros(0, np.bool_)) == (0.0, 0.0)
