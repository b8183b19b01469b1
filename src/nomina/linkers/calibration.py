"""How likely an answer is right: what the dictionary and an encoder say, judged on development mentions.

For an encoder a logistic function of how near the best concept is, and how far in front of the next one; for the
dictionary the share of right answers under each rule. Fitted by ``experiments/calibrate.py``; they lie beside the
encoder, in a file that its fingerprint does not cover: vectors stay when only probabilities are fitted again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from nomina.artifact import Artifact
from nomina.errors import ArtifactError
from nomina.linkers.base import Level, Rule
from nomina.linkers.fitted import read_fitted, write_fitted
from nomina.types import Candidate, Prediction

CALIBRATION = "calibration.json"
"""The file beside an exported encoder."""

LEAST_PROBABILITY = 0.5
"""An encoder's answer that is less likely to be right is an abstention, where the caller names no threshold."""

JUDGED: dict[Level, int] = {"concept": 2, "name": 20}
"""Candidates by which an encoder's answer is judged, whatever k is: enough for two concepts."""

VERSION = 1
FEATURES = ("constant", "nearness", "lead")

_NEAREST = 1.02  # a little over the highest cosine, so that the logarithm stays finite


@dataclass(frozen=True, slots=True)
class Calibration:
    """The probabilities that go with an encoder.

    Attributes:
        encoder: weights of ``FEATURES``.
        rules: share of right answers of the dictionary by ``Candidate.rule``, where one concept has the first rank.
    """

    encoder: tuple[float, ...]
    rules: Mapping[str, float]

    def probability(self, prediction: Prediction) -> float | None:
        """The chance that the first candidate is right, from 0 to 1; None without one, or for a rule not fitted.

        What the dictionary says of several concepts that share the first rank is shared among them. Of an encoder's
        answer at least the two best concepts must be among the candidates, where there are two.
        """
        if not prediction.candidates:
            return None
        first = prediction.candidates[0]
        if first.rule == Rule.EMBEDDING.label:
            return self._logistic(features(prediction.candidates))
        share = self.rules.get(first.rule)
        if share is None or not prediction.ambiguous:
            return share
        return share / len({candidate.entity_id for candidate in prediction.candidates if candidate.rank == 1})

    def _logistic(self, values: Sequence[float]) -> float:
        # Beyond 30 the exponential only makes zeros and ones.
        logit = sum(weight * value for weight, value in zip(self.encoder, values, strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))

    @classmethod
    def read(cls, model: Artifact) -> Calibration | None:
        """What lies beside an exported encoder; None where nothing does.

        Raises:
            ArtifactError: the file is damaged, of another version or was fitted for another encoder.
        """
        found = read_fitted(model, CALIBRATION, "calibration", VERSION)
        if found is None:
            return None
        weights, rules = found.get("encoder", ()), found.get("rules")
        if not (_are_numbers(weights, len(FEATURES)) and isinstance(rules, dict) and _are_shares(rules)):
            raise ArtifactError(f"{model.folder / CALIBRATION} is damaged: remove it, or fit it again")
        return cls(tuple(weights), rules)

    def write(self, model: Artifact) -> None:
        """Put it beside an exported encoder."""
        write_fitted(model, CALIBRATION, VERSION, asdict(self))


def judged(
    prediction: Prediction, calibration: Calibration | None, k: int, *, abstains: bool, least_cosine: float = 0.0
) -> Prediction:
    """A prediction with its probability, cut to k candidates (a tie at the end is given whole).

    Args:
        prediction: with ``JUDGED`` candidates or more, where there are so many.
        calibration: of the encoder; None where it has none.
        k: how many candidates are wanted.
        abstains: whether an encoder's answer is an abstention under ``LEAST_PROBABILITY``.
        least_cosine: the same of an answer without a probability.
    """
    candidates = prediction.candidates
    if not candidates:
        return prediction
    probability = calibration.probability(prediction) if calibration else None
    abstained = prediction.abstained
    if abstains and candidates[0].rule == Rule.EMBEDDING.label:
        abstained = candidates[0].score < least_cosine if probability is None else probability < LEAST_PROBABILITY
    if candidates[-1].rank > k:
        candidates = tuple(candidate for candidate in candidates if candidate.rank <= k)
    return replace(prediction, candidates=candidates, probability=probability, abstained=abstained)


def features(candidates: Sequence[Candidate]) -> tuple[float, ...]:
    """What an encoder's answer is judged by, in the order of ``FEATURES``; candidates best first, at least one.

    With c the cosine of the best concept and d that of the next one (0 where there is none): 1, -ln(1.02 - c), and the
    square root of c - d.
    """
    first = candidates[0]
    other = next((c.score for c in candidates if c.entity_id != first.entity_id), 0.0)
    return 1.0, -math.log(_NEAREST - first.score), math.sqrt(max(0.0, first.score - other))


def _are_numbers(values: Any, count: int) -> bool:  # noqa: ANN401
    return (
        isinstance(values, list)
        and len(values) == count
        and all(type(value) in (int, float) and math.isfinite(value) for value in values)
    )


def _are_shares(rules: dict[str, Any]) -> bool:
    return all(type(share) in (int, float) and 0 <= share <= 1 for share in rules.values())
