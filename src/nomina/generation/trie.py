"""The names of a KB as paths of tokens in a few flat arrays, so that a decoder can only write names.

GenBioEL, 2.1 and 2.3: all synonyms of all concepts.

A path is the tokens of a name with the tokenizer's end token behind them. The end is an edge like any other: what may
follow a prefix, to end here included, is one stretch of one array, a beam search needs no second look-up, and a name
that is a prefix of another is nothing special. Where the end leads is a leaf; it has no edges, and owns the rows of all
names of these tokens (often one, several where names are tokenised alike). Text is never decoded to find a row.

Nodes are numbered breadth-first, so that edge *e* leads to node *e* + 1 and no array of children is needed: 2 bytes a
node, 2 a token. Node 0 is the root, -1 no node: nothing follows it. All look-ups take many nodes at a time, without a
loop over them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays
from nomina.generation.layers import Mask, TrieArrays, layered, lift, offsets_of
from nomina.generation.starts import BLOCK, Ints

NO_NODE = -1


class Edges(NamedTuple):
    """What a look-up needs, signed, for another array library (``torch.from_numpy`` takes each as it is).

    Edges of node n: first[n] to first[n + 1] - 1, sorted by token. Edge e leads to node e + 1 where e < plain, else to
    targets[e - plain]. Start at ``root``. A restriction is ``Within.nodes``: an edge is allowed if its node is.

    Attributes:
        first: int32, or int64 from 2**31 edges on, (nodes + 1,).
        tokens: int32, (edges,).
        targets: as first, (edges - plain,); empty where nothing was added.
        plain: how many edges lead to the node after their own number.
        root: where a name starts.
        widest: the most edges of a node; a binary search takes as many steps as that number has binary digits.
    """

    first: NDArray[Any]
    tokens: NDArray[np.int32]
    targets: NDArray[Any]
    plain: int
    root: int
    widest: int


class Children(NamedTuple):
    """What may follow each of n nodes: tokens and nodes of the i-th lie from offsets[i] to offsets[i + 1] - 1."""

    tokens: Ints
    nodes: Ints
    offsets: Ints


class Allowed(NamedTuple):
    """What may follow each of n nodes, padded with -1 to (n, width); ``counts`` (n,) may be above the width."""

    tokens: Ints
    nodes: Ints
    counts: Ints


class Within(NamedTuple):
    """A restriction: which rows may be answered, (rows of the KB,), and which nodes lead to one, (nodes,)."""

    rows: Mask
    nodes: Mask


class Trie(ABC):
    """Look-ups over paths of tokens.

    Attributes:
        root: where a name starts.
        size: how many nodes; they are numbered below this.
        alive: the restriction of every look-up that names no other; None where all rows are live.
    """

    root: int
    size: int
    alive: Within | None = None

    def ranges(self, nodes: Ints) -> tuple[Ints, Ints]:
        """First edge of each node, and the edge behind its last one: (n,) each. Restrictions are not looked at."""
        found = np.maximum(nodes, 0)
        start, stop = self._first(np.stack([found, np.where(nodes < 0, found, found + 1)]))
        return start, stop

    def children(self, nodes: Ints, within: Within | None = None) -> Children:
        """All that may follow each node, sorted by token."""
        start, stop = self.ranges(nodes)
        offsets = offsets_of(stop - start)
        edges = np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], stop - start)
        tokens, targets = self._tokens(edges).astype(np.int64), self._targets(edges)
        if (chosen := within or self.alive) is None:
            return Children(tokens, targets, offsets)
        kept = chosen.nodes[targets]
        return Children(tokens[kept], targets[kept], offsets_of(kept)[offsets])

    def allowed(self, nodes: Ints, width: int, within: Within | None = None) -> Allowed:
        """As ``children``, the first ``width`` of each node side by side in a table."""
        tokens, targets, offsets = self.children(nodes, within)
        counts = np.diff(offsets)
        owner = np.repeat(np.arange(len(nodes)), counts)
        column = np.arange(len(tokens)) - offsets[owner]
        kept = column < width
        table = np.full((2, len(nodes), width), NO_NODE, np.int64)
        table[:, owner[kept], column[kept]] = tokens[kept], targets[kept]
        return Allowed(table[0], table[1], counts)

    def step(self, nodes: Ints, tokens: Ints, within: Within | None = None) -> Ints:
        """The node that each token leads to from each node, or -1: a binary search within the node's edges."""
        edges, stop = self.ranges(nodes)
        left = stop - edges
        found = left > 0
        if not found.any():
            return np.full(len(nodes), NO_NODE, np.int64)
        edges = np.minimum(edges, self._last_edge)
        while (half := left >> 1).any():
            edges += half * (self._tokens(edges + half) <= tokens)
            left -= half
        targets = self._targets(edges)
        found &= self._tokens(edges) == tokens
        if (chosen := within or self.alive) is not None:
            found &= chosen.nodes[targets]
        return np.where(found, targets, NO_NODE)

    def follow(self, tokens: Sequence[int], within: Within | None = None) -> int:
        """The node behind a prefix, or -1: a forced start that no name has leads to no answer, and is no error."""
        node = np.array([self.root])
        for token in tokens:
            node = self.step(node, np.array([token]), within)
        return int(node[0])

    def retire(self, live: Mask) -> None:
        """Leave rows out of every look-up; ``live`` (rows of the KB,) are the others."""
        self.alive = self.within(live)

    @abstractmethod
    def within(self, rows: Mask) -> Within:
        """The restriction to some rows, retired ones left out. One pass over all nodes, deepest first.

        Args:
            rows: (rows of the KB,) such as ``KnowledgeBase.subset(...).rows``.
        """

    @abstractmethod
    def rows_of(self, nodes: Ints, within: Within | None = None) -> tuple[Ints, Ints]:
        """The rows that leaves own, (all of them,), and where those of each node lie in these, (n + 1,).

        Nodes that are no leaves own none.
        """

    @abstractmethod
    def paths(self, rows: Ints) -> tuple[Ints, Ints]:
        """The tokens of each row's path, end token included, one path after the other; and their numbers, (n,).

        A row without a path has 0: its name has no token that the tokenizer knows, or it is of no row of this trie.
        """

    def longer(self, most: int) -> Ints:
        """The live rows whose path has more than so many tokens, its end included."""
        rows = self._longer(most)
        return rows if self.alive is None else rows[self.alive.rows[rows]]

    @abstractmethod
    def edges(self) -> Edges:
        """Copies of the arrays, for look-ups elsewhere (on a GPU)."""

    def of_rows(self, rows: Sequence[Ints]) -> tuple[FlatTrie, Ints]:
        """A small trie of the candidates of each of n mentions, and the node where each mention starts, (n,).

        Mentions are told apart by a first token, their number, which stands before the paths; -1 is the start of a
        mention without candidates. Retired rows are left out.
        """
        numbers = np.repeat(np.arange(len(rows)), [len(found) for found in rows])
        joined = np.concatenate([np.zeros(0, np.int64), *rows])
        most = int(joined.max(initial=0)) + 1
        pairs = np.stack(np.divmod(np.unique(numbers * most + joined), most))
        if self.alive is not None:
            pairs = pairs[:, self.alive.rows[pairs[1]]]
        tokens, lengths = self.paths(pairs[1])
        pairs, lengths = pairs[:, lengths > 0], lengths[lengths > 0]
        before = np.insert(tokens, np.cumsum(lengths) - lengths, pairs[0])
        trie = FlatTrie(layered(before, lengths + 1, pairs[1]))
        return trie, trie.step(np.zeros(len(rows), np.int64), np.arange(len(rows), dtype=np.int64))

    @abstractmethod
    def _longer(self, most: int) -> Ints:
        """As ``longer``, retired rows too."""

    @property
    @abstractmethod
    def _last_edge(self) -> int:
        """The highest number of an edge."""

    @abstractmethod
    def _first(self, nodes: Ints) -> Ints:
        """First edge of nodes 0 to ``size``."""

    @abstractmethod
    def _tokens(self, edges: Ints) -> NDArray[Any]:
        """Tokens of edges, of any type of integer."""

    @abstractmethod
    def _targets(self, edges: Ints) -> Ints:
        """Where edges lead."""


