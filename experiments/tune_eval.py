"""Accuracy of an encoder on a corpus: alone, with a character 3-gram score, with the training mentions as names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import torch
from torch import Tensor
from tune_tasks import Known, Task

from nomina.training.biosyn import sparse_scores

WEIGHTS = (0.0, 0.1, 0.3, 0.6)
"""Of the 3-gram score."""
BONUSES = (-0.05, 0.0, 0.02, 0.05)
"""What a training mention's score is raised by."""
Settings = dict[str, tuple[float, float]]
"""Weight and bonus of a form."""


class Scores:
    """The score of each concept for each distinct part of a split's mentions, and the accuracy that it gives.

    Where the dictionary holds mentions itself (as-published) ranks are those of names, and there is no form ``names``.
    """

    def __init__(self, task: Task, split: str, device: torch.device, known: Sequence[Known] = ()) -> None:
        self.items, self.names, self.published = task.items[split], len(task.names), task.published
        self.parts = sorted({part for item in self.items for part in item.parts})
        self._place = {part: i for i, part in enumerate(self.parts)}
        own = () if task.published else known
        self.known = [mention.text for mention in own]
        self._train = [(i, number) for i, mention in enumerate(own) for number in mention.gold.tolist()]
        texts = [self.known[i] for i, _ in self._train]
        self._sparse = sparse_scores([*task.names, *texts], self.parts, device)
        concept = [*task.concept.tolist(), *(number for _, number in self._train)]
        self._concept, self._concepts = torch.tensor(concept, device=device), len(task.ids)
        self.ids = [task.ids[number] for number in concept] if task.published else task.ids

    def figures(
        self,
        names: Tensor,
        parts: Tensor,
        train: Tensor,
        settings: Settings | None = None,
        learnt: float | None = None,
    ) -> dict[str, dict[str, float]]:
        """For each form accuracy at 1 and 5 in percent, with the best weight and bonus, or with given ones.

        Args:
            names: Vectors of the dictionary's names, (names, dim).
            parts: Of ``self.parts``.
            train: Of ``self.known``.
            settings: Weight and bonus of each form that is wanted, chosen on another split.
            learnt: The weight of the form ``learnt``, where there is one.
        """
        several = torch.tensor([i for i, _ in self._train], device=train.device, dtype=torch.long)
        dense = parts @ torch.cat([names, train[several]]).T
        best: dict[str, dict[str, float]] = {}
        wanted = (found for found in self._choices(learnt) if settings is None or settings.get(found[1]) == found[2])
        for weight, choices in groupby(wanted, key=itemgetter(0)):
            scores = dense + weight * self._sparse if weight else dense
            of_names, of_train = self._ranked(scores)
            for _, form, (_, bonus) in choices:
                both = form.startswith("names")
                found = self.accuracy(torch.maximum(of_names, of_train + bonus) if both else of_names)
                if form not in best or found["@1"] > best[form]["@1"]:
                    best[form] = found | {"weight": weight, "bonus": bonus}
        return best

    def _choices(self, learnt: float | None) -> Iterator[tuple[float, str, tuple[float, float]]]:
        """Weight, form, and its settings."""
        for weight in WEIGHTS:
            yield weight, "ngram" if weight else "dense", (weight, 0.0)
            for bonus in () if self.published else BONUSES:
                yield weight, "names+ngram" if weight else "names", (weight, bonus)
        if learnt is not None:
            yield learnt, "learnt", (learnt, 0.0)

    def _ranked(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        if self.published:
            return scores, scores
        concept, names = self._concept, self.names
        return self._by_concept(scores[:, :names], concept[:names]), self._by_concept(
            scores[:, names:], concept[names:]
        )

    def _by_concept(self, scores: Tensor, concept: Tensor) -> Tensor:
        highest = scores.new_full((len(scores), self._concepts), -9.0)
        return highest.scatter_reduce(1, concept.expand(len(scores), -1), scores, "amax")

    def accuracy(self, scores: Tensor) -> dict[str, float]:
        """Percentages of scores (parts, concepts), or (parts, names) where names are ranked."""
        top = scores.topk(min(5, scores.shape[1]), dim=1).indices.tolist()
        found = {}
        for k in (1, 5):
            right = [
                all(any(self.ids[c] & item.gold for c in top[self._place[part]][:k]) for part in item.parts)
                for item in self.items
            ]
            found[f"@{k}"] = round(100 * sum(right) / len(right), 2)
        return found
