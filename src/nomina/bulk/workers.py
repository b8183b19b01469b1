"""The worker processes of a run: each is given a shard when it is idle, so that none waits and nothing piles up."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from nomina.bulk.manifest import Done, Shard
from nomina.encoders.onnx import cores
from nomina.errors import NominaError

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Set to 1 in workers: sums of floats hang on how many threads share them, and results must not hang on workers."""

_SECONDS_TO_END = 5.0


class Answer(NamedTuple):
    """What a worker says: ``tick`` (counts of its shard so far), ``done``, or that it ``died`` and why."""

    kind: str
    worker: int
    shard: Shard
    documents: int = 0
    errors: int = 0
    done: Done | None = None
    why: str = ""


class _Worker:
    """A process, its shard if it has one, and a thread that passes on its answers."""

    def __init__(self, number: int, order: Mapping[str, Any], answers: queue.Queue[tuple[_Worker, str | None]]) -> None:
        self.number = number
        self.shard: Shard | None = None
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONUTF8": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nomina.bulk.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
            start_new_session=True,  # Ctrl-C is for the run, which then ends them
        )
        self._listener = threading.Thread(target=self._listen, args=(answers,), daemon=True)
        self._listener.start()
        self.say(order)

    def _listen(self, answers: queue.Queue[tuple[_Worker, str | None]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answers.put((self, line))
        answers.put((self, None))

    def say(self, what: Mapping[str, Any]) -> None:
        """Send a line; that nobody reads it is known by its end."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()

    def end(self, at_once: bool) -> None:
        """Let it end, as it does when there is nothing more to do, or make it."""
        if at_once:
            self.process.terminate()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def wait(self) -> None:
        """Wait until it has ended, and close what leads to it."""
        try:
            self.process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._listener.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Crew:
    """So many workers, used as a context: when it ends, so do they.

    Args:
        size: how many.
        devices: what they use, in turn.
        order: what each is told first, beside its device and threads.
    """

    def __init__(self, size: int, devices: Sequence[str], order: Mapping[str, Any]) -> None:
        self._answers: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
        self._devices, self._order = devices, {**order, "threads": max(1, cores() // size)}
        self._workers = [self._hire(number) for number in range(size)]

    def _hire(self, number: int) -> _Worker:
        device = self._devices[number % len(self._devices)]
        return _Worker(number, {**self._order, "device": device}, self._answers)

    @property
    def busy(self) -> bool:
        """Whether a shard is being done."""
        return any(worker.shard for worker in self._workers)

    def give(self, shard: Shard, most_errors: int | None) -> bool:
        """Give a shard to an idle worker, if there is one."""
        for number, worker in enumerate(self._workers):
            if worker.shard is None:
                idle = worker if worker.process.poll() is None else self._replaced(number)
                idle.shard = shard
                idle.say({"shard": shard, "most_errors": most_errors})
                return True
        return False

    def answer(self, seconds: float) -> Answer | None:
        """The next answer that tells of a shard, or None after so many seconds; a worker that died is replaced.

        Raises:
            NominaError: a worker says what ends the run.
        """
        try:
            worker, line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        shard = worker.shard
        if line is None:
            return self._died(worker, shard)
        said = json.loads(line)
        if said["kind"] == "stop":
            raise NominaError(said["why"])
        if shard is None or said["kind"] == "ready":
            return None
        if said["kind"] == "tick":
            return Answer("tick", worker.number, shard, said["documents"], said["errors"])
        worker.shard = None
        done = Done(*said["done"])
        return Answer("done", worker.number, shard, done=done._replace(deleted=tuple(done.deleted)))

    def _died(self, worker: _Worker, shard: Shard | None) -> Answer | None:
        code = worker.process.wait()
        if shard is None:
            return None
        worker.shard = None
        self._replaced(worker.number)
        why = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Answer("died", worker.number, shard, why=why)

    def _replaced(self, number: int) -> _Worker:
        self._workers[number].end(at_once=True)
        self._workers[number].wait()
        self._workers[number] = self._hire(number)
        return self._workers[number]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.end(at_once=kind is not None)
        for worker in self._workers:
            worker.wait()
