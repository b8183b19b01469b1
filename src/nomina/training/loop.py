"""The training loop: warm-up and linear decay, bf16, checkpoints that resume to the same trajectory, progress.

Several processes (``gather``) add up their gradients; with dropout a resumed run of several follows the first nearly.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from nomina.errors import ArtifactError, RecipeError
from nomina.files import atomic
from nomina.training.gather import share, sum_gradients, the_first_says

Batch = TypeVar("Batch")

STATE = "state.json"


class Objective(ABC, Generic[Batch]):
    """What is trained, on which batches, by which loss.

    Attributes:
        module: whose parameters with ``requires_grad`` are trained.
    """

    module: nn.Module

    @abstractmethod
    def batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, the same ones whenever the epoch is asked for."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The loss of a batch, a scalar."""

    def rates(self) -> dict[str, float]:
        """The learning rates of parameters, by name, that have their own; they rise and fall as the others'."""
        return {}

    def state(self) -> dict[str, Tensor]:
        """What batches depend on beside the epoch, for a checkpoint: near names found with earlier weights, say."""
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take back what ``state`` gave."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How to train.

    Attributes:
        steps: after which the learning rate is down at zero and training ends.
        seconds: an end by the clock as well; the rate then falls by whichever runs out first. The trajectory depends on
            the machine's speed where this is given.
        warmup: steps over which the rate rises to ``lr``.
        bf16: run the loss under autocast to bfloat16 where there is a GPU; on a CPU it is slower.
        compiled: compile the module before the first step (``torch.compile``, lengths left open); the first
            step takes half a minute more, and no gain for a small encoder was measured.
        seed: of dropout.
        folder: where checkpoints go and are resumed from; None: none.
        save_every: steps between two checkpoints.
        report_every: steps between two reports.
        evaluate_every: steps between two calls of ``evaluate``.
    """

    steps: int
    lr: float = 2e-4
    warmup: int = 200
    weight_decay: float = 0.01
    clip: float = 1.0
    seconds: float | None = None
    bf16: bool = False
    compiled: bool = False
    seed: int = 0
    folder: Path | None = None
    save_every: int = 1000
    report_every: int = 100
    evaluate_every: int = 2000

    def __post_init__(self) -> None:
        if self.steps < 1 or self.lr <= 0 or self.warmup < 0:
            raise RecipeError(f"steps ({self.steps}) and lr ({self.lr}) must be above 0, warmup not below")


@dataclass(slots=True)
class FitResult:
    """How training went: steps done, seconds taken, a record of each report and evaluation; whether it was stopped."""

    steps: int = 0
    seconds: float = 0.0
    log: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False


Report = Callable[[dict[str, Any]], None]
Evaluate = Callable[[int], dict[str, Any]]


def fit(
    objective: Objective[Batch],
    options: FitOptions,
    *,
    evaluate: Evaluate | None = None,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
    enough: Callable[[int], bool] | None = None,
) -> FitResult:
    """Train ``objective.module`` where it is; go on from the folder's checkpoint where there is one.

    Args:
        objective: See there.
        options: See there.
        evaluate: Called with the step every ``evaluate_every`` steps and at the end; what it returns is logged. The
            clock stands still meanwhile.
        report: Called with each record of the log as it comes.
        stop: Asked after each step; where it says so, training is saved and ends at once, without a last evaluation.
        enough: Asked with the step behind each evaluation; where it says so, training has come to its end.

    Raises:
        RecipeError: the loss or the weights are not finite any more, or an epoch has no batch.
        ArtifactError: the checkpoint cannot be read, or is of another training.
    """
    run = _Run(objective, options, enough)
    run.resume()
    run.module.train()
    while not run.done():
        for batch in islice(objective.batches(run.epoch), run.offset, None):
            run.step(batch)
            run.after_step(evaluate, report)
            if run.done():
                break
            if stop and stop():
                return run.stopped()
        else:
            if run.offset == 0:
                raise RecipeError("an epoch has no batch: give more examples, or a smaller batch size")
            run.epoch, run.offset = run.epoch + 1, 0
    run.module.eval()
    run.finish(evaluate, report)
    return run.result


class _Run(Generic[Batch]):
    """The state of one training: what a checkpoint holds."""

    def __init__(
        self, objective: Objective[Batch], options: FitOptions, enough: Callable[[int], bool] | None = None
    ) -> None:
        self.enough, self.is_over = enough, False
        self.objective, self.options, self.module = objective, options, objective.module
        self.device = next(self.module.parameters()).device
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            _groups(self.module, options.lr, objective.rates()),
            lr=options.lr,
            weight_decay=options.weight_decay,
            fused=self.device.type == "cuda",
        )
        self.result, self.epoch, self.offset = FitResult(), 0, 0
        self.losses: list[Tensor] = []
        self.since = self.reported = time.monotonic()
        torch.manual_seed(options.seed + share()[0])
        if options.compiled:
            self.module.compile(dynamic=True)

    def rate(self) -> float:
        """The learning rate of the next step, as a share of ``lr``."""
        step, total = self.result.steps, self.options.steps
        if step < self.options.warmup:
            return (step + 1) / self.options.warmup
        done = (step - self.options.warmup) / max(total - self.options.warmup, 1)
        if self.options.seconds is not None:
            done = max(done, self.result.seconds / self.options.seconds)
        return max(1.0 - done, 0.0)

    def done(self) -> bool:
        """Whether steps or seconds have run out, or an evaluation was enough."""
        seconds = self.options.seconds
        if self.is_over or self.result.steps >= self.options.steps:
            return True
        return seconds is not None and self.result.seconds >= seconds

    def step(self, batch: Batch) -> None:
        """One step of the optimiser."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest"] * self.rate()
        half = self.options.bf16 and self.device.type == "cuda"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            loss = self.objective.loss(batch)
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        sum_gradients(self.parameters)
        nn.utils.clip_grad_norm_(self.parameters, self.options.clip)
        self.optimizer.step()
        self.losses.append(loss.detach())
        self.result.steps += 1
        self.offset += 1
        now = time.monotonic()
        self.result.seconds += now - self.since
        self.since = now
        if self.options.seconds is not None:
            self.result.seconds = the_first_says(self.result.seconds, self.device)

    def after_step(self, evaluate: Evaluate | None, report: Report | None) -> None:
        """Report, evaluate and save where it is time to."""
        step = self.result.steps
        if step % self.options.report_every == 0:
            self._report(report)
        if evaluate and step % self.options.evaluate_every == 0 and not self.done():
            self._evaluate(evaluate, report)
            self.is_over = bool(self.enough and self.enough(step))
        if self.options.folder and step % self.options.save_every == 0:
            self.save(self.options.folder)
        self.since = time.monotonic()

    def stopped(self) -> FitResult:
        """Save, so that the training can go on from this very step."""
        if self.options.folder:
            self.save(self.options.folder)
        self.result.stopped = True
        return self.result

    def finish(self, evaluate: Evaluate | None, report: Report | None) -> None:
        """The last report, evaluation and checkpoint."""
        if self.losses:
            self._report(report)
        if evaluate and not self.is_over:
            self._evaluate(evaluate, report)
        if self.options.folder:
            self.save(self.options.folder)

    def _report(self, report: Report | None) -> None:
        self._check()
        loss = float(torch.stack(self.losses).float().mean())
        now = time.monotonic()
        speed = len(self.losses) / max(now - self.reported, 1e-9)
        self.losses, self.reported = [], now
        self._log({"loss": round(loss, 5), "lr": self.options.lr * self.rate(), "steps_per_s": round(speed, 2)}, report)

    def _check(self) -> None:
        """That losses since the last report, and weights, are finite: no others are reported, measured or saved."""
        for what, tensors in (("loss is", self.losses), ("weights are", self.parameters)):
            if tensors and not torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all():
                raise RecipeError(f"the {what} not finite after step {self.result.steps:,}: lower fit.lr")

    def _evaluate(self, evaluate: Evaluate, report: Report | None) -> None:
        self._check()
        training = self.module.training
        self.module.eval()
        self._log(evaluate(self.result.steps), report)
        self.module.train(training)
        self.reported = time.monotonic()

    def _log(self, facts: dict[str, Any], report: Report | None) -> None:
        record = {"step": self.result.steps, "seconds": round(self.result.seconds, 1), **facts}
        self.result.log.append(record)
        if report:
            report(record)

    def save(self, folder: Path) -> None:
        """Write the checkpoint, the first process for all; the state file, written last, names its tensors."""
        self._check()
        if share()[0] != 0:
            return
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {f"module.{name}": t for name, t in self.module.state_dict().items()}
        tensors |= {f"objective.{name}": t for name, t in self.objective.state().items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": t for name, t in state.items()}
        tensors["random.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        name = f"step-{self.result.steps}.safetensors"
        with atomic(folder / name) as temporary:
            temporary.write_bytes(save({key: t.detach().cpu().clone().contiguous() for key, t in tensors.items()}))
        state = {
            "tensors": name,
            "steps": self.result.steps,
            "seconds": self.result.seconds,
            "epoch": self.epoch,
            "offset": self.offset,
            "log": self.result.log,
        }
        with atomic(folder / STATE) as temporary:
            temporary.write_text(json.dumps(state) + "\n", encoding="utf-8")
        for other in folder.glob("step-*.safetensors"):
            if other.name != name:
                other.unlink()

    def resume(self) -> None:
        """Go back to the folder's checkpoint, where there is one."""
        folder = self.options.folder
        if folder is None or not (folder / STATE).exists():
            return
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            tensors = load_file(folder / state["tensors"])
            self._restore(tensors)
            self.result = FitResult(state["steps"], state["seconds"], state["log"])
            self.epoch, self.offset = state["epoch"], state["offset"]
            self.is_over = bool(self.enough and self.enough(self.result.steps))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ArtifactError(
                f"{folder} holds no checkpoint of this training, or a damaged one ({error}): empty it to begin anew"
            ) from error

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        self.module.load_state_dict(_under("module.", tensors))
        self.objective.restore(_under("objective.", tensors))
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            if key.startswith("optimizer."):
                _, number, name = key.split(".")
                state.setdefault(int(number), {})[name] = tensor
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], self.device)


def _groups(module: nn.Module, lr: float, rates: dict[str, float]) -> list[dict[str, Any]]:
    """What is trained, by learning rate; a parameter with a rate of its own does not decay."""
    trained = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    most = [parameter for name, parameter in trained.items() if name not in rates]
    own = [{"params": [trained[name]], "highest": rate, "weight_decay": 0.0} for name, rate in rates.items()]
    return [{"params": most, "highest": lr}, *own]


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}
