"""The four losses against their formulas, pair after pair in plain Python, and their gradients."""

import math
import random

import pytest

torch = pytest.importorskip("torch")

from nomina.errors import RecipeError  # noqa: E402
from nomina.training.preference.losses import LOSSES, kind_of, loss_of  # noqa: E402
from nomina.training.preference.scored import Scored  # noqa: E402


def minus_log_sigmoid(x):
    return math.log(1 + math.exp(-x))


def dpo(w, l, lw, ll, rw, rl, *, beta=0.1):  # noqa: E741
    return minus_log_sigmoid(beta * ((w - rw) - (l - rl)))


def pairwise(w, l, lw, ll, rw, rl, *, beta=0.1):  # noqa: E741
    return minus_log_sigmoid(beta * (w - l))


def cpo(w, l, lw, ll, rw, rl, *, beta=0.1, weight=1.0):  # noqa: E741
    return minus_log_sigmoid(beta * (w - l)) - weight * w


def simpo(w, l, lw, ll, rw, rl, *, beta=2.0, margin=1.0):  # noqa: E741
    return minus_log_sigmoid(beta / lw * w - beta / ll * l - margin)


ORACLES = {"dpo": dpo, "pairwise": pairwise, "cpo": cpo, "simpo": simpo}
VALUES = [
    ("dpo", {}),
    ("dpo", {"beta": 0.7}),
    ("pairwise", {}),
    ("pairwise", {"beta": 1.0}),
    ("cpo", {}),
    ("cpo", {"beta": 0.3, "weight": 0.25}),
    ("simpo", {}),
    ("simpo", {"beta": 2.5, "margin": 0.4}),
]


def made(n=12, seed=0):
    rng = random.Random(seed)
    sums = [[-rng.uniform(0.1, 20) for _ in range(n)] for _ in range(2)]
    tokens = [[float(rng.randint(2, 9)) for _ in range(n)] for _ in range(2)]
    reference = [[-rng.uniform(0.1, 20) for _ in range(n)] for _ in range(2)]
    return [*sums, *tokens, *reference]


def scored(columns, **kind):
    return Scored(*(torch.tensor(column, dtype=torch.float64, **kind) for column in columns))


@pytest.mark.parametrize(("name", "values"), VALUES)
def test_a_loss_is_its_formula(name, values):
    columns = made()
    found = loss_of(name, values)(scored(columns))
    expected = [ORACLES[name](*pair, **values) for pair in zip(*columns, strict=True)]
    assert found.tolist() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("name", "values"), VALUES)
def test_the_gradient_is_that_of_the_formula(name, values):
    columns, step = made(5, seed=1), 1e-5
    given = scored(columns, requires_grad=True)
    loss_of(name, values)(given).sum().backward()
    for column in (0, 1):
        for i in range(5):
            pair = [values_[i] for values_ in columns]
            up, down = list(pair), list(pair)
            up[column] += step
            down[column] -= step
            slope = (ORACLES[name](*up, **values) - ORACLES[name](*down, **values)) / (2 * step)
            assert given[column].grad[i].item() == pytest.approx(slope, rel=1e-5, abs=1e-9)
    assert (given.chosen.grad < 0).all()
    assert (given.rejected.grad > 0).all()


def test_dpo_of_the_reference_itself_is_log_two():
    given = scored(made())
    given = given._replace(reference_chosen=given.chosen, reference_rejected=given.rejected)
    assert loss_of("dpo")(given).tolist() == pytest.approx([math.log(2)] * 12)


def test_only_dpo_looks_at_the_reference():
    given = scored(made(), requires_grad=True)
    for name in LOSSES:
        grads = torch.autograd.grad(loss_of(name)(given).sum(), given[4:], allow_unused=True)
        assert [grad is not None for grad in grads] == [kind_of(name).reference] * 2


def test_losses_stay_finite_far_apart():
    given = scored([[-1e4], [-1.0], [3.0], [3.0], [-1.0], [-1e4]])
    for name in LOSSES:
        assert torch.isfinite(loss_of(name)(given)).all()


def test_unknown_losses_and_values_are_refused():
    with pytest.raises(RecipeError, match="take one of dpo, pairwise, cpo, simpo"):
        loss_of("ppo")
    with pytest.raises(RecipeError, match="the loss dpo has no margin: it has beta"):
        loss_of("dpo", {"margin": 1})
