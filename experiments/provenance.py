"""What made each result: commands, seeds, commits, hardware, and what of the plans is missing, for ``RESULTS.md``."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import SCRATCH
from tables import read, table

PLANS = ("grid", "final", "published", "seeds", "mpnet", "probe", "cascade")
TRAINED = """### What was trained

Plans: `fine_tune_<plan>.json`. Empty cells of the tables are what is missing here, or was not planned.
"""
RUNS = """## Runs

Each file of `experiments/results`, and of `benchmarks/results` those of the inference times. "+" or "-dirty" behind a
commit: the code had changes that were not committed. Seed: of resampling or drawing. A row
"trained" under another says what trained the weights that the other scored or wrote down; where several results score
the same weights it stands under one of them only (`distil` for the shipped models, `fine_tune_*` for trained ones).
Trainings of the first weeks ran at commits whose scripts have since been split and renamed, so that their commands are
those of then. Capitals in commands stand for folders; titles and names of results are those of today.
"""
LENGTH = 10
"""Of a commit, as it is shown."""


def trainings(results: Path) -> Iterator[str]:
    """What ran, and what of it is missing."""
    rows = []
    for plan in PLANS:
        path = results / f"fine_tune_{plan}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            gone = found.get("missing") or {}
            missing = f"{len(gone['runs'])}, {gone['why']}: {_shortened(gone['runs'])}" if gone else ""
            seeds = sorted({str(run["run"].get("seed", 0)) for run in found["metrics"]["runs"]})
            rows.append([plan, str(len(found["metrics"]["runs"])), ", ".join(seeds), missing])
    if rows:
        yield TRAINED
        yield from table(["plan", "runs", "seeds", "missing"], rows)
        yield ""


def _shortened(runs: Sequence[str]) -> str:
    """Names of runs without rates and seeds, each once; the folds of AskAPatient as one."""
    counted: dict[str, int] = defaultdict(int)
    for run in runs:
        counted[re.sub(r"^aap-\d+", "askapatient", run.partition("-lr")[0])] += 1
    return ", ".join(f"{count} of {name}" if count > 1 else name for name, count in counted.items())


def runs(results: Path, benchmarks: Path) -> Iterator[str]:
    """What made each result."""
    rows: list[list[str]] = []
    for result in read(results, "*.json"):
        rows += _rows(result)
    rows += [
        _benchmark(benchmarks / name) for name in ("encoders.json", "encoders_gpu.json") if (benchmarks / name).exists()
    ]
    yield RUNS
    yield from table(["result", "command", "seed", "commit", "Python", "hardware"], rows)
    yield ""


def _rows(result: dict[str, Any]) -> Iterator[list[str]]:
    """A row for the result, and one for what trained its weights."""
    trained = result.get("trained", {})
    python = result.get("versions", {}).get("python", "")
    yield [result["name"], _commands(result), _seed(result), shown(result.get("commit")), python,
           result.get("hardware", "")]  # fmt: skip
    if trained:
        yield [f"{result['name']}: trained", _commands(trained), _seed(trained) or _seeds(result),
               shown(trained.get("commit")), trained.get("python", ""), trained.get("device", "")]  # fmt: skip


def _commands(facts: dict[str, Any]) -> str:
    given = facts.get("commands") or facts.get("command") or []
    return "; ".join(f"`{SCRATCH.sub('MODELS/', line)}`" for line in ([given] if isinstance(given, str) else given))


def _seed(facts: dict[str, Any]) -> str:
    return "" if facts.get("seed") is None else str(facts["seed"])


def _seeds(result: dict[str, Any]) -> str:
    """Of the runs of a plan, or the result's own."""
    found = result["metrics"].get("runs")
    seeds = {str(run["run"].get("seed", 0)) for run in found} if isinstance(found, list) else {_seed(result)}
    return ", ".join(sorted(seeds))


def shown(commit: str | None) -> str:
    """A commit or several, shortened, with the mark of changes behind it."""
    return re.sub(rf"([0-9a-f]{{{LENGTH}}})[0-9a-f]*", r"\1", commit or "")


def _benchmark(path: Path) -> list[str]:
    found = json.loads(path.read_text(encoding="utf-8"))
    machine = found["machine"]
    command = f"`{SCRATCH.sub('MODELS/', found['command'])}`" if "command" in found else "options not recorded"
    parts = (("cpu", ""), ("card", ""), ("cores", " cores"), ("cpu cores", " CPU cores"))
    where = ", ".join(f"{machine[key]}{more}" for key, more in parts if key in machine)
    return [f"benchmarks/{path.stem}", command, str(found.get("seed", "")), shown(found["commit"]),
            machine.get("python", ""), where]  # fmt: skip
