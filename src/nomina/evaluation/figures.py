"""All figures of a system with their intervals, and systems compared in pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nomina.evaluation import metrics
from nomina.evaluation.match import Item
from nomina.evaluation.outcome import KS, Outcome
from nomina.evaluation.protocols import Rule
from nomina.evaluation.shape import Angel, Comparison, EndToEnd, Interval, Metrics, Primary, StratumFigure, System
from nomina.evaluation.significance import (
    SAMPLES,
    angel_t_test,
    bootstrap_intervals,
    holm,
    mcnemar,
    paired_bootstrap,
)
from nomina.evaluation.strata import Stratum

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def system(
    name: str,
    found: Outcome,
    items: Sequence[Item],
    rule: Rule,
    strata: Sequence[Stratum] = (),
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    end_to_end: EndToEnd | None = None,
) -> System:
    """The figures of one system.

    Args:
        name: Its name.
        found: What the items get.
        items: For their documents, which are drawn anew, and their distinct pairs.
        rule: Of the primary figure, of strata and of confidence.
        strata: Masks over the items.
        seed: Of the bootstrap.
        samples: Its resamples.
        end_to_end: Passed on.
    """
    asked, hits = ~found.nil_gold, metrics.first_hits(found, rule)
    columns = _columns(found)
    masks = [stratum.mask & asked for stratum in strata]
    values = [*columns.values(), *(hits * mask for mask in masks)]
    counts = [*(asked for _ in columns), *masks]
    documents = [item.document_id for item in items]
    drawn = bootstrap_intervals(
        np.stack(values, axis=1), documents, np.stack(counts, axis=1), samples=samples, seed=seed
    )
    intervals = {each: (low, high) for each, (low, high) in zip(columns, drawn.tolist(), strict=False)}
    curve, aurc = metrics.risk_coverage(found, rule)
    return System(
        name=name,
        primary=Primary(f"acc@1 {rule}", metrics.mean(hits, asked), intervals[f"{rule}@1"]),
        metrics=Metrics(
            any=metrics.at_ks(found.any, found),
            strict=metrics.at_ks(found.strict, found),
            expected=metrics.at_ks(found.expected, found),
            mrr=metrics.mean(found.reciprocal_rank, asked),
            distinct=metrics.distinct_accuracy(hits, items, asked),
            answered=metrics.mean(metrics.answered(found, rule)),
        ),
        intervals=intervals,
        missing=int(found.missing.sum()),
        nil=metrics.nil(found),
        risk_coverage=curve,
        aurc=aurc,
        reliability=metrics.reliability(found, rule),
        end_to_end=end_to_end,
        strata=tuple(
            _stratum(stratum, mask, hits, (low, high))
            for stratum, mask, (low, high) in zip(strata, masks, drawn[len(columns) :].tolist(), strict=True)
        ),
    )


def _columns(found: Outcome) -> dict[str, Floats]:
    """What is to have an interval: each rule at each k."""
    rules = {"any": found.any, "strict": found.strict, "expected": found.expected}
    return {
        f"{rule}@{KS[j]}": hits[:, j].astype(np.float64) for rule, hits in rules.items() for j in metrics.reached(found)
    }


def _stratum(stratum: Stratum, mask: Bools, hits: Floats, interval: Interval) -> StratumFigure:
    count = int(mask.sum())
    if not count:
        return StratumFigure(stratum.group, stratum.name, 0, None, None)
    return StratumFigure(stratum.group, stratum.name, count, metrics.mean(hits, mask), interval)


def comparisons(
    outcomes: Mapping[str, Outcome], items: Sequence[Item], rule: Rule, *, seed: int = 0, samples: int = SAMPLES
) -> tuple[Comparison, ...]:
    """The first system against each other one, on the mentions that have a concept; Holm's correction over all."""
    (first, own), *others = outcomes.items()
    asked = ~own.nil_gold
    documents = [item.document_id for item, is_asked in zip(items, asked.tolist(), strict=True) if is_asked]
    a = metrics.first_hits(own, rule)[asked]
    found = []
    for name, other in others:
        b = metrics.first_hits(other, rule)[asked]
        boot = paired_bootstrap(a, b, documents, samples=samples, seed=seed)
        test, angel = mcnemar(a, b), angel_t_test(a, b, seed)
        t = angel.t if math.isfinite(angel.t) else None
        found.append((name, boot, test, Angel(t, angel.p)))
    corrected = holm([test.p_exact for _, _, test, _ in found])
    return tuple(
        Comparison(
            a=first,
            b=name,
            difference=boot.difference,
            interval=boot.interval,
            p_bootstrap=boot.p,
            p_mcnemar=test.p_exact,
            p_mcnemar_holm=p,
            angel=angel,
            only_a=test.only_a,
            only_b=test.only_b,
        )
        for (name, boot, test, angel), p in zip(found, corrected, strict=True)
    )
