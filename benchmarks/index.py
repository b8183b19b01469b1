"""Nearest names among a million: queries a second, memory and agreement of every index, on two threads.

``python benchmarks/index.py NAMES QUERIES ENCODER [FOLDER]`` encodes the names and the queries (.tsv.xz
files; their second column) with a saved encoder, keeps the vectors in FOLDER, and writes
``benchmarks/results/index.json``. Vectors that are in FOLDER (``names.npy``, ``queries.npy``) are taken as they are.

Each index has a process of its own, whose peak memory is given; pages of the mapped file count in it. Agreement is the
share of the exact ten nearest rows (float32 by blocked matrix products, the first line) that the index finds.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
from startup import ROOT, commit, machine, run

from nomina import encoders
from nomina.arrays import read
from nomina.index.building import index_class
from nomina.index.int8 import Int8Index

RESULT = ROOT / "benchmarks/results/index.json"
THREADS = 2
EXACT = ("float32", "float16", "int8")
FAISS = ("faiss-flat", "faiss-hnsw", "faiss-ivfpq")
BATCHES = (1, 64)
K = 10
ASKED = 640
SECONDS = 6.0
PART = 1 << 14


def encode(source: Path, encoder: Path, target: Path) -> None:
    """Write the vectors of the second column of a packed file, float16."""
    made = encoders.load(encoder)
    with lzma.open(source, "rt", encoding="utf-8") as stream:
        listed = [line.rstrip("\n").split("\t")[1] for line in stream]
    vectors = np.lib.format.open_memmap(target, "w+", np.float16, (len(listed), made.dim))
    for start in range(0, len(listed), PART):
        vectors[start : start + PART] = made.encode(listed[start : start + PART])
    vectors.flush()


def parts(vectors: Path, kind: type[Any]) -> Iterator[Any]:
    """The planes of all vectors."""
    rows = np.load(vectors, mmap_mode="r")
    for start in range(0, len(rows), PART):
        yield kind.planes(rows[start : start + PART].astype(np.float32))


def make(folder: Path, kind: str) -> None:
    """Write an index's file."""
    made: Any = index_class(kind)
    rows = np.load(folder / "names.npy", mmap_mode="r")
    if kind in EXACT:
        made.write(folder / kind, parts(folder / "names.npy", made), *rows.shape)
    else:
        made.write(folder / kind, index_class("float32")(read(folder / "float32")))


def ask(folder: Path, kind: str) -> dict[str, Any]:
    """Search with one index, in this process; the rows found are left in the folder."""
    made: Any = index_class(kind)
    arrays = read(folder / kind)
    index = Int8Index(arrays, THREADS) if kind == "int8" else made(arrays)
    queries = np.load(folder / "queries.npy")[:ASKED].astype(np.float32)
    speeds = {str(batch): speed(index, queries, batch) for batch in BATCHES}
    np.save(folder / f"{kind}.found.npy", index.search(queries, K).rows)
    return {"queries_a_second": speeds, "peak_mb": peak()}


def peak() -> float | None:
    """The most memory that this process ever held, in MB; None where the system does not say."""
    status = Path("/proc/self/status")
    held = [line.split()[1] for line in status.read_text("utf-8").splitlines() if line.startswith("VmHWM")]
    return round(int(held[0]) * 1024 / 1e6, 1) if held else None


def speed(index: Any, queries: np.ndarray, batch: int) -> float:  # noqa: ANN401
    """Queries a second in batches, over whole batches of some seconds after one to warm up."""
    index.search(queries[:batch], K)
    start, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < SECONDS:
        at = done % (len(queries) - batch + 1)
        index.search(queries[at : at + batch], K)
        done += batch
    return round(done / spent, 1)


def measured(folder: Path, kind: str) -> dict[str, Any]:
    """Make and ask an index in processes of their own."""
    made = run(sys.executable, __file__, "make", folder, kind)
    done = run(sys.executable, __file__, "ask", folder, kind)
    found, exact = (np.load(folder / f"{name}.found.npy") for name in (kind, "float32"))
    agreement = np.mean([len(set(one) & set(other)) / K for one, other in zip(found, exact, strict=True)])
    return {
        "index": kind,
        **json.loads(done.output),
        "agreement": round(float(agreement), 4),
        "file_mb": round((folder / kind).stat().st_size / 1e6, 1),
        "seconds_to_make": round(made.seconds, 1),
    }


def main() -> None:
    """Encode what is not there, measure, print and write the figures."""
    if sys.argv[1:2] == ["encode"]:
        encode(*map(Path, sys.argv[2:]))
        return
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), sys.argv[3])
        return
    if sys.argv[1:2] == ["ask"]:
        print(json.dumps(ask(Path(sys.argv[2]), sys.argv[3])))
        return
    if len(sys.argv) not in (4, 5):
        raise SystemExit(__doc__)
    names, queries, encoder = map(Path, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[4] if len(sys.argv) == 5 else scratch)
        for source, target in ((names, "names.npy"), (queries, "queries.npy")):
            if not (folder / target).exists():
                run(sys.executable, __file__, "encode", source, encoder, folder / target)
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[variable] = str(THREADS)
        kinds = [*EXACT, *(FAISS if util.find_spec("faiss") else ())]
        rows, dim = np.load(folder / "names.npy", mmap_mode="r").shape
        report = {
            "command": "python benchmarks/index.py NAMES QUERIES ENCODER",
            "commit": commit(),
            "machine": machine(),
            "versions": {name: metadata.version(name) for name in ("numpy", "onnxruntime")},
            "encoder": encoder.name,
            "rows": rows,
            "dim": dim,
            "k": K,
            "queries": ASKED,
            "threads": THREADS,
            "indexes": [measured(folder, kind) for kind in kinds],
        }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
