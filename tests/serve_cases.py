"""A real `nomina serve` on loopback, for the tests of the service."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
PATIENCE = 120.0  # seconds; for machines that do much else
ASKED = 30.0  # seconds that an answer may take while something is waited for: it is asked again then


class Served:
    """A service in a process of its own; its stderr is read all the time, and kept."""

    def __init__(self, kb: Path, *options: object, env: dict[str, str] | None = None, linker: object = "dictionary"):
        command = [sys.executable, "-m", "nomina", "serve", "--port", 0, "--kb", kb, "--linker", linker, *options]
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            encoding="utf-8",
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._told = threading.Event()
        self.port = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r" at http://\S+:(\d+)$", line.rstrip()):
                self.port = int(found[1])
                self._told.set()
        self._told.set()

    def __enter__(self) -> Served:
        try:
            self._told.wait(PATIENCE)
            assert self.port, self.log
            self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE)
            until(self.is_ready, self)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it with its workers, which hold its stderr too: closing that while it is read would wait for them."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL) if os.name == "posix" else self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        if not self._reader.is_alive():
            self.process.stderr.close()

    def is_ready(self) -> bool:
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def link(self, **body: Any) -> list[dict[str, Any]]:
        answer = self.client.post("/link", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["documents"]

    def refused(self, status: int, path: str = "/link", method: str = "POST", **request: Any) -> str:
        """Why a request was refused: one line."""
        answer = self.client.request(method, path, **request)
        assert answer.status_code == status, answer.text
        error = answer.json()
        assert set(error) == {"error"}
        assert "\n" not in error["error"]
        return error["error"]

    def batch(self, content: str | bytes, path: str = "/link/batch") -> list[dict[str, Any]]:
        answer = self.client.post(path, content=content, headers=NDJSON)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def metric(self, name: str) -> float:
        text = self.client.get("/metrics", timeout=ASKED).text
        return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(f"{name} ")))


def until(happened: Any, served: Served, seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, served.log
        time.sleep(0.02)
