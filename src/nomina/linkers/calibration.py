"""How likely an answer is right: what the dictionary and an encoder say, judged on development mentions.

For an encoder a logistic function of how near the best concept is, and how far in front of the next one; for the
dictionary the share of right answers under each rule. Fitted by ``experiments/calibrate.py``; they lie beside the
encoder, in a file that its fingerprint does not cover: vectors stay when only probabilities are fitted again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nomina.artifact import Artifact
from nomina.errors import ArtifactError
from nomina.linkers.base import Rule
from nomina.linkers.fitted import read_fitted, write_fitted
from nomina.types import Candidate, Prediction

CALIBRATION = "calibration.json"
"""The file beside an exported encoder."""

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
