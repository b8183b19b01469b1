"""Processes, signals and the socket: one worker in this process, or several under a parent that starts them again.

SIGHUP opens the KB anew in every worker, SIGTERM and SIGINT end the service when what it accepted is answered. All
workers accept from one socket, so that a connection that nobody has accepted yet outlives a worker that is killed; the
files of KB and linker are mapped into memory, and there once for all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableSequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

import uvicorn

from nomina.errors import NominaError, UsageError
from nomina.serve.app import make_app
from nomina.serve.engine import Engine
from nomina.serve.guard import App
from nomina.serve.metrics import WIDTH, Metrics
from nomina.serve.options import Settings
from nomina.serve.service import Service

LOG = logging.getLogger("nomina.serve")

_GRACE = 5  # seconds beyond the time that a request may take
_KEEP_ALIVE = 75  # seconds; so long that a client seldom asks just when its connection is closed
_SHORT_LIFE = 5.0  # seconds; a worker that ends sooner is started again after a pause
_PAUSE = 1.0
_LAST = 1.0  # seconds that threads have to end when all is answered
_BACKLOG = 2048  # connections that may wait to be accepted
_RELOAD: int | None = getattr(signal, "SIGHUP", None)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens, so that who comes before all is open waits; port 0 takes a free one.

    Raises:
        UsageError: the address cannot be had.
    """
    bound = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)  # else another one could have bound the same address, and would learn of it too late
    except (OSError, UnicodeError) as error:
        if bound is not None:
            bound.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise UsageError(f"port {port} is taken: name another with --port") from error
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen at {host}, port {port} ({why}): name another with --host or --port") from error
    bound.set_inheritable(True)
    return bound


def serve(settings: Settings, bound: socket.socket, workers: int, ready: Callable[[Engine], None]) -> None:
    """Answer requests until a signal ends it.

    Args:
        settings: what is served.
        bound: where, as ``bind`` gives it.
        workers: how many processes.
        ready: told what is served when it is open.

    Raises:
        NominaError: as ``nomina.load``.
    """
    _log_to_stderr()
    with _reload_waits():
        engine = Engine.open(settings)
        ready(engine)
        if workers == 1:
            _answer(settings, engine, bound, Metrics())
            return
        engine.close()
        del engine  # its tables are in the cache folder now, where the workers find them
        _Workers(settings, bound, workers).run()


def _answer(settings: Settings, engine: Engine, bound: socket.socket, metrics: Metrics) -> None:
    """Be a worker: until a signal, or until a parent is gone."""
    service = Service(settings, engine, metrics)
    _Server(_config(make_app(service), settings), service).run(sockets=[bound])
    _leave_behind()


def _config(app: App, settings: Settings) -> uvicorn.Config:
    """How uvicorn answers, whatever else is installed: httptools, which it would take, has no bound for headers."""
    return uvicorn.Config(
        app,
        http="h11",
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=1,  # as many are accepted at a time: else the first worker to look would take all that came together
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(settings.limits.seconds) + _GRACE,
    )


def _leave_behind() -> None:
    """End now where a thread goes on with what nobody waits for any more: Python would wait for it, however long."""
    deadline = time.monotonic() + _LAST
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                _end_now()


def _end_now() -> None:
    LOG.warning("ends before all is done that was given up")
    logging.shutdown()
    os._exit(0)


class _Server(uvicorn.Server):
    """uvicorn's, but signals are ours: SIGHUP reloads, and after SIGTERM the exit code is 0."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)
        loop = asyncio.get_running_loop()
        # On the loop: it starts a thread, and what a handler interrupts may hold the lock that this takes.
        _handle(signal.SIGTERM, lambda: loop.call_soon_threadsafe(self._end))
        if parent := multiprocessing.parent_process():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it and says what to do
            threading.Thread(target=self._end_after, args=(parent,), daemon=True).start()
        else:
            _handle(signal.SIGINT, lambda: loop.call_soon_threadsafe(self._end))
        if _RELOAD is not None:
            _handle(_RELOAD, lambda: loop.call_soon_threadsafe(self._service.reload))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {_RELOAD})
        self._service.metrics.set("nomina_workers", 1)

    def _end(self) -> None:
        if not self.should_exit:
            last = threading.Timer(self._service.settings.limits.seconds + 2 * _GRACE, _end_now)
            last.daemon = True
            last.start()
        self.should_exit = True

    def _end_after(self, parent: BaseProcess) -> None:
        parent.join()
        self._end()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none: ``startup`` has."""
        yield


class _Workers:
    """Processes that answer, and the parent that passes signals on to them and starts a dead one again."""

    def __init__(self, settings: Settings, bound: socket.socket, workers: int) -> None:
        self._settings, self._bound = settings, bound
        self._context = multiprocessing.get_context("spawn")
        self._cells = self._context.RawArray("d", WIDTH * workers)
        self._begun = [0.0] * workers
        self._signals, told = socket.socketpair()
        self._told = told
        for end in (self._signals, told):
            end.setblocking(False)

    def run(self) -> None:
        """Until SIGTERM or SIGINT, and until all workers have ended."""
        signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, *([_RELOAD] if _RELOAD else [])):
            _handle(number, lambda: None)
        if _RELOAD is not None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {_RELOAD})
        workers = [self._started(slot) for slot in range(len(self._begun))]
        while True:
            wait([self._signals, *(worker.sentinel for worker in workers)])
            heard = self._heard()
            if heard & {signal.SIGTERM, signal.SIGINT}:
                break
            for slot, worker in enumerate(workers):
                if not worker.is_alive():
                    LOG.error("a worker ended (exit code %s), another takes its place", worker.exitcode)
                    workers[slot] = self._started(slot)
                elif _RELOAD in heard and worker.pid is not None:
                    os.kill(worker.pid, _RELOAD)
        self._end(workers)

    def _heard(self) -> set[int]:
        try:
            return set(self._signals.recv(4096))
        except BlockingIOError:
            return set()

    def _started(self, slot: int) -> BaseProcess:
        if time.monotonic() - self._begun[slot] < _SHORT_LIFE and self._begun[slot]:
            time.sleep(_PAUSE)
        self._begun[slot] = time.monotonic()
        worker = self._context.Process(target=_work, args=(self._settings, self._bound, self._cells, slot))
        with _reload_waits():
            worker.start()
        return worker

    def _end(self, workers: list[BaseProcess]) -> None:
        self._bound.close()
        for worker in workers:
            worker.terminate()
        deadline = time.monotonic() + self._settings.limits.seconds + 2 * _GRACE
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(settings: Settings, bound: socket.socket, cells: MutableSequence[float], slot: int) -> None:
    """What a worker's process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _log_to_stderr()
    try:
        engine = Engine.open(settings)
    except NominaError as error:
        LOG.error("%s", " ".join(str(error).split()))
        sys.exit(2)
    _answer(settings, engine, bound, Metrics(cells, slot))


@contextlib.contextmanager
def _reload_waits() -> Iterator[None]:
    """Keep SIGHUP, which would end a process that does not handle it yet, until the block's end or the handler."""
    if _RELOAD is None:
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {_RELOAD})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {_RELOAD})


def _handle(number: int, action: Callable[[], Any]) -> None:
    signal.signal(number, lambda *_: action())


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s nomina: %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
