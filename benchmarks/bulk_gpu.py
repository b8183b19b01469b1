"""``nomina bulk run`` on one GPU: documents a second, how busy the GPU is, and what of the time is the encoder's.

``python benchmarks/bulk_gpu.py abstracts BENCHMARKS FILE`` writes the abstracts of BC5CDR and of the NCBI disease
corpus with their mentions. ``python benchmarks/bulk_gpu.py measure ENCODER NAMES FILE --output JSON`` links them:
ENCODER is the folder of a torch encoder, NAMES has a line ``ids<tab>name`` for each name (``a|b`` are two concepts),
packed as .xz. It needs nomina with the extra ``train`` and, unless ``--device cpu`` is given, a GPU. The committed
figures: ``benchmarks/results/bulk_gpu.json``.

Two ways, as whole processes with ``--workers`` of them: ``texts`` are abstracts alone, whose mentions nomina finds;
what it finds is in the dictionary, so that the encoder has nothing to do. ``mentions`` are abstracts with the mentions
of their annotators; those that the dictionary does not know reach the encoder. Abstracts come again with new ids, but
never in one file: what a worker remembers ends with a file.

``start_seconds`` is a run of as many files as there are workers, one document each, with all tables made;
``documents_a_second`` leaves that time out; ``worker_seconds`` are those of all files, from opening to closing. The GPU
is looked at once a second by nvidia-smi, whose utilisation is the part of the time in which anything ran on it;
``gpu.linking`` are the samples after the start. ``one_process`` is one file linked in one process: what reaches the
encoder a document, and the seconds of encoding and of searching the index.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import multiprocessing
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from startup import commit, machine, run

from nomina._version import __version__
from nomina.bulk.manifest import Manifest
from nomina.bulk.workers import ONE_THREAD

CORPORA = ("bc5cdr/raw/*.PubTator.txt", "ncbi-disease/raw/*_corpus.txt")
WAYS = {"texts": False, "mentions": True}
"""Whether documents come with their mentions."""
QUERY = "utilization.gpu,memory.used,power.draw"
PACKAGES = ("torch", "transformers", "tokenizers", "onnxruntime", "numpy", "pydantic")
_TO_STOP = 60  # seconds that a run has to end in when it is told to


def main() -> None:
    """Write the abstracts, or measure and write the figures."""
    given = command_line().parse_args()
    if given.what == "abstracts":
        write_abstracts(given.benchmarks, given.file)
        return
    report: dict[str, Any] = {
        "command": "python benchmarks/bulk_gpu.py measure",
        "options": {name: getattr(given, name) for name in ("device", "workers", "documents", "names", "seconds")},
        "commit": given.commit or commit(),
        "machine": machine() | {"gpu": card(given.device)},
        "encoder": json.loads((given.encoder / "encoder.json").read_text("utf-8")) | {"folder": given.encoder.name},
        "versions": {"nomina": __version__} | {name: metadata.version(name) for name in PACKAGES},
    }
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NOMINA_HOME"] = str(Path(folder, "home"))
        for step in (prepare, profile, link):
            report |= step(given, Path(folder))
            write(report, given.output)  # what is there is kept where a later step fails
    print(given.output.read_text("utf-8"), end="")


def command_line() -> argparse.ArgumentParser:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="what", required=True)
    abstracts = steps.add_parser("abstracts")
    abstracts.add_argument("benchmarks", type=Path)
    abstracts.add_argument("file", type=Path)
    measure = steps.add_parser("measure")
    measure.add_argument("encoder", type=Path)
    measure.add_argument("names_file", metavar="NAMES", type=Path)
    measure.add_argument("file", type=Path)
    measure.add_argument("--output", type=Path, required=True)
    measure.add_argument("--commit")
    measure.add_argument("--device", default="cuda")
    measure.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    measure.add_argument("--documents", type=int, default=40_000)
    measure.add_argument("--names", type=int, help="take only so many")
    measure.add_argument("--seconds", type=float, default=180, help="that a run may take; what is done then counts")
    return parser


def write(report: dict[str, Any], output: Path) -> None:
    """The figures so far."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_abstracts(benchmarks: Path, file: Path) -> None:
    """The abstracts of both corpora with their mentions, each text once, as nomina's own JSON lines."""
    from nomina.corpora.pubtator import read

    found: dict[str, dict[str, Any]] = {}
    for path in (path for pattern in CORPORA for path in sorted(benchmarks.glob(pattern))):
        for document in read(path, skip=lambda error: None):
            spans = dict.fromkeys(mention.spans for mention in document.mentions)
            mentions = [{"spans": own} for own in spans]
            found.setdefault(document.text, {"id": document.id, "text": document.text, "mentions": mentions})
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in found.values())
    print(f"{file}: {len(found):,} abstracts, {sum(len(one['mentions']) for one in found.values()):,} mentions")


