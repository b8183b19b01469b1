"""Saves of a project over processes: nothing that was answered is lost, whoever dies or saves at the same time."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx
from serve_cases import PATIENCE, Served, until
from serve_project_cases import add, change

from nomina.kb.build import BuildOptions, build
from nomina.review import views
from nomina.review.project import Project
from nomina.types import Entity, Name

NAMES = ("anna", "ben", "cleo", "dora")


class Saving:
    """Threads that save to a document each; what was answered is kept."""

    def __init__(self, served: Served, numbers: list[int]) -> None:
        self.known: dict[int, int] = dict.fromkeys(numbers, 0)
        self._url, self._stop = f"http://127.0.0.1:{served.port}", threading.Event()
        self._threads = [threading.Thread(target=self._save, args=(number,), daemon=True) for number in numbers]

    def _save(self, number: int) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            while not self._stop.is_set():
                revision = self.known[number]
                body = change("0-6", f"A:{revision}", revision=revision)
                try:
                    answer = client.post(f"/project/documents/{number}/changes", json=body)
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                self.known[number] = answer.json()["revision"]

    def __enter__(self) -> Saving:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A KB of as many concepts as threads may decide for, each its own."""
    ids = [*(f"A:{number}" for number in range(20_000)), *(f"{name}:{n}" for name in NAMES for n in range(25))]
    entities = [Entity(id, (Name(f"concept {id}"),)) for id in ids]
    return build(tmp_path_factory.mktemp("many") / "many.kb", entities, BuildOptions("many"))


def decided_ids(path, number):
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        query = "SELECT gold FROM decisions WHERE document = ? AND key = '0-6' ORDER BY revision"
        return [json.loads(gold)[0][0] for (gold,) in connection.execute(query, (number,))]


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_that_was_answered_is_lost_when_the_service_is_killed(many, tmp_path, workers) -> None:
    path = tmp_path / "team.sqlite"
    with Served(many.path, "--project", path, "--workers", workers) as served:
        numbers = [add(served, str(number)) for number in range(4)]
        with Saving(served, numbers) as saving:
            until(lambda: min(saving.known.values()) >= 20, served)
            os.killpg(served.process.pid, signal.SIGKILL)
            served.process.wait(PATIENCE)
    for number in numbers:
        ids = decided_ids(path, number)
        assert ids == [f"A:{revision}" for revision in range(len(ids))]
        assert saving.known[number] <= len(ids) <= saving.known[number] + 1
    with Served(many.path, "--project", path) as served, Project(path, writes=False) as project:
        shown = served.client.get(f"/project/documents/{numbers[0]}").json()
        assert shown["revision"] == views.text_of(project, numbers[0]).revision >= 20
        assert shown["mentions"][0]["gold"] == [[decided_ids(path, numbers[0])[-1]]]


@pytest.mark.skipif(os.name == "nt", reason="workers")
def test_workers_that_save_to_one_document_lose_nothing(many, tmp_path) -> None:
    path = tmp_path / "team.sqlite"
    with Served(many.path, "--project", path, "--workers", 2) as served:
        number = add(served, "one")
        conflicts = []

        def work(name):
            with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=60) as client:
                revision = 0
                for each in range(25):
                    while True:
                        body = change("0-6", f"{name}:{each}", revision=revision, annotator=name)
                        answer = client.post(f"/project/documents/{number}/changes", json=body)
                        revision = answer.json()["revision"]
                        if answer.status_code == 200:
                            break
                        conflicts.append(answer.status_code)

        threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in NAMES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    ids = decided_ids(path, number)
    assert len(ids) == 100
    for name in NAMES:
        assert [id for id in ids if id.startswith(name)] == [f"{name}:{each}" for each in range(25)]
    assert set(conflicts) <= {409}
