"""Which way a preference loss over pairs and the likelihood of their right names push the weights, at the start.

There all of it is made of the mean gradients of log p of the chosen and of the rejected names of some kinds of pairs:
those of DPO are half of beta times their difference, as all pairs weigh the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nomina.generation.generator import Generator
from nomina.linkers.generative import evaluating
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.objective import log_probabilities

BATCH = 16


class Side(NamedTuple):
    """Pairs of some kinds: what share of all pairs each is, and the mean gradients of its names, (2, parameters)."""

    share: Mapping[str, float]
    mean: Mapping[str, Tensor]


def mean_gradients(generator: Generator, pairs: PairExamples) -> Tensor:
    """Of the mean log p of the chosen and of the rejected names, without dropout: (2, parameters)."""
    parameters = [parameter for parameter in generator.module.parameters() if parameter.requires_grad]
    found = torch.zeros(2, sum(parameter.numel() for parameter in parameters))
    with evaluating(generator):
        for start in range(0, pairs.count, BATCH):
            some = pairs.take(np.arange(start, min(start + BATCH, pairs.count)))
            sums, _ = log_probabilities(generator, some)
            for which, total in enumerate(sums.sum(0).unbind()):
                each = torch.autograd.grad(total, parameters, retain_graph=which == 0, materialize_grads=True)
                found[which] += torch.cat([part.flatten() for part in each])
    return found / pairs.count


def compared(train: Side, dev: Side, beta: float, weight: float, tokens: float) -> dict[str, object]:
    """DPO's and the likelihood's step of steepest descent, what they are made of, what they do to pairs.

    Args:
        train: the pairs that are learnt from.
        dev: pairs that are not; only their mean gradients count.
        beta: of DPO.
        weight: of the likelihood.
        tokens: how many a chosen name of ``train`` has, in the mean.

    Returns:
        Norms and cosines; of DPO's step the share of each kind of pair (they add up to 1); of a step of norm 1, also of
        one by the pairs of a kind alone, what the mean log p of each kind's chosen and rejected names gain to first
        order, and its cosine with the step that would be best for the kind's margins.
    """
    kinds = list(train.share)
    own = len(kinds)
    gram = _gram([*(train.mean[kind] for kind in kinds), *dev.mean.values()])
    share = np.array([train.share[kind] for kind in kinds])
    dpo, likelihood = np.zeros(len(gram)), np.zeros(len(gram))
    dpo[: 2 * own : 2], dpo[1 : 2 * own : 2] = share * beta / 2, -share * beta / 2
    likelihood[: 2 * own : 2] = share * weight / tokens
    steps = {"dpo": dpo, "likelihood": likelihood, "both": dpo + likelihood}
    parts = {kind: np.where(np.arange(len(gram)) // 2 == place, dpo, 0) for place, kind in enumerate(kinds)}
    alone = {f"dpo, {kind}": part for kind, part in parts.items()}
    chosen, rejected = np.where(np.arange(len(gram)) % 2, 0, dpo), np.where(np.arange(len(gram)) % 2, dpo, 0)
    ways = {f"train {kind}": row for row, kind in zip(np.eye(len(gram))[0 : 2 * own : 2], kinds, strict=True)}
    ways |= {f"dev {kind}": row for row, kind in zip(np.eye(len(gram))[2 * own :: 2], dev.mean, strict=True)}
    each = (steps | alone).items()
    effects = {name: {way: _effect(gram, step, row) for way, row in ways.items()} for name, step in each}
    return {
        "norm": {name: _round(_norm(gram, step)) for name, step in steps.items()},
        "cosine": _round(_cosine(gram, dpo, likelihood)),
        "chosen against rejected": _round(-_cosine(gram, chosen, rejected)),
        "share": {kind: _round(part @ gram @ dpo / (dpo @ gram @ dpo)) for kind, part in parts.items()},
        "effects": effects,
    }


def _effect(gram: NDArray[np.float64], step: NDArray[np.float64], chosen: NDArray[np.float64]) -> dict[str, float]:
    """What a step of norm 1 does to mean log p of a kind's chosen and rejected names, to first order."""
    rejected = np.roll(chosen, 1)
    up, down = (float(name @ gram @ step) / max(_norm(gram, step), 1e-12) for name in (chosen, rejected))
    margin = chosen - rejected
    facts = {"chosen": up, "rejected": down, "cosine": _cosine(gram, margin, step)}
    return {key: _round(value) for key, value in facts.items()}


def _gram(means: list[Tensor]) -> NDArray[np.float64]:
    """Of all mean gradients, a kind's chosen before its rejected names: their products."""
    rows = [row for mean in means for row in mean.unbind()]
    found = np.array([[float(torch.dot(one, other)) for other in rows] for one in rows], np.float64)
    return found


def _norm(gram: NDArray[np.float64], step: NDArray[np.float64]) -> float:
    return float(np.sqrt(max(step @ gram @ step, 0.0)))


def _cosine(gram: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(one @ gram @ other) / max(_norm(gram, one) * _norm(gram, other), 1e-12)


def _round(value: float) -> float:
    return round(float(value), 4)