class FlatTrie(Trie):
    """A trie as it was built.

    Attributes:
        arrays: where it lies.
    """

    root = 0

    def __init__(self, arrays: TrieArrays) -> None:
        self.arrays, self._starts = arrays, arrays.starts
        self.size = self._starts.size - 1

    @classmethod
    def is_whole(cls, arrays: Arrays, rows: int) -> bool:
        """Whether arrays of a file are a trie for a KB of that many rows."""
        if len(arrays) != len(TrieArrays._fields) or any(a.ndim != 1 or a.dtype.kind not in "iu" for a in arrays):
            return False
        found = TrieArrays(*arrays)
        if not min(map(len, (found.levels, found.bases, found.top, found.offsets))):
            return False
        numbers = found.starts.size
        return (
            len(found.tokens) == numbers - 2 == found.levels[-1] - 1
            and len(found.leaves) == len(found.rows) <= rows
            and len(found.bases) == -(-numbers // BLOCK)
            and found.starts.at(np.array([numbers - 1]))[0] == len(found.tokens)
        )

    def within(self, rows: Mask) -> Within:
        """See ``Trie.within``."""
        chosen = rows & self.alive.rows if self.alive is not None else rows
        nodes = np.zeros(self.size, np.bool_)
        nodes[self.arrays.leaves[chosen[self.arrays.rows]]] = True
        lift(nodes, self.arrays.levels, self._starts.span, lambda start, stop: nodes[start + 1 : stop + 1])
        return Within(chosen, nodes)

    def rows_of(self, nodes: Ints, within: Within | None = None) -> tuple[Ints, Ints]:
        """See ``Trie.rows_of``."""
        # Of the array's own type: numpy would copy the array to compare it with another.
        sought = np.maximum(nodes, 0).astype(self.arrays.leaves.dtype)
        start = np.searchsorted(self.arrays.leaves, sought, "left")
        counts = np.searchsorted(self.arrays.leaves, sought, "right") - start
        offsets = offsets_of(counts)
        rows = self.arrays.rows[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], counts)].astype(np.int64)
        if (chosen := within or self.alive) is None:
            return rows, offsets
        kept = chosen.rows[rows]
        return rows[kept], offsets_of(kept)[offsets]

    def paths(self, rows: Ints) -> tuple[Ints, Ints]:
        """See ``Trie.paths``. From the leaves up; sorted nodes have sorted parents, which are quicker to find."""
        leaves = self.leaf_of(rows)
        owner = np.argsort(leaves, kind="stable")
        owners, parts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(owner := owner[leaves[owner] > 0]):
            edges = leaves[owner] - 1
            owners.append(owner)
            parts.append(self._tokens(edges))
            leaves[owner] = self._starts.last_up_to(edges)
        above = np.repeat(np.arange(len(owners)), list(map(len, owners)))
        every = np.concatenate(owners)
        lengths = np.bincount(every, minlength=len(rows))
        tokens = np.zeros(len(every), np.int64)
        tokens[np.cumsum(lengths)[every] - above] = np.concatenate(parts)
        return tokens, lengths

    def leaf_of(self, rows: Ints) -> Ints:
        """The leaf of each row; 0 where it has none."""
        known = (rows >= 0) & (rows < len(self._leaves))
        return np.where(known, self._leaves[np.where(known, rows, 0)], 0).astype(np.int64)

    @cached_property
    def _leaves(self) -> NDArray[Any]:
        leaves = np.zeros(int(self.arrays.rows.max(initial=0)) + 1, self.arrays.leaves.dtype)
        leaves[self.arrays.rows] = self.arrays.leaves
        return leaves

    def edges(self) -> Edges:
        """See ``Trie.edges``."""
        kind = np.int32 if self.size < 1 << 31 else np.int64
        first = self._starts.span(0, self.size + 1).astype(kind)
        widest = int(np.diff(first).max())
        return Edges(first, self.arrays.tokens.astype(np.int32), np.zeros(0, kind), len(self.arrays.tokens), 0, widest)

    def _longer(self, most: int) -> Ints:
        if most + 1 >= len(self.arrays.levels):
            return np.zeros(0, np.int64)
        # Of the array's own type: numpy would copy the array to compare it with another.
        deeper = self.arrays.levels[most + 1].astype(self.arrays.leaves.dtype)
        return self.arrays.rows[np.searchsorted(self.arrays.leaves, deeper) :].astype(np.int64)

    @property
    def _last_edge(self) -> int:
        return len(self.arrays.tokens) - 1

    def _first(self, nodes: Ints) -> Ints:
        return self._starts.at(nodes)

    def _tokens(self, edges: Ints) -> NDArray[Any]:
        return self.arrays.tokens.take(edges)

    def _targets(self, edges: Ints) -> Ints:
        return edges + 1
