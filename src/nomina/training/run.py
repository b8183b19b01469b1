"""A whole training out of a recipe: checkpoints, accuracy on the way, the chosen weights in the encoder at its end."""

from __future__ import annotations

import contextlib
import json
import math
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from nomina._version import __version__
from nomina.encoders.base import TrainableEncoder
from nomina.errors import ArtifactError, NominaError, RecipeError
from nomina.files import atomic
from nomina.training import gather
from nomina.training.align import SelfAlignment
from nomina.training.biosyn import BioSynTuning
from nomina.training.dev import MAIN, of_device
from nomina.training.loop import STATE, FitOptions, FitResult, Report, fit
from nomina.training.prepare import Say, Task, encoder_of, prepare
from nomina.training.recipe import Recipe, differences

TRAINING = "training.json"
"""The file of a checkpoint folder that says which training it is of."""

_BEST = "best.safetensors"
_MOST_STEPS = 2000
_NOT_THE_SAME = frozenset({"report_every", "save_every"})
"""Options of ``[fit]`` that may be others when a training goes on."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What came out.

    Attributes:
        encoder: with the chosen weights; those of the last step where training was stopped.
        result: how it went.
        before, best: accuracy before training, and of the weights that were chosen, with their step, 0 where none
            were better than those before training; empty where it was not measured.
        steps: that the whole training has.
        versions: of what it ran on.
    """

    encoder: TrainableEncoder
    result: FitResult
    before: dict[str, Any]
    best: dict[str, Any]
    steps: int
    versions: dict[str, str]

    @property
    def parameters(self) -> str:
        """One line: how many there are."""
        return self.encoder.parameters_report()


def claim(folder: Path, recipe: Recipe, data: Mapping[str, str | None], *, resume: bool = True) -> bool:
    """Make a checkpoint folder this training's own; whether there is a checkpoint to go on from.

    Args:
        folder: made where it is missing; emptied where ``resume`` is not wanted, or what it is of has no checkpoint.
        recipe: of the training.
        data: fingerprints of what it is trained on.
        resume: go on from what is there.

    Raises:
        RecipeError: the folder is of another training, and ``resume`` is wanted.
        ArtifactError: it is no checkpoint folder.
    """
    path = folder / TRAINING
    if folder.exists() and any(folder.iterdir()) and not path.is_file():
        raise ArtifactError(f"{folder} is no folder of checkpoints: remove it, or write the model somewhere else")
    mine = {**_identity(recipe), "trained_on": dict(data)}
    if path.is_file():
        others = _others(path, mine) if resume else ["all of it"]
        if others and resume and (folder / STATE).is_file():
            raise RecipeError(
                f"{folder} holds another training ({others[0]}): go on with its options, or begin anew with --no-resume"
            )
        if others:
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(mine) + "\n", encoding="utf-8")
    return (folder / STATE).is_file()


@contextlib.contextmanager
def begun(folder: Path) -> Iterator[None]:
    """Where the training in this block ends in an error before its first checkpoint, its folder goes."""
    try:
        yield
    except NominaError:
        if gather.share()[0] == 0 and (folder / TRAINING).is_file() and not (folder / STATE).is_file():
            shutil.rmtree(folder)
        raise


def _identity(recipe: Recipe) -> dict[str, Any]:
    tables = recipe.as_json()
    return {**tables, "fit": {key: value for key, value in tables["fit"].items() if key not in _NOT_THE_SAME}}


def _others(path: Path, mine: Mapping[str, Any]) -> list[str]:
    """What the training of a checkpoint folder and mine differ in."""
    try:
        return differences(json.loads(path.read_text(encoding="utf-8")), mine)
    except (ValueError, AttributeError) as error:
        raise ArtifactError(f"{path} is damaged: begin anew with --no-resume") from error


def train(
    recipe: Recipe,
    task: Task,
    device: torch.device,
    *,
    say: Say,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
) -> Trained:
    """Train as the recipe says; go on from the checkpoint in ``task.cache``, where there is one.

    Args:
        recipe: what, how.
        task: on what; its folder ``cache`` is the one of ``claim``.
        device: where.
        say: told a line of what is prepared.
        report: told each record of progress.
        stop: see ``loop.fit``.

    Raises:
        RecipeError: the recipe does not fit the data, or the loss is no number any more.
        ArtifactError: a base, teacher or checkpoint cannot be read.
    """
    encoder = encoder_of(recipe, device)
    say(f"{encoder.kind}: {encoder.parameters_report()}; {layout(encoder)}")
    objective, dev = prepare(recipe, encoder, task, say)
    options = fit_options(recipe, objective, task.cache)
    judge = Judge(encoder, objective, dev, task.cache)
    if not (task.cache / STATE).exists():
        judge.first(report)
    result = fit(objective, options, evaluate=judge, report=report, stop=stop, enough=judge.enough(recipe, options))
    gather.wait()
    if not result.stopped and recipe.fit.keep == "best":
        judge.take_best()
    if isinstance(objective, BioSynTuning):
        say(f"the learnt weight of the 3-gram cosine: {objective.weight:.3f}; the encoder alone is the model")
    versions = versions_of(next(encoder.module.parameters()))
    before, best = judge.figures(result, recipe.fit.keep, say)
    return Trained(encoder, result, before, best, options.steps, versions)


def layout(encoder: TrainableEncoder) -> str:
    """One line: what vectors are made of."""
    options = {key: value for key, value in encoder.options().items() if value is not False}
    return ", ".join([f"vectors of {encoder.dim}", *(f"{key} {value}" for key, value in options.items())])


