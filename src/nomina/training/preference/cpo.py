"""Contrastive preference optimisation (Xu et al. 2024, Eq. 5; as in Meng et al. 2024, table 7)."""

from __future__ import annotations

from torch import Tensor

from nomina.training.preference.pairwise import pairwise
from nomina.training.preference.scored import Scored


def cpo(scored: Scored, *, beta: float = 0.1, weight: float = 1.0) -> Tensor:
    """-log sigmoid(beta * (log p(chosen) - log p(rejected))) - weight * log p(chosen), all given x, of each pair (n,).

    Args:
        scored: n pairs; the reference is not looked at.
        beta: how much of the difference counts.
        weight: of the log-likelihood of the chosen name, a sum over its tokens.
    """
    return pairwise(scored, beta=beta) - weight * scored.chosen
