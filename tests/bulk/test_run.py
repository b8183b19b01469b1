"""Whole runs: what comes out is what `nomina link` writes, whatever number of workers and whatever dies on the way."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from bulk_cases import POSIX, children, files, kill_at, make_inputs, mentions, result, start, texts

from nomina.bulk.manifest import Manifest
from nomina.cli.main import main


def command(kb, inputs, out, workers=2):
    return ["run", inputs, "--out", out, "--kb", kb.path, "--linker", "dictionary", "--workers", workers]


def test_each_file_gives_what_link_writes_of_it(bulk, kb, tmp_path, capsys):
    inputs = make_inputs(tmp_path / "in", 4, 30)
    code, out, err = bulk("run", inputs, "--out", "run", "--workers", 2)
    assert (code, out) == (0, "")
    assert err == f"nomina: 4 of 4 shards, 120 documents, {mentions(4, 30)} mentions, 0 errors\n"
    names = sorted(file.name for file in (tmp_path / "run/output").iterdir())
    assert names == [f"0000{number}-s00{number}.jsonl" for number in range(4)]
    for number, file in enumerate(sorted(inputs.iterdir())):
        assert main(["link", str(file), "--kb", str(kb.path), "--linker", "dictionary", "--format", "jsonl"]) == 0
        assert (tmp_path / f"run/output/0000{number}-s00{number}.jsonl").read_text("utf-8") == capsys.readouterr().out
    assert bulk("run", inputs, "--out", "one", "--workers", 1)[0] == 0
    assert result(tmp_path / "one") == result(tmp_path / "run")
    assert not (tmp_path / "run/errors.jsonl").exists()
    assert not (tmp_path / "run/work").exists()


def test_a_finished_run_is_left_as_it_is_and_other_options_are_refused(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 2, 3)
    assert bulk("run", inputs, "--out", "run")[0] == 0
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "run/output").iterdir()}
    assert bulk("run", inputs, "--out", "run")[0] == 0
    assert bulk("resume", "run")[0] == 0
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "run/output").iterdir()} == times
    said = "nomina: run was begun with k 5, not 2: use that, or another folder with --out\n"
    assert bulk("run", inputs, "--out", "run", "-k", 2) == (2, "", said)
    (inputs / "more.jsonl").write_text('{"id": "x", "text": "Ataxia."}\n', encoding="utf-8")
    code, _, err = bulk("run", inputs, "--out", "run")
    assert code == 2
    assert err.startswith(f"nomina: run was begun with other inputs ({inputs / 'more.jsonl'})")


def test_parts_that_are_runs_of_their_own_are_together_the_whole(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 5, 3)
    assert bulk("run", inputs, "--out", "whole")[0] == 0
    together = {}
    for number in (1, 2, 3):
        assert bulk("run", inputs, "--out", f"part-{number}", "--part", f"{number}/3")[0] == 0
        together |= result(tmp_path / f"part-{number}")
    assert together == result(tmp_path / "whole")
    assert sorted(result(tmp_path / "part-2")) == ["output/00001-s001.jsonl", "output/00004-s004.jsonl"]
    code, _, err = bulk("run", inputs, "--out", "part-2", "--part", "3/3")
    assert (code, "part-2 was begun with other inputs" in err) == (2, True)


def test_a_kb_with_another_content_is_refused(bulk, make_kb, kb, tmp_path):
    inputs = make_inputs(tmp_path / "in", 1, 3)
    own = tmp_path / "own.kb"
    own.write_bytes(kb.path.read_bytes())
    assert bulk("run", inputs, "--out", "run", "--kb", own)[0] == 0
    own.unlink()
    own.write_bytes(make_kb({"T:1": ("Ataxia",)}).path.read_bytes())
    said = "nomina: run was begun with another content of the KB: use that one, or another folder with --out\n"
    assert bulk("resume", "run") == (2, "", said)


def test_an_input_that_changes_on_the_way_is_refused(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 2, 3)
    assert bulk("run", inputs, "--out", "run")[0] == 0
    with Manifest.open(tmp_path / "run") as manifest:
        manifest.redo([1])
    (inputs / "s001.jsonl").write_text('{"id": "x", "text": "Ataxia."}\n', encoding="utf-8")
    code, _, err = bulk("resume", "run")
    assert (code, err) == (
        2, f"nomina: {inputs / 's001.jsonl'} has changed since the run was begun: begin a new run in another folder\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["no", "--out", "run"], "no: cannot be read (No such file or directory)"),
        (["*.nothing", "--out", "run"], "no file matches *.nothing"),
        (["in", "--out", "in"], "in holds the inputs themselves: name another folder with --out"),
        (["in", "--out", "."], ". holds the inputs"),
        (["in", "--out", "other"], "other holds something else (mine): name an empty or a new folder with --out"),
        (["in", "--out", "run", "--format", "xls"], "no output format 'xls'; there are: jsonl, parquet, pubtator,"),
        (["in", "--out", "run", "--pack", "rar"], "no packing 'rar'; there are: none, gz, zst"),
        (["in", "--out", "run", "--pack", "gz", "--format", "pubtator"], "only jsonl is packed, not pubtator"),
        (["in", "--out", "run", "--device", "tpu"], "no device 'tpu': it is cpu, cuda, or some GPUs as in cuda:0,1"),
        (["in", "--out", "run", "--device", "cuda:0,1"], "the linker dictionary does not take --device cuda:0"),
        (["in", "--out", "run", "--input-format", "xls"], "no input format 'xls'; there are: pubtator,"),
        (["in", "--out", "run", "--under", "T:99"], "'T:99' is not a concept of the KB made"),
        (["in", "--out", "run", "-k", "5000"], "k must be a whole number from 1 to 1,000, not 5000"),
        (["in", "--out", "run", "--text-column", "note", "t.csv"], "{tmp_path}/t.csv:1: has no column 'note'"),
        (["in", "--out", "run", "--part", "4/3"], "no part '4/3': --part is such as 1/32, 2/32 and so on to 32/32"),
        (["in", "--out", "run", "--part", "0/3"], "no part '0/3'"),
        (["in", "--out", "run", "--part", "3"], "no part '3'"),
        (["in", "--out", "run", "--part", "2/3"], "there are 1 files, none for --part 2/3: take fewer parts"),
        (["in", "--out", "run", "--linker", "nothing"], "no such folder: nothing; name the folder of a model"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_before_the_work(bulk, tmp_path, arguments, why):
    make_inputs(tmp_path / "in", 1, 1)
    (tmp_path / "t.csv").write_text("id,text\n1,Ataxia.\n", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine").write_text("", encoding="utf-8")
    why = why.replace("{tmp_path}", str(tmp_path))
    code, out, err = bulk("run", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"nomina: {why}")
    assert not (tmp_path / "run/manifest.sqlite").exists()


def test_status_and_verify_of_what_is_no_run(bulk, tmp_path):
    for name in ("status", "resume", "verify"):
        said = "nomina: . is no bulk run: begin one with nomina bulk run INPUTS --out .\n"
        assert bulk(name, ".") == (2, "", said)


def test_failing_documents_are_listed_and_the_rest_goes_on(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 1, 2)
    (inputs / "a.jsonl").write_bytes(
        b'{"id": "1", "text": "Ataxia."}\nnonsense\n{"id": "2", "text": "\xff"}\n{"id": "3", "text": "A fit."}\n'
    )
    packed = gzip.compress("".join(f'{{"id": "{i}", "text": "Ataxia {i * 7919}."}}\n' for i in range(20000)).encode())
    (inputs / "b.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (inputs / "empty.jsonl").write_bytes(b"")
    (inputs / "x.bioc.xml").write_bytes(b"<collection><document><id>1</id></collection>")
    code, _, err = bulk("run", inputs, "--out", "run")
    assert code == 0
    assert "2 files not read to their end" in err
    listed = [json.loads(line) for line in (tmp_path / "run/errors.jsonl").read_text("utf-8").splitlines()]
    assert [(error["file"].rpartition("/")[2], error["offset"], error["unit"]) for error in listed] == [
        ("a.jsonl", 2, "line"), ("a.jsonl", 3, "line"), ("b.jsonl.gz", None, "file"), ("x.bioc.xml", 1, "line"),
    ]  # fmt: skip
    assert listed[1]["reason"] == "byte 0xff in column 22 is not UTF-8"
    assert listed[2]["reason"].startswith("the .gz file is cut off or damaged")
    kept = (tmp_path / "run/output/00000-a.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["document_id"] for line in kept] == ["1", "3"]
    cut = (tmp_path / "run/output/00001-b.jsonl").read_text("utf-8").splitlines()
    assert 0 < len(cut) < 20000
    assert (tmp_path / "run/output/00002-empty.jsonl").read_bytes() == b""
    assert bulk("verify", "run")[0] == 0
    (inputs / "b.jsonl.gz").write_bytes(packed)
    assert bulk("resume", "run", "--retry")[0] == 0
    assert len((tmp_path / "run/output/00001-b.jsonl").read_text("utf-8").splitlines()) == 20000
    assert len((tmp_path / "run/errors.jsonl").read_text("utf-8").splitlines()) == 3


def test_too_many_errors_stop_the_run_which_can_go_on(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 2, 2)
    (inputs / "a.jsonl").write_text("nonsense\n" * 3, encoding="utf-8")
    (inputs / "z.jsonl").write_text("nonsense\n" * 3, encoding="utf-8")
    code, _, err = bulk("run", inputs, "--out", "run", "--max-errors", 2)
    assert code == 2
    why = "takes the run over --max-errors; its last error: line 3: not JSON ("
    assert err.startswith(f"nomina: {inputs / 'a.jsonl'} {why}")
    code, _, err = bulk("resume", "run", "--max-errors", 4)
    assert code == 2
    assert bulk("status", "run")[1] == "stopped: 3 of 4 shards, 4 documents, 12 mentions, 3 errors\n"
    assert len((tmp_path / "run/errors.jsonl").read_text("utf-8").splitlines()) == 3
    assert bulk("resume", "run", "--max-errors", 6)[0] == 0
    assert len((tmp_path / "run/errors.jsonl").read_text("utf-8").splitlines()) == 6


def test_deletions_of_pubmed_are_listed(bulk, tmp_path):
    from corpora_cases import DATA

    assert bulk("run", DATA / "tiny.pubmed.xml", "--out", "run")[0] == 0
    found = (tmp_path / "run/output/00000-tiny.pubmed.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["mention"]["text"] for line in found] == ["ataxia", "fits"]
    listed = (tmp_path / "run/deletions.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["document"] for line in listed] == ["101", "88"]


@POSIX
def test_a_run_that_is_killed_three_times_gives_the_same(kb, tmp_path, bulk):
    inputs = make_inputs(tmp_path / "in", 8, 300)
    assert bulk("run", inputs, "--out", "whole", "--workers", 2)[0] == 0
    expected = result(tmp_path / "whole")
    total = sum(map(len, expected.values()))
    killed(kb, inputs, tmp_path / "run", total, 3)
    assert bulk("resume", "run")[0] == 0
    assert result(tmp_path / "run") == expected


@POSIX
@pytest.mark.slow
def test_a_run_of_60_shards_killed_at_20_points_gives_the_same(kb, tmp_path, bulk):
    inputs = make_inputs(tmp_path / "in", 60, 300)
    assert bulk("run", inputs, "--out", "whole", "--workers", 2)[0] == 0
    expected = result(tmp_path / "whole")
    total = sum(map(len, expected.values()))
    assert killed(kb, inputs, tmp_path / "run", total, 20) >= 15
    assert bulk("resume", "run")[0] == 0
    assert result(tmp_path / "run") == expected


def killed(kb, inputs, run, total, times):
    """Kill a run so often, at points spread over its bytes; how often a shard was on the way."""
    caught = 0
    for number in range(times):
        process = start(*command(kb, inputs, run)) if number % 2 == 0 else start("resume", run, "--workers", 2)
        caught += kill_at(
            process, run, total * number // (times + 1), open_file=number % 5 != 4, workers=number % 3 > 0
        )
        assert process.returncode == -signal.SIGKILL
    return caught


@POSIX
def test_a_worker_that_is_killed_is_replaced(kb, tmp_path, bulk):
    inputs = make_inputs(tmp_path / "in", 6, 300)
    assert bulk("run", inputs, "--out", "whole")[0] == 0
    process = start(*command(kb, inputs, tmp_path / "run", workers=1))
    while not files(tmp_path / "run/work"):
        assert process.poll() is None
        time.sleep(0.001)
    (worker,) = children(process.pid)
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (
        0, f"nomina: 6 of 6 shards, 1,800 documents, {mentions(6, 300):,} mentions, 0 errors\n"
    )  # fmt: skip
    assert result(tmp_path / "run") == result(tmp_path / "whole")


@POSIX
def test_ctrl_c_ends_the_workers_and_two_runs_at_once_are_refused(kb, tmp_path, bulk):
    inputs = make_inputs(tmp_path / "in", 6, 300)
    process = start(*command(kb, inputs, tmp_path / "run", workers=1))
    while not files(tmp_path / "run/work"):
        assert process.poll() is None
        time.sleep(0.001)
    said = "nomina: another process is at work on run: wait for it, or stop it first\n"
    assert bulk("resume", "run") == (2, "", said)
    assert bulk("status", "run")[1].startswith("running: ")
    assert bulk("verify", "run") == (2, "", said)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == "nomina: stopped\n"
    assert process.returncode == 130
    assert [pid for pid in workers if os.path.exists(f"/proc/{pid}")] == []
    assert bulk("resume", "run")[0] == 0
    assert bulk("status", "run")[1].startswith("finished: 6 of 6")


def test_ids_and_order_are_kept(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 1, 600)
    assert bulk("run", inputs, "--out", "run", "--format", "bioc_json")[0] == 0
    (file,) = (tmp_path / "run/output").iterdir()
    assert file.name == "00000-s000.bioc.json"
    found = json.loads(file.read_text("utf-8"))["documents"]
    assert [document["id"] for document in found] == [id for id, _ in texts(0, 600)]


@POSIX
def test_a_disk_without_room_stops_the_run_which_can_go_on(kb, tmp_path, bulk):
    inputs = make_inputs(tmp_path / "in", 3, 100)
    assert bulk("run", inputs, "--out", "whole")[0] == 0
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)); "
    call = "from nomina.cli.main import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["bulk", *map(str, command(kb, inputs, tmp_path / "run", workers=1))]
    done = subprocess.run([sys.executable, "-c", limited + call, *arguments], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (
        2,
        f"nomina: cannot write the output of {inputs / 's000.jsonl'} (File too large): make room, and resume\n",
    )
    assert not list((tmp_path / "run/output").iterdir())
    assert bulk("resume", "run")[0] == 0
    assert result(tmp_path / "run") == result(tmp_path / "whole")


def test_a_worker_that_cannot_begin_says_why(bulk, tmp_path):
    inputs = make_inputs(tmp_path / "in", 1, 1)
    code, out, err = bulk("run", inputs, "--out", "run", "--spans")
    assert (code, out) == (2, "")
    assert err.startswith("nomina: phrases are judged by an exported encoder with a spans.json")
    assert err.count("\n") == 1


def test_a_closed_stderr_does_no_harm(bulk, tmp_path, monkeypatch):
    inputs = make_inputs(tmp_path / "in", 1, 1)
    monkeypatch.setattr(sys, "stderr", None)
    assert bulk("run", inputs, "--out", "run")[0] == 0


def test_an_address_is_for_ray(bulk, tmp_path, monkeypatch):
    inputs = make_inputs(tmp_path / "in", 1, 1)
    said = "nomina: --address is that of a Ray cluster: add --engine ray, or leave it out\n"
    assert bulk("run", inputs, "--out", "run", "--address", "auto") == (2, "", said)
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = bulk("resume", "run", "--engine", "ray")
    assert (code, err) == (2, 'nomina: the engine ray needs an extra: python -m pip install "nomina[ray]"\n')
