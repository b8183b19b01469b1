"""Beam search over the names of a trie (GenBioEL, 2.1).

A name is worth the sum of its tokens' log-probabilities over the whole vocabulary. Such sums only fall, so that a
search may end when no unfinished name of a mention can beat its finished ones. A step is a fixed number of operations
on tables of fixed shapes for all mentions and beams of a batch, and nothing of it is awaited. Which mentions have ended
is asked every few steps, and the others go on alone once enough have: the longest names of a batch take many times the
steps of most. With graphs, whose shapes are fixed, they go on together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nomina.errors import UsageError
from nomina.generation.device import DeviceTrie, Marked
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
        most: tokens of a name at most, its end included; longer ones are not found.
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
    most: int = 64
    length_penalty: float = 0.0
    renormalise: bool = False
    certain: int | None = None
    narrow: bool = False

    def __post_init__(self) -> None:
        if min(self.beams, self.most) < 1 or self.length_penalty < 0:
            raise UsageError("beams and tokens are 1 or more, the length penalty 0 or more")
        if self.certain is not None and not 1 <= self.certain <= self.beams:
            raise UsageError(f"certain is from 1 to the number of beams, {self.beams}")


def fitting(search: Search, generator: Generator, batch: Batch) -> Search:
    """A search whose longest name fits the decoder's positions behind the batch's prefixes."""
    return replace(search, most=max(1, min(search.most, generator.longest - batch.prefixes.shape[1])))


class _State(NamedTuple):
    """A search between two steps: unfinished names by score, (n, beams), and the table of finished ones."""

    nodes: Tensor
    scores: Tensor
    found: Found


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
        search: how.
        within: see ``DeviceTrie.marked``.
        starts: (n,) node at which each mention starts, -1 for none: behind a forced start that the batch's prefixes
            hold too, or of ``Trie.of_rows``. The root where None.
    """
    search, n = search or Search(), len(batch.ids)
    places = np.full(n, trie.root) if starts is None else np.asarray(starts)
    widths = _widths(trie, places, search)
    state = _start(places, search.beams, trie.device)
    if not widths or not n:
        return state.found
    with torch.inference_mode():
        memory = generator.encode(batch.ids, batch.mask)
        decoding = generator.decoding(memory, batch.prefixes, batch.prefix_mask, search.beams, len(widths))
        return _all_steps(decoding, trie, state, search, widths, trie.marked(within, n))


def _all_steps(
    decoding: Decoding, trie: DeviceTrie, state: _State, search: Search, widths: Sequence[int], marked: Marked | None
) -> Found:
    every = 1 if trie.device.type == "cpu" else _EVERY
    found, left = state.found, torch.arange(len(state.nodes), device=trie.device)
    logits = decoding.logits[:, None]
    for step, width in enumerate(widths, start=1):
        state, tokens, parents = _step(trie, state, logits, search, width, step, marked)
        if step == len(widths):
            break
        if step % every == 0:
            over = _are_over(state, search, len(widths))
            share = float(over.float().mean())
            if share == 1:
                break
            if share >= _LEAVING and not decoding.fixed:
                found, (kept,) = _noted(found, left, state.found), torch.where(~over)
                state, marked = _only(state, kept), marked and Marked(marked.nodes, marked.which[kept])
                left, tokens, parents = left[kept], tokens[kept], parents[kept]
                decoding.keep(kept)
        decoding.reorder(parents)
        logits = decoding.step(tokens)
    return _noted(found, left, state.found)


def _noted(found: Found, mentions: Tensor, new: Found) -> Found:
    """The tables of all mentions, those of some brought up to date."""
    return Found(*(old.index_copy(0, mentions, part) for old, part in zip(found, new, strict=True)))


def _only(state: _State, mentions: Tensor) -> _State:
    return _State(state.nodes[mentions], state.scores[mentions], Found(*(part[mentions] for part in state.found)))