def prepare(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The KB, the tables of its names, and the index of their vectors, made on the device."""
    dictionary = folder / "names.txt"
    with (
        lzma.open(given.names_file, "rt", encoding="utf-8") as lines,
        open(dictionary, "w", encoding="utf-8") as stream,
    ):
        stream.writelines(line.replace("\t", "||", 1) for line in islice(lines, given.names))
    nomina = [sys.executable, "-m", "nomina"]
    made = run(*nomina, "kb", "build", dictionary, "-o", folder / "names.kb", "--format", "biosyn", "--split-ids")
    first = inputs(given, folder / "first", [1], mentions=False)
    tables = run(*nomina, "bulk", "run", first, "--out", folder / "first-out", "--workers", "1",
                 "--kb", folder / "names.kb", "--linker", "dictionary")  # fmt: skip
    with Gpu(given.device) as gpu:
        index = apart(index_of, given.encoder, folder / "names.kb", given.device)
    index["gpu"] = gpu.figures(0)
    say("prepared", made.seconds, tables.seconds, index["seconds"])
    kb = {"build_seconds": round(made.seconds, 1), "tables_seconds": round(tables.seconds, 1)}
    return {"kb": kb | {"concepts": index.pop("concepts"), "names": index["names"]}, "index": index}


def index_of(encoder: Path, kb: Path, device: str) -> dict[str, Any]:
    """What the index took, in this process."""
    import torch

    from nomina.encoders import load_trainable
    from nomina.index.building import index_path, open_index
    from nomina.kb.store import KnowledgeBase
    from nomina.linkers.embedding import fingerprint

    opened, made = KnowledgeBase.open(kb), load_trainable(encoder)
    made.module.to(device)
    made.encode(["a first text"])
    key, start = fingerprint(made), time.perf_counter()
    index = open_index(opened, made, key, "int8")
    seconds = time.perf_counter() - start
    return {
        "kind": "int8",
        "concepts": opened.manifest.counts.concepts,
        "names": index.size,
        "dim": index.dim,
        "seconds": round(seconds, 1),
        "names_a_second": round(index.size / seconds),
        "file_mb": round(index_path(opened, key, "int8").stat().st_size / 1e6),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "gpu_allocated_mb": round(torch.cuda.max_memory_allocated() / 1e6) if torch.cuda.is_available() else None,
    }


def profile(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One file in one process, each way."""
    size = min(given.documents, len(source(given)), 500)
    found = {}
    for way, mentions in WAYS.items():
        path = inputs(given, folder / f"profile-{way}", [size], mentions) / "000.jsonl"
        found[way] = apart(one_file, path, given.encoder, folder / "names.kb", given.device)
        say("one process", way, found[way])
    return {"one_process": found}


def one_file(path: Path, encoder: Path, kb: Path, device: str) -> dict[str, Any]:
    """What a worker does with a file, with clocks around encoding and searching."""
    from nomina.bulk.engine import make_new, pipeline
    from nomina.bulk.options import Options
    from nomina.corpora.jsonl import read
    from nomina.linkers.cascade import CascadeLinker

    documents = list(read(path))
    started = time.perf_counter()
    linker = pipeline(Options(linker=str(encoder.absolute()), kb=str(kb)), device)
    start = time.perf_counter() - started
    cascade = linker.linker.linker  # type: ignore[attr-defined]  # within what remembers answers
    assert isinstance(cascade, CascadeLinker)
    embedding, clocks = cascade.embedding, {"encode": Clock(), "search": Clock()}
    embedding.encoder.encode(["a first text"])
    embedding.encoder.encode = clocks["encode"].around(embedding.encoder.encode)  # type: ignore[method-assign]
    embedding.index.search = clocks["search"].around(embedding.index.search)  # type: ignore[method-assign]
    make_new(linker, 1)
    began = time.perf_counter()
    mentions = sum(1 for _ in linker.link(documents))
    seconds = time.perf_counter() - began
    return {
        "documents": len(documents),
        "open_seconds": round(start, 1),
        "seconds": round(seconds, 2),
        "documents_a_second": round(len(documents) / seconds, 1),
        "mentions_a_document": round(mentions / len(documents), 1),
        "texts_encoded_a_document": round(clocks["encode"].rows / len(documents), 2),
        "encode_seconds": round(clocks["encode"].seconds, 3),
        "search_seconds": round(clocks["search"].seconds, 2),
        "encode_calls": clocks["encode"].calls,
    }


class Clock:
    """Seconds, calls and rows of a function whose first argument has rows."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.rows = 0.0, 0, 0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with the clock running."""

        def timed(rows: Sequence[Any], *others: Any, **named: Any) -> Any:  # noqa: ANN401
            start = time.perf_counter()
            answer = function(rows, *others, **named)
            self.seconds += time.perf_counter() - start
            self.calls, self.rows = self.calls + 1, self.rows + len(rows)
            return answer

        return timed


def link(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The runs of ``nomina bulk``."""
    start = linked(given, inputs(given, folder / "start", [1] * given.workers, mentions=False), 0)
    say("start", start["seconds"])
    figures: dict[str, Any] = {"start_seconds": start["seconds"]}
    for way, mentions in WAYS.items():
        files = max(2 * given.workers, -(-given.documents // len(source(given))))
        sizes = [given.documents * (i + 1) // files - given.documents * i // files for i in range(files)]
        folders = inputs(given, folder / way, [size for size in sizes if size], mentions)
        figures[way] = linked(given, folders, start["seconds"])
        say(way, figures[way])
    return {"runs": figures}


def linked(given: argparse.Namespace, files: Path, start: float) -> dict[str, Any]:
    """One run, and what came of it; one that takes too long is stopped, and its finished files count."""
    out = files.with_name(f"{files.name}-out")
    command = [sys.executable, "-m", "nomina", "bulk", "run", files, "--out", out, "--kb", files.parent / "names.kb",
               "--linker", given.encoder, "--device", given.device, "--workers", given.workers]  # fmt: skip
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with Gpu(given.device) as gpu:
        process = subprocess.Popen(list(map(str, command)))
        try:
            code = process.wait(given.seconds + start)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            code = process.wait(_TO_STOP)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    with Manifest.open(out) as manifest:
        totals = manifest.totals()
    whole = totals.done == totals.shards
    if totals.errors or totals.broken or (whole and code != 0):
        raise SystemExit(f"not all documents were linked (exit code {code}): {totals}")
    return {
        "documents": totals.documents,
        "files": totals.done,
        "whole": whole,
        "mentions": totals.mentions,
        "seconds": round(seconds, 1),
        "documents_a_second": round(totals.documents / (seconds - start), 1) if seconds > start else None,
        "worker_seconds": round(totals.seconds, 1),
        "documents_a_worker_second": round(totals.documents / max(totals.seconds, 1e-3), 1),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "gpu": gpu.figures(start),
    }


class Sample(NamedTuple):
    """Seconds since the start, percent, MiB, watts."""

    seconds: float
    busy: float
    memory: float
    power: float


class Gpu:
    """nvidia-smi once a second, for as long as the context is open; nothing where the device is the CPU."""

    def __init__(self, device: str) -> None:
        self._samples: list[Sample] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True) if device != "cpu" else None

    def _look(self) -> None:
        start = time.perf_counter()
        while not self._over.wait(max(0.0, len(self._samples) + 1 - (time.perf_counter() - start))):
            row = smi(QUERY).split(",")
            self._samples.append(Sample(time.perf_counter() - start, *map(number, row)))

    def figures(self, start: float) -> dict[str, Any] | None:
        """Means and peaks of all samples, and the utilisation of those after the start."""
        if not self._samples:
            return None
        linking = [sample.busy for sample in self._samples if sample.seconds >= start] or [0.0]
        return {
            "samples": len(self._samples),
            "mean_percent": round(statistics.mean(sample.busy for sample in self._samples), 1),
            "linking": {
                "samples": len(linking),
                "mean_percent": round(statistics.mean(linking), 1),
                "median_percent": statistics.median(linking),
                "most_percent": max(linking),
            },
            "peak_memory_mib": max(sample.memory for sample in self._samples),
            "mean_watts": round(statistics.mean(sample.power for sample in self._samples)),
        }

    def __enter__(self) -> Self:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()


def smi(query: str) -> str:
    """What nvidia-smi says of the GPU that is used."""
    place = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or "0"
    command = ["nvidia-smi", "-i", place, f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def number(text: str) -> float:
    """A figure of nvidia-smi; 0 where it has none."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def card(device: str) -> str | None:
    """Name, driver and memory of the GPU."""
    return smi("name,driver_version,memory.total") if device != "cpu" else None


def source(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The abstracts as they were written."""
    with gzip.open(given.file, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def inputs(given: argparse.Namespace, folder: Path, sizes: Sequence[int], mentions: bool) -> Path:
    """Files of so many documents each, in a folder: the abstracts over and over, each with an id of its own."""
    folder.mkdir()
    records = renamed(source(given), mentions)
    for place, size in enumerate(sizes):
        with open(folder / f"{place:03d}.jsonl", "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in islice(records, size))
    return folder


def renamed(records: Sequence[dict[str, Any]], mentions: bool) -> Iterator[dict[str, Any]]:
    """The records without end."""
    for place, record in enumerate(chain.from_iterable(cycle([records]))):
        own = {"mentions": record["mentions"]} if mentions else {}
        yield {"id": f"made-{place}", "text": record["text"]} | own


def apart(function: Callable[..., dict[str, Any]], *given: object) -> dict[str, Any]:
    """What a function gives in a process of its own, so that this one holds nothing on the GPU."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, given)


def say(*what: object) -> None:
    """How far it is, for who waits."""
    print(f"{time.strftime('%H:%M:%S')}", *what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
