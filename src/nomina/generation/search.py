"""Beam search over the names of a trie (GenBioEL, 2.1).

A name is worth the sum of its tokens' log-probabilities over the whole vocabulary. Such sums only fall, so that a
search may end when no unfinished name of a mention can beat its finished ones. A step is a fixed number of operations
on tables of fixed shapes for all mentions and beams of a batch, and nothing of it is awaited. Which mentions have ended
is asked every few steps, and the others go on alone once enough have: the longest names of a batch take many times the
steps of most. With graphs, whose shapes are fixed, they go on together. What is left of several batches can go on
together as well (``pool.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nomina.errors import UsageError
from nomina.generation.device import DeviceTrie, Marked
from nomina.generation.probabilities import log_probabilities
from nomina.generation.starts import Ints
from nomina.generation.trie import NO_NODE, Within

if TYPE_CHECKING:
    from nomina.generation.generator import Decoding, Generator

_EVERY = 4  # steps on a GPU, which is waited for then
_LEAVING = 0.25  # share of mentions whose search is over that is worth copying the others


class Batch(NamedTuple):
    """What the generator reads of n mentions, on its device.

    Attributes:
        ids: int64, (n, s): tokens of the sources, padded on the right.
        mask: bool, (n, s): which of them are there.
        prefixes: int64, (n, p): what the decoder starts with, padded on the left.
        prefix_mask: bool, (n, p).
    """

    ids: Tensor
    mask: Tensor
    prefixes: Tensor
    prefix_mask: Tensor


class Asked(NamedTuple):
    """A batch with its restrictions and starts, see ``beam_search``."""

    batch: Batch
    within: Within | Sequence[Within | None] | None = None
    starts: Ints | None = None


class Found(NamedTuple):
    """The best names of n mentions, best first.

    Attributes:
        nodes: int64, (n, beams): leaves of the trie; -1 where there are fewer.
        scores: float32, (n, beams): the sums, divided by length ** length_penalty; -inf where there are fewer.
        lengths: int64, (n, beams): tokens of the name, its end included.
    """

    nodes: Tensor
    scores: Tensor
    lengths: Tensor


@dataclass(frozen=True, slots=True)
class Search:
    """How names are looked for.

    Attributes:
        beams: unfinished names that are followed for a mention, and finished ones that are kept.
        most: tokens of a name at most, its end included; longer ones are not found. None: those of the trie's longest
            name.
        length_penalty: names are compared by their sum divided by their length to this power. Above 0 longer names may
            gain, and a search ends later.
        renormalise: probabilities are those among the tokens that the trie allows.
        certain: how many of a mention's best names must be beyond change before its search may end; all where None.
        narrow: an ending counts if it is one of the ``beams`` best continuations, as in ``generate`` of transformers;
            else if it is one of twice as many.

    Raises:
        UsageError: a value that cannot be.
    """

    beams: int = 5
    most: int | None = None
    length_penalty: float = 0.0
    renormalise: bool = False
    certain: int | None = None
    narrow: bool = False

    def __post_init__(self) -> None:
        if min(self.beams, 1 if self.most is None else self.most) < 1 or self.length_penalty < 0:
            raise UsageError("beams and tokens are 1 or more, the length penalty 0 or more")
        if self.certain is not None and not 1 <= self.certain <= self.beams:
            raise UsageError(f"certain is from 1 to the number of beams, {self.beams}")


def room(generator: Generator, batch: Batch) -> int:
    """Tokens of a name, its end included, that fit the decoder's positions behind the batch's prefixes."""
    return generator.longest - batch.prefixes.shape[1]


def fitting(search: Search, generator: Generator, batch: Batch) -> Search:
    """A search whose longest name fits the decoder's positions behind the batch's prefixes."""
    longest = room(generator, batch)
    return replace(search, most=max(1, longest if search.most is None else min(search.most, longest)))


class State(NamedTuple):
    """A search between two steps: unfinished names by score, (n, beams), and the table of finished ones.

    Where a score is -inf any node stands.
    """

    nodes: Tensor
    scores: Tensor
    found: Found


@dataclass(slots=True)
class Run:
    """Mentions whose search goes on side by side.

    Attributes:
        trie: what may be written.
        decoding: their beams.
        search: how names are looked for.
        widths: how wide the table of children is in each step.
        marked: their restrictions.
        numbers: int64, (n,): their places among all that are asked for.
        state: their names.
        ended: takes the numbers and names of those whose search is over.
        step: steps that are made.
        following: tokens of the unfinished names that the decoder has not read, and the beams they continue.
    """

    trie: DeviceTrie
    decoding: Decoding
    search: Search
    widths: list[int]
    marked: Marked | None
    numbers: Tensor
    state: State
    ended: list[tuple[Tensor, Found]]
    step: int = 0
    following: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def go_on(self, pauses: Collection[int] = (), few: int = 0) -> bool:
        """Search to the end, or until after one of the steps ``pauses`` no more than ``few`` mentions are left.

        Returns:
            Whether there are such, which nothing but they are left of; never where the decoding is ``fixed``.
        """
        every = 1 if self.trie.device.type == "cpu" else _EVERY
        while self.step < len(self.widths):
            self._advance()
            pausing = self.step in pauses
            if self.step == len(self.widths) or (self.step % every and not pausing):
                continue
            over = _are_over(self.state, self.search, len(self.widths))
            left = len(self) - int(over.sum())
            if not left:
                break
            if self.decoding.fixed:
                continue
            pausing = pausing and left <= few
            if left < len(self) and (pausing or left <= (1 - _LEAVING) * len(self)):
                self._part(over)
            if pausing:
                return True
        self.ended.append((self.numbers, self.state.found))
        return False

    def _advance(self) -> None:
        if self.following is None:
            logits = self.decoding.logits[:, None]
        else:
            tokens, parents = self.following
            self.decoding.reorder(parents)
            logits = self.decoding.step(tokens)
        width, self.step = self.widths[self.step], self.step + 1
        self.state, *following = _step(self.trie, self.state, logits, self.search, width, self.step, self.marked)
        self.following = following[0], following[1]

    def _part(self, over: Tensor) -> None:
        """Mentions whose search is over leave."""
        (gone,), (kept,) = torch.where(over), torch.where(~over)
        self.ended.append((self.numbers[gone], Found(*(part[gone] for part in self.state.found))))
        nodes, scores, found = self.state
        self.state = State(nodes[kept], scores[kept], Found(*(part[kept] for part in found)))
        self.marked = self.marked and Marked(self.marked.nodes, self.marked.which[kept])
        self.numbers = self.numbers[kept]
        if self.following is not None:
            self.following = self.following[0][kept], self.following[1][kept]
        self.decoding.keep(kept)

    def join(self, others: Sequence[Run]) -> None:
        """The mentions of others go on behind one's own; all are of one search and have made one step or more."""
        runs = [self, *others]
        self.marked = self.trie.joined([run.marked for run in runs], [len(run) for run in runs])
        self.widths = [max(part) for part in zip_longest(*(run.widths for run in runs), fillvalue=0)]
        self.numbers = torch.cat([run.numbers for run in runs])
        nodes, scores, found = zip(*(run.state for run in runs), strict=True)
        self.state = State(torch.cat(nodes), torch.cat(scores), _together(found))
        tokens, parents = zip(*(run.following for run in runs if run.following), strict=True)
        self.following = torch.cat(tokens), torch.cat(parents)
        self.decoding.join([run.decoding for run in others])


