"""One run of ``fine_tune.py``: train, evaluate each epoch, keep the best weights of each form, test them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import torch
import transformers
from torch import Tensor
from tune_eval import Scores, Settings
from tune_plans import Run
from tune_tasks import Dictionary, Known, Task, read_task

from nomina.encoders import load_trainable
from nomina.encoders.base import WEIGHTS, TrainableEncoder, read_weights
from nomina.encoders.bert import BertEncoder, device_of
from nomina.encoders.rescnn import Pooling, ResCnnEncoder
from nomina.training.biosyn import BioSynTuning, sparse_scores
from nomina.training.corpus import CorpusOptions, CorpusTuning
from nomina.training.examples import TokenTable
from nomina.training.loop import FitOptions, fit

KEPT = 0.6
"""Share of the old weights in their running average over epochs."""
MANY = 200_000
"""Names from which on vectors are made in bfloat16, and no average of weights is tried."""


def tune(job: tuple[argparse.Namespace, Run]) -> dict[str, Any]:
    """One run, in a worker: its record; the weights best with the dictionary alone are saved under its name."""
    arguments, run = job
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(arguments.threads)
    torch.set_float32_matmul_precision("high")
    where = (arguments.data, run.task, arguments.limit)
    encoder = base_of(arguments, run)
    objective = prepare(encoder, task_of(*where, run.learns), known_of(*where, run.learns, ("train",)), run)
    judge = Judge(encoder, run, objective, task_of(*where, "dev"), scores_of(*where, "dev", encoder.device))
    judge(0)
    test = (task_of(*where, "test"), scores_of(*where, "test", encoder.device)) if arguments.may_test else ()
    before = judge.test(*test)["dense"] if test else None
    result = fit(objective, fit_options(run, encoder, objective.steps, arguments.limit), evaluate=judge)
    record = {
        "name": run.name,
        "run": asdict(run),
        "kind": encoder.kind,
        "best": judge.best,
        "seconds": round(result.seconds, 1),
        "log": judge.log,
    }
    if test:
        record |= {"before": before, "test": judge.test(*test)}
        if run.traindev:
            record["traindev"] = traindev(arguments, run, judge.best, *test)
    encoder.module.load_state_dict(judge.states["dense"])
    encoder.query_prefix = run.prefix
    encoder.save(arguments.work / run.name, half=True)
    return record


@cache
def task_of(folder: Path, name: str, limit: int | None, dictionary: Dictionary) -> Task:
    """Each task is read once a worker."""
    return read_task(folder, name, limit, dictionary)


@cache
def known_of(
    folder: Path, name: str, limit: int | None, dictionary: Dictionary, splits: tuple[str, ...]
) -> list[Known]:
    """Each split's mentions are gathered once a worker."""
    return task_of(folder, name, limit, dictionary).known(splits)


@cache
def scores_of(folder: Path, name: str, limit: int | None, split: Dictionary, device: torch.device) -> Scores:
    """Each split's scores are made once a worker."""
    where = (folder, name, limit, split)
    return Scores(task_of(*where), split, device, known_of(*where, ("train",)))


def base_of(arguments: argparse.Namespace, run: Run) -> TrainableEncoder:
    """The encoder to start from: "raw", "fresh-max", "fresh-attention", or the name of a folder in ``--bases``.

    A folder ``max`` or ``attention`` holds a ResCNN, its frozen embeddings at times left out: those of ``raw`` then.
    """
    torch.manual_seed(run.seed)
    encoder = _base(arguments, run)
    encoder.module.to(device_of("auto"))
    return encoder


def _base(arguments: argparse.Namespace, run: Run) -> TrainableEncoder:
    raw = arguments.data / "minilm"
    if run.base == "raw":
        return BertEncoder(raw, "mean", 25)
    pooling = run.base.removeprefix("fresh-")
    if pooling not in get_args(Pooling):
        return load_trainable(arguments.bases / run.base)
    start = BertEncoder(raw, "mean", 25)
    encoder = ResCnnEncoder(start.word_embeddings, start.tokenizer, cast("Pooling", pooling), 25)
    if run.base == pooling:
        encoder.module.load_state_dict(
            {**encoder.module.state_dict(), **read_weights(arguments.bases / run.base / WEIGHTS)}
        )
    return encoder


def prepare(encoder: TrainableEncoder, task: Task, known: list[Known], run: Run) -> CorpusTuning:
    """The objective: names, mentions behind the run's prefix, and the names once more as mentions.

    Where the dictionary holds the mentions themselves, each is kept apart from its very text.
    """
    texts = [*task.names, *(run.prefix + mention.text for mention in known)]
    if run.names:
        texts += [run.prefix + name for name in task.names]
    times = np.array([min(round(mention.count**0.5), run.most) for mention in known])
    gold = [mention.gold for mention in known]
    apart = task.own_text(known) if task.published and run.learns != "train" else None
    table, loss = TokenTable.of(encoder, texts), "marginal" if run.loss == "biosyn" else run.loss
    options = CorpusOptions(
        run.batch, run.positives, run.negatives, run.pool, run.names, loss, run.temperature, run.seed
    )
    if run.loss != "biosyn":
        return CorpusTuning(encoder, table, task.concept, gold, options, times, apart)
    sparse = sparse_scores(task.names, [mention.text for mention in known], encoder.device)
    return BioSynTuning(encoder, table, task.concept, gold, options, sparse, times, apart)


