"""Every answer of a service is the Python API's, while its KB is replaced and a worker is killed."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx
from serve_cases import PATIENCE, Served, until

from nomina.kb.build import BuildOptions, build
from nomina.kb.store import KnowledgeBase
from nomina.output import as_record
from nomina.pipeline import load
from nomina.types import Entity, Name

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")

PHRASES = ("Ataxia", "no short stature", "febrile seizures", "her mother had fits", "fitness", "nothing of note")
TEXTS = [
    f"Note {number}: {PHRASES[number % 6]}, then {PHRASES[number // 6 % 6]} in week {number}." for number in range(300)
]
CLIENTS = 4


class Asking:
    """Threads that send each text once; where a connection breaks, the text goes back to those that wait."""

    def __init__(self, served: Served) -> None:
        self.answers: list[tuple[str, dict[str, Any]]] = []
        self.refused: list[str] = []
        self.broken: list[str] = []
        self._url = f"http://127.0.0.1:{served.port}"
        self._texts: SimpleQueue[str] = SimpleQueue()
        for text in TEXTS:
            self._texts.put(text)
        self.allowed = threading.Semaphore(0)  # texts that may be sent
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=PATIENCE) as client:
            while True:
                self.allowed.acquire()
                try:
                    text = self._texts.get_nowait()
                except Empty:
                    return
                try:
                    answer = client.post("/link", json={"text": text})
                except httpx.TransportError as error:
                    self.broken.append(type(error).__name__)
                    self._texts.put(text)
                    self.allowed.release()
                    continue
                if answer.status_code == 200:
                    self.answers.append((text, answer.json()["documents"][0]))
                else:
                    self.refused.append(answer.text)

    def join(self) -> None:
        """When all texts have an answer."""
        self.allowed.release(len(TEXTS))
        for thread in self._threads:
            thread.join(PATIENCE)


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> KnowledgeBase:
    entities = [
        Entity("B:4", (Name("Ataxia"),)),
        Entity("A:3", (Name("Short stature"),)),
        Entity("B:2", (Name("Fit"),)),
    ]
    return build(tmp_path_factory.mktemp("other") / "other.kb", entities, BuildOptions("other"))


def by_api(kb: KnowledgeBase) -> dict[str, dict[str, Any]]:
    """What the service should say to each text."""
    pipeline = load("dictionary", kb)
    expected = {}
    for text in TEXTS:
        records = [as_record(prediction) for prediction in pipeline.link_text(text)]
        for record in records:
            del record["document_id"], record["mention"]["gold"]
            record["mention"]["spans"] = [list(span) for span in record["mention"]["spans"]]
        expected[text] = {"id": "text", "kb": kb.fingerprint, "predictions": records}
    return expected


def workers_of(served: Served) -> list[int]:
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_each_of_300_answers_is_that_of_the_api_over_reloads_and_a_killed_worker(kb, other, tmp_path) -> None:
    place = Path(shutil.copy(kb.path, tmp_path / "served.kb"))
    with Served(place, "--workers", 2) as served:
        until(lambda: len(workers_of(served)) == 2, served)
        asking = Asking(served)

        def go_on(answers: int) -> None:
            """Let some more texts be sent; half of them are still to be answered when it returns."""
            wanted = len(asking.answers) + answers // 2
            asking.allowed.release(answers)
            until(lambda: len(asking.answers) >= wanted, served)

        go_on(60)
        for number, version in enumerate((other, kb), 1):
            os.replace(shutil.copy(version.path, tmp_path / "new.kb"), place)
            served.signal(signal.SIGHUP)
            go_on(30)
            until(lambda number=number: served.metric("nomina_reloads_total") == 2 * number, served)
            go_on(30)
        assert asking.broken == []
        first, second = workers_of(served)
        os.kill(first, signal.SIGKILL)
        go_on(60)
        until(lambda: len(set(workers_of(served)) - {first, second}) == 1, served)
        asking.join()
        assert "another takes its place" in served.log
    assert asking.refused == []
    assert len(asking.broken) <= CLIENTS
    assert sorted(text for text, _ in asking.answers) == sorted(TEXTS)
    expected = {version.fingerprint: by_api(version) for version in (kb, other)}
    assert {document["kb"] for _, document in asking.answers} == set(expected)
    assert [document for _, document in asking.answers] == [expected[d["kb"]][text] for text, d in asking.answers]
