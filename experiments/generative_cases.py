"""Mentions of a test set that a generator never gets right, and whether the annotation can be learnt (GenBioEL, D)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from genbioel_report_tables import ELSEWHERE, IN_TEST, IN_TRAIN, OTHER, SECOND
from generative_answers import NONE, Answer, Answers, places
from generative_eval import PUBLISHED, Dictionary, Item

from nomina.text import normalise

CORPUS = ("ncbi", PUBLISHED)
"""The corpus of the paper's cases, with the dictionary that it links to."""
LEAST = 2
"""Times that a case stands in the test set."""

Golds = dict[str, Counter[frozenset[str]]]
"""By text, how often it has which ids."""


def cases(asked: Sequence[Item], answers: Answers, train: Sequence[Item], dictionary: Dictionary) -> dict[str, Any]:
    """Mentions that stand several times in a test set with the same ids and are always wrong, and why.

    Returns:
        ``mentions``, ``wrong``: of the test set. ``against``: of mentions whose text the training set has, but never
        with an id that is right here, their number and how many are right. ``cases``: the most frequent first, each
        with its text, how often it is in the test set, its ids, ids by frequency in the training set, the first name
        written and its ids, names of all these ids, reasons.
    """
    where = places(asked, answers).tolist()
    taught, own = golds(train), golds(asked)
    against = [is_against(item, taught) for item in asked]
    told = _Told(dictionary, taught, own)
    alike: dict[tuple[str, frozenset[str]], list[int]] = defaultdict(list)
    for item, place in zip(asked, where, strict=True):
        alike[item.parts.mention, item.gold].append(place)
    never = [pair for pair, each in alike.items() if len(each) >= LEAST and min(each) > 0]
    never.sort(key=lambda pair: (-len(alike[pair]), pair[0], sorted(pair[1])))
    right = sum(place == 0 for place, other in zip(where, against, strict=True) if other)
    return {
        "mentions": len(asked),
        "wrong": sum(place > 0 for place in where),
        "against": {"mentions": sum(against), "right": right},
        "cases": [told.case(text, gold, answers[text], alike[text, gold]) for text, gold in never],
    }


def golds(found: Iterable[Item]) -> Golds:
    """The ids of each mention's look-up key, with how often it has them."""
    counts: Golds = defaultdict(Counter)
    for item in found:
        counts[normalise(item.parts.mention)][item.gold] += 1
    return counts


def is_against(item: Item, taught: Golds) -> bool:
    """Whether training data have this text, but never with an id that is right here."""
    there = taught.get(normalise(item.parts.mention), ())
    return bool(there) and all(item.gold.isdisjoint(ids) for ids in there)


class _Told:
    """What is told of a case."""

    def __init__(self, dictionary: Dictionary, taught: Golds, own: Golds) -> None:
        self._taught, self._own = taught, own
        self._names: dict[str, str] = {}
        self._owners: dict[str, set[str]] = defaultdict(set)
        for text, ids in zip(dictionary.texts, dictionary.ids, strict=True):
            self._owners[normalise(text)] |= ids
            for id in ids:
                self._names.setdefault(id, text)

    def case(self, text: str, gold: frozenset[str], written: Sequence[Answer], where: Sequence[int]) -> dict[str, Any]:
        key = normalise(text)
        first = written[:1]
        shown = gold.union(*self._taught.get(key, ()), *(answer.ids for answer in first))
        return {
            "mention": text,
            "count": len(where),
            "gold": sorted(gold),
            "train": [{"ids": sorted(ids), "count": n} for ids, n in self._taught.get(key, Counter()).most_common()],
            "answer": {"name": first[0].name, "ids": first[0].ids} if first else None,
            "names": {id: self._names.get(id, "") for id in sorted(shown)},
            "why": self._why(key, gold, where),
        }

    def _why(self, key: str, gold: frozenset[str], where: Sequence[int]) -> list[str]:
        """What holds, what settles it first."""
        owners = self._owners.get(key, set())
        taught = self._taught.get(key, ())
        holds = {
            IN_TRAIN: bool(taught) and all(gold.isdisjoint(ids) for ids in taught),
            IN_TEST: len(self._own[key]) > 1,
            ELSEWHERE: bool(owners) and gold.isdisjoint(owners),
            SECOND: min(where) < NONE,
        }
        return [reason for reason, is_so in holds.items() if is_so] or [OTHER]
