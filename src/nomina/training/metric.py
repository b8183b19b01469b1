"""Metric losses over a batch of unit vectors and their labels, and the miner of hard pairs (SapBERT section 2).

All take vectors (n, d) with unit rows and labels (n,), the number of each row's concept, and give a scalar. Where a
batch has nothing to learn from they give zero, with a gradient of zero.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

MetricLoss = Callable[[Tensor, Tensor], Tensor]


def relations(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Which pairs (i, j) are positive, which negative: two boolean (n, n); no row is a pair with itself."""
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    return same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device), ~same


def mine(similarities: Tensor, labels: Tensor, margin: float = 0.2) -> tuple[Tensor, Tensor]:
    """The positive and the negative pairs of all hard triplets (a, p, n): two boolean (n, n).

    A triplet is hard where d(a, n) - d(a, p) <= margin, with Euclidean distances of the unit vectors. The paper's
    Eq. (1) prints the margin with the other sign; this is what the authors' library does, and what "closer by a margin"
    calls for. No triplet is spelt out: a positive pair is in one exactly if the nearest negative is that near, a
    negative pair exactly if the farthest positive is that far.
    """
    return mine_pairs(similarities, *relations(labels), margin)


def mine_pairs(similarities: Tensor, positive: Tensor, negative: Tensor, margin: float = 0.2) -> tuple[Tensor, Tensor]:
    """``mine`` where labels do not say it all: of given positive and negative pairs, two boolean (n, n)."""
    distances = (2 - 2 * similarities.detach()).clamp(min=0).sqrt()
    nearest = distances.masked_fill(~negative, torch.inf).amin(dim=1, keepdim=True)
    farthest = distances.masked_fill(~positive, -torch.inf).amax(dim=1, keepdim=True)
    return positive & (nearest - distances <= margin), negative & (distances - farthest <= margin)


def multi_similarity(
    vectors: Tensor,
    labels: Tensor,
    *,
    positive_scale: float = 1.0,
    negative_scale: float = 60.0,
    base: float = 0.5,
    margin: float | None = 0.2,
) -> Tensor:
    """Multi-similarity loss, Eq. (2): mean over all rows, of the pairs that ``mine`` leaves (``margin`` None: all).

    Eq. (2) writes alpha on the negatives and beta on the positives: alpha = ``negative_scale``, beta =
    ``positive_scale``, epsilon = ``base``. The paper prints no values; these are those of the released settings.
    """
    similarities = vectors @ vectors.T
    positive, negative = relations(labels) if margin is None else mine(similarities, labels, margin)
    return pair_losses(similarities, positive, negative, positive_scale, negative_scale, base).mean()


def pair_losses(
    similarities: Tensor,
    positive: Tensor,
    negative: Tensor,
    positive_scale: float = 1.0,
    negative_scale: float = 60.0,
    base: float = 0.5,
) -> Tensor:
    """The terms of Eq. (2), one a row: (n,) of similarities (n, m) and the positive and negative pairs among them."""
    pulled = _log_one_plus(positive_scale * (base - similarities), positive) / positive_scale
    pushed = _log_one_plus(negative_scale * (similarities - base), negative) / negative_scale
    return pulled + pushed


def _log_one_plus(exponents: Tensor, chosen: Tensor) -> Tensor:
    """log(1 + sum of exp over the chosen entries of each row)."""
    masked = exponents.masked_fill(~chosen, -torch.inf)
    return torch.cat([masked, masked.new_zeros(len(masked), 1)], dim=1).logsumexp(dim=1)


def info_nce(vectors: Tensor, labels: Tensor, *, temperature: float = 0.07) -> Tensor:
    """InfoNCE (Oord et al. 2018): each positive pair against all negatives of its anchor; mean over the pairs."""
    scaled = vectors @ vectors.T / temperature
    positive, negative = relations(labels)
    against = scaled.masked_fill(~negative, -torch.inf).logsumexp(dim=1, keepdim=True)
    losses = torch.nn.functional.softplus(against - scaled)
    return losses.masked_fill(~positive, 0).sum() / positive.sum().clamp(min=1)


def nca(vectors: Tensor, labels: Tensor, *, scale: float = 1.0) -> Tensor:
    """Neighbourhood components analysis (Goldberger et al. 2005): the share of an anchor's positives among all others.

    The closeness of two rows is exp(-scale * squared distance); minus its log, mean over the anchors with a positive.
    """
    positive, negative = relations(labels)
    closeness = -scale * (2 - 2 * vectors @ vectors.T)
    to_positives = closeness.masked_fill(~positive, -torch.inf).logsumexp(dim=1)
    to_all = closeness.masked_fill(~(positive | negative), -torch.inf).logsumexp(dim=1)
    anchors = positive.any(dim=1)
    if not anchors.any():
        return vectors.sum() * 0
    return (to_all - to_positives)[anchors].mean()
