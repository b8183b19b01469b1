"""One run of ``fine_tune.py``: train, evaluate each epoch, keep the best weights of each form."""

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
from tune_eval import Scores, Task, read_task
from tune_plans import Run

from nomina.encoders import load
from nomina.encoders.base import WEIGHTS, TrainableEncoder, read_weights
from nomina.encoders.bert import BertEncoder, device_of
from nomina.encoders.rescnn import Pooling, ResCnnEncoder
from nomina.training.corpus import CorpusOptions, CorpusTuning
from nomina.training.examples import TokenTable
from nomina.training.loop import FitOptions, fit

KEPT = 0.6
"""Share of the old weights in their running average over epochs."""


def tune(job: tuple[argparse.Namespace, Run]) -> dict[str, Any]:
    """One run, in a worker: its record; the weights best with the dictionary alone are saved under its name."""
    arguments, run = job
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(arguments.threads)
    device = device_of("auto")
    encoder = base_of(arguments, run)
    encoder.module.to(device)
    task = task_of(arguments.data, run.task, arguments.limit)
    objective = prepare(encoder, task, run)
    judge = Judge(encoder, objective, task, run, scores_of(arguments.data, run.task, arguments.limit, "dev", device))
    judge(0)
    result = fit(objective, fit_options(run, encoder, objective.steps, arguments.limit), evaluate=judge)
    record = {
        "name": run.name,
        "run": asdict(run),
        "kind": encoder.kind,
        "best": judge.best,
        "seconds": round(result.seconds, 1),
        "log": judge.log,
    }
    if arguments.may_test:
        record["test"] = judge.test(scores_of(arguments.data, run.task, arguments.limit, "test", device))
    encoder.module.load_state_dict(judge.states["dense"])
    encoder.save(arguments.work / run.name, half=True)
    return record


@cache
def task_of(folder: Path, name: str, limit: int | None) -> Task:
    """Each task is read once a worker."""
    return read_task(folder, name, limit)


@cache
def scores_of(folder: Path, name: str, limit: int | None, split: str, device: torch.device) -> Scores:
    """Each split's scores are made once a worker."""
    return Scores(task_of(folder, name, limit), split, device)


def base_of(arguments: argparse.Namespace, run: Run) -> TrainableEncoder:
    """The encoder to start from: "raw", "fresh-max", "fresh-attention", or the name of a folder in ``--bases``.

    A folder ``max`` or ``attention`` holds a ResCNN, its frozen embeddings at times left out: those of ``raw`` then.
    """
    torch.manual_seed(run.seed)
    raw = arguments.data / "minilm"
    if run.base == "raw":
        return BertEncoder(raw, "mean", 25)
    pooling = run.base.removeprefix("fresh-")
    if pooling not in get_args(Pooling):
        return load(arguments.bases / run.base)
    start = BertEncoder(raw, "mean", 25)
    encoder = ResCnnEncoder(start.word_embeddings, start.tokenizer, cast("Pooling", pooling), 25)
    if run.base == pooling:
        encoder.module.load_state_dict(
            {**encoder.module.state_dict(), **read_weights(arguments.bases / run.base / WEIGHTS)}
        )
    return encoder


def prepare(encoder: TrainableEncoder, task: Task, run: Run) -> CorpusTuning:
    """The objective: names, mentions behind the run's prefix, and the names once more as mentions."""
    texts = [*task.names, *(run.prefix + text for text, _, _ in task.train)]
    if run.names:
        texts += [run.prefix + name for name in task.names]
    times = np.array([min(round(count**0.5), run.most) for _, _, count in task.train])
    options = CorpusOptions(
        run.batch, run.positives, run.negatives, run.pool, run.names, run.loss, run.temperature, run.seed
    )
    gold = [concepts for _, concepts, _ in task.train]
    return CorpusTuning(encoder, TokenTable.of(encoder, texts), task.concept, gold, options, times)


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


class Judge:
    """Evaluates the weights as they are and their running average; remembers the best of each form."""

    def __init__(
        self, encoder: TrainableEncoder, objective: CorpusTuning, task: Task, run: Run, scores: Scores
    ) -> None:
        self.module, self.objective, self.run, self.scores = encoder.module, objective, run, scores
        self.encoder, self.epoch, self.log = encoder, 0, list[dict[str, Any]]()
        self.train = TokenTable.of(encoder, [text for text, _, _ in task.train])
        self.names = np.arange(len(task.names))
        self.best: dict[str, dict[str, float]] = {}
        self.states: dict[str, dict[str, Tensor]] = {}
        self.average: dict[str, Tensor] = {}

    def __call__(self, step: int) -> dict[str, Any]:
        """Figures of the weights as they are, and from the second epoch on of the average."""
        own = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}
        if step == 0:
            return self._judge(own, averaged=False)
        self.epoch += 1
        found = self._judge(own, averaged=False)
        if not self.average:
            self.average = own
            return found
        self.average = {
            name: KEPT * old + (1 - KEPT) * own[name] if old.is_floating_point() else own[name]
            for name, old in self.average.items()
        }
        self.module.load_state_dict(self.average)
        self._judge(self.average, averaged=True)
        self.module.load_state_dict(own)
        return found

    def _judge(self, state: dict[str, Tensor], *, averaged: bool) -> dict[str, Any]:
        figures = self.figures(self.scores)
        self.log.append({"epoch": self.epoch, "averaged": averaged, **{f: v["@1"] for f, v in figures.items()}})
        for form, found in figures.items():
            if form not in self.best or found["@1"] > self.best[form]["@1"]:
                self.best[form] = {**found, "epoch": self.epoch, "averaged": float(averaged)}
                self.states[form] = {name: tensor.cpu() for name, tensor in state.items()}
        return {form: found["@1"] for form, found in figures.items()}

    def figures(self, scores: Scores, settings: dict[str, tuple[float, float]] | None = None) -> dict[str, Any]:
        """Figures of the weights as they are."""
        parts = TokenTable.of(self.encoder, [self.run.prefix + part for part in scores.parts])
        names = self.objective.table.vectors(self.module, self.names)
        return scores.figures(names, parts.vectors(self.module), self.train.vectors(self.module), settings)

    def test(self, scores: Scores) -> dict[str, Any]:
        """Figures on the test set of the weights, weight and bonus that are best on the development set, by form."""
        found = {}
        for form, best in self.best.items():
            self.module.load_state_dict(self.states[form])
            found[form] = self.figures(scores, {**_NONE, form: (best["weight"], best["bonus"])})[form]
        return found


_NONE = dict.fromkeys(("dense", "ngram", "names", "names+ngram"), (-1.0, 0.0))
