"""Groups of mentions that systems find easy or hard, as masks over the items of an evaluation.

The seven sub-populations are those of GenBioEL, table 8; the similarity bins those of its figure 2 and of ANGEL's
figures 4, B and C. What a group means exactly, and how its counts compare with the papers', is in docs/statistics.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.abbreviations import definitions
from nomina.evaluation.match import Item
from nomina.evaluation.similarity import cosines
from nomina.kb.store import KnowledgeBase
from nomina.linkers.tfidf import postings_of
from nomina.text import normalise
from nomina.types import Document

TOP = 100
"""How many of the most frequent concepts of the training data make GenBioEL's "Top 100"."""
BINS = 5
"""Similarity bins of equal width from 0 to 1 (ANGEL, section 5.3)."""
LONGEST = 5
"""From so many words on, lengths are one stratum."""

NOT_IN_KB = "gold not in the KB"

_JOINED = re.compile(r"[|+]")
_SHAPE = re.compile(r"(?=(?:.*[A-Z]){2}|.*[A-Z].*\d|.*\d.*[A-Z])[A-Za-z0-9][A-Za-z0-9/-]{1,6}")

Mask = NDArray[np.bool_]
Named = Iterator[tuple[str, list[bool]]]


class Stratum(NamedTuple):
    """Some of the n items: ``mask`` bool (n,), true at least once. Strata of one group may overlap."""

    group: str
    name: str
    mask: Mask


def strata(
    items: Sequence[Item],
    kb: KnowledgeBase | None = None,
    train: Iterable[Item] | None = None,
    documents: Iterable[Document] = (),
) -> list[Stratum]:
    """The strata that have an item, group by group: what needs the KB or training data is left out without it.

    Args:
        items: What is evaluated. A composite mention has its parts joined by ``|`` in the text.
        kb: The KB that is linked to; ids of the items are its own.
        train: What a system was trained on, made of documents as the items were, with ids of the same form.
        documents: The items' documents, whose texts may define abbreviations; without them only the shape of a mention
            tells.
    """
    learnt = None if train is None else _Learnt(train)
    names = None if kb is None else _GoldNames(kb, items)
    groups: list[tuple[str, Named]] = [
        ("genbioel", _genbioel(items, learnt, names)),
        ("seen", _seen(items, learnt)),
        ("similarity", _similarity(items, names)),
        ("name", _homonyms(items, names)),
        ("form", _forms(items, documents)),
        ("length", _lengths(items)),
        ("type", _types(items)),
    ]
    found = [Stratum(group, name, np.array(bits, np.bool_)) for group, each in groups for name, bits in each]
    return [stratum for stratum in found if stratum.mask.any()]


class _Learnt:
    """Mentions, concepts and most frequent concepts of training data."""

    def __init__(self, train: Iterable[Item]) -> None:
        self.texts: set[str] = set()
        counts: Counter[str] = Counter()
        for item in train:
            self.texts.add(normalise(item.mention.text))
            counts.update(_ids(item))
        self.concepts = frozenset(counts)
        self.top = frozenset(sorted(counts, key=lambda id: (-counts[id], id))[:TOP])

    def saw_mention(self, item: Item) -> bool:
        return normalise(item.mention.text) in self.texts

    def saw_concept(self, item: Item) -> bool:
        """Whether every part has an id that was seen: all are needed for the answer."""
        return all(part & self.concepts for part in item.gold)


class _GoldNames:
    """For each of the items: whether its concepts have names, and how much its mention is like them."""

    def __init__(self, kb: KnowledgeBase, items: Sequence[Item]) -> None:
        self._kb = kb
        self._holders = _holders(kb, {id for item in items for id in _ids(item)})
        self._keys = lru_cache(maxsize=None)(self._read_keys)
        self._is_shared = lru_cache(maxsize=None)(self._read_is_shared)
        self.known = [bool(self._keys(_ids(item))) for item in items]
        asked = [_part_keys(item) if known else () for item, known in zip(items, self.known, strict=True)]
        nearest = self._nearest({(key, _ids(item)) for item, keys in zip(items, asked, strict=True) for key in keys})
        found = [[nearest[key, _ids(item)] for key in keys] for item, keys in zip(items, asked, strict=True)]
        self.similarity = [min((near.similarity for near in each), default=0.0) for each in found]
        self.direct = [all(near.is_name for near in each) for each in found]
        self.homonym = [
            any(map(self._is_shared, [*_part_keys(item), *(near.name for near in each)]))
            for item, each in zip(items, found, strict=True)
        ]

    def _read_keys(self, ids: frozenset[str]) -> tuple[str, ...]:
        holders = [holder for id in ids for holder in self._holders.get(id, ())]
        return tuple(sorted({normalise(name.text) for holder in holders for name in self._kb[holder].names}))

    def _nearest(self, asked: set[tuple[str, frozenset[str]]]) -> dict[tuple[str, frozenset[str]], _Near]:
        """The most similar name for each key of a mention and ids; the first in the alphabet where several are."""
        texts: dict[str, int] = {}
        left: list[int] = []
        right: list[int] = []
        for key, ids in asked:
            names = self._keys(ids)
            left += [texts.setdefault(key, len(texts))] * len(names)
            right += [texts.setdefault(name, len(texts)) for name in names]
        similar = cosines(postings_of(self._kb), list(texts), np.array(left, np.int64), np.array(right, np.int64))
        found, at = {}, 0
        for key, ids in asked:
            names = self._keys(ids)
            best = int(similar[at : at + len(names)].argmax())
            found[key, ids] = _Near(names[best], float(similar[at + best]), key in names)
            at += len(names)
        return found

    def _read_is_shared(self, key: str) -> bool:
        row = self._kb.row(key)
        return row is not None and len(self._kb.owners(row)) > 1