def fit_options(run: Run, encoder: TrainableEncoder, steps: int, limit: int | None) -> FitOptions:
    """How ``fit`` trains: evaluation and report once an epoch."""
    return FitOptions(
        steps=(min(run.epochs, 2) if limit else run.epochs) * steps,
        lr=run.lr,
        warmup=steps // 2,
        weight_decay=0.0 if encoder.kind == "rescnn" else 0.01,
        bf16=encoder.device.type == "cuda",
        seed=run.seed,
        report_every=steps,
        evaluate_every=steps,
    )


def traindev(
    arguments: argparse.Namespace, run: Run, best: dict[str, dict[str, float]], task: Task, scores: Scores
) -> dict[str, Any]:
    """Figures on the test set of a training on both other sets, for as many epochs as were best on the development set.

    The rate falls as it did there; weights of n-grams are those of the development set, or learnt anew.
    """
    chosen = best["learnt" if run.loss == "biosyn" else "dense"]
    encoder, epochs = base_of(arguments, run), int(chosen["epoch"])
    learns: Dictionary = "train" if run.learns == "train" else "test"
    where, splits = (arguments.data, run.task, arguments.limit, learns), ("train", "dev")
    known = known_of(*where, splits)
    objective = prepare(encoder, task_of(*where), known, run)
    average, done = Average(encoder), [0]

    def stop() -> bool:
        done[0] += 1
        return done[0] == epochs * objective.steps

    def evaluate(step: int) -> dict[str, Any]:
        average.take()
        return {}

    if epochs:
        fit(objective, fit_options(run, encoder, objective.steps, arguments.limit), evaluate=evaluate, stop=stop)
    if chosen["averaged"]:
        encoder.module.load_state_dict(average.state)
    judge = Judge(encoder, run, objective, task, scores)
    settings = {form: (found["weight"], 0.0) for form, found in best.items() if form in ("dense", "ngram")}
    if isinstance(objective, BioSynTuning):
        settings["learnt"] = (objective.weight, 0.0)
    return {"epochs": epochs, **judge.figures(task, scores, settings)}


class Average:
    """The running average of an encoder's weights over epochs."""

    def __init__(self, encoder: TrainableEncoder) -> None:
        self.module, self.state = encoder.module, dict[str, Tensor]()

    def take(self) -> dict[str, Tensor]:
        """Take the weights as they are into the average; a copy of them."""
        own = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}
        old = self.state or own
        self.state = {
            name: KEPT * old[name] + (1 - KEPT) * tensor if tensor.is_floating_point() else tensor
            for name, tensor in own.items()
        }
        return own


class Judge:
    """Evaluates the weights as they are and their running average; remembers the best of each form."""

    def __init__(
        self, encoder: TrainableEncoder, run: Run, objective: CorpusTuning, task: Task, scores: Scores
    ) -> None:
        self.encoder, self.module, self.run, self.task, self.scores = encoder, encoder.module, run, task, scores
        self.objective, self.average = objective, Average(encoder)
        self.epoch, self.log = 0, list[dict[str, Any]]()
        self.tables: dict[int, TokenTable] = {}
        self.best: dict[str, dict[str, float]] = {}
        self.states: dict[str, dict[str, Tensor]] = {}

    def __call__(self, step: int) -> dict[str, Any]:
        """Figures of the weights as they are, and from the second epoch on of the average."""
        if step == 0:
            return self._judge(self.module.state_dict(), averaged=False)
        self.epoch += 1
        own = self.average.take()
        found = self._judge(own, averaged=False)
        if self.epoch > 1 and len(self.task.names) < MANY:
            self.module.load_state_dict(self.average.state)
            self._judge(self.average.state, averaged=True)
            self.module.load_state_dict(own)
        return found

    def _judge(self, state: dict[str, Tensor], *, averaged: bool) -> dict[str, Any]:
        figures = self.figures(self.task, self.scores)
        self.log.append({"epoch": self.epoch, "averaged": averaged, **{f: v["@1"] for f, v in figures.items()}})
        for form, found in figures.items():
            if form not in self.best or found["@1"] > self.best[form]["@1"]:
                self.best[form] = {**found, "epoch": self.epoch, "averaged": float(averaged)}
                self.states[form] = {name: tensor.detach().cpu().clone() for name, tensor in state.items()}
        return {form: found["@1"] for form, found in figures.items()}

    def figures(self, task: Task, scores: Scores, settings: Settings | None = None) -> dict[str, Any]:
        """Figures of the weights as they are."""
        if id(task) not in self.tables:
            self.tables[id(task)] = TokenTable.of(self.encoder, task.names)
        half = len(task.names) >= MANY
        names = self.tables[id(task)].vectors(self.module, bf16=half)
        parts = TokenTable.of(self.encoder, [self.run.prefix + part for part in scores.parts])
        learnt = self.objective.weight if isinstance(self.objective, BioSynTuning) else None
        if settings and "learnt" in settings:
            learnt = settings["learnt"][0]
        train = names[:0]
        if scores.known:
            train = TokenTable.of(self.encoder, scores.known).vectors(self.module)
        return scores.figures(names, parts.vectors(self.module, bf16=half), train, settings, learnt)

    def test(self, task: Task, scores: Scores) -> dict[str, Any]:
        """Figures on the test set of the weights, weight and bonus that are best on the development set, by form."""
        found, own = {}, {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
        for form, best in self.best.items():
            self.module.load_state_dict(self.states[form])
            found[form] = self.figures(task, scores, {form: (best["weight"], best["bonus"])})[form]
        self.module.load_state_dict(own)
        return found
