"""BioSyn (Sung et al. 2020): the share of the right names among a mention's candidates, by a dense and a sparse score.

A name's score is that of the encoder plus a learnt weight times that of TF-IDF vectors of character n-grams. Half of
the candidates are the nearest by either score, those of the encoder found anew each epoch; the loss is minus the log of
the share that the right ones among them have of the softmax (section 3.3). Here the dense score is a cosine, so the sum
is divided by a temperature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nomina.encoders.base import TrainableEncoder
from nomina.errors import RecipeError
from nomina.linkers.postings import occurrences
from nomina.training.corpus import CorpusOptions, CorpusTuning
from nomina.training.examples import Ints, TokenTable

_CHUNK = 256


class Weighted(nn.Module):
    """The module of an encoder, and beside it the weight of the sparse score, a scalar."""

    def __init__(self, encoder: nn.Module, weight: float = 0.0) -> None:
        super().__init__()
        self.encoder = encoder
        self.weight = nn.Parameter(torch.tensor(weight, device=next(encoder.parameters()).device))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The vectors that the encoder makes."""
        vectors: Tensor = self.encoder(ids, mask)
        return vectors


class BioSynTuning(CorpusTuning):
    """Mentions with ``options.pool`` candidates each; a batch is rows of the table, (n, 1 + pool).

    A mention without a right candidate gives nothing to learn from until an epoch finds one.

    Args:
        encoder: Whose module is trained, with the weight beside it.
        table, concept, gold, times, apart: See ``CorpusTuning``; no names as mentions.
        options: Of these batch size, pool, temperature and seed count.
        sparse: The sparse score of each of the KB's names for each mention, (mentions, names), on the module's device.
        rate: Learning rate of the weight, which starts at zero.

    Raises:
        RecipeError: the table holds names as mentions.
    """

    module: Weighted

    def __init__(
        self,
        encoder: TrainableEncoder,
        table: TokenTable,
        concept: Ints,
        gold: Sequence[Ints],
        options: CorpusOptions,
        sparse: Tensor,
        times: Ints | None = None,
        apart: Sequence[Ints] | None = None,
        rate: float = 0.005,
    ) -> None:
        super().__init__(encoder, table, concept, gold, options, times, apart)
        if self._extra:
            raise RecipeError("names cannot be mentions where a sparse score is weighed: set data.names to 0")
        self.module, self.sparse, self._rate = Weighted(encoder.module), sparse, rate

    @property
    def weight(self) -> float:
        """The weight of the sparse score as it is."""
        return float(self.module.weight.detach())

    def rates(self) -> dict[str, float]:
        """The weight is far from an encoder's parameters in size, and in rate."""
        return {"weight": self._rate}

    def nearest(self, rows: Ints) -> Ints:
        """The candidates of some mentions (rows of the table): (rows, pool), half sparsely nearest, then densely."""
        dense = super().nearest(rows)
        half = dense.shape[1] // 2
        chosen = self.sparse[torch.from_numpy(rows - self.names).to(self.sparse.device)].clone()
        self._keep_apart(chosen, rows)
        sparse = chosen.topk(half, dim=1).indices.cpu().numpy()
        return np.stack([_joined(*pair) for pair in zip(sparse, dense, strict=True)])

    def _beside(self, mention: int, near: Ints, rng: np.random.Generator) -> Ints:
        return np.concatenate([[mention + self.names], near])

    def loss(self, batch: Ints) -> Tensor:
        """Minus the log share of the right candidates; mean over the mentions that have one."""
        rows, places = torch.unique(torch.from_numpy(batch), return_inverse=True)
        vectors = self.module(*self.table.batch(rows)).float()
        device = vectors.device
        labels, places = self._labels[rows].to(device, non_blocking=True)[places.to(device)], places.to(device)
        same = labels[:, 1:, :, None] == labels[:, :1, None, :]
        right = (same & (labels >= 0)[:, :1, None, :]).any(3).any(2)
        pairs = torch.from_numpy(batch).to(device)
        with torch.autocast(device.type, enabled=False):
            dense = torch.einsum("nd,nkd->nk", vectors[places[:, 0]], vectors[places[:, 1:]])
            sparse = self.sparse[pairs[:, :1] - self.names, pairs[:, 1:]].float()
            scores = (dense + self.module.weight * sparse) / self.options.temperature
            share = scores.masked_fill(~right, -torch.inf).logsumexp(dim=1) - scores.logsumexp(dim=1)
            learnt = right.any(dim=1)
            return -share[learnt].mean() if learnt.any() else scores.sum() * 0


def _joined(sparse: Ints, dense: Ints) -> Ints:
    """So many candidates as ``dense`` has: the sparse ones, then the nearest of the others."""
    return np.concatenate([sparse, dense[~np.isin(dense, sparse)]])[: len(dense)]


def sparse_scores(names: Sequence[str], queries: Sequence[str], device: torch.device) -> Tensor:
    """Cosines of character 3-gram TF-IDF vectors, (queries, names), float16, on a device; cases do not count."""
    found = occurrences([*(name.lower() for name in names), *(query.lower() for query in queries)])
    of_names = found.text < len(names)
    frequency = np.bincount(found.gram[of_names], minlength=len(found.grams))
    raw = found.times * np.log1p(len(names) / np.maximum(frequency, 1))[found.gram]
    length = np.sqrt(np.bincount(found.text, raw * raw, minlength=len(names) + len(queries)))
    values = raw / np.maximum(length, 1e-9)[found.text]

    def matrix(chosen: NDArray[np.bool_], first: int, count: int) -> Tensor:
        places = torch.from_numpy(np.stack([found.text[chosen] - first, found.gram[chosen]]))
        weights, shape = torch.from_numpy(values[chosen]).float(), (count, len(found.grams))
        return torch.sparse_coo_tensor(places, weights, shape, check_invariants=False).to(device).coalesce()

    left, right = matrix(of_names, 0, len(names)), matrix(~of_names, len(names), len(queries))
    scores = torch.empty(len(queries), len(names), dtype=torch.float16, device=device)
    for start in range(0, len(queries), _CHUNK):
        some = right.index_select(0, torch.arange(start, min(start + _CHUNK, len(queries)), device=device)).to_dense()
        scores[start : start + _CHUNK] = (left @ some.T).T.half()
    return scores