def _widths(trie: DeviceTrie, starts: Ints, search: Search) -> list[int]:
    """How wide the table of children is in each step."""
    depths = np.unique(trie.depths(starts[starts != NO_NODE]))
    found = [max(part, default=0) for part in zip(*(_padded(trie.widths[d:], trie.depth) for d in depths), strict=True)]
    steps = min(search.most, sum(width > 0 for width in found))
    # Twice as many continuations as beams are asked for; the first step has one beam only.
    return [max(width, 2 * search.beams if step == 0 else 2) for step, width in enumerate(found[:steps])]


def _padded(widths: Sequence[int], to: int) -> list[int]:
    return [*widths, *[0] * (to - len(widths))]


def _start(places: Ints, beams: int, device: torch.device) -> _State:
    n = len(places)
    nodes = torch.from_numpy(places.astype(np.int64)).to(device)[:, None]
    scores = torch.zeros((n, 1), device=device)
    empty = torch.full((n, beams), NO_NODE, device=device)
    return _State(nodes, scores, Found(empty, torch.full((n, beams), -torch.inf, device=device), empty.clamp(min=0)))


def _step(
    trie: DeviceTrie, state: _State, logits: Tensor, search: Search, width: int, step: int, marked: Marked | None
) -> tuple[_State, Tensor, Tensor]:
    """One more token: the state, the tokens of its unfinished names, and which of the last ones each continues."""
    edges, sums = _continuations(trie, state, logits, search, width, marked)
    scores, places = sums.topk(2 * search.beams)
    chosen = edges.gather(1, places)
    nodes = trie.targets(chosen)
    ended = trie.are_leaves(nodes)
    found = _kept(state.found, nodes, torch.where(ended, scores, -torch.inf), search, step)
    live, best = torch.where(ended, -torch.inf, scores).topk(search.beams)
    # What ran out goes on as no node, whose score stays -inf, so that shapes need not change.
    following = torch.where(live > -torch.inf, nodes.gather(1, best), NO_NODE)
    parents = places.gather(1, best) // width
    return _State(following, live, found), trie.tokens(chosen.gather(1, best)), parents


def _continuations(
    trie: DeviceTrie, state: _State, logits: Tensor, search: Search, width: int, marked: Marked | None
) -> tuple[Tensor, Tensor]:
    """All edges that may follow, and their sums: (n, beams * width); -inf where there is none."""
    edges, there = trie.children(state.nodes, width, marked)
    tokens = trie.tokens(edges)
    steps = logits.gather(-1, tokens)
    if search.renormalise:
        steps = torch.where(there, steps, -torch.inf).log_softmax(-1)
    else:
        steps = steps - logits.logsumexp(-1, keepdim=True)
    sums = torch.where(there, state.scores[..., None] + steps, -torch.inf)
    return edges.flatten(1), sums.flatten(1)


def _kept(found: Found, nodes: Tensor, scores: Tensor, search: Search, step: int) -> Found:
    """The best of what had ended before and what ends now."""
    if search.narrow:
        nodes, scores = nodes[:, : search.beams], scores[:, : search.beams]
    best, places = torch.cat([found.scores, scores / step**search.length_penalty], 1).topk(search.beams)
    nodes = torch.cat([found.nodes, nodes], 1).gather(1, places)
    lengths = torch.cat([found.lengths, torch.full_like(scores, step, dtype=torch.int64)], 1).gather(1, places)
    there = best > -torch.inf
    return Found(torch.where(there, nodes, NO_NODE), best, torch.where(there, lengths, 0))


def _are_over(state: _State, search: Search, steps: int) -> Tensor:
    """Whether no unfinished name of a mention can come among the best of its table any more, (n,)."""
    reachable = state.scores[:, 0] / steps**search.length_penalty
    over: Tensor = reachable <= state.found.scores[:, (search.certain or search.beams) - 1]
    return over
