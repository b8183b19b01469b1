"""``nomina serve`` under load, against the Python API on the same texts; and 10,000 answers held against the API's.

``python benchmarks/serve.py`` writes ``benchmarks/results/serve.json`` after each figure, in some minutes. It needs
Linux, a C compiler (``benchmarks/load.c`` is the client, so that the load takes little of the service's cores), and
the abstracts of BC5CDR and of the NCBI disease corpus in ``../shared/benchmarks``. All is on loopback.

Throughput: each workload has a part of its own for 1, 8 and 64 clients, so that no text is asked twice. A request holds
one abstract, one mention, or a list of 64 mentions. The Python API is called once a request, one after the other
(``each``), with as many requests at a time as there are clients (``in groups``: no service can link more together), and
once with all of them (``together``: as fast as the API gets). Each of these, and each service, is a process of its own
that has linked other texts before. The services have room for 64 lists in their queues.

On a busy machine, compare CPU time; the clock measures what others do.

Answers: see ``serve_answers.py``.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from link import CORPORA, abstracts
from load import Answers, Client, Service
from serve_answers import compared
from startup import ROOT, commit, machine

from nomina.files import atomic
from nomina.pipeline import load
from nomina.types import Document, Mention

RESULT = ROOT / "benchmarks/results/serve.json"
CLIENTS = (1, 8, 64)
HOW = ("each", "in groups", "together")
LIST = 64
PARTS = {"abstract": (80, 320, 320), "mention": (200, 800, 800), "list of mentions": (8, 32, 32)}
WARM = 40
WORKERS = (1, 2)
COMPARED = {"abstract": 500, "sentence": 8000, "mention": 1500}
NEEDED = 0.7

_SENTENCE = re.compile(r"(?<=[.?!])\s+")


def texts(data: Path) -> dict[str, list[str]]:
    """Distinct abstracts, sentences and mentions, each in an order of chance that is always the same."""
    found = [document.text for corpus in CORPORA for document in abstracts(data, corpus)]
    sentences = [sentence for text in found for sentence in _SENTENCE.split(text) if len(sentence) > 20]
    mentions = [mention for corpus in CORPORA for mention in _mentions(data, corpus)]
    kinds = {"abstract": found, "sentence": sentences, "mention": mentions}
    chance = random.Random(0)
    return {kind: chance.sample(same := list(dict.fromkeys(values)), len(same)) for kind, values in kinds.items()}


def _mentions(data: Path, corpus: str) -> Iterator[str]:
    for file in sorted(data.glob(CORPORA[corpus])):
        for line in file.read_text("utf-8").splitlines():
            fields = line.split("\t")
            if len(fields) >= 6 and fields[1].isdigit() and (mention := fields[3].strip()):
                yield mention


def text_body(text: str) -> str:
    """A request with a text."""
    return json.dumps({"text": text})


def mentions_body(mentions: list[str]) -> str:
    """A request with mentions that stand alone."""
    documents = [{"text": mention, "mentions": [{"spans": [[0, len(mention)]]}]} for mention in mentions]
    return json.dumps({"documents": documents})


def workloads(found: dict[str, list[str]]) -> dict[str, list[list[str]]]:
    """The bodies to ask: for each workload those that warm, then those for each number of clients."""
    abstracts, mentions = found["abstract"], found["mention"]
    alone = PARTS["mention"]
    first = WARM + sum(alone)
    lists = [mentions[at : at + LIST] for at in range(first, len(mentions) - LIST, LIST)]
    return {
        "abstract": _parts([text_body(text) for text in abstracts], PARTS["abstract"]),
        "mention": _parts([mentions_body([mention]) for mention in mentions], alone),
        "list of mentions": _parts([mentions_body(some) for some in lists], PARTS["list of mentions"], 4),
    }


def _parts(bodies: list[str], sizes: tuple[int, ...], warm: int = WARM) -> list[list[str]]:
    parts, at = [], 0
    for size in (warm, *sizes):
        if at + size > len(bodies):
            raise SystemExit(f"{at + size} distinct requests are wanted, and there are {len(bodies)}")
        parts.append(bodies[at : at + size])
        at += size
    return parts


def documents_of(body: str) -> list[Document]:
    """What the service links for such a body."""
    request = json.loads(body)
    if "text" in request:
        return [Document("text", request["text"])]
    texts = [document["text"] for document in request["documents"]]
    return [Document("text", text, (Mention(((0, len(text)),), text),)) for text in texts]


def plain(file: Path, how: str) -> list[dict[str, float]]:
    """The Python API on the parts of a workload, in this process."""
    warm, *parts = json.loads(file.read_text("utf-8"))
    pipeline = load()
    pipeline.link_mentions(["unheard-of phrase"])
    for body in warm:
        list(pipeline.link(documents_of(body)))
    figures = []
    for clients, part in zip(CLIENTS, parts, strict=True):
        requests = [documents_of(body) for body in part]
        size = {"each": 1, "in groups": clients, "together": len(part)}[how]
        groups = [requests[at : at + size] for at in range(0, len(part), size)]
        calls = [[document for request in group for document in request] for group in groups]
        wall, cpu = time.perf_counter(), time.process_time()
        predictions = sum(1 for call in calls for _ in pipeline.link(call))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        figures.append({**_speed(len(part), wall, cpu), "predictions": predictions})
    return figures


def _speed(requests: int, seconds: float, cpu_seconds: float) -> dict[str, float]:
    return {
        "requests": requests,
        "seconds": round(seconds, 3),
        "requests_a_second": round(requests / seconds, 1),
        "cpu_ms_a_request": round(1000 * cpu_seconds / requests, 3),
    }


def loaded(client: Client, service: Service, bodies: list[str], clients: int) -> dict[str, float]:
    """One run of the client."""
    batches, before = service.metric("nomina_batches_total"), service.cpu_seconds()
    run = client.ask(service.port, bodies, clients)
    used = service.cpu_seconds() - before
    batches = service.metric("nomina_batches_total") - batches
    figures = {**_speed(len(bodies), run.seconds, used), **_latencies(run)}
    return {**figures, "requests_a_batch": round(len(bodies) / batches, 1)}


def _latencies(run: Answers) -> dict[str, float]:
    wrong = [answer for answer in run.answers if answer.status != 200]
    if wrong:
        raise SystemExit(f"{len(wrong)} requests failed, the first with {wrong[0].status}: {wrong[0].text[:200]}")
    taken = sorted(answer.ended - answer.begun for answer in run.answers)
    return {
        "p50_ms": round(1000 * taken[len(taken) // 2], 2),
        "p99_ms": round(1000 * taken[int(len(taken) * 0.99)], 2),
        "client_cpu_seconds": round(run.cpu_seconds, 3),
        "load_average": round(os.getloadavg()[0], 2),
    }


class Report:
    """The figures so far, in the file after each one."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def add(self, value: object, *place: str) -> None:
        """Put a value into its place, and write the file."""
        *outer, last = place
        inner = self.facts
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = value
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        with atomic(RESULT) as path:
            path.write_text(json.dumps(self.facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def throughput(report: Report, client: Client, bodies: dict[str, list[list[str]]]) -> None:
    """The Python API and the services, workload by workload."""
    for workload, parts in bodies.items():
        file = client.folder / "parts.json"
        file.write_text(json.dumps(parts), encoding="utf-8")
        for how in HOW:
            command = [sys.executable, __file__, "plain", str(file), how]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
            for clients, figures in zip(CLIENTS, json.loads(done.stdout), strict=True):
                report.add(figures, "python", workload, how, f"texts of {clients} clients")
    for workers in WORKERS:
        place = f"{workers} worker{'s' * (workers > 1)}"
        with Service("hpo", workers, "--queue", str(LIST * max(CLIENTS))) as service:
            for workload, (warm, *parts) in bodies.items():
                client.ask(service.port, warm, 8)
                for clients, part in zip(CLIENTS, parts, strict=True):
                    figures = loaded(client, service, part, clients)
                    report.add(figures, "service", place, workload, f"{clients} clients")
        report.add({workload: _kept(report.facts, place, workload) for workload in bodies}, "kept_at_8_clients", place)


def _kept(facts: dict[str, Any], place: str, workload: str) -> dict[str, float]:
    """The service's throughput by that of the Python API, on the same texts."""
    ours = facts["service"][place][workload]["8 clients"]
    kept: dict[str, float] = {}
    for how, figures in facts["python"][workload].items():
        theirs = figures["texts of 8 clients"]
        kept[how] = round(ours["requests_a_second"] / theirs["requests_a_second"], 3)
        kept[f"{how}, by CPU"] = round(theirs["cpu_ms_a_request"] / ours["cpu_ms_a_request"], 3)
    return kept


def main() -> None:
    """Measure and write the figures; the whole of them is printed at the end."""
    if sys.argv[1:2] == ["plain"]:
        print(json.dumps(plain(Path(sys.argv[2]), sys.argv[3])))
        return
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/benchmarks"
    if not data.is_dir():
        raise SystemExit(f"no benchmark data at {data}: python benchmarks/serve.py FOLDER")
    begun = time.perf_counter()
    load().link_text("Unheard-of phrase")  # the first time, this builds the KB and encodes its names
    report = Report(
        {
            "command": "python benchmarks/serve.py",
            "commit": commit(),
            "machine": machine(),
            "load_average_before": [round(value, 2) for value in os.getloadavg()],
            "versions": {name: metadata.version(name) for name in ("fastapi", "uvicorn", "onnxruntime", "numpy")},
            "client": "benchmarks/load.c, one thread",
            "needed_at_8_clients": NEEDED,
        }
    )
    found = texts(data)
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        throughput(report, client, workloads(found))
        chosen = {kind: values[-COMPARED[kind] :] for kind, values in found.items()}
        bodies = [
            mentions_body([text]) if kind == "mention" else text_body(text) for kind in chosen for text in chosen[kind]
        ]
        random.Random(1).shuffle(bodies)
        report.add({kind: len(values) for kind, values in chosen.items()}, "answers", "texts")
        for name, value in compared(client, bodies).items():
            report.add(value, "answers", name)
    report.add([round(value, 2) for value in os.getloadavg()], "load_average_after")
    report.add(round(time.perf_counter() - begun), "seconds_of_all")
    print(RESULT.read_text("utf-8"), end="")


if __name__ == "__main__":
    main()