def beam_search(
    generator: Generator,
    trie: DeviceTrie,
    batch: Batch,
    search: Search | None = None,
    within: Within | Sequence[Within | None] | None = None,
    starts: Ints | None = None,
) -> Found:
    """The best names of each mention. A mention for which nothing is allowed has none.

    Args:
        generator: what scores tokens.
        trie: what may be written.
        batch: the mentions.
        search: how; names that do not fit the decoder behind the batch's prefixes are not found (``fitting``).
        within: see ``DeviceTrie.marked``.
        starts: (n,) node at which each mention starts, -1 for none: behind a forced start that the batch's prefixes
            hold too, or of ``Trie.of_rows``. The root where None.
    """
    ended: list[tuple[Tensor, Found]] = []
    with torch.inference_mode():
        run = begin(generator, trie, Asked(batch, within, starts), search or Search(), ended)
        if run is not None:
            run.go_on()
        (found,) = in_order(ended, [len(batch.ids)])
    return found


def begin(
    generator: Generator,
    trie: DeviceTrie,
    asked: Asked,
    search: Search,
    ended: list[tuple[Tensor, Found]],
    first: int = 0,
) -> Run | None:
    """A search before its first step, for mentions that are numbered from ``first`` on.

    Returns:
        None where there is nothing to look for, which is said to ``ended``.
    """
    batch, n = asked.batch, len(asked.batch.ids)
    # Searches of one trie are equal, as those have to be that go on together, unless its longest name does not fit.
    most = trie.depth if search.most is None else min(search.most, trie.depth)
    search = fitting(replace(search, most=max(1, most)), generator, batch)
    places = np.full(n, trie.root) if asked.starts is None else np.asarray(asked.starts)
    widths = _widths(trie, places, search)
    state = _start(places, search.beams, trie.device)
    numbers = torch.arange(first, first + n, device=trie.device)
    if not widths or not n:
        ended.append((numbers, state.found))
        return None
    memory = generator.encode(batch.ids, batch.mask)
    decoding = generator.decoding(memory, batch.prefixes, batch.prefix_mask, search.beams, len(widths))
    return Run(trie, decoding, search, widths, trie.marked(asked.within, n), numbers, state, ended)


