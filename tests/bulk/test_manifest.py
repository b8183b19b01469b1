"""The book of a run."""

import sqlite3
import subprocess
import sys
import time

import pytest
from bulk_cases import POSIX

from nomina.bulk.find import Input
from nomina.bulk.manifest import Done, Manifest, Shard, Totals
from nomina.bulk.store import LocalStore
from nomina.errors import UsageError


@pytest.fixture
def folder(tmp_path):
    inputs = []
    for name in ("a b.jsonl.gz", "é.csv", "noending"):
        (tmp_path / name).write_bytes(b"x" * (len(inputs) + 1))
        inputs.append(Input(str(tmp_path / name), "jsonl", len(inputs)))
    Manifest.create(tmp_path, {"options": "{}", "kb": "k"}, inputs, ".jsonl.gz")
    return tmp_path


DONE = Done(3, 5, 1, 99, "ab", "cd", True, ("7", "8"), 1.5)


def test_shards_are_recorded_and_put_back(folder):
    with Manifest.open(folder) as manifest:
        assert manifest.about() == {"layout": "1", "options": "{}", "kb": "k"}
        names = [shard.name for shard in manifest.shards()]
        assert names == ["00000-a_b.jsonl.gz", "00001-_.jsonl.gz", "00002-noending.jsonl.gz"]
        assert manifest.inputs()[1] == Input(str(folder / "é.csv"), "jsonl", 1)
        manifest.record(0, DONE)
        manifest.record(2, DONE._replace(whole=False, deleted=()))
    with Manifest.open(folder) as manifest:
        assert [shard.number for shard in manifest.shards("todo")] == [1]
        assert [shard.number for shard in manifest.shards("done", "broken")] == [0, 2]
        ((shard, done), (_, broken)) = manifest.recorded()
        assert shard == Shard(0, str(folder / "a b.jsonl.gz"), "jsonl", 1, shard.changed, "00000-a_b.jsonl.gz")
        assert done == DONE
        assert (broken.whole, broken.deleted) == (False, ())
        assert manifest.totals() == Totals(3, 2, 1, 6, 10, 2, 6, 4, 3.0)
        (folder / "noending").write_bytes(b"longer")
        manifest.redo([2])
        assert manifest.shards("todo")[1].size == 6
        assert manifest.totals() == Totals(3, 1, 0, 3, 5, 1, 9, 1, 1.5)


def test_a_manifest_that_is_none_is_said(folder, tmp_path):
    with pytest.raises(UsageError, match="is no bulk run"), Manifest.open(tmp_path / "no"):
        pass
    path = folder / "manifest.sqlite"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE run SET value = '9' WHERE key = 'layout'")
    connection.close()
    with pytest.raises(UsageError, match=r"of another version of nomina \(layout 9\)"), Manifest.open(folder):
        pass
    path.write_bytes(b"nonsense" * 1000)
    with (
        pytest.raises(UsageError, match=r"cannot be read or written \(file is not a database\)"),
        Manifest.open(folder),
    ):
        pass


BEGUN = """
import sys
from pathlib import Path
from nomina.bulk.find import Input
from nomina.bulk.manifest import Manifest
folder = Path(sys.argv[1])
Manifest.create(folder / "run", {}, [Input(str(folder / "a.jsonl"), "jsonl", i) for i in range(10**6)], ".jsonl")
"""


@POSIX
def test_a_manifest_whose_maker_was_killed_is_made_anew(tmp_path):
    (tmp_path / "a.jsonl").touch()
    run = tmp_path / "run"
    run.mkdir()
    with subprocess.Popen([sys.executable, "-c", BEGUN, str(tmp_path)]) as maker:
        until = time.monotonic() + 60
        while not any(path.stat().st_size for path in run.iterdir()):
            assert maker.poll() is None
            assert time.monotonic() < until
        maker.kill()
    assert [path.suffix for path in run.iterdir()] == [".tmp"]
    store = LocalStore(run)
    assert store.names() == []
    store.create({}, [Input(str(tmp_path / "a.jsonl"), "jsonl", 0)], ".jsonl")
    assert store.names() == [path.name for path in run.iterdir()] == ["manifest.sqlite"]
