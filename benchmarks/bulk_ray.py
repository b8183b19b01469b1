"""``nomina bulk run --engine ray`` beside ``--engine local``, on the same cores: documents a second.

``python benchmarks/bulk_ray.py [BENCHMARKS] [DOCUMENTS]`` links the files of ``bulk.py`` with two workers of each
engine and writes ``benchmarks/results/bulk_ray.json``; with another number of documents it writes nothing, as a trial.
Ray starts a cluster on this machine for the run. It needs the extra ``ray``.

``start_seconds`` are those of a run of one document, of Ray mostly the start of its cluster; ``documents_a_second``
leaves them out. ``kept`` is what Ray keeps of the local engine's speed, without the start and with it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from bulk import DOCUMENTS, SHARDS, WORKERS, made
from link import CORPORA, abstracts
from startup import ROOT, Run, commit, machine, run
from synthetic_corpus import write

RESULT = ROOT / "benchmarks/results/bulk_ray.json"
ENGINES = ("local", "ray")
ROUNDS = 2
"""Runs of each engine, one engine after the other; the faster one counts."""


def main() -> None:
    """Measure, print and write the figures."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/benchmarks"
    if not data.is_dir():
        raise SystemExit(f"no benchmark data at {data}: python benchmarks/bulk_ray.py FOLDER")
    number = int(sys.argv[2]) if len(sys.argv) > 2 else DOCUMENTS
    report = {
        "command": "python benchmarks/bulk_ray.py",
        "commit": commit(),
        "machine": machine(),
        "versions": {package: metadata.version(package) for package in ("ray", "numpy", "onnxruntime")},
        "figures": measure(data, number),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    if number == DOCUMENTS:
        RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


def measure(data: Path, number: int) -> dict[str, object]:
    """The figures of both engines, and what Ray keeps."""
    source = [document for corpus in CORPORA for document in abstracts(data, corpus)]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        one = write(made(source, 1), folder / "one", 1, 1)
        linked(one, folder / "warm", "local", home)
        starts = {engine: linked(one, folder / f"one-{engine}", engine, home).seconds for engine in ENGINES}
        many, seconds = (
            write(made(source, number), folder / "many", SHARDS, number),
            dict.fromkeys(ENGINES, float("inf")),
        )
        for turn in range(ROUNDS):
            for engine in ENGINES:
                seconds[engine] = min(seconds[engine], linked(many, folder / f"{engine}-{turn}", engine, home).seconds)
    speed = {engine: number / (seconds[engine] - starts[engine]) for engine in ENGINES}
    return {
        "documents": number,
        "workers": WORKERS,
        "start_seconds": {engine: round(start, 2) for engine, start in starts.items()},
        "seconds": {engine: round(each, 2) for engine, each in seconds.items()},
        "documents_a_second": {engine: round(each) for engine, each in speed.items()},
        "kept": {
            "without the start": round(speed["ray"] / speed["local"], 2),
            "with it": round(seconds["local"] / seconds["ray"], 2),
        },
    }


def linked(inputs: Path, out: Path, engine: str, home: str) -> Run:
    """A run over a folder by an engine."""
    options = ["--out", out, "--engine", engine, "--workers", str(WORKERS)]
    return run(sys.executable, "-m", "nomina", "bulk", "run", inputs, *options, home=home)


if __name__ == "__main__":
    main()
