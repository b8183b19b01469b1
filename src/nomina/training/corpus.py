"""Fine-tuning on a corpus: mentions drawn to the names of their concepts, away from the nearest wrong names.

SapBERT section 2 pairs a mention with the synonyms of its concept under the loss of its pre-training; BioSyn (Sung et
al. 2020) raises the share of the right ones among a mention's nearest names. Both find hard negatives among what the
encoder as it stands takes for nearest, looked up anew each epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from nomina.encoders.base import TrainableEncoder
from nomina.training.examples import Ints, TokenTable
from nomina.training.loop import Objective
from nomina.training.metric import mine_pairs, pair_losses

Loss = Literal["ms", "marginal"]

_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """How batches are made.

    Attributes:
        batch_size: mentions.
        positives: right names beside each mention: the nearest one, and others at random.
        negatives: wrong names beside each mention, drawn from the nearest ``pool``.
        pool: how many of the nearest names are looked up.
        names: how many of the KB's own names an epoch takes for further mentions, where there are such.
        loss: "ms", multi-similarity over all rows of a batch, or "marginal", the share of the right names.
        temperature: of "marginal".
        seed: of the order and of all choices.
        positive_scale, negative_scale, base, margin: of "ms"; see ``metric.multi_similarity``.
    """

    batch_size: int = 32
    positives: int = 2
    negatives: int = 10
    pool: int = 20
    names: int = 0
    loss: Loss = "ms"
    temperature: float = 0.05
    seed: int = 0
    positive_scale: float = 1.0
    negative_scale: float = 60.0
    base: float = 0.5
    margin: float = 0.2


class CorpusTuning(Objective[Ints]):
    """Mentions with right and wrong names of a KB; a batch is rows of the table, (n, 1 + names beside a mention).

    Args:
        encoder: Whose module is trained.
        table: The tokens of the KB's names, then of the mentions, then, if at all, of the KB's names as mentions.
        concept: The concept of each of the KB's names, (names,).
        gold: The concepts of each mention: any of them is right. A mention without one is left out.
        options: See there.
        times: How often each mention comes in an epoch, (mentions,); None: once.
        apart: The names that are never put beside each mention: its very text, which need not be learnt where the
            mention itself is a name of the KB. One array of rows a mention; None: nothing is kept apart.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        table: TokenTable,
        concept: Ints,
        gold: Sequence[Ints],
        options: CorpusOptions,
        times: Ints | None = None,
        apart: Sequence[Ints] | None = None,
    ) -> None:
        self.module, self.table, self.concept, self.options = encoder.module, table, concept, options
        self.names, self.mentions = len(concept), len(gold)
        known = np.array([len(concepts) > 0 for concepts in gold], dtype=bool)
        self._once = np.repeat(np.arange(len(gold)), known if times is None else known * times)
        self._extra = len(table.lengths) - self.names - self.mentions
        order = np.argsort(concept, kind="stable")
        self._by_concept = np.split(order, np.flatnonzero(np.diff(concept[order])) + 1)
        self._place = np.zeros(int(concept.max()) + 1, dtype=np.int64)
        self._place[np.unique(concept)] = np.arange(len(self._by_concept))
        self._gold = [*gold, *(concept[i : i + 1] for i in range(self._extra))]
        labels = np.full((len(table.lengths), max(1, *(len(c) for c in gold))), -1, dtype=np.int64)
        labels[: self.names, 0] = concept
        for row, concepts in enumerate(self._gold, start=self.names):
            labels[row, : len(concepts)] = concepts
        self._labels = torch.from_numpy(labels)
        self._apart = dict(enumerate(apart or ()))
        self._found: tuple[int, Ints] | None = None

    def batches(self, epoch: int) -> Iterator[Ints]:
        """Every mention so often as it should come, some names as mentions; depends on the encoder as it is."""
        rng = np.random.default_rng([self.options.seed, epoch])
        some = rng.permutation(self._extra)[: self.options.names] + self.mentions
        chosen = rng.permutation(np.concatenate([self._once, some]))
        distinct, places = np.unique(chosen, return_inverse=True)
        near = self._nearest_of(epoch, distinct + self.names)
        size = self.options.batch_size
        for start in range(0, len(chosen) - len(chosen) % size or len(chosen), size):
            batch = zip(chosen[start : start + size].tolist(), places[start : start + size].tolist(), strict=True)
            yield np.stack([self._beside(mention, near[place], rng) for mention, place in batch])

    def _beside(self, mention: int, near: Ints, rng: np.random.Generator) -> Ints:
        """The row of a mention and those of names beside it."""
        gold = self._gold[mention]
        right = np.isin(self.concept[near], gold)
        names = self._names_of(mention)
        first = near[right][:1] if right.any() else names[:1]
        others = rng.choice(names, self.options.positives - 1)
        wrong = near[~right] if not right.all() else rng.integers(0, self.names, self.options.negatives)
        if len(wrong) >= self.options.negatives:
            wrong = rng.choice(wrong, self.options.negatives, replace=False)
        else:
            wrong = np.resize(wrong, self.options.negatives)
        return np.concatenate([[mention + self.names], first, others, wrong])

    def _names_of(self, mention: int) -> Ints:
        """All right names, those kept apart only where there is no other."""
        names = np.concatenate([self._by_concept[self._place[concept]] for concept in self._gold[mention]])
        others = names[~np.isin(names, self._apart.get(mention, ()))]
        return others if len(others) else names

    def _nearest_of(self, epoch: int, rows: Ints) -> Ints:
        """The nearest names as they were when the epoch began."""
        if self._found is None or self._found[0] != epoch or len(self._found[1]) != len(rows):
            self._found = epoch, self.nearest(rows)
        return self._found[1]

    def state(self) -> dict[str, Tensor]:
        """The epoch and its nearest names: they depend on the weights at its beginning."""
        if self._found is None:
            return {}
        return {"epoch": torch.tensor(self._found[0]), "nearest": torch.from_numpy(self._found[1])}

    def restore(self, state: dict[str, Tensor]) -> None:
        """See ``Objective.restore``."""
        if "nearest" in state:
            self._found = int(state["epoch"]), state["nearest"].numpy()

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        count = len(self._once) + min(self.options.names, self._extra)
        return max(count // self.options.batch_size, 1)

    def nearest(self, rows: Ints) -> Ints:
        """The nearest of the KB's names for each of some rows of the table: (rows, pool), best first."""
        names = self.table.vectors(self.module, np.arange(self.names), bf16=True)
        queries = self.table.vectors(self.module, rows, bf16=True)
        pool = min(self.options.pool, self.names)
        found = []
        for start in range(0, len(queries), _CHUNK):
            scores = queries[start : start + _CHUNK] @ names.T
            self._keep_apart(scores, rows[start : start + _CHUNK])
            found.append(scores.topk(pool, dim=1).indices.cpu())
        ranked: Ints = torch.cat(found).numpy()
        return ranked

    def _keep_apart(self, scores: Tensor, rows: Ints) -> None:
        """Put what is kept apart last, in place: scores (rows, names)."""
        pairs = [(i, name) for i, row in enumerate(rows.tolist()) for name in self._apart.get(row - self.names, ())]
        if pairs:
            places = torch.tensor(pairs, device=scores.device)
            scores[places[:, 0], places[:, 1]] = -torch.inf

    def loss(self, batch: Ints) -> Tensor:
        """The loss over the distinct rows of a batch."""
        rows, places = torch.unique(torch.from_numpy(batch), return_inverse=True)
        vectors = self.module(*self.table.batch(rows)).float()
        labels = self._labels[rows].to(vectors.device, non_blocking=True)
        same = ((labels[:, None, :, None] == labels[None, :, None, :]) & (labels >= 0)[:, None, :, None]).any(3).any(2)
        with torch.autocast(vectors.device.type, enabled=False):
            similarities = vectors @ vectors.T
            if self.options.loss == "ms":
                itself = torch.eye(len(rows), dtype=torch.bool, device=same.device)
                pairs = mine_pairs(similarities, same & ~itself, ~same, self.options.margin)
                scales = self.options.positive_scale, self.options.negative_scale
                return pair_losses(similarities, *pairs, *scales, self.options.base).mean()
            mentions, names = places[:, 0].to(same.device), torch.from_numpy(rows.numpy() < self.names).to(same.device)
            scaled = similarities[mentions][:, names] / self.options.temperature
            right = scaled.masked_fill(~same[mentions][:, names], -torch.inf).logsumexp(dim=1)
            loss: Tensor = (scaled.logsumexp(dim=1) - right).mean()
            return loss
