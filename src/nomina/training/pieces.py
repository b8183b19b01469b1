"""Token sequences put together out of pieces that are tokenised once. Needs no torch.

A sequence is a row of numbers of pieces, (n, pieces a sequence); making a padded batch of thousands of them is a few
gathers over one flat array. Piece 0 is the empty one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.training.examples import Ints

EMPTY = 0


class Pieces:
    """A growing list of token sequences, kept flat."""

    def __init__(self) -> None:
        self._tokens: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
        self._counts: list[Ints] = [np.zeros(1, np.int64)]
        self._size = 1
        self._closed: tuple[NDArray[np.int32], Ints, Ints] | None = None

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Iterable[list[int]]) -> int:
        """Put pieces behind those that are there; the number of the first one."""
        listed = list(rows)
        first, self._closed = self._size, None
        self._counts.append(np.fromiter(map(len, listed), np.int64, len(listed)))
        self._tokens.append(np.fromiter(chain.from_iterable(listed), np.int32))
        self._size += len(listed)
        return first

    def lengths(self, rows: Ints) -> Ints:
        """How many tokens each sequence (n, pieces) has, (n,)."""
        _, _, counts = self._flat()
        lengths: Ints = counts[rows].sum(axis=1)
        return lengths

    def table(self, rows: Ints, pad: int, to: int = 1) -> tuple[NDArray[np.int32], Ints]:
        """The tokens of sequences (n, pieces), padded to a multiple of ``to``; and how many each has, (n,)."""
        flat, starts, counts = self._flat()
        each = counts[rows]
        lengths = each.sum(axis=1)
        each = each.ravel()
        shift = starts[rows.ravel()] - (np.cumsum(each) - each)
        tokens = flat[np.arange(int(each.sum())) + np.repeat(shift, each)]
        width = -(-int(lengths.max(initial=1)) // to) * to
        table = np.full((len(rows), width), pad, np.int32)
        table[np.arange(width) < lengths[:, None]] = tokens
        return table, lengths

    def _flat(self) -> tuple[NDArray[np.int32], Ints, Ints]:
        """All tokens, and where each piece begins and how long it is."""
        if self._closed is None:
            counts, tokens = np.concatenate(self._counts), np.concatenate(self._tokens)
            self._tokens, self._counts = [tokens], [counts]
            self._closed = tokens, np.cumsum(counts) - counts, counts
        return self._closed


class Drawn(NamedTuple):
    """Examples as numbers of pieces: what is read, how the answer begins, the answer; each (n, some)."""

    source: Ints
    prefix: Ints
    target: Ints

    def take(self, which: Ints) -> Drawn:
        """Some of them."""
        return Drawn(self.source[which], self.prefix[which], self.target[which])


class Examples(ABC):
    """What a generator is trained on.

    Attributes:
        pieces: what sequences are made of.
        count: how many examples an epoch has.
    """

    pieces: Pieces
    count: int

    @abstractmethod
    def drawn(self, epoch: int) -> Callable[[Ints], Drawn]:
        """What gives the examples of an epoch by their numbers from 0: the same ones whenever it is asked."""
