"""Direct preference optimisation (Rafailov et al. 2023, Eq. 7; ANGEL 3.2, Eq. 4 and 5)."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import logsigmoid

from nomina.training.preference.scored import Scored


def dpo(scored: Scored, *, beta: float = 0.1) -> Tensor:
    """-log sigmoid(beta * (r(chosen) - r(rejected))) with r(e) = log p(e | x) - log p_ref(e | x), of each pair (n,).

    Args:
        scored: n pairs.
        beta: how much of the log-ratio counts; 0.1 in ANGEL (appendix B).
    """
    chosen = scored.chosen - scored.reference_chosen
    rejected = scored.rejected - scored.reference_rejected
    return -logsigmoid(beta * (chosen - rejected))
