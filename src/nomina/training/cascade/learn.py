"""Two small convex problems, solved by Newton's method: which name is right, and whether the best one is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nomina.linkers.fitted_cascade.pools import Flags, Floats, Ints
from nomina.linkers.fitted_cascade.weights import log_shares, sigmoid

PENALTY = 1.0
"""Half of it times the squared weights of features of unit spread: development sets are small."""

_STEPS, _HALVINGS, _CLOSE = 50, 30, 1e-9

Problem = Callable[[Floats], tuple[float, Floats, Floats]]
"""Given weights: the loss, its gradient, and a positive definite matrix in the place of its curvature."""


def rank_weights(features: Floats, mention: Ints, right: Flags) -> tuple[float, ...]:
    """The weights under which right names have the most of the probability (a conditional logit model).

    Args:
        features: (t, f).
        mention: (t,) ascending; those without a right name, or without a wrong one, teach nothing.
        right: (t,) whether a right concept owns the name.
    """
    n = int(mention.max(initial=-1)) + 1
    good = np.bincount(mention[right], minlength=n)
    told = (good > 0) & (good < np.bincount(mention, minlength=n))
    kept = told[mention]
    number = (np.cumsum(told) - 1)[mention[kept]]
    spread = _spread(features)
    return _unscaled(_newton(_choice(features[kept] / spread, number, right[kept]), len(spread)), spread)


def _choice(inputs: Floats, mention: Ints, right: Flags) -> Problem:
    n = int(mention.max(initial=-1)) + 1

    def problem(weights: Floats) -> tuple[float, Floats, Floats]:
        logs = log_shares(inputs @ weights, mention, n)
        among = log_shares(np.where(right, logs, -1e9), mention, n)
        shares, own = np.exp(logs), np.where(right, np.exp(among), 0.0)
        loss = -float(np.log(np.bincount(mention, np.where(right, shares, 0.0), minlength=n).clip(1e-300)).sum())
        gradient = inputs.T @ (shares - own)
        means = np.stack([np.bincount(mention, shares * column, minlength=n) for column in inputs.T], axis=1)
        # The right names' own spread is left out: what remains is the curvature of a convex bound.
        curvature = (inputs * shares[:, None]).T @ inputs - means.T @ means
        return _with_penalty(loss, gradient, curvature, weights, np.full(len(weights), PENALTY))

    return problem


def judge_weights(inputs: Floats, right: Flags) -> tuple[float, ...]:
    """The weights of a logistic model.

    Args:
        inputs: (n, d), the first column a constant, which is not held back.
        right: (n,).
    """
    spread = _spread(inputs)
    scaled, held = inputs / spread, np.full(inputs.shape[1], PENALTY)
    held[0] = 1e-6

    def problem(weights: Floats) -> tuple[float, Floats, Floats]:
        chance = sigmoid(scaled @ weights)
        loss = -float(np.log(np.where(right, chance, 1 - chance).clip(1e-300)).sum())
        curvature = (scaled * (chance * (1 - chance))[:, None]).T @ scaled
        return _with_penalty(loss, scaled.T @ (chance - right), curvature, weights, held)

    return _unscaled(_newton(problem, inputs.shape[1]), spread)


def _spread(inputs: Floats) -> Floats:
    spread = inputs.std(axis=0) if len(inputs) else np.ones(inputs.shape[1])
    return np.where(spread > 1e-9, spread, 1.0)


def _unscaled(weights: Floats, spread: Floats) -> tuple[float, ...]:
    return tuple(float(weight) for weight in weights / spread)


def _with_penalty(
    loss: float, gradient: Floats, curvature: Floats, weights: Floats, held: Floats
) -> tuple[float, Floats, Floats]:
    return loss + float(held @ weights**2) / 2, gradient + held * weights, curvature + np.diag(held)


def _newton(problem: Problem, size: int) -> Floats:
    """From zero weights downhill, halving a step that does not go down, until the loss stays."""
    weights = np.zeros(size)
    loss, gradient, curvature = problem(weights)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        for _ in range(_HALVINGS):
            tried = problem(weights - step)
            if tried[0] <= loss:
                break
            step = step / 2
        else:
            return weights
        weights, before = weights - step, loss
        loss, gradient, curvature = tried
        if before - loss <= _CLOSE * max(1.0, abs(loss)):
            return weights
    return weights
