"""How long nomina takes to start, to build the default KB once and to link an abstract later: seconds, peak memory.

``python benchmarks/startup.py`` writes ``benchmarks/results/startup.json``. Every figure is of whole processes, as a
user meets them, in a cache folder of its own; repeated ones are medians. CPU seconds are there for busy machines, where
the wall clock measures the others too. Peak memory is never below that of this script (some 20 MB): the system counts
what a process held before it became another.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks/results/startup.json"
ABSTRACT = ROOT / "examples/abstract.txt"
REPEAT = 15
HEAVY = ("numpy", "sqlite3", "pydantic", "tokenizers", "onnxruntime", "torch", "transformers", "pyhpo")
LOADED = "import sys, nomina; print(len(sys.modules), *sys.modules)"


class Run(NamedTuple):
    """One process: wall-clock and CPU seconds, peak resident memory in MB, what it printed."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: str


def run(*command: str | Path, home: str | None = None) -> Run:
    """Run a command to its end; an exit code other than 0 ends the benchmark."""
    environment = os.environ | ({"NOMINA_HOME": home} if home else {})
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(list(map(str, command)), stdout=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"exit code {process.returncode}: {command}")
        output.seek(0)
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # macOS counts bytes, Linux kilobytes
        cpu_seconds = usage.ru_utime + usage.ru_stime
        return Run(seconds, cpu_seconds, usage.ru_maxrss / unit, output.read().decode("utf-8"))


def figures(runs: list[Run]) -> dict[str, float]:
    """Median seconds and highest memory of the same command run several times."""
    return {
        "seconds": round(statistics.median(r.seconds for r in runs), 4),
        "cpu_seconds": round(statistics.median(r.cpu_seconds for r in runs), 4),
        "peak_mb": round(max(r.peak_mb for r in runs), 1),
        "runs": len(runs),
    }


def machine() -> dict[str, str | int | float | None]:
    """What the figures depend on besides the code; the load is that of the minute before."""
    cpu = platform.processor() or platform.machine()
    if (info := Path("/proc/cpuinfo")).exists():
        models = [line.split(":")[1].strip() for line in info.read_text("utf-8").splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """The commit measured, with a mark where the tree has changes."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def measure() -> dict[str, object]:
    """All figures by name."""
    python = sys.executable
    nomina = [python, "-m", "nomina"]
    bare = [run(python, "-c", "pass") for _ in range(REPEAT)]
    helped = [run(*nomina, "--help") for _ in range(REPEAT)]
    imported = [run(python, "-c", LOADED) for _ in range(REPEAT)]
    number, *names = imported[0].output.split()
    results: dict[str, object] = {
        "bare_interpreter": figures(bare),
        "help": figures(helped),
        "help_to_bare": round(figures(helped)["cpu_seconds"] / figures(bare)["cpu_seconds"], 2),
        "import_nomina": figures(imported),
        "modules_after_import": int(number),
        "heavy_modules_after_import": [name for name in HEAVY if name in names],
    }
    with tempfile.TemporaryDirectory() as home:
        results["default_kb_build"] = figures([run(*nomina, "kb", "info", "hpo", home=home)])
        for linker in ("dictionary", "tfidf"):
            link = [*nomina, "link", "--format", "jsonl", "--linker", linker, str(ABSTRACT)]
            results[f"link_abstract_{linker}_first"] = figures([run(*link, home=home)])
            results[f"link_abstract_{linker}_later"] = figures([run(*link, home=home) for _ in range(5)])
        results["cache_mb"] = round(sum(p.stat().st_size for p in Path(home).rglob("*") if p.is_file()) / 1e6, 1)
    return results


def main() -> None:
    """Measure, print and write the figures."""
    packages = ("nomina", "numpy", "click", "pyhpo")
    versions = {name: metadata.version(name) for name in packages}
    report = {"machine": machine(), "versions": versions, "commit": commit(), "figures": measure()}
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
