"""The preference losses by name (ANGEL, table D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import NamedTuple

from torch import Tensor

from nomina.errors import RecipeError
from nomina.training.preference.cpo import cpo
from nomina.training.preference.dpo import dpo
from nomina.training.preference.pairwise import pairwise
from nomina.training.preference.scored import PreferenceLoss
from nomina.training.preference.simpo import simpo


class Kind(NamedTuple):
    """A loss, and whether it compares with a frozen reference."""

    loss: Callable[..., Tensor]
    reference: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """What can be set."""
        return tuple(signature(self.loss).parameters)[1:]


LOSSES: dict[str, Kind] = {
    "dpo": Kind(dpo, reference=True),
    "pairwise": Kind(pairwise, reference=False),
    "cpo": Kind(cpo, reference=False),
    "simpo": Kind(simpo, reference=False),
}


def kind_of(name: str) -> Kind:
    """The loss of a name.

    Raises:
        RecipeError: there is none.
    """
    if name not in LOSSES:
        raise RecipeError(f"no preference loss is called {name!r}: take one of {', '.join(LOSSES)}")
    return LOSSES[name]


def loss_of(name: str, values: Mapping[str, float] | None = None) -> PreferenceLoss:
    """A loss with its values set; those that are not named have its defaults.

    Raises:
        RecipeError: there is no such loss, or it has no such value.
    """
    kind, given = kind_of(name), dict(values or {})
    for key in given:
        if key not in kind.keys:
            raise RecipeError(f"the loss {name} has no {key}: it has {', '.join(kind.keys)}")
    return partial(kind.loss, **given)
