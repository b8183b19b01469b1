"""Runs whose inputs and folder are on an object store: the same bytes, also when killed in the middle of an upload."""

import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys

import pytest
from bulk_cases import NOMINA, POSIX, children, make_inputs, mentions, result, start
from s3_cases import S3_IS_THERE

from nomina.bulk.find import find
from nomina.bulk.manifest import Done
from nomina.bulk.remote import Remote, is_remote
from nomina.bulk.store import LocalStore, open_store
from nomina.errors import MissingExtra, NominaError, UsageError

pytestmark = [pytest.mark.extras, S3_IS_THERE]


def call(*arguments: object) -> tuple[int, str, str]:
    """``nomina bulk`` as a process, to its end."""
    done = subprocess.run([*NOMINA, "bulk", *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=300)
    return done.returncode, done.stdout, done.stderr


def command(kb, inputs, out, workers=2):
    return ["run", inputs, "--out", out, "--kb", kb.path, "--linker", "dictionary", "--workers", workers]


def outcome(objects: dict[str, bytes]) -> dict[str, bytes]:
    """What a run is judged by: all but its book."""
    return {name: data for name, data in objects.items() if name.partition("/")[0] not in ("manifest.sqlite", "done")}


def told(objects: dict[str, bytes]) -> dict[str, Done]:
    """What the small files say, by the name of the output."""
    found = {name: data for name, data in objects.items() if name.startswith("done/")}
    return {name.removeprefix("done/").removesuffix(".done.json"): Done(**json.loads(found[name])) for name in found}


def check_done(objects: dict[str, bytes]) -> int:
    """That what is said to be done is there, to the byte; how much that is."""
    said = told(objects)
    for name, done in said.items():
        assert hashlib.sha256(objects[f"output/{name}"]).hexdigest() == done.sha256
        assert len(objects[f"output/{name}"]) == done.bytes
    return len(said)


def test_a_run_on_s3_is_the_run_on_a_disk(kb, tmp_path, bulk, s3):
    inputs = make_inputs(tmp_path / "in", 4, 30)
    assert bulk("run", inputs, "--out", "here")[0] == 0
    there = s3.upload(inputs, "in")
    said = f"nomina: 4 of 4 shards, 120 documents, {mentions(4, 30)} mentions, 0 errors\n"
    assert call(*command(kb, there, "s3://corpus/run/")) == (0, "", said)
    objects = s3.objects("run")
    assert outcome(objects) == result(tmp_path / "here")
    assert check_done(objects) == 4
    assert sum(done.documents for done in told(objects).values()) == 120
    assert call("status", "s3://corpus/run")[1] == said.replace("nomina: ", "finished: ")
    assert json.loads(call("status", "s3://corpus/run", "--json")[1])["state"] == "finished"
    assert call("verify", "s3://corpus/run") == (0, "all 4 finished shards are as they were written\n", "")
    assert call("resume", "s3://corpus/run", "--workers", 1) == (0, "", said)
    assert s3.objects("run") == objects
    # From there to here, and from here to there.
    assert call(*command(kb, f"{there}/*.jsonl", "mixed"))[0] == 0
    assert call(*command(kb, f"file://{inputs}", "s3://corpus/mixed"))[0] == 0
    assert outcome(s3.objects("mixed")) == result(tmp_path / "here")
    assert [data for _, data in sorted(result(tmp_path / "mixed").items())] == [
        data for name, data in sorted(result(tmp_path / "here").items()) if "s002" not in name
    ]


def test_every_format_comes_from_s3_and_goes_there(kb, tmp_path, s3):
    from corpora_cases import DATA

    pyarrow = pytest.importorskip("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"id": ["1"], "text": ["Ataxia."]}), tmp_path / "t.parquet")
    s3.put("in/t.parquet", (tmp_path / "t.parquet").read_bytes())
    s3.put("in/t.csv", b"id,text\n1,Ataxia.\n")
    for name in ("tiny.pubmed.xml", "tiny.bioc.xml", "tiny.bioc.json", "tiny.pubtator"):
        s3.put(f"in/{name}", (DATA / name).read_bytes())
        s3.put(f"in/.hidden/{name}", b"")
    s3.put("in/read.me", b"")
    for format, ending in (("parquet", "parquet"), ("bioc_xml", "bioc.xml"), ("bioc_json", "bioc.json")):
        run = f"s3://corpus/{format}"
        code, _, err = call(*command(kb, "s3://corpus/in", run), "--format", format, "--detect")
        assert code == 0, err
        assert "left out 1 files" in err
        stems = ("t", "t", "tiny.bioc", "tiny.bioc", "tiny.pubmed", "tiny")
        expected = {f"output/0000{number}-{stem}.{ending}" for number, stem in enumerate(stems)}
        assert {name for name in s3.objects(format) if name.startswith("output/")} == expected
        assert call("verify", run)[0] == 0


@POSIX
@pytest.mark.slow
def test_a_run_that_is_killed_in_the_middle_of_its_uploads_gives_the_same(kb, tmp_path, bulk, s3):
    inputs = make_inputs(tmp_path / "in", 5, 5000)
    assert bulk("run", inputs, "--out", "here")[0] == 0
    expected = result(tmp_path / "here")
    assert min(map(len, expected.values())) > 5_000_000  # more than the systems between take in
    there, cut = s3.upload(inputs, "in"), 0
    for what in ("1 manifest.sqlite", "1 /output/", "2 /output/", "1 /done/", "1 /output/"):
        s3.say(f"hold {what}")
        assert s3.heard() == "ready"
        before = s3.objects("run")
        process = start(*command(kb, there, "s3://corpus/run"))
        word, _, name = s3.heard().partition(" ")
        for pid in (process.pid, *children(process.pid)):
            os.kill(pid, signal.SIGKILL)
        said = process.communicate(timeout=60)
        assert word == "held", said
        s3.say("go")
        if s3.heard() == "cut":
            cut += 1
            name = name.removeprefix("/corpus/run/")  # an earlier run may have sent all of it and then not said so
            assert s3.objects("run").get(name) == before.get(name)
        check_done(s3.objects("run"))
    assert cut == 3
    assert 0 < check_done(s3.objects("run")) < 5
    assert call("status", "s3://corpus/run")[1].startswith("unfinished: ")
    assert call("resume", "s3://corpus/run", "--workers", 2)[0] == 0
    objects = s3.objects("run")
    assert check_done(objects) == 5
    assert outcome(objects) == expected


def test_damage_errors_and_files_that_are_gone_are_found(kb, tmp_path, s3):
    inputs = make_inputs(tmp_path / "in", 3, 4)
    (inputs / "s003.jsonl").write_text('nonsense\n{"id": "1", "text": "Ataxia."}\n', encoding="utf-8")
    there, run = s3.upload(inputs, "in"), "s3://corpus/run"
    code, _, err = call(*command(kb, there, run))
    assert (code, err.splitlines()[-1]) == (0, f"nomina: see {run}/errors.jsonl")
    before = outcome(s3.objects("run"))
    (error,) = [json.loads(line) for line in before["errors.jsonl"].splitlines()]
    assert (error["file"], error["offset"]) == (f"{there}/s003.jsonl", 1)
    s3.delete("run/output/00000-s000.jsonl")
    s3.put("run/output/00002-s002.jsonl", b"other\n")
    s3.put("run/output/mine", b"")
    code, out, err = call("verify", run, "--redo")
    assert (code, out) == (
        2,
        f"{run}/output/00000-s000.jsonl: cannot be read (No such file or directory)\n"
        f"{run}/output/00002-s002.jsonl: is not what was written\n"
        f"{run}/output/mine: is of no finished shard\n",
    )
    assert err == f"nomina: 2 shards are damaged: make them again with nomina bulk resume {run}\n"
    assert call("status", run)[1].startswith("unfinished: 2 of 4 shards, 5 documents")
    s3.delete("run/output/mine")
    assert call("resume", run, "--workers", 1)[0] == 0
    assert outcome(s3.objects("run")) == before
    # An input that is mended is read again when that is wanted, and the errors of its file go.
    s3.delete("run/done/00003-s003.jsonl.done.json")
    s3.put("in/s003.jsonl", b'{"id": "1", "text": "Ataxia."}\n')
    code, _, err = call("resume", run, "--workers", 1)
    said = f"nomina: {there}/s003.jsonl has changed since the run was begun: begin a new run in another folder\n"
    assert (code, err) == (2, said)
    s3.delete("in/s003.jsonl")
    code, _, err = call("resume", run, "--workers", 1)
    assert (code, "1 files not read to their end" in err) == (0, True)
    s3.put("in/s003.jsonl", b'{"id": "1", "text": "Ataxia."}\n')
    assert call("resume", run, "--retry", "--workers", 1)[0] == 0
    objects = s3.objects("run")
    assert [name for name in objects if "error" in name] == []
    s3.put("run/done/00003-s003.jsonl.done.json", b"{}")
    code, _, err = call("status", run)
    assert (code, err.count("\n"), "00003-s003.jsonl.done.json is not what nomina wrote: remove it" in err) == (
        2,
        1,
        True,
    )


def test_deletions_of_pubmed_are_listed(kb, s3):
    from corpora_cases import DATA

    s3.put("in/pubmed25n0001.xml", (DATA / "tiny.pubmed.xml").read_bytes())
    assert call(*command(kb, "s3://corpus/in/pubmed25n0001.xml", "s3://corpus/run"))[0] == 0
    listed = s3.objects("run")["deletions.jsonl"].splitlines()
    assert [json.loads(line)["document"] for line in listed] == ["101", "88"]


@pytest.mark.parametrize(
    ("inputs", "out", "why"),
    [
        ("s3://corpus/in", "s3://other/run", "cannot write to s3://other/run ("),
        ("s3://corpus/none", "s3://corpus/run", "s3://corpus/none: cannot be read (No such file or directory)"),
        ("s3://corpus/in/*.csv", "s3://corpus/run", "no file matches s3://corpus/in/*.csv"),
        ("s3://corpus/in", "s3://corpus/in", "s3://corpus/in holds the inputs themselves: name another folder with"),
        ("s3://corpus/in", "memory://run", "memory://run is of one process alone, and workers are others"),
        ("memory://in", "s3://corpus/run", "memory://in is of one process alone"),
        ("nowhere://in", "s3://corpus/run", "cannot use nowhere://in (Protocol not known: nowhere)"),
        ("s3://corpus/in", "nowhere://run", "cannot use nowhere://run (Protocol not known: nowhere)"),
        ("s3://corpus/in", "s3://corpus/full", "s3://corpus/full holds something else (mine): name an empty or a new"),
        ("s3://corpus/t.csv", "s3://corpus/run", "s3://corpus/t.csv:1: has no column 'text'"),
        ("s3://corpus/read.me", "s3://corpus/run", "s3://corpus/read.me is named like no format: say with"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(kb, s3, inputs, out, why):
    for key, data in (("in/a.jsonl", b""), ("full/mine", b""), ("t.csv", b"a,b\n"), ("read.me", b"")):
        s3.put(key, data)
    code, written, err = call(*command(kb, inputs, out))
    assert (code, written, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"nomina: {why}")


def test_what_cannot_be_reached_is_no_error_of_a_file(monkeypatch, kb, s3):
    s3.put("in/a.jsonl", b'{"id": "1", "text": "Ataxia."}\n')
    assert call("status", "s3://corpus/none")[2].startswith("nomina: s3://corpus/none is no bulk run: begin one with")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    code, _, err = call(*command(kb, "s3://corpus/in", "s3://corpus/run"))
    assert (code, err.count("\n")) == (2, 1), err
    assert err.startswith("nomina: cannot reach s3://corpus/")


def test_names_of_places(monkeypatch, tmp_path):
    assert [is_remote(name) for name in ("s3://b/k", "GS://b", "file:///a", "a/b", "c:/d", "a:b")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    store = open_store(f"file://{tmp_path}")
    assert isinstance(store, LocalStore)
    assert store.folder == tmp_path
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtra, match=r'reading and writing s3://b/k needs an extra: .*"nomina\[remote\]"'):
        open_store("s3://b/k")
    with pytest.raises(MissingExtra):
        find(["s3://b/k"])


def test_what_a_place_of_fsspec_does(tmp_path):
    place = Remote("memory://run/")
    for name in ("output/b", "output/a", "output/.c", "one"):
        place.write(name.encode(), name)
    assert place.names() == ["one", "output"]
    assert place.names("output") == [".c", "a", "b"]
    assert place.names("none") == []
    assert list(place.read(["output/b", "one"])) == [b"output/b", b"one"]
    assert Remote("memory://run").files() == [
        (f"memory:///run/{name}", False) for name in ("one", "output/a", "output/b")
    ]
    assert Remote("memory://run/o*").files() == [
        (f"memory:///run/{name}", False) for name in ("one", "output/a", "output/b")
    ]
    one = Remote("memory://run/one")
    assert one.files() == [("memory://run/one", True)]
    assert one.start(2) == b"on"
    size, changed = one.size_and_change()
    assert size == 3
    place.write(b"two", "one")
    assert one.size_and_change() != (size, changed)
    assert place.sha256("one") == hashlib.sha256(b"two").hexdigest()
    one.fetch(tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == b"two"
    place.remove("one")
    place.remove("one")
    for again in (one.size_and_change, one.files, lambda: one.fetch(tmp_path / "x"), lambda: place.sha256("one")):
        with pytest.raises(FileNotFoundError):
            again()
    with pytest.raises(UsageError, match="cannot use nowhere://a"):
        Remote("nowhere://a")


def test_a_full_disk_here_is_not_a_place_that_cannot_be_reached(monkeypatch, tmp_path):
    place = Remote("memory://full")
    place.write(b"x", "a")

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(place._fs, "get_file", full)
    with pytest.raises(OSError, match="No space left"):
        place.fetch(tmp_path / "a")

    def away(*given):
        raise TimeoutError("too slow\nand more")

    monkeypatch.setattr(place._fs, "get_file", away)
    with pytest.raises(NominaError, match=r"^cannot reach memory://full \(too slow\): go on later$"):
        place.fetch(tmp_path / "a")
