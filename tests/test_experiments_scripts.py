"""``angel_runs.sh``, ``generative_runs.sh`` and ``generative_tries.sh`` with trainings that only end or fail."""

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

    def run(script, what, *parts, **few):
        python = tmp_path / "python"
        python.write_text(FAILS.format(what=what), encoding="utf-8")
        python.chmod(0o755)
        folders = {name: str(tmp_path / name) for name in ("DATA", "OUT", "WORK", "BASE", "PRE")}
        one = {"SEEDS": "0", "FOLDS": "0", "PT_FOLDS": "0", "NONE": "0", "PAUSE": "0.02", "SIDE_BY_SIDE": "1000"}
        environment = {**os.environ, **folders, **one, **few, "PYTHON": str(python)}
        subprocess.run(["bash", EXPERIMENTS / script, *parts], env=environment, check=True, timeout=60)
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


def test_other_seeds_and_folds_than_the_first_can_be_had_alone(ran):
    few = {"SEEDS": "3", "FOLDS": "4", "PT_FOLDS": "4", "NONE": "3", "REMEDY_SEEDS": "3"}
    before, _ = ran("generative_runs.sh", "nothing", **{**few, "FOLDS": "3 4"})
    assert {"pre-ncbi-3", "pre-aap-4", "none-aap-3"} <= before
    ended, failed = ran("angel_runs.sh", "nothing", **few)
    assert failed == set()
    assert {"losses-ncbi", "losses-aap-4", "slow-bc5cdr", "crossfit-aap-4", "remedies-aap-3", "top-5-bc5cdr"} <= ended


def test_parts_of_the_tries_are_started_apart(ran):
    ended, _ = ran("generative_tries.sh", "nothing", "beside")
    assert {"lay-ncbi", "names-beside-aap-0", "metric-bc5cdr"} <= ended
    assert "three" not in ended
    ended, _ = ran("generative_tries.sh", "six", "layers")
    assert {"three", "three-aap-0", "three-bc5cdr"} <= ended
    assert not ended & {"six", "six-ncbi"}
    with pytest.raises(subprocess.CalledProcessError):
        ran("generative_tries.sh", "nothing", "typo")
