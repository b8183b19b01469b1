"""Runs on a Ray cluster of two nodes: the same bytes, also where one of the nodes is lost in the middle."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bulk_cases import POSIX, files, make_inputs, result, start
from s3_cases import S3_IS_THERE

CLUSTER = Path(__file__).with_name("ray_cluster.py")

pytestmark = [pytest.mark.extras, pytest.mark.slow, POSIX]
if importlib.util.find_spec("ray") is None:
    pytestmark.append(pytest.mark.skip(reason="ray is not installed"))


@pytest.fixture
def cluster():
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, CLUSTER], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8", env=environment
    )
    yield process
    process.communicate(timeout=60)


def test_the_same_as_on_one_machine_also_where_a_node_is_lost(kb, tmp_path, bulk, cluster):
    inputs = make_inputs(tmp_path / "in", 30, 400)
    assert bulk("run", inputs, "--out", "whole", "--workers", 2)[0] == 0
    address = cluster.stdout.readline().strip()
    given = ["--kb", kb.path, "--linker", "dictionary", "--engine", "ray", "--address", address]
    process = start("run", inputs, "--out", tmp_path / "run", *given)
    while len(files(tmp_path / "run/output")) < 6:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    cluster.stdin.write("\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "lost\n"
    assert len(files(tmp_path / "run/output")) < 30
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err.splitlines()[-1][:31]) == (0, "nomina: 30 of 30 shards, 12,000")
    assert result(tmp_path / "run") == result(tmp_path / "whole")


@S3_IS_THERE
def test_on_s3_the_same_where_a_node_is_lost(kb, tmp_path, bulk, s3, cluster):
    inputs = make_inputs(tmp_path / "in", 12, 300)
    assert bulk("run", inputs, "--out", "whole", "--workers", 2)[0] == 0
    there, address = s3.upload(inputs, "in"), cluster.stdout.readline().strip()
    given = ["--kb", kb.path, "--linker", "dictionary", "--engine", "ray", "--address", address]
    process = start("run", there, "--out", "s3://corpus/run", *given)
    while sum(name.startswith("done/") for name in s3.objects("run")) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    cluster.stdin.write("\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "lost\n"
    assert sum(name.startswith("done/") for name in s3.objects("run")) < 12
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err.splitlines()[-1][:30]) == (0, "nomina: 12 of 12 shards, 3,600")
    there = s3.objects("run")
    book = {name for name in there if name.startswith("done/")} | {"manifest.sqlite"}
    assert {name: data for name, data in there.items() if name not in book} == result(tmp_path / "whole")


def test_what_ray_cannot_do_is_said_in_one_line(kb, tmp_path, bulk, cluster):
    inputs = make_inputs(tmp_path / "in", 1, 1)
    address = cluster.stdout.readline().strip()
    given = ["--kb", kb.path, "--linker", "dictionary", "--engine", "ray", "--address"]
    process = start("run", inputs, "--out", tmp_path / "run", "--spans", *given, address)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("nomina: phrases are judged by an exported encoder")
