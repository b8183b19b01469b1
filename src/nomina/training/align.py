"""Self-alignment (SapBERT section 2): names of one concept drawn together, by a metric loss on synonym pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nomina.encoders.base import TrainableEncoder
from nomina.errors import RecipeError
from nomina.training.examples import Ints, Pairs, TokenTable, bucketed
from nomina.training.gather import gathered, over_all, share
from nomina.training.loop import Objective
from nomina.training.metric import MetricLoss, multi_similarity

_NEIGHBOURS = 16
"""Near concepts of each concept, out of which hard pairs are drawn."""


@dataclass(frozen=True, slots=True)
class AlignOptions:
    """How batches are made.

    Attributes:
        batch_size: pairs.
        noise: share of the pairs whose left name is one of its noisy copies.
        hard: share of a batch that is replaced by pairs of near concepts of the rest.
        seed: of the order and of all choices.
    """

    batch_size: int = 512
    noise: float = 0.0
    hard: float = 0.0
    seed: int = 0


class SelfAlignment(Objective[Ints]):
    """Synonym pairs under a metric loss; a batch is the numbers of left names, right names and concepts, (3, n).

    Near concepts, for ``options.hard``, are those of the last call of ``renew``; the first batch calls it.

    Args:
        encoder: Whose module is trained.
        table: The tokens of n names, then of their noisy copies, a whole copy of the list after the other.
        pairs: Positive pairs over the first n rows.
        names: n.
        options: See there.
        loss: Of vectors and labels.
        weights: How often a pair comes in an epoch, (number of pairs,) whole numbers; None: once each.
        first: The row of the name that stands for each concept, (concepts,); needed where ``options.hard`` is above 0
            and ``neighbours`` are not set otherwise.

    Raises:
        RecipeError: the processes do not divide a batch.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        table: TokenTable,
        pairs: Pairs,
        names: int,
        options: AlignOptions,
        loss: MetricLoss = multi_similarity,
        weights: Ints | None = None,
        first: Ints | None = None,
    ) -> None:
        self.module, self.table, self.pairs, self.names = encoder.module, table, pairs, names
        self.options, self.metric, self.first = options, over_all(loss), first
        self.neighbours: Ints | None = None
        self.copies = len(table.lengths) // names - 1
        self._examples = np.arange(len(pairs)) if weights is None else np.repeat(np.arange(len(pairs)), weights)
        if options.batch_size % share()[1]:
            raise RecipeError(f"{share()[1]} processes cannot share batches of {options.batch_size}: take a multiple")
        lengths = table.lengths[:names].numpy()
        self._lengths = np.maximum(lengths[pairs.left], lengths[pairs.right])[self._examples]

    def batches(self, epoch: int) -> Iterator[Ints]:
        """Pairs of like length, some replaced by pairs of near concepts, sides and noise drawn at random.

        Of several processes each gets its share of every batch, whose size they must divide.
        """
        rng = np.random.default_rng([self.options.seed, epoch])
        if self.neighbours is None:
            self.renew()
        for batch in bucketed(self._lengths, self.options.batch_size, rng):
            chosen = self._examples[batch]
            if self.neighbours is not None and self.options.hard > 0:
                chosen = self._harder(chosen, rng)
            process, processes = share()
            yield self._sides(chosen, rng)[:, process::processes]

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return len(self._examples) // self.options.batch_size

    def renew(self) -> None:
        """Look the near concepts up anew, with the weights as they are."""
        if self.first is not None and self.options.hard > 0 and len(self.first) > 1:
            vectors = self.table.vectors(self.module, self.first, bf16=True)
            self.neighbours = near_concepts(vectors, min(_NEIGHBOURS, len(vectors) - 1), chunk=1024)

    def state(self) -> dict[str, Tensor]:
        """The near concepts: they depend on weights of an earlier step."""
        return {} if self.neighbours is None else {"neighbours": torch.from_numpy(self.neighbours)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """See ``Objective.restore``."""
        if "neighbours" in state:
            self.neighbours = state["neighbours"].numpy()

    def _harder(self, chosen: Ints, rng: np.random.Generator) -> Ints:
        """Replace the last share of a batch by pairs of concepts near to the others'."""
        assert self.neighbours is not None
        keep = round(len(chosen) * (1 - self.options.hard))
        anchors = self.pairs.concept[rng.choice(chosen[:keep], len(chosen) - keep)]
        near = self.neighbours[anchors, rng.integers(0, self.neighbours.shape[1], len(anchors))]
        first = np.searchsorted(self.pairs.concept, near)
        count = np.searchsorted(self.pairs.concept, near, side="right") - first
        replaced = first + (rng.random(len(near)) * count).astype(np.int64)
        return np.concatenate([chosen[:keep], np.where(count > 0, replaced, chosen[keep:])])

    def _sides(self, chosen: Ints, rng: np.random.Generator) -> Ints:
        swap = rng.random(len(chosen)) < 0.5
        left = np.where(swap, self.pairs.right[chosen], self.pairs.left[chosen])
        right = np.where(swap, self.pairs.left[chosen], self.pairs.right[chosen])
        if self.copies:
            noisy = (rng.random(len(chosen)) < self.options.noise) | (left == right)
            left = left + noisy * self.names * rng.integers(1, self.copies + 1, len(chosen))
        return np.stack([left, right, self.pairs.concept[chosen]])

    def loss(self, batch: Ints) -> Tensor:
        """The metric loss over the left and right names of a batch together."""
        vectors, labels, _ = self._encoded(batch)
        with torch.autocast(vectors.device.type, enabled=False):
            return self.metric(vectors, labels)

    def _encoded(self, batch: Ints) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors, labels and table rows of a batch, left names before right ones."""
        left, right, concept = torch.from_numpy(batch)
        rows = torch.cat([left, right])
        vectors = self.module(*self.table.batch(rows)).float()
        return vectors, torch.cat([concept, concept]).to(vectors.device, non_blocking=True), rows


class DistilledAlignment(SelfAlignment):
    """Self-alignment of a student that also draws each vector to a teacher's: (1 - cosine) + weight * metric loss.

    Args:
        encoder, table, pairs, names, options: See ``SelfAlignment``.
        targets: The teacher's vectors of all rows of the table, (rows, the student's dim), unit rows, any float type.
        weight: Of the metric loss.
        weights, loss, first: See ``SelfAlignment``.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        table: TokenTable,
        pairs: Pairs,
        names: int,
        options: AlignOptions,
        targets: Tensor,
        weight: float = 1.0,
        weights: Ints | None = None,
        loss: MetricLoss = multi_similarity,
        first: Ints | None = None,
    ) -> None:
        super().__init__(encoder, table, pairs, names, options, loss, weights, first)
        self.targets, self.weight = targets, weight

    def loss(self, batch: Ints) -> Tensor:
        """Distance to the teacher over all rows of a batch, and the metric loss over them."""
        vectors, labels, rows = self._encoded(batch)
        with torch.autocast(vectors.device.type, enabled=False):
            cosines = (vectors * self.targets[rows.to(vectors.device)].float()).sum(dim=1)
            away = gathered(1 - cosines).mean()
            return away + self.weight * self.metric(vectors, labels) if self.weight else away


def principal(vectors: Tensor, dim: int) -> Tensor:
    """The projection (d, dim) of unit vectors that keeps their dot products best: the first principal directions.

    Not centred, so that what is projected and scaled to length 1 again has nearly the same cosines.
    """
    _, directions = torch.linalg.eigh((vectors.T @ vectors).double())
    projection: Tensor = directions[:, -dim:].flip(1).to(vectors.dtype)
    return projection


def near_concepts(vectors: Tensor, count: int, chunk: int = 4096) -> Ints:
    """The nearest others of each of n concepts, given one unit vector each (n, d): (n, count), best first."""
    found = []
    for start in range(0, len(vectors), chunk):
        scores = vectors[start : start + chunk] @ vectors.T
        own = torch.arange(start, start + len(scores), device=vectors.device).unsqueeze(1)
        found.append(scores.scatter_(1, own, -torch.inf).topk(count, dim=1).indices.cpu())
    ranked: Ints = torch.cat(found).numpy()
    return ranked
