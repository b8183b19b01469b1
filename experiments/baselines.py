"""The baselines of every corpus, under each protocol that applies to it.

    python experiments/baselines.py [--only ncbi bc5cdr-d] [--protocols clean-kb] [--work DIR]

Writes ``results/baselines_<corpus>_<protocol>.json``: the dictionary linker and the baselines, with
intervals, strata and paired tests; of AskAPatient one file, the means over the folds. Nothing is trained and nothing
chosen here, so the test sets are looked at. KBs are built once, in ``--work``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import parser, record
from eval_kbs import Workshop
from eval_tasks import TASKS, Task

from nomina.evaluation.baselines import DEPTH
from nomina.evaluation.protocols import prepare, protocol_of
from nomina.evaluation.report import Report, evaluate
from nomina.linkers.base import Level, Linker
from nomina.linkers.dictionary import DictionaryLinker
from nomina.types import Document, Prediction

SYSTEM = "dictionary"
SEED = 0
_LEFT_OUT = ("errors", "risk_coverage", "reliability", "made")  # of the report: large, or said in the record


def main() -> None:
    """Evaluate, record, print."""
    options = parser(__doc__)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    options.add_argument("--only", nargs="*", help="corpora")
    options.add_argument("--protocols", nargs="*")
    arguments = options.parse_args()
    shop = Workshop(arguments.shared, arguments.work)
    chosen = [
        task
        for task in TASKS
        if task.corpus in (arguments.only or [task.corpus])
        and task.protocol in (arguments.protocols or [task.protocol])
    ]
    for name in dict.fromkeys((task.corpus, task.protocol) for task in chosen):
        reports = [run(task, shop) for task in chosen if (task.corpus, task.protocol) == name]
        metrics = facts(reports[0]) if len(reports) == 1 else mean_of(reports)
        record(f"baselines_{'_'.join(name)}", metrics, seed=SEED, corpus=name[0], protocol=name[1])


def run(task: Task, shop: Workshop) -> Report:
    """The report of one test set, its figures printed."""
    started = time.monotonic()
    kb, gold, train = shop(task.kb), task.test(shop), task.train(shop)
    rules = protocol_of(task.protocol)
    documents, _ = prepare(gold, rules, kb)
    report = evaluate(
        predicted(DictionaryLinker(kb), documents, rules.form),
        gold, kb, task.protocol, train=train, name=SYSTEM, seed=SEED, corpus_path=task.name,
    )  # fmt: skip
    for system in report.systems:
        at = {k: f"{100 * value:.2f}" for k, value in system.metrics.any.items()}
        print(f"{task.name:36} {system.name:14} {system.primary.metric} {100 * system.primary.value:.2f}  any {at}")
    print(f"{task.name}: {report.corpus.mentions:,} mentions, dropped {dict(report.dropped)}", end=", ")
    print(f"coverage {report.corpus.coverage}, {time.monotonic() - started:.0f} s", flush=True)
    return report


def predicted(linker: Linker, documents: Iterable[Document], form: Level) -> Iterable[Prediction]:
    """A linker's answers in the form that a protocol counts in."""
    return linker.link(documents, k=DEPTH, threshold=0.0, level=form)


def facts(report: Report) -> dict[str, Any]:
    """A report without its mistakes and curves."""
    plain = {key: value for key, value in report.as_json().items() if key not in _LEFT_OUT}
    plain["systems"] = [{k: v for k, v in s.items() if k not in _LEFT_OUT} for s in plain["systems"]]
    return plain


def mean_of(reports: list[Report]) -> dict[str, Any]:
    """The means over folds of the main figures, and the spread of the first."""
    systems = []
    for same in zip(*(report.systems for report in reports), strict=True):
        values = [system.primary.value for system in same]
        systems.append(
            {
                "name": same[0].name,
                "primary": {"metric": same[0].primary.metric, "value": statistics.mean(values)},
                "deviation": statistics.stdev(values),
                "metrics": {
                    rule: _mean_at([getattr(system.metrics, rule) for system in same])
                    for rule in ("any", "strict", "expected")
                },
            }
        )
    mentions = [report.corpus.mentions for report in reports]
    return {"folds": len(reports), "corpus": {"mentions": statistics.mean(mentions)}, "systems": systems}


def _mean_at(each: list[dict[str, float]]) -> dict[str, float]:
    return {k: statistics.mean(at[k] for at in each) for k in each[0]}


if __name__ == "__main__":
    main()