def fit_options(recipe: Recipe, objective: _Counted, folder: Path) -> FitOptions:
    """A recipe's table ``fit`` for the loop; rates rise for half of the steps at most, epochs have ``least_steps``."""
    how, epoch = recipe.fit, max(objective.steps, 1)
    if not how.steps:
        epoch = max(epoch, math.ceil(how.least_steps / how.epochs))
    steps = how.steps or max(round(how.epochs * epoch), 1)
    usual = min(epoch, _MOST_STEPS)
    return FitOptions(
        steps=steps,
        lr=how.lr,
        warmup=min(how.warmup, steps // 2),
        weight_decay=how.weight_decay,
        clip=how.clip,
        seconds=how.minutes * 60 or None,
        bf16=how.bf16,
        compiled=how.compiled,
        seed=how.seed,
        folder=folder,
        save_every=how.save_every or usual,
        report_every=how.report_every,
        evaluate_every=how.evaluate_every or min(math.ceil(epoch / how.evaluations), _MOST_STEPS),
    )


class _Model(Protocol):
    """An encoder or a generator."""

    module: torch.nn.Module


class _Measure(Protocol):
    """A development set."""

    def accuracy(self) -> dict[str, float]: ...


class _Counted(Protocol):
    """An objective."""

    @property
    def steps(self) -> int: ...


class Judge:
    """Measures accuracy and keeps the best weights and their figures in the folder of checkpoints.

    A training that goes on measures what it measured before once more where its checkpoint is older than the best.
    """

    def __init__(self, encoder: _Model, objective: object, dev: _Measure | None, folder: Path) -> None:
        self.encoder, self.objective, self.dev, self.folder = encoder, objective, dev, folder

    def first(self, report: Report | None) -> None:
        """The figures before the first step; those weights are the best ones so far."""
        if self.dev:
            figures = {"step": 0, **self.dev.accuracy()}
            self._save()
            self._write("before", figures)
            self._write("best", figures)
            if report:
                report(figures)

    def __call__(self, step: int) -> dict[str, Any]:
        """The figures of the weights as they are; they are the best ones only if better than all before."""
        if isinstance(self.objective, SelfAlignment):
            self.objective.renew()
        if not self.dev:
            return {}
        figures = self.dev.accuracy()
        if figures[MAIN] > self.read("best").get(MAIN, -1.0):
            self._save()
            self._write("best", {"step": step, **figures})
        return figures

    def enough(self, recipe: Recipe, options: FitOptions) -> Callable[[int], bool] | None:
        """What says at a step that so many evaluations as the recipe has patience for were no better; None without."""
        steps = recipe.fit.patience * options.evaluate_every
        if not steps or not self.dev:
            return None

        def is_enough(step: int) -> bool:
            gather.wait()
            return step - int(self.read("best").get("step", 0)) >= steps

        return is_enough

    def take_best(self) -> None:
        """Put the best weights back into the encoder; what it has stays where none were measured."""
        if (path := self.folder / _BEST).is_file():
            try:
                self.encoder.module.load_state_dict(load_file(path))
            except (OSError, ValueError, RuntimeError, SafetensorError) as error:
                raise ArtifactError(f"{path} is damaged ({error}): begin anew with --no-resume") from error

    def figures(self, result: FitResult, keep: str, say: Say) -> tuple[dict[str, Any], dict[str, Any]]:
        """Those before training and of the weights that ``keep`` chooses; where these are not better, that is said."""
        before, best = self.read("before"), self.read("best")
        later = [
            {key: value for key, value in facts.items() if key != "seconds"} for facts in result.log if MAIN in facts
        ]
        if not later or not before:
            return before, best
        last, most = later[-1], max(later, key=lambda figures: float(figures[MAIN]))
        if keep == "best" and best["step"] == 0:
            hint = "try a lower fit.lr" if most[MAIN] < before[MAIN] else "fit.keep=last takes the last ones"
            say(
                f"no weights were better than those before training: {MAIN} {before[MAIN]} there, then at most"
                f" {most[MAIN]} (step {most['step']:,}); the model is as it was before training: {hint}"
            )
        if keep == "last" and last[MAIN] <= before[MAIN]:
            say(
                f"the last weights are no better than those before training: {MAIN} {before[MAIN]} there, then"
                f" {last[MAIN]} (step {last['step']:,}); fit.keep=best would not have kept them"
            )
        return before, best if keep == "best" else last

    def _save(self) -> None:
        if gather.share()[0] == 0:
            state = self.encoder.module.state_dict()
            with atomic(self.folder / _BEST) as temporary:
                temporary.write_bytes(
                    save({name: tensor.detach().cpu().clone().contiguous() for name, tensor in state.items()})
                )

    def _write(self, name: str, figures: dict[str, Any]) -> None:
        if gather.share()[0] == 0:
            with atomic(self.folder / f"{name}.json") as temporary:
                temporary.write_text(json.dumps(figures) + "\n", encoding="utf-8")

    def read(self, name: str) -> dict[str, Any]:
        """The figures "before" or "best"; empty where there are none."""
        path = self.folder / f"{name}.json"
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise ArtifactError(f"{path} is damaged ({error}): begin anew with --no-resume") from error
        return found


def versions_of(parameter: torch.Tensor) -> dict[str, str]:
    """What a training runs on, by the device of a parameter."""
    import transformers

    return {
        "nomina": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": of_device(parameter),
    }
