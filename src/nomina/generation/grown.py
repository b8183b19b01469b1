"""A trie and a small one of added names beside it, looked up as one, without building the large one anew.

A prefix may be in both. So every node of the small trie stands for its twin in the large one too: its edges are those
of both, and lead into the small trie where that goes on, else into the large one. A prefix still is one node, and a
beam search need not know of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nomina.generation.layers import Mask, lift, offsets_of
from nomina.generation.starts import Ints
from nomina.generation.trie import NO_NODE, Edges, FlatTrie, Trie, Within


class GrownTrie(Trie):
    """A large trie and what was added to it. Both have edges; nodes of the small one follow those of the large one.

    Args:
        main: the large trie.
        delta: the small one, of rows that the large one does not have.
    """

    def __init__(self, main: FlatTrie, delta: FlatTrie) -> None:
        self.main, self.delta = main, delta
        self.root, self.size = main.size, main.size + delta.size
        self._plain = len(main.arrays.tokens)
        self._twins = _twins(main, delta)
        self._added_first, self._added_tokens, self._added_targets = _united(main, delta, self._twins)

    def within(self, rows: Mask) -> Within:
        """See ``Trie.within``."""
        chosen = rows & self.alive.rows if self.alive is not None else rows
        twins = self._twins
        nodes = np.concatenate([self.main.within(chosen).nodes, np.zeros(self.delta.size, np.bool_)])
        added = nodes[self.main.size :]
        leaf = np.diff(self._added_first) == 0
        added[leaf] = nodes[twins[leaf]] & (twins[leaf] >= 0)
        arrays = self.delta.arrays
        added[arrays.leaves[chosen[arrays.rows]]] = True
        first, targets = self._added_first, self._added_targets
        lift(
            added, arrays.levels, lambda start, stop: first[start:stop], lambda start, stop: nodes[targets[start:stop]]
        )
        return Within(chosen, nodes)

    def rows_of(self, nodes: Ints, within: Within | None = None) -> tuple[Ints, Ints]:
        """See ``Trie.rows_of``."""
        added = np.where(nodes >= self.main.size, nodes - self.main.size, NO_NODE)
        twins = np.where(added >= 0, self._twins[added], nodes)
        chosen = within or self.alive
        rows, offsets = self.main.rows_of(twins, chosen)
        more, more_offsets = self.delta.rows_of(added, chosen)
        # The rows of the small trie are the higher ones: behind the others of the same node.
        return np.insert(rows, np.repeat(offsets[1:], np.diff(more_offsets)), more), offsets + more_offsets

    def paths(self, rows: Ints) -> tuple[Ints, Ints]:
        """See ``Trie.paths``."""
        tokens, lengths = self.main.paths(rows)
        more, more_lengths = self.delta.paths(rows)
        places = np.cumsum(lengths)
        return np.insert(tokens, np.repeat(places, more_lengths), more), lengths + more_lengths

    def edges(self) -> Edges:
        """See ``Trie.edges``."""
        edges = self.main.edges()
        kind = edges.first.dtype
        first = np.concatenate([edges.first[:-1], (self._added_first + self._plain).astype(kind)])
        tokens = np.concatenate([edges.tokens, self._added_tokens.astype(np.int32)])
        widest = max(edges.widest, int(np.diff(self._added_first).max()))
        return Edges(first, tokens, self._added_targets.astype(kind), self._plain, self.root, widest)

    def _longer(self, most: int) -> Ints:
        return np.concatenate([self.main.longer(most), self.delta.longer(most)])

    @property
    def _last_edge(self) -> int:
        return self._plain + len(self._added_tokens) - 1

    def _first(self, nodes: Ints) -> Ints:
        added = nodes - self.main.size
        behind = self._added_first.take(added, mode="clip") + self._plain
        return np.where(added >= 0, behind, self.main._first(np.minimum(nodes, self.main.size)))

    def _tokens(self, edges: Ints) -> NDArray[Any]:
        added = edges - self._plain
        behind = self._added_tokens.take(added, mode="clip")
        return np.where(added >= 0, behind, self.main.arrays.tokens.take(edges, mode="clip"))

    def _targets(self, edges: Ints) -> Ints:
        added = edges - self._plain
        return np.where(added >= 0, self._added_targets.take(added, mode="clip"), edges + 1)


def _twins(main: FlatTrie, delta: FlatTrie) -> Ints:
    """The node of the large trie that each of the small one stands for too, or -1; level by level."""
    arrays = delta.arrays
    twins = np.full(delta.size, NO_NODE, np.int64)
    twins[0] = main.root
    start, stop = delta.ranges(np.arange(delta.size))
    parents = np.repeat(np.arange(delta.size), stop - start)
    for start, stop in zip(arrays.levels[1:-1].tolist(), arrays.levels[2:].tolist(), strict=True):
        edges = np.arange(start - 1, stop - 1)
        twins[start:stop] = main.step(twins[parents[edges]], delta._tokens(edges))
    return twins


def _united(main: FlatTrie, delta: FlatTrie, twins: Ints) -> tuple[Ints, NDArray[Any], Ints]:
    """First edge of each node of the small trie, and tokens and targets of all their edges: both tries' together."""
    own = delta.children(np.arange(delta.size))
    old = main.children(twins)
    owner = np.repeat(np.arange(delta.size), np.diff(own.offsets))
    old_owner = np.repeat(np.arange(delta.size), np.diff(old.offsets))
    only = delta.step(old_owner, old.tokens) == NO_NODE
    owners = np.concatenate([owner, old_owner[only]])
    tokens = np.concatenate([own.tokens, old.tokens[only]])
    targets = np.concatenate([own.nodes + main.size, old.nodes[only]])
    order = np.lexsort((tokens, owners))
    counts = np.bincount(owners, minlength=delta.size)
    kind = np.result_type(main.arrays.tokens, delta.arrays.tokens)
    return offsets_of(counts), tokens[order].astype(kind), targets[order]
