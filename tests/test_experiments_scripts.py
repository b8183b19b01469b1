"""``angel_runs.sh`` and ``generative_runs.sh`` with trainings that only end or fail."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
FAILS = """#!/bin/sh
case " $* " in *" --name "{what}" "*) exit 1 ;; esac
"""


@pytest.fixture
def ran(tmp_path):
    """Runs a script, in which trainings of a name (a pattern) fail; which trainings ended, and which failed."""
    if not shutil.which("bash") or not shutil.which("pgrep"):
        pytest.skip("needs bash and pgrep")

    def run(script, what):
        python = tmp_path / "python"
        python.write_text(FAILS.format(what=what), encoding="utf-8")
        python.chmod(0o755)
        folders = {name: str(tmp_path / name) for name in ("DATA", "OUT", "WORK", "BASE", "PRE")}
        few = {"SEEDS": "0", "FOLDS": "0", "PT_FOLDS": "0", "NONE": "0", "PAUSE": "0.02", "SIDE_BY_SIDE": "1000"}
        environment = {**os.environ, **folders, **few, "PYTHON": str(python)}
        subprocess.run(["bash", EXPERIMENTS / script], env=environment, check=True, timeout=60)
        return tuple({path.stem for path in (tmp_path / "WORK").glob(f"*.{how}")} for how in ("ended", "failed"))

    return run


def test_what_goes_on_from_a_failed_training_is_given_up_alone(ran, tmp_path):
    before, failed = ran("generative_runs.sh", "pre-ncbi-0")
    assert failed == {"pre-ncbi-0"}
    assert "pre-bc5cdr-0" in before
    ended, failed = ran("angel_runs.sh", "others")
    given_up = {f"{kind}-ncbi" for kind in ("losses", "pairs", "slow", "crossfit")}
    assert failed == {"pre-ncbi-0", "others", "negative", "angel-ncbi-0", "remedies-ncbi-0"} | given_up
    assert {"positive", "angel-bc5cdr-0", "angel-aap-0", "angel-none-ncbi-0", "top-3-ncbi"} <= ended
    assert (tmp_path / "OUT" / "angel-ncbi-0.txt").read_text() == "not trained: pre-ncbi-0 failed\n"


def test_what_failed_is_trained_again(ran):
    ran("generative_runs.sh", "pre-*")
    ended, failed = ran("angel_runs.sh", "negative")
    assert {"pre-ncbi-0", "angel-ncbi-0", "negative"} <= failed
    ran("generative_runs.sh", "nothing")
    ended, failed = ran("angel_runs.sh", "nothing")
    assert failed == set()
    assert {"negative", "pt-ncbi-0", "angel-pt-ncbi-0", "slow-ncbi"} <= ended
