"""Signals and processes: no request is lost over a reload, a stop or a worker's death but those of that worker."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx
from serve_cases import PATIENCE, Served, until

from nomina.errors import UsageError
from nomina.kb.build import BuildOptions, build
from nomina.kb.store import KnowledgeBase
from nomina.serve.server import bind
from nomina.types import Entity, Name

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

TEXT = "ataxia, then short stature"


class Asking:
    """Threads that ask the same again and again, on connections of their own."""

    def __init__(self, served: Served, clients: int = 4) -> None:
        self.answers: list[tuple[str, tuple[str, ...]]] = []
        self.failed: list[str] = []
        self._stop = threading.Event()
        self._url = f"http://127.0.0.1:{served.port}"
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(clients)]

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=PATIENCE) as client:
            while not self._stop.is_set():
                try:
                    answer = client.post("/link", json={"text": TEXT})
                except httpx.TransportError as error:
                    self.failed.append(type(error).__name__)
                    continue
                if answer.status_code != 200:
                    self.failed.append(answer.text)
                    continue
                (document,) = answer.json()["documents"]
                ids = tuple(prediction["candidates"][0]["entity_id"] for prediction in document["predictions"])
                self.answers.append((document["kb"], ids))

    def __enter__(self) -> Asking:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)


@pytest.fixture
def copy(kb, tmp_path) -> Path:
    return Path(shutil.copy(kb.path, tmp_path / "served.kb"))


@pytest.fixture(scope="module")
def newer(tmp_path_factory) -> KnowledgeBase:
    """Another version, in which ataxia has another id."""
    entities = [Entity("B:4", (Name("Ataxia"),)), Entity("A:3", (Name("Short stature"),))]
    return build(tmp_path_factory.mktemp("newer") / "newer.kb", entities, BuildOptions("newer"))


def put(new: KnowledgeBase, place: Path) -> None:
    """Replace a KB as its builder does: whole."""
    os.replace(shutil.copy(new.path, place.with_suffix(".tmp")), place)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_new_version_is_served_and_no_request_is_lost(kb, newer, copy, workers) -> None:
    with Served(copy, "--workers", workers) as served, Asking(served) as asking:
        until(lambda: len(asking.answers) > 20 and served.metric("nomina_workers") == workers, served)
        put(newer, copy)
        served.signal(signal.SIGHUP)
        until(lambda: served.metric("nomina_reloads_total") == workers, served)
        seen = len(asking.answers)
        until(lambda: len(asking.answers) > seen + 20, served)
        put(kb, copy)
        served.signal(signal.SIGHUP)
        until(lambda: served.metric("nomina_reloads_total") == 2 * workers, served)
        seen = len(asking.answers)
        until(lambda: len(asking.answers) > seen + 20, served)
    assert asking.failed == []
    assert set(asking.answers) == {(kb.fingerprint, ("A:4", "A:3")), (newer.fingerprint, ("B:4", "A:3"))}
    assert asking.answers[0][0] == asking.answers[-1][0] == kb.fingerprint
    assert served.process.returncode == 0


def test_a_version_that_cannot_be_opened_is_not_served(kb, copy) -> None:
    with Served(copy) as served:
        copy.with_suffix(".tmp").write_bytes(b"no KB")
        os.replace(copy.with_suffix(".tmp"), copy)
        served.signal(signal.SIGHUP)
        until(lambda: served.metric("nomina_reload_failures_total") == 1, served)
        assert served.link(text=TEXT)[0]["kb"] == kb.fingerprint
        assert served.client.get("/concepts/A:4").status_code == 200
        assert "the KB could not be opened anew, the old one serves on: " in served.log
        assert "Traceback" not in served.log


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_accepted_is_answered_before_the_end(copy, workers) -> None:
    body = {"text": "short stature, ataxia and febrile seizures. " * 10_000}
    with Served(copy, "--workers", workers) as served:
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(served.client.post("/link", json=body)), daemon=True)
        asking.start()
        until(lambda: served.metric("nomina_queue_documents") == 1, served)
        served.signal(signal.SIGTERM)
        asking.join(PATIENCE)
        assert served.process.wait(60) == 0
    assert [answer.status_code for answer in answers] == [200]
    assert len(answers[0].json()["documents"][0]["predictions"]) == 30_000
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{served.port}/healthz")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_given_up_does_not_hold_up_the_end(copy, workers) -> None:
    body = {"text": "short stature, ataxia and febrile seizures. " * 45_000}
    with Served(copy, "--workers", workers, "--timeout", 0.2, "--max-characters", 2_000_000) as served:
        assert served.client.post("/link", json=body).status_code == 504
        served.signal(signal.SIGTERM)
        assert served.process.wait(60) == 0
    assert "ends before all is done that was given up" in served.log
    assert "Traceback" not in served.log


def test_a_service_ends_after_its_time_whatever_still_goes_on() -> None:
    program = (
        "import threading, time; from nomina.serve import server; from nomina.serve.options import Limits;"
        "from types import SimpleNamespace as Made; server._GRACE = 0;"
        "made = server._Server.__new__(server._Server); made.should_exit = False;"
        "made._service = Made(settings=Made(limits=Limits(seconds=0.1)));"
        "threading.Thread(target=time.sleep, args=(100,)).start(); made._end(); time.sleep(100)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0
    assert "ends before all is done that was given up" in done.stderr


def test_a_signal_that_comes_while_a_thread_is_started_ends_the_service() -> None:
    """Starting one takes a lock that starting another one in a signal's handler would wait for without end."""
    program = """
import asyncio, os, signal, threading
from types import SimpleNamespace as Made
import uvicorn
from nomina.serve import server
from nomina.serve.options import Limits

async def nothing(self, sockets): pass

async def play():
    uvicorn.Server.startup = nothing
    made = server._Server.__new__(server._Server)
    made.should_exit = False
    made._service = Made(settings=Made(limits=Limits()), metrics=Made(set=lambda *_: None))
    await made.startup([])
    for number in (signal.SIGTERM, signal.SIGINT):
        made.should_exit = False
        with threading._active_limbo_lock:
            os.kill(os.getpid(), number)
            sum(range(100_000))
        await asyncio.sleep(0.1)
        assert made.should_exit

asyncio.run(play())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def workers_of(served: Served) -> list[int]:
    """Process ids of the workers: children that are no resource tracker."""
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")
def test_a_killed_worker_is_replaced_and_only_its_own_requests_fail(kb, copy) -> None:
    with Served(copy, "--workers", 2) as served, Asking(served) as asking:
        until(lambda: len(asking.answers) > 20 and len(workers_of(served)) == 2, served)
        first = workers_of(served)[0]
        os.kill(first, signal.SIGKILL)
        until(lambda: "another takes its place" in served.log, served)
        until(lambda: len(set(workers_of(served)) - {first}) == 2, served)
        failed = len(asking.failed)
        seen = len(asking.answers)
        until(lambda: len(asking.answers) > seen + 100, served)
        assert len(asking.failed) == failed <= 4
    assert set(asking.answers) == {(kb.fingerprint, ("A:4", "A:3"))}
    assert served.process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")
def test_a_worker_that_cannot_start_again_says_why_in_a_line_until_it_can(kb, copy) -> None:
    with Served(copy, "--workers", 2) as served:
        until(lambda: served.metric("nomina_workers") == 2, served)
        first, second = workers_of(served)
        copy.with_suffix(".tmp").write_bytes(b"no KB")
        os.replace(copy.with_suffix(".tmp"), copy)
        os.kill(first, signal.SIGKILL)
        until(lambda: "(exit code 2), another takes its place" in served.log, served)
        assert served.link(text=TEXT)[0]["kb"] == kb.fingerprint
        put(kb, copy)
        until(lambda: len(set(workers_of(served)) - {second}) == 1, served)
        os.kill(second, signal.SIGKILL)
        until(served.is_ready, served)
        assert served.link(text=TEXT)[0]["kb"] == kb.fingerprint
        assert "Traceback" not in served.log
        assert "served.kb is not a KB" in served.log
    assert served.process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")
def test_workers_end_with_their_parent(copy) -> None:
    with Served(copy, "--workers", 2) as served:
        until(lambda: len(workers_of(served)) == 2, served)
        workers = workers_of(served)
        served.process.kill()
        served.process.wait(PATIENCE)
        deadline = time.monotonic() + 60
        while any(map(is_alive, workers)):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--kb", "nothing.kb"], "nothing.kb"),
        (["--linker", "nothing"], "no linker 'nothing'"),
        (["--host", "256.1.1.1"], "cannot listen at 256.1.1.1, port 0 ("),
        (["--token-file", "empty"], "empty holds no token"),
        (["--token-file", "missing"], "missing cannot be read (No such file or directory)"),
        (["--workers", "0"], "0 is not in the range 1<=x<=64"),
    ],
)
def test_a_start_that_cannot_be(copy, tmp_path, options, why) -> None:
    (tmp_path / "empty").write_text(" \n", encoding="utf-8")
    command = [sys.executable, "-m", "nomina", "serve", "--port", "0", "--kb", str(copy), "--linker", "dictionary"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use(copy, served) -> None:
    command = [sys.executable, "-m", "nomina", "serve", "--port", str(served.port), "--kb", str(copy)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 2
    assert done.stderr == f"nomina: port {served.port} is taken: name another with --port\n"


def test_a_port_is_taken_before_anything_is_open_and_who_comes_then_waits() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError, match=f"^port {port} is taken"):
            bind("127.0.0.1", port)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as early:
            early.sendall(b"early")
            accepted, _ = first.accept()
            with accepted:
                assert accepted.recv(5) == b"early"


def test_what_else_is_installed_does_not_change_who_reads_requests() -> None:
    """uvicorn would take httptools, where it is there: a head of any length would be held."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    program = """
import sys
from types import ModuleType
for name in ("httptools", "uvloop"):
    sys.modules[name] = ModuleType(name)
from nomina.serve.options import Settings
from nomina.serve.server import _config
config = _config(None, Settings())
config.load()
print(config.http_protocol_class.__name__, config.loop)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=120)
    assert done.stdout.split() == [H11Protocol.__name__, "asyncio"], done.stderr


def test_without_the_extra_the_command_says_how_to_get_it(copy) -> None:
    program = (
        "import sys; sys.modules['uvicorn'] = None; from nomina.cli.main import main;"
        f" sys.exit(main(['serve', '--kb', {json.dumps(str(copy))}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 2
    assert done.stderr == 'nomina: nomina serve needs an extra: python -m pip install "nomina[serve]"\n'
