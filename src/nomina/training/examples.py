"""Synonym pairs of a knowledge base, token tables that stay on the device, batches of like length."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nomina.encoders.base import TrainableEncoder, import_torch

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")
Ints = NDArray[np.int64]

MOST_PAIRS = 50
"""Pairs of one concept, as in SapBERT's released settings."""

_CHUNK = 1 << 16
_POOL = 64
_STEP = 4


def synonym_pairs(
    concepts: Iterable[Sequence[T]], limit: int = MOST_PAIRS, seed: int = 0
) -> Iterator[tuple[int, T, T]]:
    """Concept number and two of its names, for each concept in turn: all its pairs, or ``limit`` distinct ones.

    Streamed. Which pairs a concept gives depends on the seed, its number and how many names it has, on nothing else.
    """
    for number, names in enumerate(concepts):
        total = len(names) * (len(names) - 1) // 2
        chosen: Iterable[int] = range(total)
        if total > limit:
            chosen = random.Random(f"{seed}:{number}").sample(range(total), limit)
        for i in chosen:
            low, high = _unranked(i)
            yield number, names[low], names[high]


def _unranked(i: int) -> tuple[int, int]:
    """The i-th pair of (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    high = (1 + isqrt(8 * i + 1)) // 2
    return i - high * (high - 1) // 2, high


@dataclass(frozen=True, slots=True)
class Pairs:
    """Positive pairs as numbers: concept, left and right name; each (number of pairs,), sorted by concept."""

    concept: Ints
    left: Ints
    right: Ints

    @classmethod
    def of(cls, concepts: Iterable[Sequence[int]], limit: int = MOST_PAIRS, seed: int = 0) -> Pairs:
        """The synonym pairs of concepts whose names are given by their numbers."""
        flat = np.fromiter(
            (value for pair in synonym_pairs(concepts, limit, seed) for value in pair), dtype=np.int64
        ).reshape(-1, 3)
        return cls(*flat.T.copy())

    def __len__(self) -> int:
        return len(self.concept)


class TokenTable(NamedTuple):
    """The tokens of many texts: ids (n, length) padded, on the device of the module; lengths (n,) on the CPU."""

    ids: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, encoder: TrainableEncoder, texts: Sequence[str]) -> TokenTable:
        """Tokenise texts once."""
        torch = import_torch()
        ids = np.full((len(texts), encoder.length), encoder.pad_id, dtype=np.int32)
        lengths = np.empty(len(texts), dtype=np.int64)
        for start in range(0, len(texts), _CHUNK):
            for i, row in enumerate(encoder.tokenise(texts[start : start + _CHUNK]), start=start):
                ids[i, : len(row)] = row
                lengths[i] = len(row)
        return cls(torch.from_numpy(ids).to(encoder.device), torch.from_numpy(lengths))

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Ids and mask of some rows, cut to the longest of them (rounded up to a multiple of 4)."""
        torch = import_torch()
        device, lengths = self.ids.device, self.lengths[rows]
        longest = min(-(-int(lengths.max()) // _STEP) * _STEP, self.ids.shape[1])
        ids = self.ids[rows.to(device, non_blocking=True), :longest].long()
        return ids, torch.arange(longest, device=device) < lengths.to(device, non_blocking=True).unsqueeze(1)

    def vectors(
        self, module: nn.Module, rows: Ints | None = None, *, bf16: bool = False, batch_size: int = 1024
    ) -> Tensor:
        """What a module makes of some rows (None: of all), in their order: (rows, dim), float32.

        Without dropout and without a gradient; ``bf16``: in bfloat16 arithmetic where there is a GPU.
        """
        torch = import_torch()
        rows = np.arange(len(self.lengths)) if rows is None else rows
        device, training = self.ids.device, module.training
        order = np.argsort(self.lengths.numpy()[rows], kind="stable")
        parts = []
        module.eval()
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=bf16 and device.type == "cuda"):
            for start in range(0, len(order), batch_size):
                chosen = torch.from_numpy(rows[order[start : start + batch_size]])
                parts.append(module(*self.batch(chosen)).float())
        module.train(training)
        back = torch.from_numpy(np.argsort(order)).to(device)
        vectors: Tensor = torch.cat(parts)[back]
        return vectors


def bucketed(lengths: Ints, batch_size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Every example once, in random batches of like length; what does not fill the last batch is left out.

    Examples are shuffled, then sorted by length within pools of 64 batches, and the batches of a pool shuffled.
    """
    order = rng.permutation(len(lengths))
    for start in range(0, len(order), batch_size * _POOL):
        pool = order[start : start + batch_size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        for i in rng.permutation(len(pool) // batch_size):
            yield pool[i * batch_size : (i + 1) * batch_size]
