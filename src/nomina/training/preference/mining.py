"""Pairs out of a model's own beams on the mentions that it was trained on, or on held-out ones (ANGEL 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nomina.generation.batches import batch_size
from nomina.generation.device import DeviceTrie
from nomina.generation.generator import Generator
from nomina.generation.grown import GrownTrie
from nomina.generation.prompt import Prompted
from nomina.generation.search import Search, beam_search, fitting
from nomina.generation.trie import FlatTrie, Within
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import NO_ROW
from nomina.linkers.generative import batch_of, evaluating
from nomina.linkers.postings import Postings
from nomina.linkers.tfidf import postings_of, search
from nomina.training.examples import Ints
from nomina.training.names import Concepts
from nomina.training.preference.pairs import PairOptions, Pairs, Ranked, select
from nomina.training.targets import TargetOptions, targets_of

Progress = Callable[[int, int], None]
"""Told how many different mentions are decoded, and of how many."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Mentions of a corpus.

    Attributes:
        prompted: the tokens of each.
        keys: the look-up key of each mention's text.
        gold: the concepts that are right for each, at least one with a name.
    """

    prompted: Sequence[Prompted]
    keys: Sequence[str]
    gold: Sequence[Ints]

    def take(self, numbers: Ints) -> Mentions:
        """Some of them."""
        chosen = numbers.tolist()
        return Mentions(*([part[i] for i in chosen] for part in (self.prompted, self.keys, self.gold)))


@dataclass(frozen=True, slots=True)
class MineOptions:
    """How names are ranked, and which pairs are made of them.

    Attributes:
        pairs: see there.
        beams: of the search; ``pairs.top`` where that is more.
        own: whether a mention's own name, the KB's name with its very key, is among what is ranked and chosen. A model
            is rarely wrong where a mention is a name of the KB, and learns little from being told so.
        batch: mentions at a time; by the device where None.
    """

    pairs: PairOptions = field(default_factory=PairOptions)
    beams: int = 5
    own: bool = True
    batch: int | None = None


def rights_of(concepts: Concepts, gold: Sequence[Ints]) -> list[frozenset[int]]:
    """For each mention the rows that one of its concepts owns."""
    first = np.searchsorted(concepts.concept, np.arange(len(concepts.ids) + 1)).tolist()
    known: dict[tuple[int, ...], frozenset[int]] = {}
    found = []
    for own in gold:
        key = tuple(own.tolist())
        if key not in known:
            parts = [concepts.row[first[c] : first[c + 1]] for c in key]
            known[key] = frozenset(row for part in parts for row in part.tolist())
        found.append(known[key])
    return found


def mine(
    generator: Generator,
    kb: KnowledgeBase,
    trie: FlatTrie | GrownTrie,
    concepts: Concepts,
    mentions: Mentions,
    options: MineOptions | None = None,
    progress: Progress | None = None,
    within: NDArray[np.bool_] | None = None,
) -> Pairs:
    """The pairs of mentions, by mention; the same ones from the same model, mentions and machine.

    Args:
        generator: what ranks, without dropout; it is left as it was.
        kb: whose names may be written.
        trie: of the KB's names as the generator writes them.
        concepts: who has which name of the KB.
        mentions: see there.
        options: see there.
        progress: told how far it is.
        within: (rows of the KB,) those that may be ranked and chosen; all where None. See ``unseen``.

    Raises:
        RecipeError: a mention's concepts have no name, and one is to be chosen.
    """
    options = options or MineOptions()
    rights = rights_of(concepts, mentions.gold)
    own = _own_rows(kb, mentions, options)
    ranked = _ranked(generator, trie, mentions, rights, own, options, progress, within)
    synonyms = similar = None
    if options.pairs.missing == "synonym":
        synonyms = _synonyms(concepts, mentions, own, within)
    if options.pairs.negatives == "tfidf":
        named = np.zeros(len(kb.names), np.bool_)
        named[concepts.row] = True if within is None else within[concepts.row]
        similar = similar_wrong(postings_of(kb), named, mentions.keys, rights, own, options.pairs.top)
    return select(ranked, options.pairs, synonyms, similar)


def unseen(kb: KnowledgeBase, keys: Sequence[str]) -> NDArray[np.bool_]:
    """The rows of a KB that are the text of no mention, given the mentions' look-up keys: (rows,).

    A dictionary that holds the training mentions makes a model that has learnt nothing but them look good.
    """
    found = np.ones(len(kb.names), np.bool_)
    found[[row for key in dict.fromkeys(keys) if (row := kb.row(key)) is not None]] = False
    return found


def similar_wrong(
    postings: Postings,
    within: NDArray[np.bool_],
    keys: Sequence[str],
    rights: Sequence[frozenset[int]],
    own: Ints,
    top: int,
) -> list[Ints]:
    """For each mention the ``top`` rows most similar to its text that are not right for it, nor its own row.

    Args:
        postings: of all names.
        within: (rows of the KB,) those that may be taken.
        keys: of the mentions.
        rights: the rows that are right for each.
        own: (n,) a row that is not taken either, or ``NO_ROW``.
        top: how many.
    """
    distinct = list(dict.fromkeys(keys))
    wanted = top + 1 + max(map(len, rights), default=0)
    near = dict(zip(distinct, (hits.rows for hits in search(postings, distinct, wanted, within)), strict=True))
    found = []
    for key, right, row in zip(keys, rights, own.tolist(), strict=True):
        wrong = [other for other in near[key].tolist() if other not in right and other != row]
        found.append(np.array(wrong[:top], np.int64))
    return found


def _own_rows(kb: KnowledgeBase, mentions: Mentions, options: MineOptions) -> Ints:
    """The row with each mention's key, where that may not be found; else ``NO_ROW``."""
    if options.own:
        return np.full(len(mentions.keys), NO_ROW)
    known = {key: kb.row(key) for key in dict.fromkeys(mentions.keys)}
    return np.array([NO_ROW if known[key] is None else known[key] for key in mentions.keys], np.int64)


