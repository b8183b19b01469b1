"""The plain pairwise loss: no reference (ANGEL, Eq. 4 with r = log p, appendix C; after Burges 2010)."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import logsigmoid

from nomina.training.preference.scored import Scored


def pairwise(scored: Scored, *, beta: float = 0.1) -> Tensor:
    """-log sigmoid(beta * (log p(chosen | x) - log p(rejected | x))), of each pair (n,).

    Args:
        scored: n pairs; the reference is not looked at.
        beta: how much of the difference counts.
    """
    return -logsigmoid(beta * (scored.chosen - scored.rejected))
