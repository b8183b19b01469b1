"""Simple preference optimisation: length-normalised, with a margin (Meng et al. 2024, Eq. 6)."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import logsigmoid

from nomina.training.preference.scored import Scored


def simpo(scored: Scored, *, beta: float = 2.0, margin: float = 1.0) -> Tensor:
    """-log sigmoid(beta * (log p(chosen) / |chosen| - log p(rejected) / |rejected|) - margin), of each pair (n,).

    ANGEL prints neither value; the defaults lie in the range that Meng et al. searched.

    Args:
        scored: n pairs; the reference is not looked at.
        beta: how much of the difference of the means over tokens counts.
        margin: by how much the chosen name is to be ahead, behind ``beta``.
    """
    chosen, rejected = scored.chosen / scored.chosen_tokens, scored.rejected / scored.rejected_tokens
    return -logsigmoid(beta * (chosen - rejected) - margin)
