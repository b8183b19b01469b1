"""Accuracy of an encoder as it is trained: the concepts of the names nearest to a mention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from nomina.encoders.base import TrainableEncoder
from nomina.training.examples import TokenTable
from nomina.training.mentions import Item

MAIN = "acc@1"
"""The figure that the best weights are chosen by."""

_FETCHED = 50
_AT = (1, 5)
_SCORES = 1 << 26
"""Scores that are in memory at once."""


class Dev:
    """What accuracy is measured on.

    Args:
        encoder: whose weights are looked at.
        names: among which a mention's nearest ones are found.
        owners: the concepts of each name.
        items: what is asked.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        names: Sequence[str],
        owners: Sequence[tuple[int, ...]],
        items: Sequence[Item],
    ) -> None:
        texts = sorted({text for item in items for text in item.texts})
        self.module, self.owners, self.items = encoder.module, owners, items
        self._place = {text: i for i, text in enumerate(texts)}
        self._names = TokenTable.of(encoder, names)
        self._texts = TokenTable.of(encoder, [encoder.query_prefix + text for text in texts])

    def accuracy(self) -> dict[str, float]:
        """Percentages of the items whose parts are all among the nearest 1 and 5 concepts of one of its texts."""
        near = self._nearest()
        found = {}
        for k in _AT:
            right = [
                all(any(part & concepts for text in item.texts for concepts in near[self._place[text]][:k])
                    for part in item.gold)
                for item in self.items
            ]  # fmt: skip
            found[f"acc@{k}"] = round(100 * float(np.mean(right)), 2)
        return found

    def _nearest(self) -> list[list[frozenset[int]]]:
        """For each text the nearest concepts, best first; homonyms are one entry."""
        names = self._names.vectors(self.module, bf16=True)
        texts = self._texts.vectors(self.module, bf16=True)
        near = []
        for chunk in torch.split(texts, max(_SCORES // len(names), 1)):
            ranked = (chunk @ names.T).topk(min(_FETCHED, len(names)), dim=1).indices.cpu().tolist()
            for rows in ranked:
                distinct = dict.fromkeys(self.owners[row] for row in rows)
                near.append([frozenset(owners) for owners in distinct][: max(_AT)])
        return near


def of_device(tensor: torch.Tensor) -> str:
    """The name of the card or processor that a tensor is on."""
    return torch.cuda.get_device_name(tensor.device) if tensor.device.type == "cuda" else str(tensor.device)
