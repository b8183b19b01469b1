"""What ``fine_tune.py`` trains on and measures by: the dictionary and the mentions of a corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from align_data import rows

from nomina.training.examples import Ints

PUBLISHED = "-published"
"""Ends the name of a task whose dictionaries hold the corpus's own mentions."""

FORMS = ("dense", "ngram", "names", "names+ngram", "learnt")
"""``dense`` and ``ngram``: the dictionary alone; ``names``: with the training mentions as further names; ``learnt``:
the dictionary, with the weight of the 3-gram score that training has come to."""

Dictionary = Literal["train", "dev", "test"]
"""Without mentions, with the training ones, with the development ones too; all the same but where ``PUBLISHED``."""


class Item(NamedTuple):
    """A mention of a split: its parts, all needed, and the gold ids, any of which will do."""

    parts: tuple[str, ...]
    gold: frozenset[str]
    joined: str


class Known(NamedTuple):
    """A distinct text of single mentions, the concepts of its most frequent ids, and how often it comes."""

    text: str
    gold: Ints
    count: int


@dataclass(frozen=True, slots=True)
class Task:
    """A corpus: the names of a dictionary with the concept of each, the ids of each concept, mentions by split."""

    name: str
    names: list[str]
    concept: Ints
    ids: list[frozenset[str]]
    items: dict[str, list[Item]]

    @property
    def published(self) -> bool:
        """Whether the dictionary holds mentions, and ranks are those of names."""
        return self.name.endswith(PUBLISHED)

    def known(self, splits: Sequence[str]) -> list[Known]:
        """The single mentions of some splits."""
        of_id: dict[str, list[int]] = defaultdict(list)
        for number, several in enumerate(self.ids):
            for identifier in several:
                of_id[identifier].append(number)
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for item in (item for split in splits for item in self.items[split] if len(item.parts) == 1):
            found[item.parts[0]][item.joined] += 1
        known = []
        for text, counted in found.items():
            wanted = ids_of(counted.most_common(1)[0][0])
            gold = sorted({number for identifier in wanted for number in of_id.get(identifier, ())})
            known.append(Known(text, np.array(gold, dtype=np.int64), sum(counted.values())))
        return known

    def own_text(self, known: Sequence[Known]) -> list[Ints]:
        """The names that are the very text of each mention."""
        places: dict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(self.names):
            places[name.lower()].append(row)
        return [np.array(places.get(mention.text.lower(), ()), dtype=np.int64) for mention in known]


def read_task(folder: Path, name: str, limit: int | None = None, dictionary: Dictionary = "train") -> Task:
    """Read a task; ``limit``: only so many names, and few mentions (to try things out)."""
    corpus = name.removesuffix(PUBLISHED)
    mentions = [row for row in rows(folder / "mentions.tsv.xz") if row[0] == corpus][:: 20 if limit else 1]
    files = {"aap": "aap.txt.xz", "bc5cdr-c": "chemicals.txt.xz"}
    file = next((file for start, file in files.items() if corpus.startswith(start)), "dictionary.txt.xz")
    listed = [(ids, text) for ids, text in rows(folder / file)]
    if name != corpus and dictionary != "train":
        more = [row[2:] for row in rows(folder / "published.txt.xz") if row[:2] == [corpus, dictionary]]
        other = {text: ids for ids, text in more}
        listed = [(other.pop(text, ids), text) for ids, text in listed]
        listed += [(ids, text) for text, ids in other.items()]
    if limit:
        wanted = frozenset[str]().union(*(ids_of(row[3]) for row in mentions[::8]))
        listed = [row for i, row in enumerate(listed) if i < limit or ids_of(row[0]) & wanted][: 2 * limit]
    numbers: dict[str, int] = {}
    concept = np.array([numbers.setdefault(ids, len(numbers)) for ids, _ in listed])
    items: dict[str, list[Item]] = defaultdict(list)
    for _, split, mention, joined in mentions:
        items[split].append(Item(tuple(mention.split("|")), ids_of(joined), joined))
    return Task(name, [text for _, text in listed], concept, [ids_of(ids) for ids in numbers], dict(items))


def ids_of(joined: str) -> frozenset[str]:
    """The single ids."""
    return frozenset(joined.replace("+", "|").split("|"))
