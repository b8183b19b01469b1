"""Paths of tokens laid out as a trie, one level after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.generation.starts import Ints, Starts

Mask = NDArray[np.bool_]

_TOKEN_BITS = 32


class TrieArrays(NamedTuple):
    """A trie of N nodes and N - 1 edges for R rows that have a path, as it lies on disk.

    The edges of node n are starts[n] to starts[n + 1] - 1.

    Attributes:
        levels: int64; levels[d] is the first node with d edges between it and the root, the last entry is N.
        bases: see ``Starts``.
        top: see ``Starts``.
        leaves: uint32 (uint64 from 2**32 nodes on), (R,): leaf of the row beside it, sorted.
        rows: uint32, (R,): row numbers, those of a leaf side by side and sorted.
        offsets: see ``Starts``.
        tokens: uint16 where all are below 65,536, else uint32, (N - 1,): of each edge; those of a node sorted.
    """

    levels: Ints
    bases: NDArray[Any]
    top: NDArray[Any]
    leaves: NDArray[Any]
    rows: NDArray[Any]
    offsets: NDArray[np.uint16]
    tokens: NDArray[Any]

    @property
    def starts(self) -> Starts:
        """First edge of each node, and behind the last one the number of edges."""
        return Starts(self.bases, self.top, self.offsets)


def layered(tokens: NDArray[Any], lengths: Ints, rows: NDArray[Any]) -> TrieArrays:
    """The trie of some paths. Memory: 24 bytes a path beside the arguments and the result.

    Args:
        tokens: all paths one after the other; the last token of each is the end token, and stands nowhere else.
        lengths: (R,) of each path, 1 or more.
        rows: (R,) whose path it is, sorted; a row may be there more than once with different paths.
    """
    kind: Any = np.uint16 if tokens.max(initial=0) < 1 << 16 else np.uint32
    starts = np.cumsum(lengths) - lengths
    left = np.arange(len(lengths))
    group = np.zeros(len(lengths), np.int64)
    levels, size = [0, 1], 1
    counts, edges, leaves, owners = [], [], [np.zeros(0, np.int64)], [rows[:0]]
    while len(left):
        depth = len(levels) - 2
        keys = (group << _TOKEN_BITS) | tokens[starts[left] + depth].astype(np.int64)
        order = np.argsort(keys, kind="stable")
        left, keys = left[order], keys[order]
        new = np.append(True, keys[1:] != keys[:-1])
        group = np.cumsum(new) - 1
        keys = keys[new]
        counts.append(np.bincount(keys >> _TOKEN_BITS, minlength=size).astype(np.uint32))
        edges.append((keys & ((1 << _TOKEN_BITS) - 1)).astype(kind))
        ends = lengths[left] == depth + 1
        leaves.append(group[ends] + levels[-1])
        owners.append(rows[left[ends]])
        left, group, size = left[~ends], group[~ends], len(keys)
        levels.append(levels[-1] + size)
    counts.append(np.zeros(size, np.uint32))
    number: Any = np.uint32 if levels[-1] < 1 << 32 else np.uint64
    first = np.zeros(levels[-1] + 1, number)
    np.cumsum(np.concatenate(counts), out=first[1:])
    bases, top, offsets = Starts.of(first)
    leaf, owned = np.concatenate(leaves).astype(number), np.concatenate(owners).astype(np.uint32)
    joined = np.concatenate(edges) if edges else np.zeros(0, kind)
    return TrieArrays(np.array(levels), bases, top, leaf, owned, offsets, joined)


def lift(
    nodes: Mask, levels: Ints, first: Callable[[int, int], NDArray[Any]], below: Callable[[int, int], Mask]
) -> None:
    """Allow each node that has an edge to an allowed one, the deepest level first.

    Args:
        nodes: (N,) the allowed ones; changed in place.
        levels: as in ``TrieArrays``.
        first: the first edges of the nodes from one up to another, N included.
        below: whether the edges from one number up to another lead to allowed nodes, as these then are.
    """
    for start, stop in zip(levels[-3::-1].tolist(), levels[-2:0:-1].tolist(), strict=True):
        bounds = first(start, stop + 1)
        inner = np.flatnonzero(bounds[1:] > bounds[:-1])
        if len(inner):
            reached = below(int(bounds[0]), int(bounds[-1]))
            nodes[start + inner] |= np.logical_or.reduceat(reached, (bounds[inner] - bounds[0]).astype(np.int64))


def offsets_of(counts: NDArray[Any]) -> Ints:
    """Where each of some stretches of these lengths begins, and where the last one ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
