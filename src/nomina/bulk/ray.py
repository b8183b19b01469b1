"""The workers of a run as actors on a Ray cluster: each holds a pipeline and is given a shard when it is idle.

Inputs and the run's folder lie on a file system that all nodes see under the same path, or on an object store. An actor
that is lost, with its node or without, costs its shard, which is given to another one; the manifest is kept by the
process that began it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple, Self

from nomina.bulk.manifest import Done, Shard
from nomina.bulk.workers import ONE_THREAD, Answer
from nomina.errors import MissingExtra, NominaError, UsageError

_NO_USAGE_REPORT = "RAY_USAGE_STATS_ENABLED"
_CPU = "cpu"


class Outcome(NamedTuple):
    """What an actor gives back: what came of a shard, or what a user is to be told."""

    done: Done | None = None
    stop: str | None = None


class ShardActor:
    """What an actor does; Ray makes actors of it, and calls nothing else."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self._order = order
        self._pipeline: Any = None

    def start(self) -> Outcome:
        """Load what links."""
        from nomina.bulk.engine import pipeline
        from nomina.bulk.options import Options

        return _told(lambda: self._load(pipeline, Options.from_json(self._order["options"])))

    def _load(self, pipeline: Callable[..., Any], options: Any) -> None:  # noqa: ANN401
        self._options = options
        self._pipeline = pipeline(options, self._order["device"])

    def do(self, shard: Sequence[Any], most_errors: int | None) -> Outcome:
        """Do a shard."""
        from nomina.bulk.engine import make_new
        from nomina.bulk.shard import run_shard
        from nomina.bulk.store import open_store

        def work() -> Done:
            make_new(self._pipeline, 1)
            store = open_store(self._order["folder"])
            return run_shard(self._pipeline, Shard(*shard), self._options, store, lambda *counts: None, most_errors)

        return _told(work)


def _told(work: Callable[[], Done | None]) -> Outcome:
    try:
        return Outcome(done=work())
    except NominaError as error:
        return Outcome(stop=str(error))


class _Hired:
    """An actor, what it is asked just now, and its shard if that is what it does."""

    def __init__(self, number: int, actor: Any) -> None:  # noqa: ANN401
        self.number, self.actor = number, actor
        self.asked: Any = actor.start.remote()
        self.shard: Shard | None = None


class RayCrew:
    """So many actors, used as a context, as ``nomina.bulk.workers.Crew``.

    Args:
        size: how many; where None, one a CPU of the cluster, or one a GPU.
        most: more than so many are not needed.
        device: ``cpu`` or ``cuda``; more actors than there are GPUs share them.
        order: what each is told first, beside its device.
        address: of the cluster; where None, that of ``RAY_ADDRESS``, else one is made on this machine.

    Raises:
        MissingExtra: ``ray`` is not installed.
        UsageError: no cluster at the address, or none with a GPU.
    """

    def __init__(self, size: int | None, most: int, device: str, order: Mapping[str, Any], address: str | None) -> None:
        self._ray = _connected(address)
        kind = "CPU" if device == _CPU else "GPU"
        there = self._ray.cluster_resources().get(kind, 0)
        if there == 0:
            raise UsageError(f"the Ray cluster has no {kind}: name another --device or --address")
        size = max(1, min(size or int(there), most))
        share = {"num_cpus": 1} if device == _CPU else {"num_cpus": 1, "num_gpus": min(1.0, there / size)}
        environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
        self._make = self._ray.remote(ShardActor).options(**share, runtime_env=environment, max_restarts=0)
        self._order = {**order, "device": device}
        self._hired = [self._hire(number) for number in range(size)]

    def _hire(self, number: int) -> _Hired:
        return _Hired(number, self._make.remote(self._order))

    @property
    def busy(self) -> bool:
        """Whether a shard is being done."""
        return any(one.shard for one in self._hired)

    def give(self, shard: Shard, most_errors: int | None) -> bool:
        """Give a shard to an actor that is there and idle; one that waits for a place on the cluster is not."""
        for one in self._hired:
            if one.asked is None:
                one.shard, one.asked = shard, one.actor.do.remote(tuple(shard), most_errors)
                return True
        return False

    def answer(self, seconds: float) -> Answer | None:
        """The next answer that tells of a shard, or None; an actor that is lost is replaced.

        Raises:
            NominaError: an actor says what ends the run.
        """
        asked = {one.asked: one for one in self._hired if one.asked is not None}
        ready, _ = self._ray.wait(list(asked), num_returns=1, timeout=seconds)
        if not ready:
            return None
        one = asked[ready[0]]
        shard, one.shard, one.asked = one.shard, None, None
        try:
            outcome: Outcome = self._ray.get(ready[0])
        except self._ray.exceptions.RayError as error:
            self._ray.kill(one.actor)
            self._hired[one.number] = self._hire(one.number)
            return None if shard is None else Answer("died", one.number, shard, why=type(error).__name__)
        if outcome.stop is not None:
            raise NominaError(outcome.stop)
        if shard is None or outcome.done is None:
            return None
        return Answer("done", one.number, shard, done=outcome.done)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._hired:
            self._ray.kill(one.actor)
        self._ray.shutdown()


def _connected(address: str | None) -> Any:  # noqa: ANN401
    # Ray would tell its makers of each run.
    os.environ.setdefault(_NO_USAGE_REPORT, "0")
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise MissingExtra("ray", "the engine ray") from error
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    made = address or os.environ.get("RAY_ADDRESS")
    try:
        if made:
            ray.init(address=made, **quiet)
        else:
            ray.init(address="local", include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).strip().splitlines()[0][:200]
        raise UsageError(f"cannot use the Ray cluster {made or 'of this machine'} ({why}): see --address") from error
    return ray
