"""The mentions of a corpus as trainings take them, their gold as concepts of a KB. Needs no torch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from nomina.abbreviations import definitions
from nomina.evaluation.ids import IdMap
from nomina.kb.store import KnowledgeBase
from nomina.text import normalise
from nomina.training.examples import Ints
from nomina.types import Document, Mention


class Item(NamedTuple):
    """Texts at one place with one gold, concept numbers: each part is needed, any concept of a part will do."""

    texts: tuple[str, ...]
    gold: tuple[frozenset[int], ...]


def items(documents: Iterable[Document], kb: KnowledgeBase, ids: Iterable[str]) -> list[Item]:
    """What a corpus asks; mentions without gold or with NIL are left out, those that the KB lacks have empty parts.

    A mention that its text defines as an abbreviation is its long form, as in ``EmbeddingLinker``. Parts of a
    composite that stand at one place are one item.

    Args:
        documents: with mentions.
        kb: whose concepts are meant.
        ids: of its concepts, by number.
    """
    known = IdMap(kb, splits=True)
    numbers = numbers_of(known, ids)
    found = []
    for document in documents:
        long = _long_forms(document)
        places: dict[tuple[object, ...], list[Mention]] = defaultdict(list)
        for mention in document.mentions:
            places[mention.spans, mention.gold].append(mention)
        for mentions in places.values():
            if gold := known.gold(mentions[0].gold):
                texts = dict.fromkeys(long.get(normalise(mention.text), mention.text) for mention in mentions)
                parts = (frozenset(n for id in part for n in numbers.get(id, ())) for part in gold)
                found.append(Item(tuple(texts), tuple(parts)))
    return found


def numbers_of(known: IdMap, ids: Iterable[str]) -> Mapping[str, list[int]]:
    """The concepts that an id may mean: several ids joined in one are one concept."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, id in enumerate(ids):
        for one in known.candidate(id):
            numbers[one].append(number)
    return numbers


def _long_forms(document: Document) -> dict[str, str]:
    found: dict[str, str] = {}
    for definition in definitions(document.text):
        found.setdefault(normalise(definition.short), definition.long)
    return found


class Distinct(NamedTuple):
    """The distinct mentions to train on: texts, the concepts of each, how often each occurs; and how many were not."""

    texts: list[str]
    gold: list[Ints]
    counts: Ints
    left_out: int


def distinct(found: Iterable[Item], named: Ints) -> Distinct:
    """Each text once, with its most frequent gold.

    Left out, and counted as distinct texts: composites, and what has no concept that is ``named`` (has a name).
    """
    golds: dict[str, Counter[frozenset[int]]] = defaultdict(Counter)
    composite: set[str] = set()
    for item in found:
        if len(item.texts) == len(item.gold) == 1:
            golds[item.texts[0]][item.gold[0]] += 1
        else:
            composite.update(item.texts)
    texts, gold, counts = [], [], []
    for text, counted in golds.items():
        concepts = np.intersect1d(np.array(sorted(counted.most_common(1)[0][0]), dtype=np.int64), named)
        if len(concepts):
            texts.append(text)
            gold.append(concepts)
            counts.append(counted.total())
    left_out = len(composite - golds.keys()) + len(golds) - len(texts)
    return Distinct(texts, gold, np.array(counts, dtype=np.int64), left_out)
