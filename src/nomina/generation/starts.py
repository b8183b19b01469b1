"""A long rising list of numbers in two bytes each: the first edge of every node of a trie."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_BITS = 6
BLOCK = 1 << _BITS
_MOST = 1 << 16


class Starts(NamedTuple):
    """n numbers that never fall, as differences to the first one of each 64.

    The nodes next to the root have so many edges that their differences do not fit; these numbers are written out.

    Attributes:
        bases: uint32 (uint64 where needed): numbers 0, 64, 128, ...
        top: as bases: numbers 0 to t - 1, t being the least, 1 or more, with which all others' differences fit.
        offsets: uint16, (n - t + 1,): differences of the others; a last 0 stands for none.
    """

    bases: NDArray[Any]
    top: NDArray[Any]
    offsets: NDArray[np.uint16]

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Starts:
        """Pack them, 1 or more, unsigned."""
        bases = numbers[::BLOCK]
        highest = np.append(numbers[BLOCK - 1 :: BLOCK], numbers[-1])[: len(bases)]
        wide = np.flatnonzero(highest - bases >= _MOST)
        top = min(len(numbers), int(wide[-1] + 1) << _BITS) if len(wide) else 1
        differences = numbers - np.repeat(bases, BLOCK)[: len(numbers)]
        return cls(bases.copy(), numbers[:top].copy(), np.append(differences[top:], 0).astype(np.uint16))

    @property
    def size(self) -> int:
        """How many numbers."""
        return len(self.top) + len(self.offsets) - 1

    def at(self, places: Ints) -> Ints:
        """The numbers at some places."""
        beyond = places - len(self.top)
        packed = self.bases.take(places >> _BITS) + self.offsets.take(beyond, mode="clip")
        return np.where(beyond < 0, self.top.take(places, mode="clip"), packed).astype(np.int64)

    def span(self, start: int, stop: int) -> NDArray[Any]:
        """The numbers from one place up to another, unsigned: quicker than ``at`` for many of them."""
        first = start >> _BITS << _BITS
        numbers = np.repeat(self.bases[start >> _BITS : -(-stop // BLOCK)], BLOCK)[start - first : stop - first]
        top = len(self.top)
        numbers[max(top - start, 0) :] += self.offsets[max(start - top, 0) : max(stop - top, 0)]
        numbers[: max(top - start, 0)] = self.top[start:stop]
        return numbers

    def last_up_to(self, numbers: Ints) -> Ints:
        """The last place whose number is not above each of these. Quicker where these are sorted."""
        # Of the array's own type: numpy would copy the array to compare it with another.
        blocks = np.searchsorted(self.bases, numbers.astype(self.bases.dtype), "right") - 1
        places, last = blocks << _BITS, self.size - 1
        for bit in reversed(range(_BITS)):
            further = places + (1 << bit)
            places = np.where((further <= last) & (self.at(np.minimum(further, last)) <= numbers), further, places)
        return places
