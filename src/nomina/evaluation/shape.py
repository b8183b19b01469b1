"""The report of an evaluation as plain values: what ``report.evaluate`` makes, JSON holds, and the renderers read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, Self

from nomina.records import parser

VERSION = 1
"""Of the JSON; a reader of another version is told so."""

Interval = tuple[float, float]
At = dict[str, float]
"""A figure by k ("1", "5", "10", "20"); a k beyond what any prediction offers is not there."""
Kind = Literal["wrong", "missing", "nil", "abstained"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the gold is in the KB: the share of its parts, how they were found (``ids.RULES``), a warning."""

    in_kb: float
    by_rule: dict[str, int]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was evaluated on. ``mentions`` counts composites once, with the ``nil`` that have no concept."""

    path: str
    documents: int
    mentions: int
    nil: int
    distinct_pairs: int
    coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The KB that was linked to."""

    name: str
    fingerprint: str
    concepts: int
    names: int


@dataclass(frozen=True, slots=True)
class Training:
    """The corpus that strata and train look-up know."""

    path: str
    documents: int
    mentions: int


@dataclass(frozen=True, slots=True)
class Primary:
    """The one figure that a protocol compares systems by."""

    metric: str
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Accuracy at k under the three rules, over mentions with a concept; see docs/evaluation.md."""

    any: At
    strict: At
    expected: At
    mrr: float
    distinct: float
    answered: float


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and their harmonic mean; 0 where nothing is there to be counted."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Nil:
    """How well a system says that no concept fits, and how often gold and system say so."""

    gold: int
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Predictions from raw text: spans exact and id right, spans overlapping and id right, sets of ids a document."""

    mention: Score
    overlap: Score
    document: Score


@dataclass(frozen=True, slots=True)
class StratumFigure:
    """The primary metric within a stratum; None where it holds no mention with a concept."""

    group: str
    name: str
    count: int
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class System:
    """All figures of one system; ``missing``: mentions that it has no prediction for, which count as wrong."""

    name: str
    primary: Primary
    metrics: Metrics
    intervals: dict[str, Interval]
    missing: int = 0
    nil: Nil | None = None
    risk_coverage: tuple[tuple[float, float], ...] = ()
    aurc: float | None = None
    reliability: tuple[tuple[float, float, int], ...] = ()
    end_to_end: EndToEnd | None = None
    strata: tuple[StratumFigure, ...] = ()


@dataclass(frozen=True, slots=True)
class Angel:
    """ANGEL's t-test on 100 resamples; t is None where it is infinite."""

    t: float | None
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems by the primary metric on the same mentions: a - b, and how many only one of them gets right."""

    a: str
    b: str
    difference: float
    interval: Interval
    p_bootstrap: float
    p_mcnemar: float
    p_mcnemar_holm: float
    angel: Angel
    only_a: int
    only_b: int


@dataclass(frozen=True, slots=True)
class GoldId:
    """A right answer, with its name where the KB has it."""

    id: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Offered:
    """A candidate of a prediction that is wrong."""

    id: str
    preferred: str
    name: str
    score: float
    rank: int
    rule: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mention that the first system gets wrong under the primary metric, with what stands around it.

    ``kind``: no prediction (``missing``), a concept where there is none (``nil``), the right one but withheld
    (``abstained``), any other (``wrong``). ``rank_of_gold``: of the first right candidate.
    """

    document_id: str
    start: int
    end: int
    mention: str
    context_before: str
    context_after: str
    gold: tuple[tuple[GoldId, ...], ...]
    candidates: tuple[Offered, ...]
    kind: Kind
    rank_of_gold: int | None
    strata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """How the report came about."""

    command: str
    versions: dict[str, str]
    seed: int
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """An evaluation: the first system is the one asked about, the others stand beside it.

    ``errors`` are the first of ``errors_total`` mistakes of the first system, in the order of the corpus.
    """

    protocol: str
    corpus: Corpus
    systems: tuple[System, ...]
    made: Made
    kb: Knowledge | None = None
    train: Training | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    warnings: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    errors: tuple[Mistake, ...] = ()
    errors_total: int = 0
    version: int = VERSION

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), allow_nan=False))
        return plain

    def as_text(self) -> str:
        """One line of JSON, which ``from_json`` reads; what UTF-8 cannot write (a path of odd bytes) becomes "?"."""
        text = json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "replace").decode("utf-8") + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The report that a text of JSON holds.

        Raises:
            ValueError: it holds none, or one of another version.
        """
        report = parser(cls)(text)
        if report.version != VERSION:
            raise ValueError(f"a report of version {report.version}; this nomina reads version {VERSION}")
        return report