class _Near(NamedTuple):
    """The gold name most similar to a mention, how similar, and whether the mention is itself a gold name."""

    name: str
    similarity: float
    is_name: bool


def _part_keys(item: Item) -> tuple[str, ...]:
    return tuple(map(normalise, item.mention.text.split("|")))


def _ids(item: Item) -> frozenset[str]:
    return frozenset[str]().union(*item.gold)


def _holders(kb: KnowledgeBase, ids: set[str]) -> dict[str, list[str]]:
    """The concepts that have these ids: themselves, and those whose id joins several by | or + (BioSyn's rows)."""
    found = {id: [id] for id in ids if id in kb}
    for joined in (id for id in kb if _JOINED.search(id)):
        for id in ids.intersection(_JOINED.split(joined)):
            found.setdefault(id, []).append(joined)
    return found


def _genbioel(items: Sequence[Item], learnt: _Learnt | None, names: _GoldNames | None) -> Named:
    """GenBioEL's seven; mentions without a concept are in the first three only."""
    yield "overall", [True] * len(items)
    yield "single word", [_words(item) == 1 for item in items]
    yield "multi-word", [_words(item) > 1 for item in items]
    if learnt:
        yield "unseen mention", [not learnt.saw_mention(item) for item in items]
        yield "unseen concept", [not learnt.saw_concept(item) for item in items]
    if names:
        yield (
            "not direct match",
            [bool(item.gold) and not (k and d) for item, k, d in zip(items, names.known, names.direct, strict=True)],
        )
    if learnt:
        yield "top 100 concepts", [not learnt.top.isdisjoint(_ids(item)) for item in items]


def _seen(items: Sequence[Item], learnt: _Learnt | None) -> Named:
    """A partition of the mentions that have a concept."""
    if not learnt:
        return
    concept = [bool(item.gold) and learnt.saw_concept(item) for item in items]
    mention = [learnt.saw_mention(item) for item in items]
    yield "seen mention", [c and m for c, m in zip(concept, mention, strict=True)]
    yield "seen concept, new mention", [c and not m for c, m in zip(concept, mention, strict=True)]
    yield "unseen concept", [not learnt.saw_concept(item) for item in items]


def _similarity(items: Sequence[Item], names: _GoldNames | None) -> Named:
    """A partition of the mentions that have a concept."""
    if not names:
        return
    yield NOT_IN_KB, [bool(item.gold) and not known for item, known in zip(items, names.known, strict=True)]
    bins = [min(int(similarity * BINS), BINS - 1) for similarity in names.similarity]
    for number in range(BINS):
        name = f"{number / BINS:.1f}-{(number + 1) / BINS:.1f}"
        yield name, [known and at == number for known, at in zip(names.known, bins, strict=True)]


def _homonyms(items: Sequence[Item], names: _GoldNames | None) -> Named:
    if names:
        yield "homonym", names.homonym


def _forms(items: Sequence[Item], documents: Iterable[Document]) -> Named:
    short = {document.id: {each.short for each in definitions(document.text)} for document in documents}
    yield "abbreviation", [_is_short(item.mention.text, short.get(item.document_id, set())) for item in items]
    yield "composite", [len(item.gold) > 1 or "|" in item.mention.text for item in items]
    yield "discontinuous", [len(item.mention.spans) > 1 for item in items]


def _is_short(text: str, defined: set[str]) -> bool:
    return text in defined or _SHAPE.fullmatch(text) is not None


def _lengths(items: Sequence[Item]) -> Named:
    lengths = [min(_words(item), LONGEST) for item in items]
    for number in range(1, LONGEST + 1):
        name = "1 word" if number == 1 else f"{number} words" if number < LONGEST else f"{number} words or more"
        yield name, [length == number for length in lengths]


def _words(item: Item) -> int:
    return len(item.mention.text.replace("|", " ").split())


def _types(items: Sequence[Item]) -> Named:
    for type in sorted({item.mention.type for item in items if item.mention.type is not None}):
        yield type, [item.mention.type == type for item in items]
