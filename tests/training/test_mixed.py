"""Batches of one training among those of another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402

from nomina.errors import RecipeError  # noqa: E402
from nomina.training.loop import FitOptions, Objective, fit  # noqa: E402
from nomina.training.mixed import Mixed  # noqa: E402


class _Towards(Objective[float]):
    """Draws a weight towards numbers, of which an epoch has some."""

    def __init__(self, module: nn.Module, values: list[float]) -> None:
        self.module, self.values = module, values
        self.seen: list[float] = []

    def batches(self, epoch: int) -> Iterator[float]:
        yield from (value + 100 * epoch for value in self.values)

    def loss(self, batch: float) -> Tensor:
        self.seen.append(batch)
        return (self.module.weight - batch).square().sum()


def _both(own: list[float], other: list[float]) -> tuple[_Towards, _Towards]:
    module = nn.Linear(1, 1, bias=False)
    return _Towards(module, own), _Towards(module, other)


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, [1, 2, 3]),
        (0.25, [1, 2, 3, -1]),
        (0.5, [1, -1, 2, -2, 3, 99]),
        (2 / 3, [1, -1, -2, 2, 99, 98, 3, 199, 198]),
    ],
)
def test_other_batches_come_as_often_as_the_share_says_and_go_round(share: float, expected: list[float]) -> None:
    mixed = Mixed(*_both([1, 2, 3], [-1, -2]), share)
    assert [batch for _, batch in mixed.batches(0)] == expected


def test_an_epoch_is_the_same_whenever_it_is_asked_and_another_one_differs() -> None:
    mixed = Mixed(*_both([1, 2], [-1, -2, -3]), 0.5)
    assert list(mixed.batches(0)) == list(mixed.batches(0)) == [(False, 1), (True, -1), (False, 2), (True, -2)]
    assert list(mixed.batches(1)) == [(False, 101), (True, 99), (False, 102), (True, 98)]


def test_each_batch_has_its_own_objectives_loss() -> None:
    own, other = _both([1, 2, 3, 4], [-1, -2])
    fit(Mixed(own, other, 0.5), FitOptions(8, 1e-3))
    assert own.seen == [1, 2, 3, 4]
    assert other.seen == [-1, -2, 99, 98]


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_out_of_its_bounds_is_refused(share: float) -> None:
    with pytest.raises(RecipeError, match="share of other batches"):
        Mixed(*_both([1], [1]), share)


def test_two_modules_are_refused() -> None:
    own, _ = _both([1], [1])
    _, other = _both([1], [1])
    with pytest.raises(RecipeError, match="same module"):
        Mixed(own, other, 0.5)
