"""Training a generator to write names: the loss over a name's tokens and its end, not over the prompt.

GenBioEL, 2.1 and table 11: teacher forcing, label smoothing 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nomina.errors import RecipeError
from nomina.generation.generator import Generator
from nomina.training.examples import Ints
from nomina.training.gather import gathered, share
from nomina.training.loop import Objective
from nomina.training.pieces import Drawn, Examples

POOL, _GROUP = 64, 8
"""Batches that are sorted by the length of their sources, and of these by that of their answers."""

_STEP = 8


@dataclass(frozen=True, slots=True)
class Seq2SeqOptions:
    """How batches and the loss are made.

    Attributes:
        batch_size: examples, of all processes together.
        smoothing: share of the probability that label smoothing spreads over all tokens.
        seed: of the order.
    """

    batch_size: int = 384
    smoothing: float = 0.1
    seed: int = 0


class Share(NamedTuple):
    """What a process has of a batch, and over how many tokens the loss of the whole batch is a mean."""

    examples: Drawn
    tokens: int


class Seq2SeqTraining(Objective[Share]):
    """A generator on any examples, in batches of like length.

    Args:
        generator: whose module is trained.
        examples: see there.
        options: see there.

    Raises:
        RecipeError: the processes do not divide a batch.
    """

    def __init__(self, generator: Generator, examples: Examples, options: Seq2SeqOptions | None = None) -> None:
        self.generator, self.module, self.examples = generator, generator.module, examples
        self.options, self.pieces = options or Seq2SeqOptions(), examples.pieces
        self._end = self.pieces.add([[generator.eos_id]])
        self._size = min(self.options.batch_size, max(examples.count // share()[1] * share()[1], 1))
        if self._size % share()[1]:
            raise RecipeError(f"{share()[1]} processes cannot share batches of {self._size}: take a multiple")

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return self.examples.count // self._size

    def batches(self, epoch: int) -> Iterator[Share]:
        """Every example once, in random batches of like length; what does not fill the last batch is left out.

        Of several processes each gets its share of every batch.
        """
        rng, drawn = np.random.default_rng([self.options.seed, epoch]), self.examples.drawn(epoch)
        order, size = rng.permutation(self.examples.count), self._size
        process, processes = share()
        for start in range(0, len(order), size * POOL):
            found = drawn(order[start : start + size * POOL])
            written = self.pieces.lengths(found.target) + 1
            answer = self.pieces.lengths(found.prefix) + written
            for batch in like_length(rng, self.pieces.lengths(found.source), answer, size):
                yield Share(found.take(batch[process::processes]), int(written[batch].sum()))

    def loss(self, batch: Share) -> Tensor:
        """The mean over all target tokens of the whole batch, ends included."""
        examples, tokens = batch
        ids, mask = self._padded(examples.source)
        prefix = self.pieces.lengths(examples.prefix)
        ends = np.full((len(prefix), 1), self._end)
        whole, lengths = self.pieces.table(
            np.hstack([examples.prefix, examples.target, ends]), self.generator.pad_id, _STEP
        )
        place = np.arange(whole.shape[1] - 1)
        where = (place >= prefix[:, None] - 1) & (place < lengths[:, None] - 1)
        written = torch.from_numpy(whole[:, 1:][where]).to(ids.device, non_blocking=True).long()
        inputs = torch.from_numpy(whole[:, :-1]).to(ids.device, non_blocking=True).long()
        logits = self.generator.forward(ids, mask, inputs, torch.from_numpy(where).to(ids.device))
        with torch.autocast(ids.device.type, enabled=False):
            losses = torch.nn.functional.cross_entropy(
                logits.float(),
                written,
                label_smoothing=self.options.smoothing,
                reduction="sum",
            )
            return gathered(losses.unsqueeze(0)).sum() / tokens

    def _padded(self, rows: Ints) -> tuple[Tensor, Tensor]:
        """Tokens and mask of sources, (n, longest) each, on the module's device."""
        table, lengths = self.pieces.table(rows, self.generator.pad_id, _STEP)
        device = self.generator.device
        mask = torch.from_numpy(np.arange(table.shape[1]) < lengths[:, None])
        return torch.from_numpy(table).to(device, non_blocking=True).long(), mask.to(device, non_blocking=True)


def like_length(rng: np.random.Generator, source: Ints, answer: Ints, size: int) -> Iterator[Ints]:
    """Batches of some examples, given the lengths of their sources and answers: those of like length, in any order.

    What does not fill the last batch is left out.
    """
    by_length = _by_length(source, answer, size * _GROUP)
    for i in rng.permutation(len(by_length) // size):
        yield by_length[i * size : (i + 1) * size]


def _by_length(source: Ints, answer: Ints, group: int) -> Ints:
    """An order by the length of sources, and within groups of it by that of answers."""
    order = np.argsort(source, kind="stable")
    parts = [order[start : start + group] for start in range(0, len(order), group)]
    return np.concatenate([part[np.argsort(answer[part], kind="stable")] for part in parts])
