"""The names that a generator ranks highest for mentions, with their probabilities, and of which kind a pair is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.generation.device import DeviceTrie
from nomina.generation.generator import Generator
from nomina.generation.prompt import Prompted
from nomina.generation.search import Search, beam_search, fitting
from nomina.generation.trie import FlatTrie
from nomina.linkers.base import NO_ROW
from nomina.linkers.generative import batch_of, evaluating
from nomina.training.examples import Ints
from nomina.training.preference.mining import Mentions
from nomina.training.preference.pairs import Pairs

KINDS = ("preserve", "lower", "repair")
"""The first name is right, and is chosen over the first wrong one; it is right, and a lower right one is chosen over
wrong ones above; it is wrong, and a right one is chosen over it or others above."""
BATCH = 32


class Ranking(NamedTuple):
    """The best names of n mentions, best first, as ``Ranked``; log p of each, (n, k), -inf where there is none."""

    rows: Ints
    right: NDArray[np.bool_]
    scores: NDArray[np.float64]


def ranking_of(
    generator: Generator, trie: FlatTrie, mentions: Mentions, rights: Sequence[frozenset[int]], search: Search
) -> Ranking:
    """Find the best names, as mining does, of each different mention once."""
    beams = search.beams
    tasks: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    place = [tasks.setdefault((tuple(one.source), tuple(one.prefix)), len(tasks)) for one in mentions.prompted]
    different = [Prompted(list(source), list(prefix)) for source, prefix in tasks]
    order = sorted(range(len(different)), key=lambda i: (len(different[i].source), len(different[i].prefix), i))
    nodes, sums = np.full((len(different), beams), -1), np.full((len(different), beams), -np.inf)
    device_trie = DeviceTrie(trie, generator.device, generator.vocabulary)
    with evaluating(generator):
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            batch = batch_of(generator, [different[i] for i in part])
            found = beam_search(generator, device_trie, batch, fitting(search, generator, batch))
            nodes[part], sums[part] = found.nodes.cpu().numpy(), found.scores.cpu().numpy()
    rows, offsets = trie.rows_of(nodes.ravel())
    spelt = [rows[start:stop].tolist() for start, stop in pairwise(offsets.tolist())]
    made = Ranking(
        np.full((len(place), beams), NO_ROW),
        np.zeros((len(place), beams), np.bool_),
        np.full((len(place), beams), -np.inf),
    )
    for number, task in enumerate(place):
        for column, owned in enumerate(spelt[task * beams : (task + 1) * beams]):
            if owned:
                right = [row for row in owned if row in rights[number]]
                made.rows[number, column] = (right or owned)[0]
                made.right[number, column] = bool(right)
                made.scores[number, column] = sums[task, column]
    return made


def standing(ranking: Ranking) -> Ints:
    """The place of the first right name of each mention, from 0; -1 where none is right."""
    found: Ints = np.where(ranking.right.any(1), ranking.right.argmax(1), -1)
    return found


def kinds_of(ranking: Ranking, pairs: Pairs) -> Ints:
    """Of which of ``KINDS`` each pair is."""
    first = ranking.right[pairs.mention, 0]
    found: Ints = np.where(first, np.where(ranking.rows[pairs.mention, 0] == pairs.chosen, 0, 1), 2)
    return found


def scores_of(ranking: Ranking, pairs: Pairs) -> NDArray[np.float64]:
    """How likely the chosen and the rejected name of each pair are, log p, (n, 2)."""
    own = ranking.rows[pairs.mention]
    columns = [(own == rows[:, None]).argmax(1) for rows in (pairs.chosen, pairs.rejected)]
    found: NDArray[np.float64] = np.stack([ranking.scores[pairs.mention, column] for column in columns], 1)
    return found


def mass(before: Ranking, after: Ranking, top: int = 5) -> dict[str, float]:
    """The mean probability, after, of the names that stood first before, and of others that are found.

    Returns:
        "right" and "wrong": of the ``top`` names before, as far as they are still found; "other": of the other names
        that are found; "rest": of what is left, names further down and what is no name.
    """
    parts = np.zeros((len(before.rows), 3))
    for number, (old, names) in enumerate(zip(before.rows[:, :top].tolist(), after.rows.tolist(), strict=True)):
        for column, row in enumerate(names):
            if row != NO_ROW:
                kind = 2 if row not in old else 1 - int(after.right[number, column])
                parts[number, kind] += np.exp(after.scores[number, column])
    found = dict(zip(("right", "wrong", "other"), parts.mean(0).round(4).tolist(), strict=True))
    return {**found, "rest": round(1 - sum(found.values()), 4)}
