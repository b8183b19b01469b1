"""Figures of an encoder: the mentions of test sets linked with it; a row that is there already is not made again.

    python experiments/embedding.py MODEL --name NAME --title TITLE --rows ncbi:clean-kb askapatient:as-published
                                    [--tiers [--alone TITLE]] [--against TITLE=MODEL ...] [--work DIR] [--again]

``MODEL`` is a saved or an exported encoder; a saved one is exported first, its weights stored as float32. Writes
``results/embedding_<name>_<corpus>_<protocol>.json``: accuracy with intervals, strata, and paired tests with the
encoders of ``--against``; of AskAPatient the means over its folds. ``--tiers``: behind the dictionary's tiers, as
``nomina.load()`` links; ``--alone``: compared with the encoder without them. The vectors of a KB's names stay in the
cache folder of nomina.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from baselines import SEED, facts, mean_of, predicted
from common import RESULTS, parser, record
from eval_kbs import Workshop
from eval_tasks import TASKS, Task
from numpy.typing import NDArray

from nomina import encoders
from nomina.encoders.base import Encoder
from nomina.encoders.onnx import BATCH, OnnxEncoder
from nomina.evaluation.protocols import prepare, protocol_of
from nomina.evaluation.report import Report, evaluate
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.embedding import EmbeddingLinker, fingerprint

PACKAGES = ("numpy", "onnxruntime", "tokenizers")
SAMPLE = "ncbi-clean"
"""Every 200th name of this KB: what an export is compared with torch on."""


def main() -> None:
    """Link, evaluate, record, print, row by row."""
    arguments = command_line().parse_args()
    shop = Workshop(arguments.shared, arguments.work)
    model = Remembering(opened(arguments.model, shop))
    against = (other.partition("=") for other in arguments.against)
    others = {title: Remembering(opened(Path(folder), shop)) for title, _, folder in against}
    for row in arguments.rows:
        corpus, _, protocol = row.partition(":")
        tasks = [task for task in TASKS if (task.corpus, task.protocol) == (corpus, protocol)]
        if not tasks:
            raise SystemExit(f"there is no row {row}: name CORPUS:PROTOCOL of eval_tasks.py")
        name = f"embedding_{arguments.name}_{corpus}_{protocol}"
        described = description(model.encoder, arguments.tiers)
        if not arguments.again and is_there(name, described):
            print(f"{name}: there already", flush=True)
            continue
        reports = [run(task, shop, arguments, model, others) for task in tasks]
        metrics = facts(reports[0]) if len(reports) == 1 else mean_of(reports)
        libraries = {package: version(package) for package in PACKAGES}
        record(name, metrics, seed=SEED, corpus=corpus, protocol=protocol, encoder=described, libraries=libraries)


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = parser(__doc__)
    options.add_argument("model", type=Path, help="folder of an encoder")
    options.add_argument("--name", required=True, help="in the names of the results")
    options.add_argument("--title", required=True, help="in RESULTS.md")
    options.add_argument("--rows", nargs="+", required=True, metavar="CORPUS:PROTOCOL")
    options.add_argument("--tiers", action="store_true", help="the dictionary first")
    options.add_argument("--against", nargs="*", default=[], metavar="TITLE=MODEL", help="for paired tests")
    options.add_argument("--alone", metavar="TITLE", help="for a paired test of the tiers with the encoder alone")
    options.add_argument("--again", action="store_true", help="rows that are there too")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    return options


class Remembering(Encoder):
    """An encoder that keeps all vectors: the KBs of the rows share most of their names."""

    def __init__(self, encoder: OnnxEncoder) -> None:
        self.encoder, self.tokenizer, self.dim = encoder, encoder.tokenizer, encoder.dim
        self.fingerprint, self.query_prefix = encoder.fingerprint, encoder.query_prefix
        self._kept: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str], batch_size: int = BATCH) -> NDArray[np.float32]:
        """See ``Encoder``."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        self._kept.update(zip(new, self.encoder.encode(new, batch_size), strict=True))
        return np.array([self._kept[text] for text in texts], np.float32).reshape(len(texts), self.dim)


def opened(folder: Path, shop: Workshop) -> OnnxEncoder:
    """The encoder of a folder, exported to the work folder where it has been saved by torch only."""
    if encoders.is_exported(folder):
        return OnnxEncoder(folder)
    from nomina.encoders.export import export

    encoder = encoders.load_trainable(folder)
    prefix = "-prefix" if encoder.query_prefix else ""
    target = shop.work / "encoders" / (fingerprint(encoder)[:16] + prefix)
    if not encoders.is_exported(target):
        print(f"{folder}: {export(encoder, target, [*shop(SAMPLE).surfaces()][::200], weights='float32')}", flush=True)
    return OnnxEncoder(target)


def description(model: OnnxEncoder, tiers: bool) -> dict[str, Any]:
    """What a result depends on beside code and data."""
    size = sum(path.stat().st_size for path in model.folder.iterdir())
    prefix = {"query_prefix": model.query_prefix} if model.query_prefix else {}
    return {"fingerprint": model.fingerprint, "dim": model.dim, "bytes": size, "tiers": tiers, **prefix}


def is_there(name: str, described: dict[str, Any]) -> bool:
    """Whether a result is that of this encoder."""
    path = RESULTS / f"{name}.json"
    return path.is_file() and json.loads(path.read_text(encoding="utf-8"))["encoder"] == described


def run(
    task: Task, shop: Workshop, arguments: argparse.Namespace, model: Remembering, others: dict[str, Remembering]
) -> Report:
    """The report of one test set, its figures printed."""
    started = time.monotonic()
    kb, gold, train = shop(task.kb), task.test(shop), task.train(shop)
    rules = protocol_of(task.protocol)
    documents, _ = prepare(gold, rules, kb)
    against = {
        title: predicted(linker(kb, encoder, arguments.tiers), documents, rules.form)
        for title, encoder in others.items()
    }
    if arguments.alone:
        against[arguments.alone] = predicted(linker(kb, model, tiers=False), documents, rules.form)
    report = evaluate(
        predicted(linker(kb, model, arguments.tiers), documents, rules.form),
        gold, kb, task.protocol, train=train, against=against, name=arguments.title, baselines=False, seed=SEED,
        corpus_path=task.name,
    )  # fmt: skip
    for system in report.systems:
        at = {k: f"{100 * value:.2f}" for k, value in system.metrics.any.items()}
        print(f"{task.name:32} {system.name:40} any {at} strict {100 * system.metrics.strict['1']:.2f}")
    print(f"{task.name}: {report.corpus.mentions:,} mentions, {time.monotonic() - started:.0f} s", flush=True)
    return report


def linker(kb: KnowledgeBase, model: Remembering, tiers: bool) -> Linker:
    """The encoder alone, or behind the dictionary."""
    if tiers:
        return CascadeLinker(kb, model.encoder.folder, progress=told)
    return EmbeddingLinker(kb, model, progress=told)


def told(done: int, total: int) -> None:
    """Progress with the names of a KB."""
    if done % (1 << 15) == 0:
        print(f"{done:,} of {total:,} names", flush=True)


if __name__ == "__main__":
    main()
