"""What every preference loss is made of: how likely the model, and the reference, write both names of each pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Scored(NamedTuple):
    """n pairs.

    Attributes:
        chosen, rejected: float32, (n,): log p of the name given the mention: the sum over its tokens, end included.
        chosen_tokens, rejected_tokens: float32, (n,): how many tokens each name has, end included.
        reference_chosen, reference_rejected: float32, (n,): the same sums of the frozen reference; zeros for a loss
            that asks for none.
    """

    chosen: Tensor
    rejected: Tensor
    chosen_tokens: Tensor
    rejected_tokens: Tensor
    reference_chosen: Tensor
    reference_rejected: Tensor


PreferenceLoss = Callable[[Scored], Tensor]
"""The loss of each pair, (n,)."""
