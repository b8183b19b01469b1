"""Answers of a service that is reloaded and loses a worker, each held against the Python API's.

Two workers serve one file, which is replaced meanwhile: by HPO's nervous system alone, and by all of HPO again. Each
answer names the KB that it was made with, and has to be the API's with that KB: all values alike, but for scores and
probabilities, which may differ by ``ROUNDING``. (Texts that are encoded together are padded to one length, and sums
of floating-point numbers differ by that; the API's answers are of each text alone.)

One worker is stopped, so that it is known which connections it holds, then killed: requests may fail on these and on
no others. They are asked again at the end.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from load import PATIENCE, Answer, Client, Service, ports

from nomina.kb.build import BuildOptions, build
from nomina.kb.sources import HPO_ROOT, default_kb
from nomina.kb.store import KnowledgeBase
from nomina.output import as_record
from nomina.pipeline import load

CLIENTS = 16
ROUNDING = 2e-5
BRANCH = "HP:0000707"
EVENTS = {1000: "reload", 2500: "reload", 4000: "reload", 5000: "kill", 7000: "reload", 8500: "reload"}
"""What happens when so many documents have been answered."""


class Trouble(threading.Thread):
    """Reloads with the other KB in turn, and a killed worker, while requests are answered."""

    def __init__(self, service: Service, served: Path, versions: list[KnowledgeBase], events: dict[int, str]) -> None:
        super().__init__()
        self._service, self._served, self._versions, self._events = service, served, versions, events
        self.held: set[int] = set()
        self.back_after = 0.0
        self.reloads = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        """Until all has happened."""
        try:
            for after, what in self._events.items():
                self._wait("nomina_documents_total", after)
                self._kill() if what == "kill" else self._reload()
        except BaseException as error:
            self.error = error

    def _wait(self, metric: str, value: float) -> None:
        deadline = time.monotonic() + PATIENCE
        while self._service.metric(metric) < value:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{metric} does not come to {value}")
            time.sleep(0.05)

    def _reload(self) -> None:
        self.reloads += 1
        before = self._service.metric("nomina_reloads_total")
        place(self._versions[self.reloads % len(self._versions)], self._served)
        self._service.reload()
        self._wait("nomina_reloads_total", before + 2)

    def _kill(self) -> None:
        first, second = self._service.workers()
        os.kill(first, signal.SIGSTOP)
        self.held = ports(first)
        os.kill(first, signal.SIGKILL)
        begun = time.monotonic()
        while not (new := set(self._service.workers()) - {first, second}):
            time.sleep(0.01)
        self._service.wait_for(new.pop())
        self.back_after = time.monotonic() - begun


def place(kb: KnowledgeBase, served: Path) -> None:
    """Put a KB into the place of another one in one step."""
    os.replace(shutil.copy(kb.path, served.with_suffix(".new")), served)


def versions(folder: Path) -> list[KnowledgeBase]:
    """HPO, and its nervous system alone; the names of both are encoded."""
    whole = default_kb()
    ids = {HPO_ROOT, BRANCH, *whole.descendants(BRANCH)}
    part = build(folder / "part.kb", (e for e in whole.entities() if e.id in ids), BuildOptions("hpo"))
    load(kb=part).link_text("Unheard-of phrase")
    return [whole, part]


def compared(client: Client, bodies: list[str]) -> dict[str, Any]:
    """Ask all bodies, and hold each answer against the API's."""
    known = versions(client.folder)
    served = client.folder / "served.kb"
    place(known[0], served)
    with Service(served, 2) as service:
        trouble = Trouble(service, served, known, EVENTS)
        trouble.start()
        run = client.ask(service.port, bodies, CLIENTS)
        trouble.join()
        if trouble.error:
            raise trouble.error
        broken = [answer for answer in run.answers if answer.status == 0]
        again = client.ask(service.port, [bodies[answer.number] for answer in broken], CLIENTS).answers
    answered = [answer for answer in run.answers if answer.status]
    answered += [answer._replace(number=broken[answer.number].number) for answer in again]
    return {
        "clients": CLIENTS,
        "workers": 2,
        "requests_a_second": round(len(bodies) / run.seconds, 1),
        "reloads": trouble.reloads,
        "statuses": dict(Counter(str(answer.status) for answer in answered)),
        "broken": {
            "by": dict(Counter(answer.text for answer in broken)),
            "connections_of_the_killed_worker": len(trouble.held),
            "on_connections_of_others": sum(answer.port not in trouble.held for answer in broken),
            "most_on_one_connection": max(Counter(answer.port for answer in broken).values(), default=0),
            "answered_when_asked_again": sum(answer.status == 200 for answer in again),
        },
        "another_worker_answers_after_seconds": round(trouble.back_after, 2),
        **held_against(client.folder, known, bodies, answered),
    }


def held_against(folder: Path, known: list[KnowledgeBase], bodies: list[str], answers: list[Answer]) -> dict[str, Any]:
    """How many answers are those of the Python API with the KB that they name."""
    given: dict[str, dict[int, Any]] = {kb.fingerprint: {} for kb in known}
    for answer in answers:
        documents = json.loads(answer.text)["documents"]
        (kb,) = {document["kb"] for document in documents}
        given[kb][answer.number] = [document["predictions"] for document in documents]
    equal, different, most = 0, [], 0.0
    for kb in known:
        numbers = list(given[kb.fingerprint])
        expected = by_api(folder, kb, [bodies[number] for number in numbers])
        for number, right in zip(numbers, expected, strict=True):
            apart = difference(given[kb.fingerprint][number], right)
            equal += apart == 0
            if apart > ROUNDING:
                different.append(number)
            else:
                most = max(most, apart)
    return {
        "answered": len({answer.number for answer in answers}),
        "by_version": [len(given[kb.fingerprint]) for kb in known],
        "equal": equal,
        "equal_but_for_rounding": len(answers) - equal - len(different),
        "largest_rounding": float(f"{most:.1g}"),
        "different": len(different),
        "first_different": [bodies[number] for number in different[:3]],
    }


def difference(ours: object, theirs: object) -> float:
    """How far apart the numbers of two values are at most; infinitely, where anything else differs."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return max((difference(ours[key], theirs[key]) for key in ours), default=0.0)
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return max(map(difference, ours, theirs), default=0.0)
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs)
    return 0.0 if ours == theirs and type(ours) is type(theirs) else math.inf


def by_api(folder: Path, kb: KnowledgeBase, bodies: list[str]) -> list[Any]:
    """The Python API's answers, by a process of its own, in the form of the service's."""
    file = folder / "compared.json"
    file.write_text(json.dumps(bodies), encoding="utf-8")
    command = [sys.executable, __file__, str(kb.path), str(file)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Print the predictions of each body of a file, made with a KB."""
    from serve import documents_of

    kb, file = map(Path, sys.argv[1:])
    pipeline = load(kb=kb)
    for body in json.loads(file.read_text("utf-8")):
        answers = []
        for document in documents_of(body):
            records = [as_record(prediction) for prediction in pipeline.link([document])]
            for record in records:
                del record["document_id"], record["mention"]["gold"]
            answers.append(records)
        print(json.dumps(answers))


if __name__ == "__main__":
    main()
