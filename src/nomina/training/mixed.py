"""A training with batches of another among its own, so that what the other taught is not forgotten meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Generic, TypeVar

from torch import Tensor

from nomina.errors import RecipeError
from nomina.training.loop import Objective

Batch = TypeVar("Batch")


class Mixed(Objective[tuple[bool, Batch]], Generic[Batch]):
    """An objective that is trained with batches of another between its own, on the same module.

    An epoch is one of the first objective's. The other's batches begin anew with each epoch, at another epoch of its
    own, and go round where there are too few of them.

    Args:
        own: the training that counts.
        other: what is mixed in.
        share: of all batches that are the other's, at least 0 and below 1.

    Raises:
        RecipeError: the share is out of its bounds, or the two do not train the same module.
    """

    def __init__(self, own: Objective[Batch], other: Objective[Batch], share: float) -> None:
        if not 0 <= share < 1:
            raise RecipeError(f"the share of other batches is {share:g}: at least 0 and below 1")
        if own.module is not other.module:
            raise RecipeError("batches of two trainings can only be mixed where both train the same module")
        self.module, self._own, self._other = own.module, own, other
        self._each = share / (1 - share)

    def steps(self, own: int) -> int:
        """Batches of an epoch that has so many of the first objective's."""
        return own + int(own * self._each + 1e-9)

    def batches(self, epoch: int) -> Iterator[tuple[bool, Batch]]:
        """Batches, and whether each is the other's; behind every own batch as many others as the share asks for."""
        others, given = self._endless(epoch), 0
        for number, batch in enumerate(self._own.batches(epoch), 1):
            yield False, batch
            while number + given < self.steps(number):
                yield True, next(others)
                given += 1

    def loss(self, batch: tuple[bool, Batch]) -> Tensor:
        """The loss of the objective that the batch is of."""
        other, content = batch
        return (self._other if other else self._own).loss(content)

    def _endless(self, epoch: int) -> Iterator[Batch]:
        for further in count(epoch):
            yield from self._other.batches(further)
