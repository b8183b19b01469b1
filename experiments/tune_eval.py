"""Accuracy of an encoder on a corpus: alone, with a character 3-gram score, with the training mentions as names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from align_data import rows
from torch import Tensor

from nomina.linkers.postings import occurrences
from nomina.training.examples import Ints

WEIGHTS = (0.0, 0.1, 0.3, 0.6)
"""Of the 3-gram score."""
BONUSES = (-0.05, 0.0, 0.02, 0.05)
"""What a training mention's score is raised by."""
FORMS = ("dense", "ngram", "names", "names+ngram")
"""``dense`` and ``ngram``: the dictionary alone; ``names``: with the training mentions as further names."""


class Item(NamedTuple):
    """A mention of an evaluated split: its parts, all needed, and the gold ids, any of which will do."""

    parts: tuple[str, ...]
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Task:
    """A corpus: the names of its dictionary with the concept of each, the ids of each concept, its mentions.

    ``train``: texts of single training mentions, each with the concepts of its most frequent ids, and its count.
    """

    name: str
    names: list[str]
    concept: Ints
    ids: list[frozenset[str]]
    train: list[tuple[str, Ints, int]]
    items: dict[str, list[Item]]


def read_task(folder: Path, name: str, limit: int | None = None) -> Task:
    """Read a task; ``limit``: only so many names, and few mentions (to try things out)."""
    listed = list(rows(folder / ("aap.txt.xz" if name.startswith("aap") else "dictionary.txt.xz")))
    mentions = [row for row in rows(folder / "mentions.tsv.xz") if row[0] == name][:: 20 if limit else 1]
    if limit:
        wanted = frozenset[str]().union(*(_ids(row[3]) for row in mentions[::8]))
        listed = [row for i, row in enumerate(listed) if i < limit or _ids(row[0]) & wanted][: 2 * limit]
    numbers: dict[str, int] = {}
    concept = np.array([numbers.setdefault(ids, len(numbers)) for ids, _ in listed])
    ids = [_ids(joined) for joined in numbers]
    of_id: dict[str, list[int]] = defaultdict(list)
    for number, several in enumerate(ids):
        for identifier in several:
            of_id[identifier].append(number)
    items: dict[str, list[Item]] = defaultdict(list)
    train: dict[str, Counter[str]] = defaultdict(Counter)
    for _, split, mention, joined in mentions:
        items[split].append(Item(tuple(mention.split("|")), _ids(joined)))
        if split == "train" and "|" not in mention:
            train[mention][joined] += 1
    known = []
    for text, counted in train.items():
        gold = sorted({number for identifier in _ids(counted.most_common(1)[0][0]) for number in of_id[identifier]})
        known.append((text, np.array(gold, dtype=np.int64), sum(counted.values())))
    return Task(name, [text for _, text in listed], concept, ids, known, dict(items))


def _ids(joined: str) -> frozenset[str]:
    return frozenset(joined.replace("+", "|").split("|"))


class Scores:
    """The score of each concept for each distinct part of a split's mentions, and the accuracy that it gives."""

    def __init__(self, task: Task, split: str, device: torch.device) -> None:
        self.items, self.ids = task.items[split], task.ids
        self.parts = sorted({part for item in self.items for part in item.parts})
        self._place = {part: i for i, part in enumerate(self.parts)}
        self.train = [(i, number) for i, (_, gold, _) in enumerate(task.train) for number in gold.tolist()]
        texts = [task.train[i][0] for i, _ in self.train]
        self._sparse = sparse_scores([*task.names, *texts], self.parts, device)
        self._concept = torch.from_numpy(np.array([*task.concept.tolist(), *(n for _, n in self.train)])).to(device)
        self._names = len(task.names)

    def figures(
        self, names: Tensor, parts: Tensor, train: Tensor, settings: dict[str, tuple[float, float]] | None = None
    ) -> dict[str, dict[str, float]]:
        """For each form accuracy at 1 and 5 in percent, with the best weight and bonus, or with given ones.

        Args:
            names: Vectors of the dictionary's names, (names, dim).
            parts: Of ``self.parts``.
            train: Of the texts of ``task.train``.
            settings: Weight and bonus of each form, chosen on another split.
        """
        several = torch.tensor([i for i, _ in self.train], device=train.device, dtype=torch.long)
        dense = parts @ torch.cat([names, train[several]]).T
        best: dict[str, dict[str, float]] = {}
        for weight in WEIGHTS:
            scores = dense + weight * self._sparse if weight else dense
            of_names = self._by_concept(scores[:, : self._names], self._concept[: self._names])
            of_train = self._by_concept(scores[:, self._names :], self._concept[self._names :])
            for bonus in (None, *BONUSES):
                form = ("dense", "ngram", "names", "names+ngram")[2 * (bonus is not None) + (weight > 0)]
                if settings and settings[form] != (weight, bonus or 0.0):
                    continue
                found = self.accuracy(of_names if bonus is None else torch.maximum(of_names, of_train + bonus))
                found |= {"weight": weight, "bonus": bonus or 0.0}
                if form not in best or found["@1"] > best[form]["@1"]:
                    best[form] = found
        return best

    def _by_concept(self, scores: Tensor, concept: Tensor) -> Tensor:
        highest = scores.new_full((len(scores), len(self.ids)), -9.0)
        return highest.scatter_reduce(1, concept.expand(len(scores), -1), scores, "amax")

    def accuracy(self, scores: Tensor) -> dict[str, float]:
        """Percentages of scores (parts, concepts)."""
        top = scores.topk(min(5, scores.shape[1]), dim=1).indices.tolist()
        found = {}
        for k in (1, 5):
            right = [
                all(any(self.ids[c] & item.gold for c in top[self._place[part]][:k]) for part in item.parts)
                for item in self.items
            ]
            found[f"@{k}"] = round(100 * sum(right) / len(right), 2)
        return found


def sparse_scores(names: Sequence[str], queries: Sequence[str], device: torch.device) -> Tensor:
    """Cosines of character 3-gram TF-IDF vectors, (queries, names), float16."""
    found = occurrences([*(name.lower() for name in names), *(query.lower() for query in queries)])
    of_names = found.text < len(names)
    frequency = np.bincount(found.gram[of_names], minlength=len(found.grams))
    values = found.times * np.log1p(len(names) / np.maximum(frequency, 1))[found.gram]
    length = np.sqrt(np.bincount(found.text, values * values, minlength=len(names) + len(queries)))
    values = values / np.maximum(length, 1e-9)[found.text]

    def matrix(chosen: np.ndarray, first: int, count: int) -> Tensor:
        places = torch.from_numpy(np.stack([found.text[chosen] - first, found.gram[chosen]]))
        shape = (count, len(found.grams))
        return torch.sparse_coo_tensor(places, torch.from_numpy(values[chosen]).float(), shape).to(device).coalesce()

    left, right = matrix(of_names, 0, len(names)), matrix(~of_names, len(names), len(queries))
    scores = torch.empty(len(queries), len(names), dtype=torch.float16, device=device)
    for start in range(0, len(queries), 256):
        some = right.index_select(0, torch.arange(start, min(start + 256, len(queries)), device=device)).to_dense()
        scores[start : start + 256] = (left @ some.T).T.half()
    return scores
