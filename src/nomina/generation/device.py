"""A trie as tensors: what may follow many nodes at once, in a fixed number of operations whatever the nodes are.

All beams of a search are equally deep in the trie, and nodes deep in it have few children: of 756,180 names of MeSH
10,467 behind the root, at most 572 behind a token or more, at most 57 from the eighth token on. So the children of
nodes are gathered as tables as wide as the widest node of their depth: shapes that are known before the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nomina.errors import UsageError
from nomina.generation.grown import GrownTrie
from nomina.generation.starts import Ints
from nomina.generation.trie import FlatTrie, Trie, Within


class Marked(NamedTuple):
    """Restrictions of n mentions on the device.

    Attributes:
        nodes: bool, (m, nodes of the trie): which nodes lead to an allowed row, for m different restrictions.
        which: int64, (n, 1, 1): the restriction of each mention.
    """

    nodes: Tensor
    which: Tensor


class DeviceTrie:
    """The edges of a trie on a device: 8 bytes a node. Look-ups keep to the shape of their arguments.

    Args:
        trie: what is copied.
        device: where to.
        vocabulary: how many tokens the decoder scores.

    Attributes:
        root: where a name starts.
        size: how many nodes.
        widths: the most children of a node at each depth, from the root down.
        never: the score of what cannot be, -inf, on the device.

    Raises:
        UsageError: the trie holds tokens that the decoder does not score.
    """

    def __init__(self, trie: FlatTrie | GrownTrie, device: torch.device | str, vocabulary: int) -> None:
        edges = trie.edges()
        if edges.tokens.max(initial=0) >= vocabulary:
            raise UsageError(f"the trie has tokens above the {vocabulary} of the decoder: make it with its tokenizer")
        self.device = torch.device(device)
        self.root, self.size, self._plain = edges.root, trie.size, edges.plain
        self._levels = _levels(trie)
        self.widths = _widths(edges.first, self._levels)
        # One more node without edges behind the last one: -1 counts from the end.
        first = np.append(edges.first, edges.first[-1])
        self._first, self._tokens, self._targets = (
            torch.from_numpy(part).to(device) for part in (first, edges.tokens, edges.targets)
        )
        self._spans = self._first.unfold(0, 2, 1)
        self._columns = torch.arange(0, device=device)
        self.never = torch.tensor(-torch.inf, device=device)
        self._last: tuple[Within, Tensor] | None = None
        self.alive = None if trie.alive is None else torch.from_numpy(trie.alive.nodes).to(device)

    @property
    def bytes(self) -> int:
        """Memory of the edges."""
        return sum(part.nbytes for part in (self._first, self._tokens, self._targets))

    @property
    def depth(self) -> int:
        """Tokens of the longest name, its end included."""
        return len(self.widths)

    def depths(self, nodes: Ints) -> Ints:
        """Edges between each node, none of them -1, and the root."""
        found = np.zeros(len(nodes), np.int64)
        for levels in self._levels:
            found = np.where(nodes >= levels[0], np.searchsorted(levels, nodes, "right") - 1, found)
        return found

    def marked(self, within: Within | Sequence[Within | None] | None, n: int) -> Marked | None:
        """A restriction of all n mentions, or one (or none) of each; rows that are retired are out of all.

        Restrictions of a sequence are told apart by identity: pass the same object for the same one.
        """
        given = [within] * n if within is None or isinstance(within, Within) else list(within)
        numbers: dict[int, int] = {}
        parts: list[Tensor] = []
        for each in given:
            if id(each) not in numbers:
                numbers[id(each)] = len(parts)
                parts.append(self._mark(each))
        if n == 0 or (self.alive is None and not any(given)):
            return None
        which = torch.tensor([numbers[id(each)] for each in given], device=self.device)
        return Marked(parts[0][None] if len(parts) == 1 else torch.stack(parts), which[:, None, None])

    def joined(self, marked: Sequence[Marked | None], counts: Sequence[int]) -> Marked | None:
        """The restrictions of several batches of mentions, ``counts`` of each; what no mention has any more is dropped.

        Restrictions that share their memory, as one of all batches does, stay one.
        """
        if all(each is None for each in marked):
            return None
        tables: dict[int, tuple[int, Tensor]] = {}
        which, size = [], 0
        for each, count in zip(marked, counts, strict=True):
            nodes = self._mark(None)[None] if each is None else each.nodes
            numbers = torch.zeros((count, 1, 1), dtype=torch.int64, device=self.device) if each is None else each.which
            if len(nodes) > 1:
                used, numbers = torch.unique(numbers, return_inverse=True)
                nodes = nodes[used]
            place, _ = tables.setdefault(0 if each is None else nodes.data_ptr(), (size, nodes))
            size = max(size, place + len(nodes))
            which.append(numbers + place)
        (_, first), *more = tables.values()
        return Marked(torch.cat([first, *(nodes for _, nodes in more)]) if more else first, torch.cat(which))

    def children(self, nodes: Tensor, width: int, marked: Marked | None = None) -> tuple[Tensor, Tensor]:
        """The edges of nodes.

        Args:
            nodes: int64, (n, b); -1 has none.
            width: no node may have more; it may be above what any has.
            marked: the restrictions of the n mentions.

        Returns:
            Edges, int64 (n, b, width), any number where there is none; and where there is one, bool.
        """
        if width > len(self._columns):
            self._columns = torch.arange(width, device=self.device)
        start, stop = self._spans[nodes][..., None, :].unbind(-1)
        edges = start + self._columns[:width]
        there = edges < stop
        edges.clamp_(max=len(self._tokens) - 1)
        return edges, there if marked is None else there & marked.nodes[marked.which, self.targets(edges)]

    def tokens(self, edges: Tensor) -> Tensor:
        """Their tokens, int64."""
        return self._tokens[edges].long()

    def targets(self, edges: Tensor) -> Tensor:
        """The nodes that they lead to, int64."""
        if not len(self._targets):
            return edges + 1
        added = self._targets[(edges - self._plain).clamp(min=0)].long()
        return torch.where(edges < self._plain, edges + 1, added)

    def are_leaves(self, nodes: Tensor) -> Tensor:
        """Which nodes, none of them -1, are the end of a name."""
        start, stop = self._spans[nodes].unbind(-1)
        return start == stop

    def _mark(self, within: Within | None) -> Tensor:
        if within is not None:
            if self._last is None or self._last[0] is not within:
                self._last = within, torch.from_numpy(within.nodes).to(self.device)
            return self._last[1]
        return torch.ones(self.size, dtype=torch.bool, device=self.device) if self.alive is None else self.alive


def _levels(trie: Trie) -> list[Ints]:
    """First nodes of each depth: of a trie as it was built, and of what was added to it behind its nodes."""
    if isinstance(trie, GrownTrie):
        return [trie.main.arrays.levels, trie.delta.arrays.levels + trie.main.size]
    assert isinstance(trie, FlatTrie)
    return [trie.arrays.levels]


def _widths(first: Ints, levels: Sequence[Ints]) -> tuple[int, ...]:
    """The most children of a node of each depth; leaves beneath the last one have none."""
    counts = np.diff(first)
    found = [0] * max(map(len, levels))
    for each in levels:
        for depth, (start, stop) in enumerate(zip(each[:-1].tolist(), each[1:].tolist(), strict=True)):
            found[depth] = max(found[depth], int(counts[start:stop].max(initial=0)))
    while found and not found[-1]:
        found.pop()
    return tuple(found)
