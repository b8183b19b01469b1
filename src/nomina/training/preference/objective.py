"""Training a generator to prefer right names: a loss over pairs, the likelihood of the right name beside it.

ANGEL 3.2, Eq. 4: one epoch with the frozen positive-only model as reference in fine-tuning, five in pre-training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nomina.errors import RecipeError
from nomina.generation.generator import Generator
from nomina.linkers.generative import evaluating
from nomina.training.examples import Ints
from nomina.training.gather import gathered, share
from nomina.training.loop import Objective
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.losses import kind_of, loss_of
from nomina.training.preference.scored import Scored
from nomina.training.seq2seq import POOL, like_length

Floats = NDArray[np.float32]

_STEP = 8


@dataclass(frozen=True, slots=True)
class PreferenceOptions:
    """How batches and the loss are made; the defaults are the paper's.

    Attributes:
        loss: one of ``losses.LOSSES``.
        values: of the loss (``beta``, ...), by name; the others have its defaults.
        likelihood: weight of the mean of -log p over the tokens of the chosen names, beside the loss (not the paper's).
        batch_size: pairs, of all processes together.
        seed: of the order.
    """

    loss: str = "dpo"
    values: tuple[tuple[str, float], ...] = ()
    likelihood: float = 0.0
    batch_size: int = 16
    seed: int = 0


class PairShare(NamedTuple):
    """What a process has of a batch.

    Attributes:
        pairs: its pairs.
        reference: float32, (n, 2): log p of both names by the reference.
        size: pairs of the whole batch.
        tokens: tokens of the chosen names of the whole batch, ends included.
    """

    pairs: PairExamples
    reference: Floats
    size: int
    tokens: int


class PreferenceTraining(Objective[PairShare]):
    """A generator on pairs, in batches of like length; a source is read once for both names.

    Args:
        generator: whose module is trained.
        pairs: see there.
        options: see there.
        reference: (n, 2) of each pair, see ``log_probabilities``; for a loss that compares with a reference.

    Raises:
        RecipeError: the processes do not divide a batch; there is no such loss; its reference is missing.
    """

    def __init__(
        self,
        generator: Generator,
        pairs: PairExamples,
        options: PreferenceOptions | None = None,
        reference: Floats | None = None,
    ) -> None:
        self.options = options or PreferenceOptions()
        self.generator, self.module, self.pairs = generator, generator.module, pairs
        self._loss = loss_of(self.options.loss, dict(self.options.values))
        if reference is None and kind_of(self.options.loss).reference:
            raise RecipeError(f"the loss {self.options.loss} compares with a reference: give its log-probabilities")
        self._reference = np.zeros((pairs.count, 2), np.float32) if reference is None else reference
        self._size = min(self.options.batch_size, max(pairs.count // share()[1] * share()[1], 1))
        if self._size % share()[1]:
            raise RecipeError(f"{share()[1]} processes cannot share batches of {self._size}: take a multiple")

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return self.pairs.count // self._size

    def batches(self, epoch: int) -> Iterator[PairShare]:
        """Every pair once, in random batches of like length; what does not fill the last batch is left out.

        Of several processes each gets its share of every batch.
        """
        rng, size, (process, processes) = np.random.default_rng([self.options.seed, epoch, 7]), self._size, share()
        order, (source, answer, written) = rng.permutation(self.pairs.count), self._lengths()
        for start in range(0, len(order), size * POOL):
            part = order[start : start + size * POOL]
            for places in like_length(rng, source[part], answer[part], size):
                batch = part[places]
                own = batch[process::processes]
                yield PairShare(self.pairs.take(own), self._reference[own], size, int(written[batch].sum()))

    def _lengths(self) -> tuple[Ints, Ints, Ints]:
        """Tokens of each source, of the longer answer with its prefix, and of the chosen name with its end."""
        of, pairs = self.pairs.pieces.lengths, self.pairs
        written = of(pairs.chosen) + 1
        return of(pairs.source), of(pairs.prefix) + np.maximum(written, of(pairs.rejected) + 1), written

    def loss(self, batch: PairShare) -> Tensor:
        """The mean over the pairs of the whole batch, and the weighted likelihood term."""
        sums, tokens = log_probabilities(self.generator, batch.pairs)
        reference = torch.from_numpy(batch.reference).to(sums.device)
        scored = Scored(*sums.unbind(1), *tokens.unbind(1), *reference.unbind(1))
        loss = self._loss(scored).sum() / batch.size
        if self.options.likelihood:
            loss = loss - self.options.likelihood * scored.chosen.sum() / batch.tokens
        return gathered(loss.unsqueeze(0)).sum()


def log_probabilities(generator: Generator, pairs: PairExamples) -> tuple[Tensor, Tensor]:
    """How likely a generator is to write both names of n pairs, with gradients.

    Returns:
        log p of the chosen and of the rejected name, (n, 2) float32: sums over tokens, ends included; and how many
        tokens these are, (n, 2) float32.
    """
    pieces, device = pairs.pieces, generator.device
    table, lengths = pieces.table(pairs.source, generator.pad_id, _STEP)
    mask = np.arange(table.shape[1]) < lengths[:, None]
    # Both answers of a source side by side.
    prefix, names = np.repeat(pairs.prefix, 2, axis=0), np.stack([pairs.chosen, pairs.rejected], 1)
    written = np.hstack([prefix, names.reshape(2 * pairs.count, -1)])
    answers, ends = pieces.table(written, generator.pad_id)
    answers = np.hstack([answers, np.full((len(answers), 1), generator.pad_id, np.int32)])
    answers[np.arange(len(answers)), ends] = generator.eos_id
    begin = pieces.lengths(prefix)[:, None]
    place = np.arange(answers.shape[1] - 1)
    where = (place >= begin - 1) & (place < ends[:, None])
    ids, inputs, targets = (
        torch.from_numpy(part).to(device, non_blocking=True).long()
        for part in (table, answers[:, :-1], answers[:, 1:][where])
    )
    there = torch.from_numpy(where).to(device)
    logits = generator.forward(ids, torch.from_numpy(mask).to(device), inputs, there)
    with torch.autocast(device.type, enabled=False):
        logits = logits.float()
        each = logits.gather(1, targets[:, None])[:, 0] - logits.logsumexp(1)
        spread = torch.zeros(where.shape, device=device).masked_scatter(there, each)
        return spread.sum(1).view(-1, 2), there.sum(1).view(-1, 2).float()


def reference_of(generator: Generator, pairs: PairExamples, batch_size: int = 64, *, bf16: bool = False) -> Floats:
    """What a frozen reference makes of all pairs, without dropout: log p of both names, (n, 2).

    Args:
        generator: the reference; it is left as it was.
        pairs: all pairs.
        batch_size: pairs at a time.
        bf16: under autocast to bfloat16 where there is a GPU, as the training.
    """
    found = np.zeros((pairs.count, 2), np.float32)
    order = np.argsort(pairs.pieces.lengths(pairs.source), kind="stable")
    half = bf16 and generator.device.type == "cuda"
    with evaluating(generator), torch.inference_mode(), torch.autocast(generator.device.type, torch.bfloat16, half):
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            found[chosen] = log_probabilities(generator, pairs.take(chosen))[0].cpu().numpy()
    return found
