"""The compiled client ``load.c``, and a ``nomina serve`` on loopback that it asks: built, started, stopped, watched.

Linux only: workers and their connections are read from ``/proc``.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("load.c")
PATIENCE = 120.0
_TICK = os.sysconf("SC_CLK_TCK")


class Answer(NamedTuple):
    """What became of one body: see ``load.c``. Seconds are since the client's start."""

    number: int
    status: int
    begun: float
    ended: float
    port: int
    text: str


class Answers(NamedTuple):
    """All that one run of the client brought, and the seconds of the clock and of the CPU that the client took."""

    answers: list[Answer]
    seconds: float
    cpu_seconds: float


class Client:
    """The compiled client, and a folder for what it reads and writes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._program = folder, folder / "load"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", self._program, SOURCE], check=True)

    def ask(self, port: int, bodies: list[str], clients: int, seconds: float = 120) -> Answers:
        """Send each body once over so many connections; after so many seconds, no more of them."""
        sent, got = self.folder / "bodies", self.folder / "answers"
        sent.write_text("".join(f"{body}\n" for body in bodies), encoding="utf-8")
        command = [self._program, str(port), sent, str(clients), str(seconds), got]
        done = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout)
        with got.open(encoding="utf-8", newline="\n") as lines:
            answers = [_answer(line) for line in lines]
        return Answers(answers, done["seconds"], done["cpu_seconds"])


def _answer(line: str) -> Answer:
    number, status, begun, ended, port, text = line.rstrip("\n").split("\t", 5)
    return Answer(int(number), int(status), float(begun), float(ended), int(port), text)


class Service:
    """A service in processes of its own; its log is kept."""

    def __init__(self, kb: str | Path, workers: int, *more: str) -> None:
        options = ["--port", "0", "--kb", str(kb), "--workers", str(workers), "--no-access-log", *more]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nomina", "serve", *options], stderr=subprocess.PIPE, encoding="utf-8"
        )
        self.log: list[str] = []
        self.port, self._workers = 0, workers
        self._listens = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            self.log.append(line)
            if found := re.search(r" at http://\S+:(\d+)$", line.rstrip()):
                self.port = int(found[1])
                self._listens.set()
        self._listens.set()

    def __enter__(self) -> Service:
        try:
            self._listens.wait(PATIENCE)
            for worker in self.workers(PATIENCE):
                self.wait_for(worker)
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._reader.join(PATIENCE)

    def workers(self, patience: float = 0) -> list[int]:
        """Process ids of what answers, when there are as many as there should be."""
        own = self._process.pid
        if self._workers == 1:
            return [own]
        deadline = time.monotonic() + patience
        while True:
            children = Path(f"/proc/{own}/task/{own}/children").read_text("utf-8").split()
            found = [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            if len(found) == self._workers or time.monotonic() > deadline:
                return found
            time.sleep(0.02)

    def wait_for(self, worker: int) -> None:
        """Until that worker has answered: connections are opened until it has taken one."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
                    connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    if b" 200 " in connection.recv(4096) and connection.getsockname()[1] in ports(worker):
                        return
            except ConnectionError:  # it does not listen yet
                pass
            time.sleep(0.01)
        raise SystemExit(f"no answer of worker {worker}: {''.join(self.log)}")

    def metric(self, name: str) -> float:
        """A number of ``/metrics``."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=PATIENCE) as answer:
            lines = answer.read().decode().splitlines()
        return float(next(line.split()[-1] for line in lines if line.startswith(f"{name} ")))

    def reload(self) -> None:
        """Ask for the KB to be opened anew."""
        self._process.send_signal(signal.SIGHUP)

    def cpu_seconds(self) -> float:
        """What the workers have used."""
        return sum(cpu_seconds(pid) for pid in self.workers())


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def ports(pid: int) -> set[int]:
    """The clients' ports of the connections that a process holds (IPv4, of this machine)."""
    sockets = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(file))
        except FileNotFoundError:
            continue
    found = set()
    for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]:
        fields = line.split()
        if fields[3] == "01" and f"socket:[{fields[9]}]" in sockets:
            found.add(int(fields[2].rpartition(":")[2], 16))
    return found
