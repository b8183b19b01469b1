"""Beam search over many batches, whose last mentions go on together.

Most searches of a batch are over after a small part of the steps that its longest names take, and a step for a handful
of mentions takes nearly as long as one for hundreds where it is bound by starting kernels. All beams of a search are
equally deep, so that what is left of several batches after the same step can be one batch again. After some given
steps a batch of which half or less is left waits for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import torch
from torch import Tensor

from nomina.generation.device import DeviceTrie
from nomina.generation.generator import Generator
from nomina.generation.search import Asked, Found, Run, Search, begin, in_order

_PAUSES = range(4, 64, 4)
"""Steps after which batches wait: those after which a GPU is asked what is over anyway."""

_SHARE = 0.5
"""Of the largest batch: what is left waits if it is no more. What is joined is then at least half of a batch."""

_WAITING = 2
"""Mentions that wait at most, in batches of the largest size that was given: they keep their keys and values."""


def beam_searches(
    generator: Generator, trie: DeviceTrie, asked: Iterable[Asked], search: Search | None = None
) -> list[Found]:
    """What ``beam_search`` finds for each of many batches, each asked for when the one before has few mentions left.

    Where ``search.certain`` is less than all names, those behind may be others: a mention leaves sooner or later.

    Batches of like lengths should come one after another, as those that are joined are padded to one length. At any
    time one batch runs, of at most as many mentions as the largest that was given, and twice as many wait at most.
    With graphs, whose shapes are fixed, batches go on alone.

    Args:
        generator: what scores tokens.
        trie: what may be written.
        asked: the batches, with their restrictions.
        search: how.

    Returns:
        One for each batch, in order.
    """
    pool = _Pool()
    sizes: list[int] = []
    for each in asked:
        with torch.inference_mode():
            pool.take(begin(generator, trie, each, search or Search(), pool.ended, sum(sizes)))
        sizes.append(len(each.batch.ids))
    with torch.inference_mode():
        pool.finish()
        return list(in_order(pool.ended, sizes)) if sizes else []


@dataclass(slots=True)
class _Pool:
    """What is left of batches, by the steps that were made and by the search, whose longest name may differ."""

    ended: list[tuple[Tensor, Found]] = field(default_factory=list)
    waiting: dict[tuple[int, Search], list[Run]] = field(default_factory=dict)
    size: int = 0

    def take(self, run: Run | None, *, last: bool = False) -> None:
        """Search until it is over or, unless it is the last, waits; and so on with what need not wait any longer."""
        while run is not None:
            self.size = max(self.size, len(run))
            if run.go_on(() if last else _PAUSES, int(_SHARE * self.size)):
                for other in chain(*self.waiting.values()):
                    run.decoding.share(other.decoding)
                    break
                self.waiting.setdefault((run.step, run.search), []).append(run)
            run = self._ready()

    def finish(self) -> None:
        """Search on until nothing waits, the shortest names first, so that they can wait for longer ones."""
        while self.waiting:
            run = self._joined(min(self.waiting, key=lambda key: key[0]))
            self.take(run, last=not self.waiting)

    def _ready(self) -> Run | None:
        """What fills a batch, or the most that wait together where too many wait."""
        counts = {key: sum(map(len, runs)) for key, runs in self.waiting.items()}
        for key, count in counts.items():
            if count > self.size:
                return self._joined(key, 1)
        if sum(counts.values()) > _WAITING * self.size:
            return self._joined(max(counts, key=lambda key: counts[key]))
        return None

    def _joined(self, key: tuple[int, Search], later: int = 0) -> Run:
        """Those that wait together as one, without the last ``later`` ones."""
        runs = self.waiting.pop(key)
        if later:
            self.waiting[key] = runs[-later:]
        first, *others = runs[: len(runs) - later]
        if others:
            first.join(others)
        return first