def in_order(ended: Sequence[tuple[Tensor, Found]], sizes: Sequence[int]) -> Iterator[Found]:
    """The names of batches of given sizes, out of what ended in any order."""
    order = torch.cat([numbers for numbers, _ in ended]).argsort()
    nodes, scores, lengths = (part[order] for part in _together([found for _, found in ended]))
    there = scores > -torch.inf
    found = Found(torch.where(there, nodes, NO_NODE), scores, torch.where(there, lengths, 0))
    for parts in zip(*(torch.split(part, list(sizes)) for part in found), strict=True):
        yield Found(*parts)


def _together(found: Sequence[Found]) -> Found:
    return Found(*map(torch.cat, zip(*found, strict=True)))


def _widths(trie: DeviceTrie, starts: Ints, search: Search) -> list[int]:
    """How wide the table of children is in each step."""
    depths = np.unique(trie.depths(starts[starts != NO_NODE]))
    found = [max(part, default=0) for part in zip(*(_padded(trie.widths[d:], trie.depth) for d in depths), strict=True)]
    there = [width for width in found if width > 0][: search.most]
    # Twice as many continuations as beams are asked for; the first step has one beam only.
    return [max(width, 2 * search.beams if step == 0 else 2) for step, width in enumerate(there)]


def _padded(widths: Sequence[int], to: int) -> list[int]:
    return [*widths, *[0] * (to - len(widths))]


def _start(places: Ints, beams: int, device: torch.device) -> State:
    n = len(places)
    nodes = torch.from_numpy(places.astype(np.int64)).to(device)[:, None]
    scores = torch.zeros((n, 1), device=device)
    empty = torch.full((n, beams), NO_NODE, device=device)
    return State(nodes, scores, Found(empty, torch.full((n, beams), -torch.inf, device=device), empty.clamp(min=0)))


def _step(
    trie: DeviceTrie, state: State, logits: Tensor, search: Search, width: int, step: int, marked: Marked | None
) -> tuple[State, Tensor, Tensor]:
    """One more token: the state, the tokens of its unfinished names, and which of the last ones each continues."""
    edges, sums = _continuations(trie, state, logits, search, width, marked)
    scores, places = sums.topk(2 * search.beams)
    chosen = edges.gather(1, places)
    nodes = trie.targets(chosen)
    ended = trie.are_leaves(nodes)
    found = _kept(state.found, nodes, torch.where(ended, scores, trie.never), search, step)
    # What ran out goes on as any node, whose score stays -inf, so that shapes need not change.
    live, best = torch.where(ended, trie.never, scores).topk(search.beams)
    parents = places.gather(1, best) // width
    return State(nodes.gather(1, best), live, found), trie.tokens(chosen.gather(1, best)), parents


def _continuations(
    trie: DeviceTrie, state: State, logits: Tensor, search: Search, width: int, marked: Marked | None
) -> tuple[Tensor, Tensor]:
    """All edges that may follow, and their sums: (n, beams * width); -inf where there is none."""
    edges, there = trie.children(state.nodes, width, marked)
    tokens = trie.tokens(edges)
    if search.renormalise:
        steps = torch.where(there, logits.gather(-1, tokens), trie.never).log_softmax(-1)
    else:
        steps = log_probabilities(logits, tokens)
    sums = torch.where(there, state.scores[..., None] + steps, trie.never)
    return edges.flatten(1), sums.flatten(1)


def _kept(found: Found, nodes: Tensor, scores: Tensor, search: Search, step: int) -> Found:
    """The best of what had ended before and what ends now."""
    if search.narrow:
        nodes, scores = nodes[:, : search.beams], scores[:, : search.beams]
    if search.length_penalty:
        scores = scores / step**search.length_penalty
    best, places = torch.cat([found.scores, scores], 1).topk(search.beams)
    nodes = torch.cat([found.nodes, nodes], 1).gather(1, places)
    lengths = torch.cat([found.lengths, torch.full_like(scores, step, dtype=torch.int64)], 1).gather(1, places)
    return Found(nodes, best, lengths)


def _are_over(state: State, search: Search, steps: int) -> Tensor:
    """Whether no unfinished name of a mention can come among the best of its table any more, (n,)."""
    reachable = state.scores[:, 0] / steps**search.length_penalty
    over: Tensor = reachable <= state.found.scores[:, (search.certain or search.beams) - 1]
    return over
