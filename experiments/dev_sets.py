"""What encoders are chosen by: four development sets, none with a corpus mention in its dictionary.

NCBI disease and BC5CDR diseases against MEDIC, BC5CDR chemicals against MeSH's, and the validation phrases of
AskAPatient's first fold against its labels, from the files of ``open_names.py`` and ``tune_data.py``. The mean of the
four is what choices are made by. (The first encoders were chosen by NCBI and BC5CDR diseases alone, 787 mentions of
NCBI being half of the mean: too few to tell one point, and they spoke against what the test sets then spoke for.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import torch
from torch import Tensor
from tune_tasks import Item, Task, read_task

from nomina.encoders.base import Encoder

CORPORA = ("ncbi", "bc5cdr-d", "bc5cdr-c", "aap-0")
THINNED = {"bc5cdr-c": 8}
"""Of the concepts that no mention has, only every so manieth is a candidate: 540,000 names take too long each time."""
_NEAR = 60


class DevSet(NamedTuple):
    """Names, the concept of each, and mentions with the concepts that are right for them."""

    names: list[str]
    concept: list[int]
    mentions: list[tuple[tuple[str, ...], frozenset[int]]]


class DevSets:
    """clean-kb on the development sets: accuracy at 1 and 5 over concepts, any id.

    A composite mention is right if every part is.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        """Read them; ``limit``: only so many names, and few mentions (to try things out)."""
        self.sets = {name: dev_set(read_task(folder, name, limit), THINNED.get(name, 1)) for name in CORPORA}
        texts = {text for found in self.sets.values() for text in found.names}
        texts |= {part for found in self.sets.values() for parts, _ in found.mentions for part in parts}
        self.texts = sorted(texts)
        self._row = {text: row for row, text in enumerate(self.texts)}

    def accuracy(self, encoder: Encoder, batch_size: int = 1024) -> dict[str, float]:
        """Percentages by ``corpus@k``, and ``dev``, the mean of all corpora at 1."""
        return accuracy(self.right(encoder, batch_size))

    def right(self, encoder: Encoder, batch_size: int = 1024) -> dict[str, list[bool]]:
        """Whether each mention is right, by ``corpus@k``."""
        vectors = torch.from_numpy(encoder.encode(self.texts, batch_size))
        vectors = vectors.to("cuda" if torch.cuda.is_available() else "cpu")
        answers: dict[str, list[bool]] = {}
        for corpus, found in self.sets.items():
            parts = sorted({part for parts, _ in found.mentions for part in parts})
            near = nearest(vectors[self._rows(found.names)], vectors[self._rows(parts)], found.concept)
            best = dict(zip(parts, near, strict=True))
            for k in (1, 5):
                answers[f"{corpus}@{k}"] = [
                    all(gold.intersection(best[part][:k]) for part in parts) for parts, gold in found.mentions
                ]
        return answers

    def _rows(self, texts: list[str]) -> list[int]:
        return [self._row[text] for text in texts]


def accuracy(right: dict[str, list[bool]]) -> dict[str, float]:
    """Percentages of what is right, and ``dev``, the mean of all corpora at 1."""
    figures = {place: round(100 * sum(answers) / len(answers), 2) for place, answers in right.items()}
    return {**figures, "dev": round(mean(figures[f"{corpus}@1"] for corpus in CORPORA), 3)}


def dev_set(task: Task, thinned: int) -> DevSet:
    """The development mentions of a task, and its names."""
    wanted = frozenset[str]().union(*(item.gold for item in task.items["dev"]))
    kept = {number for number, ids in enumerate(task.ids) if number % thinned == 0 or not wanted.isdisjoint(ids)}
    named = [(name, number) for name, number in zip(task.names, task.concept.tolist(), strict=True) if number in kept]
    return DevSet([name for name, _ in named], [number for _, number in named], _mentions(task, task.items["dev"]))


def _mentions(task: Task, items: list[Item]) -> list[tuple[tuple[str, ...], frozenset[int]]]:
    owners: dict[str, list[int]] = {}
    for number, ids in enumerate(task.ids):
        for identifier in ids:
            owners.setdefault(identifier, []).append(number)
    return [
        (item.parts, frozenset(number for identifier in item.gold for number in owners.get(identifier, ())))
        for item in items
    ]


def nearest(names: Tensor, parts: Tensor, concept: list[int]) -> Iterator[list[int]]:
    """For each part the five nearest distinct concepts, the nearest first."""
    for start in range(0, len(parts), 512):
        best = (parts[start : start + 512] @ names.T).topk(min(_NEAR, len(names)), dim=1).indices.cpu().tolist()
        for ranked in best:
            yield list(dict.fromkeys(concept[row] for row in ranked))[:5]
