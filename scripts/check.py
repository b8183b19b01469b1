"""Everything that must hold before a change lands: ``python scripts/check.py [STEP ...]``.

Steps run in order, and all of them also after a failure; a table at the end says how each went and how long it took.
``extras`` runs only when named.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_TESTS_COLLECTED = 5
HEAVY = ("torch", "transformers", "onnxruntime")

IMPORT_CHECK = f"""
import importlib.util, sys
assert importlib.util.find_spec("torch") is None, "the bare install brought torch"
import nomina
heavy = [name for name in {HEAVY!r} if name in sys.modules]
assert not heavy, f"import nomina loaded {{heavy}}"
found = [p.candidates[0].entity_id for p in nomina.load().link_text("She has short stature and had a seizure.")]
assert found == ["HP:0004322", "HP:0001250"], found
"""


class Failure(Exception):
    """A step found something wrong; the message says what."""


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run a command with its output shown; raise ``Failure`` unless it exits with 0."""
    words = [str(word) for word in command]
    print("$", shlex.join(words), flush=True)
    code = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}).returncode
    if code != 0:
        raise Failure(f"exit code {code}: {shlex.join(words)}")


def module(name: str, *arguments: str | Path) -> None:
    """Run ``python -m name`` with the interpreter of this script."""
    run(sys.executable, "-m", name, *arguments)


def check_format() -> None:
    """The code is formatted."""
    module("ruff", "format", "--check", ".")


def check_lint() -> None:
    """The linter is content."""
    module("ruff", "check", ".")


def check_types() -> None:
    """The types of src fit, strictly."""
    module("mypy")


def check_tests() -> None:
    """The tests pass and cover enough branches."""
    module("coverage", "erase")
    module("coverage", "run", "-m", "pytest", "-m", "not extras", "--ignore", "tests/docs", "--durations", "10")
    module("coverage", "combine", "--quiet")
    module("coverage", "report")


def check_docs() -> None:
    """Every code block of README and docs does what it says."""
    module("pytest", "tests/docs")


def check_wheel() -> None:
    """The wheel, installed alone into a new environment, links a text without torch."""
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        python, nomina = away / "venv/bin/python", away / "venv/bin/nomina"
        home = {"NOMINA_HOME": str(away / "home"), "PYTHONPATH": ""}
        pip_args = shlex.split(os.environ.get("PIP_ARGS", ""))
        module("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", away, *pip_args, ".")
        (wheel,) = away.glob("nomina-*.whl")
        module("venv", away / "venv")
        run(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", *pip_args, wheel)
        run(nomina, "--version", cwd=away)
        run(nomina, "--help", cwd=away)
        run(nomina, "link", "--format", "table", ROOT / "examples/abstract.txt", cwd=away, env=home)
        (away / "import_check.py").write_text(IMPORT_CHECK, encoding="utf-8")
        run(python, away / "import_check.py", cwd=away, env=home)


def check_extras() -> None:
    """The tests of optional dependencies pass, where there are any."""
    select = [sys.executable, "-m", "pytest", "-m", "extras"]
    listing = subprocess.run([*select, "--collect-only", "--quiet"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == NO_TESTS_COLLECTED:
        print("no test is marked `extras` yet: nothing to run")
    else:
        run(*select)


STEPS: dict[str, Callable[[], None]] = {
    "format": check_format,
    "lint": check_lint,
    "types": check_types,
    "tests": check_tests,
    "docs": check_docs,
    "wheel": check_wheel,
    "extras": check_extras,
}


def main() -> int:
    """Run the steps named on the command line (default: all but extras) and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="*", help=", ".join(STEPS))
    steps = parser.parse_args().step or [name for name in STEPS if name != "extras"]
    if unknown := [name for name in steps if name not in STEPS]:
        parser.error(f"no step {unknown[0]!r}; there are: {', '.join(STEPS)}")
    results: list[str] = []
    failed = False
    for name in steps:
        print(f"\n== {name}: {STEPS[name].__doc__}", flush=True)
        start, verdict = time.perf_counter(), "ok"
        try:
            STEPS[name]()
        except Failure as failure:
            failed, verdict = True, f"FAILED  {failure}"
        results.append(f"{name:8}{time.perf_counter() - start:7.1f} s  {verdict}")
    print("\n" + "\n".join(results))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