def _synonyms(concepts: Concepts, mentions: Mentions, own: Ints, within: NDArray[np.bool_] | None) -> Ints:
    """The most similar right row of each mention but for its own; ``NO_ROW`` where there is no other."""
    ordered = targets_of(mentions.keys, mentions.gold, concepts, TargetOptions(top=len(concepts.texts)))
    found = []
    for rows, mine in zip(ordered, own.tolist(), strict=True):
        allowed = rows if within is None else rows[within[rows]]
        found.append(next((row for row in allowed.tolist() if row != mine), NO_ROW))
    return np.array(found, np.int64)


def _ranked(
    generator: Generator,
    trie: FlatTrie | GrownTrie,
    mentions: Mentions,
    rights: Sequence[frozenset[int]],
    own: Ints,
    options: MineOptions,
    progress: Progress | None,
    within: NDArray[np.bool_] | None,
) -> Ranked:
    """What the model ranks highest, own names left out."""
    top = options.pairs.top
    # One more name is looked for where one may be taken away.
    beams = max(options.beams, top) + (not options.own)
    allowed = None if within is None else trie.within(within)
    nodes, place = _decoded(generator, trie, mentions.prompted, beams, options.batch, progress, allowed)
    rows, offsets = trie.rows_of(nodes.ravel(), allowed)
    ranked = Ranked(np.full((len(place), top), NO_ROW), np.zeros((len(place), top), np.bool_))
    for number, task in enumerate(place.tolist()):
        bounds = offsets[task * beams : (task + 1) * beams + 1].tolist()
        spellings = [rows[start:stop].tolist() for start, stop in pairwise(bounds)]
        kept = [spelt for spelt in spellings if spelt and own[number] not in spelt][:top]
        for column, spelt in enumerate(kept):
            right = [row for row in spelt if row in rights[number]]
            ranked.rows[number, column] = (right or spelt)[0]
            ranked.right[number, column] = bool(right)
    return ranked


def _decoded(
    generator: Generator,
    trie: FlatTrie | GrownTrie,
    prompted: Sequence[Prompted],
    beams: int,
    size: int | None,
    progress: Progress | None,
    within: Within | None,
) -> tuple[Ints, Ints]:
    """The best leaves of each different mention, (m, beams), and which of these each mention is, (n,)."""
    tasks: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    place = [tasks.setdefault((tuple(one.source), tuple(one.prefix)), len(tasks)) for one in prompted]
    different = [Prompted(list(source), list(prefix)) for source, prefix in tasks]
    order = sorted(range(len(different)), key=lambda i: (len(different[i].source), len(different[i].prefix), i))
    size = size or batch_size(generator, beams)
    nodes = np.full((len(different), beams), -1)
    device_trie = DeviceTrie(trie, generator.device, generator.vocabulary)
    with evaluating(generator):
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            batch = batch_of(generator, [different[i] for i in chosen])
            search_ = fitting(Search(beams), generator, batch)
            nodes[chosen] = beam_search(generator, device_trie, batch, search_, within).nodes.cpu().numpy()
            if progress:
                progress(start + len(chosen), len(order))
    return nodes, np.array(place, np.int64)
