"""A cascade fitted on development mentions, judged once on the test set, beside each of its parts.

    python experiments/cascade_test.py ncbi --protocols clean-kb as-published --encoder FOLDER --generator FOLDER
                                       [--keep DIR] [--work DIR] [--smoke 40]

Weights and probabilities are learnt on the development mentions in the form of the protocol, against its KB without
their names; models were trained on the training set. Writes ``results/cascade_test_<corpus>_<protocol>[_NAME].json``:
accuracy with intervals, strata, paired tests of the cascade with each part alone, whether each mention is right.
``--keep``: a folder for the fitted cascades and for all answers, which ``nomina evaluate`` reads. ``--smoke``: so many
development documents to fit, as many others in the place of the test set, which is not read; nothing is recorded.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from baselines import SEED, facts
from cascade import card, parts_of
from common import command, commit, parser, record
from embedding import Remembering, opened, told
from eval_kbs import Workshop
from eval_tasks import TASKS, Task

from nomina import encoders
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import pair
from nomina.evaluation.metrics import first_hits
from nomina.evaluation.outcome import outcome
from nomina.evaluation.protocols import Protocol, prepare, protocol_of
from nomina.evaluation.report import evaluate
from nomina.linkers.base import Linker
from nomina.linkers.embedding import EmbeddingLinker
from nomina.linkers.fitted_cascade import folder
from nomina.linkers.fitted_cascade.linker import SURE, FittedCascadeLinker
from nomina.linkers.fitted_cascade.parts import PartOptions
from nomina.output import write_jsonl
from nomina.training.cascade.fit import dev_of, fitted
from nomina.types import Document, Prediction

CORPORA = {"ncbi": None, "bc5cdr-d": None, "bc5cdr-c": None, "bc5cdr": None, "aap-0": 0}
"""Corpora of ``eval_tasks.py``, and the fold of AskAPatient."""
DEPTH = 5
SYSTEM = "cascade"


def main() -> None:
    """Fit, judge, record, print, protocol by protocol."""
    arguments = command_line().parse_args()
    shop = Workshop(arguments.shared, arguments.work)
    encoder = Remembering(opened(Path(arguments.encoder or encoders.shipped()), shop))
    arguments.encoder = str(encoder.encoder.folder)
    parts = parts_of(arguments)
    for task in tasks_of(arguments.corpus, arguments.protocols):
        for name in dict.fromkeys((task.dev_kb or task.kb, task.kb)):
            EmbeddingLinker(shop(name), encoder, progress=told)  # what the parts then find in the cache
        metrics, learnt = run(task, shop, parts, arguments)
        if not arguments.smoke:
            described = [{key: value for key, value in asdict(part).items() if key != "model"} for part in learnt]
            name = "_".join(filter(None, ("cascade_test", arguments.corpus, task.protocol, arguments.name)))
            record(
                name, metrics, seed=SEED, corpus=arguments.corpus,
                protocol=task.protocol, parts=described, sure=arguments.sure, card=card(arguments.generator),
            )  # fmt: skip


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = parser(__doc__)
    options.add_argument("corpus", choices=list(CORPORA))
    options.add_argument("--protocols", nargs="+", required=True)
    options.add_argument("--encoder", default="", help="by default the one that nomina comes with")
    options.add_argument("--generator", default="")
    options.add_argument("--scored", type=int, default=16, help="names that the generator scores")
    options.add_argument("--beams", type=int, default=5, help="names that the generator finds itself")
    options.add_argument("--sure", type=float, default=SURE)
    options.add_argument("--name", default="", help="of the results, where there are several of a corpus and protocol")
    options.add_argument("--keep", type=Path, help="folder for cascades and answers")
    options.add_argument("--smoke", type=int, default=0, metavar="DOCUMENTS")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    return options


def tasks_of(corpus: str, protocols: Sequence[str]) -> list[Task]:
    """The cells of a corpus.

    Raises:
        SystemExit: a protocol under which it is not tested, or has no development mentions.
    """
    name, fold = ("askapatient" if corpus.startswith("aap-") else corpus), CORPORA[corpus]
    there = {task.protocol: task for task in TASKS if (task.corpus, task.fold) == (name, fold) and task.dev}
    if wrong := [protocol for protocol in protocols if protocol not in there]:
        raise SystemExit(f"{corpus} is not judged under {wrong[0]}: choose of {', '.join(there)}")
    return [there[protocol] for protocol in protocols]


def run(
    task: Task, shop: Workshop, parts: Sequence[PartOptions], arguments: argparse.Namespace
) -> tuple[dict[str, Any], list[PartOptions]]:
    """The figures of one cell, printed; the parts as they were fitted."""
    started, rules, kb = time.monotonic(), protocol_of(task.protocol), shop(task.kb)
    learning, gold = splits(task, shop, arguments.smoke)
    dev_kb = shop(task.dev_kb or task.kb)
    dev = dev_of(prepare(learning, rules, dev_kb)[0], dev_kb)
    linker, learnt, _ = fitted(dev_kb, parts, dev, sure=arguments.sure)
    print(f"{task.name}: fitted, {time.monotonic() - started:.0f} s, {learnt}", flush=True)
    options = [part.options for part in linker.parts]
    if task.dev_kb:
        linker = FittedCascadeLinker(kb, options, linker.stages, sure=linker.sure, abstain=linker.abstain)
    documents, _ = prepare(gold, rules, kb)
    answers = answered(linker, documents, rules)
    if arguments.keep:
        kept(arguments.keep / task.name, linker, answers, learnt)
    others = {name: found for name, found in answers.items() if name != SYSTEM}
    report = evaluate(
        answers[SYSTEM], gold, kb, task.protocol, train=task.train(shop), against=others, name=SYSTEM,
        baselines=False, seed=SEED, corpus_path=task.name,
    )  # fmt: skip
    for system in report.systems:
        print(f"{task.name:32} {system.name:12} any {shown(system.metrics.any)} strict {shown(system.metrics.strict)}")
    print(f"{task.name}: {report.corpus.mentions:,} mentions, {time.monotonic() - started:.0f} s", flush=True)
    single = right(documents, answers, IdMap(kb, splits=rules.splits_ids), rules)
    return {**facts(report), "dev": learnt, "right": single}, options


def shown(at: Mapping[str, float]) -> str:
    """Percentages by k."""
    return ", ".join(f"@{k} {100 * value:.2f}" for k, value in at.items())


def splits(task: Task, shop: Workshop, smoke: int) -> tuple[list[Document], list[Document]]:
    """What is learnt on and what is judged: where a number is given, so many development documents each.

    Raises:
        SystemExit: the task has no development set.
    """
    if task.dev is None:
        raise SystemExit(f"{task.name} has no development set that weights may be learnt on")
    dev = task.dev(shop)
    return (dev[:smoke], dev[smoke : 2 * smoke]) if smoke else (dev, task.test(shop))


def answered(
    linker: FittedCascadeLinker, documents: Iterable[Document], rules: Protocol
) -> dict[str, list[Prediction]]:
    """What the cascade and each of its parts alone say, of all names; a generator searches them."""
    linkers: dict[str, Linker] = {SYSTEM: linker} | {part.options.part: part.linker for part in linker.parts}
    asked = by_text(documents)
    return {name: list(one.link(asked, k=DEPTH, threshold=0.0, level=rules.form)) for name, one in linkers.items()}


def by_text(documents: Iterable[Document]) -> list[Document]:
    """A document for each mention, those of one text side by side: what is the same in a batch is computed once."""
    single = (replace(document, mentions=(mention,)) for document in documents for mention in document.mentions)
    return sorted(single, key=lambda document: document.mentions[0].text)


def right(
    documents: Sequence[Document], answers: Mapping[str, Iterable[Prediction]], ids: IdMap, rules: Protocol
) -> dict[str, str]:
    """By system a digit for each mention, in the order of the corpus: 1 where it is right by the protocol's rule."""
    found = {}
    for name, predictions in answers.items():
        judged = outcome(pair(documents, predictions, ids, name=name).items, ids, rules.form)
        found[name] = "".join("1" if hit else "0" for hit in first_hits(judged, rules.primary))
    return found


def kept(
    place: Path, linker: FittedCascadeLinker, answers: Mapping[str, Iterable[Prediction]], learnt: dict[str, Any]
) -> None:
    """Write the cascade and the answers of each system."""
    place.mkdir(parents=True, exist_ok=True)
    folder.save(linker, place / SYSTEM, {**learnt, "command": command(), "commit": commit()})
    for name, predictions in answers.items():
        with (place / f"{name}.jsonl").open("w", encoding="utf-8") as stream:
            write_jsonl(predictions, stream)


if __name__ == "__main__":
    main()
