"""What every experiment shares: its command line, and the record of what it measured."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nomina._version import __version__

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
SCRATCH = re.compile(r"(?<![\w/.])(?:\.work/\w+/|/(?:[\w.-]+/)+)")
"""A folder of models that is on no other machine: any that is named from the root on."""
NONE_DRAWN = "none drawn"
"""The seed of a script that draws nothing at random."""


def parser(description: str | None) -> argparse.ArgumentParser:
    """A command line with ``--shared``: the folder that holds ``benchmarks``, by default beside the checkout."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="default: %(default)s")
    return options


def benchmark(shared: Path, *parts: str) -> Path:
    """The path of a benchmark file or folder; ends the program with one line where it is not there."""
    path = shared.joinpath("benchmarks", *parts)
    if not path.exists():
        raise SystemExit(f"{path} is missing: name the folder that holds 'benchmarks' with --shared PATH")
    return path


def record(name: str, metrics: dict[str, Any], *, seed: int | str = NONE_DRAWN, **extra: Any) -> Path:  # noqa: ANN401
    """Write ``results/<name>.json``: the metrics and all it takes to measure them again.

    Args:
        name: Of the file, without its ending.
        metrics: What was measured; plain values that JSON can hold.
        seed: Of the random numbers; in words where there are none or several.
        extra: Further facts (options, counts, model), stored beside the metrics.
    """
    facts = {
        "name": name,
        "metrics": metrics,
        "seed": seed,
        **extra,
        "command": command(),
        "commit": commit(),
        "versions": {"python": platform.python_version(), "nomina": __version__},
        "hardware": hardware(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def command() -> str:
    """The command line as a shell takes it; the script from the root of the project, scratch folders as MODELS."""
    script = Path(sys.argv[0]).resolve()
    shown = script.relative_to(ROOT).as_posix() if script.is_relative_to(ROOT) else script.name
    return SCRATCH.sub("MODELS/", shlex.join(["python", shown, *sys.argv[1:]]))


def commit() -> str | None:
    """The commit that is checked out, ``+`` behind it if code has changed; outside of a checkout ``$NOMINA_COMMIT``."""
    try:
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "experiments/*.py")
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("NOMINA_COMMIT")
    return head + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.strip()


def hardware() -> str:
    """Processor and number of cores, in words."""
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
