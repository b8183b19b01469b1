"""`nomina link` as real processes, over a made KB and over HPO, and on a terminal."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from link_cases import NOMINA, POSIX, ROOT, ataxias, linked, run
from linker_cases import ENCODER, needs_shipped

from nomina.cli.main import main

pytestmark = needs_shipped


def test_the_shipped_note_as_a_process():
    done = run("examples/clinical-note.txt", cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    text = (ROOT / "examples/clinical-note.txt").read_text(encoding="utf-8")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        spans = record["mention"]["spans"]
        assert " ".join(text[start:end] for start, end in spans) == record["mention"]["text"]
    first = {r["mention"]["text"]: (r["candidates"][0]["entity_id"], r["negated"], r["experiencer"]) for r in records}
    assert first["developmental delay"] == ("HP:0001263", False, "patient")
    assert first["developmental regression"] == ("HP:0002376", True, "patient")
    assert first["migraine"] == ("HP:0002076", False, "family")
    assert first["café-au-lait spots"] == ("HP:0000957", True, "patient")
    assert first["ASD"] == ("HP:0001631", False, "patient")


@POSIX
def test_a_system_whose_encoding_is_not_utf8(kb, tmp_path):
    note = tmp_path / "ñ.txt"
    note.write_text("Löfgren’s ataxia", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}
    done = run(note, "--kb", kb.path, env={**os.environ, **plain})
    assert (done.returncode, done.stderr) == (0, "")
    assert linked(done.stdout) == [("ñ.txt", "ataxia", [[10, 16]], "T:5")]


def test_a_second_start_makes_nothing_anew(kb, tmp_path):
    home = tmp_path / "home"
    environment = {**os.environ, "NOMINA_HOME": str(home)}
    made = []
    for linker in ("dictionary", "tfidf") * 2:
        assert run("--kb", kb.path, "--linker", linker, input="ataxia", env=environment).returncode == 0
        files = [path for path in sorted(home.rglob("*")) if path.is_file() and path.suffix != ".lock"]
        made.append({path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files})
    assert len(made[1]) == 2
    assert made[1] == made[2] == made[3]


def test_a_cache_folder_that_cannot_be_made(kb, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    environment = {**os.environ, "NOMINA_HOME": str(tmp_path / "file/home")}
    for arguments in (["--kb", kb.path], ["--kb", kb.path, "--linker", "tfidf"], ["--kb", "hpo"]):
        done = run(*arguments, input="ataxia", env=environment)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"nomina: cannot write to the cache folder {tmp_path / 'file/home'}")
        assert done.stderr.endswith("(Not a directory): set NOMINA_HOME to a folder you can write to\n")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever may do all may write everywhere")
def test_read_only_folders(kb, tmp_path):
    tmp_path.chmod(0o555)
    done = run("--kb", kb.path, input="ataxia", env={**os.environ, "NOMINA_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "set NOMINA_HOME to a folder you can write to" in done.stderr
    done = run("--kb", kb.path, "-o", tmp_path / "p.jsonl", input="ataxia")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "name another with -o" in done.stderr


@POSIX
def test_a_closed_pipe_is_quiet(kb, tmp_path):
    note = tmp_path / "a.jsonl"
    note.write_text(ataxias(20_000), encoding="utf-8")
    with subprocess.Popen(
        [*NOMINA, "link", note, "--kb", kb.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b'{"document_id": "1"')
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@POSIX
def test_ctrl_c_leaves_the_old_output(kb, tmp_path):
    output = tmp_path / "p.jsonl"
    output.write_text("old", encoding="utf-8")
    with subprocess.Popen(
        [*NOMINA, "link", "-", "--kb", kb.path, "-o", output], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(ataxias(1000).encode())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) == 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert (process.returncode, said) == (130, b"nomina: stopped\n")
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]
    assert output.read_text(encoding="utf-8") == "old"


def test_results_come_while_documents_still_do(kb):
    with subprocess.Popen([*NOMINA, "link", "--kb", kb.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(ataxias(1000).encode())
        process.stdin.flush()
        assert linked(process.stdout.readline().decode()) == [("1", "ataxia", [[0, 6]], "T:5")]
        process.stdin.write(b'{"id": "last", "text": "a fit"}\n')
        process.stdin.close()
        lines = process.stdout.readlines()
    assert (process.returncode, len(lines)) == (0, 1000)
    assert linked(lines[-1].decode()) == [("last", "fit", [[2, 5]], "T:3")]


def on_a_terminal(*arguments: object, columns: int = 80) -> tuple[int, str]:
    """Exit code and what a terminal of that width shows of a process that is wholly connected to it."""
    master, slave = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment["COLUMNS"] = str(columns)
    with subprocess.Popen(
        [*NOMINA, "link", *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, env=environment
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 4096):
                shown += chunk
        except OSError:  # Linux: the other end is closed
            pass
    os.close(master)
    return process.returncode, shown.decode().replace("\r\n", "\n")


@POSIX
def test_a_terminal_gets_a_table_that_fits(kb, tmp_path):
    note = tmp_path / "a.txt"
    note.write_text("cardiac disease " * 3, encoding="utf-8")
    code, shown = on_a_terminal(note, "--kb", kb.path)
    assert code == 0
    assert len(shown.splitlines()) == 4
    assert re.match(r"mention +offsets  id   name +matched n… +rule +score  prob.", shown)  # what is too wide is cut
    assert max(map(len, shown.splitlines())) <= 80
    code, narrow = on_a_terminal(note, "--kb", kb.path, columns=70)
    assert code == 0
    assert "cardiac…" in narrow or "cardiac …" in narrow


@POSIX
def test_nothing_to_read_on_a_terminal(kb):
    assert on_a_terminal("--kb", kb.path) == (
        2,
        "nomina: nothing to read: name files or a folder, or pipe a text in (see nomina link --help)\n",
    )


@POSIX
def test_progress_is_for_terminals_and_what_takes_a_while(kb, tmp_path, monkeypatch):
    from nomina.cli import link as module

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(module, "_SECONDS_BEFORE_PROGRESS", 0)
    note = tmp_path / "a.txt"
    note.write_text("ataxia", encoding="utf-8")
    arguments = ["link", str(note), "--kb", str(kb.path), "-o", str(tmp_path / "p.jsonl")]
    for stream, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(arguments) == 0
        assert ("documents" in stream.getvalue()) is expected


@POSIX
def test_names_are_encoded_with_progress_on_a_terminal(kb, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    note = tmp_path / "m.txt"
    note.write_text("ataxya", encoding="utf-8")
    arguments = ["link", "--mentions", str(note), "--kb", str(kb.path), "--linker", str(ENCODER)]
    for i, (stream, expected) in enumerate(((io.StringIO(), False), (Terminal(), True))):
        monkeypatch.setenv("NOMINA_HOME", str(tmp_path / f"home{i}"))
        monkeypatch.setattr(sys, "stderr", stream)
        assert main([*arguments, "-o", str(tmp_path / "p.jsonl")]) == 0
        assert ("encoding the KB, once" in stream.getvalue()) is expected
