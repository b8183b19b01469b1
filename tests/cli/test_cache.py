"""`nomina cache`: what is listed, and what is asked before it goes."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from nomina.artifact import Artifact
from nomina.cache import KINDS
from nomina.cli import cache as module
from nomina.cli.main import main
from nomina.encoders.onnx import KIND

ENCODER = Path(__file__).parents[1] / "data" / "tiny-encoder"
OTHER = "b" * 32
DAY = 86_400


class Terminal:
    """Standard input of one answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer


@pytest.fixture
def own(monkeypatch):
    """The tiny encoder as nomina's own; its fingerprint."""
    monkeypatch.setattr("nomina.encoders.shipped", lambda: ENCODER)
    return Artifact.open(ENCODER, KIND).fingerprint[:32]


@pytest.fixture
def folder(kb, own, tmp_path, monkeypatch):
    """A cache folder: tables of the made KB, vectors of it by two encoders, a KB of the user's files."""
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    files = {
        f"lexicon/{kb.fingerprint}.1.table": 3,
        f"embeddings/{kb.fingerprint}.{own}.int8.1": 4,
        f"embeddings/{kb.fingerprint}.{'c' * 32}.float32.1": 5,
        f"tfidf/{OTHER}.1.postings": 100,
        "kb/mesh-get-0123456789ab.kb": 1,
        "downloads/mesh-owner/desc.xml.part": 0,
        "mine.txt": 2,
    }
    for name, days in files.items():
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
        used = time.time() - days * DAY
        os.utime(path, (used, used))
    return tmp_path / "home"


def left(folder: Path) -> set[str]:
    """The files that are there, by the first part of their paths."""
    return {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}


def test_info_lists_kind_kb_encoder_size_and_last_use(folder, kb, capsys):
    assert main(["cache", "info"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    short = kb.fingerprint[:12]
    assert lines[0] == str(folder)
    assert lines[1].split() == ["kind", "of", "size", "last", "use"]
    shown = [" ".join(line.split()[:-1]) for line in lines[2:-2]]
    assert shown == [
        "kb mesh, of your files 1.0 kB",
        f"lexicon KB {short} 1.0 kB",
        f"tfidf KB {OTHER[:12]} 1.0 kB",
        f"index KB {short}, nomina's own encoder, int8 1.0 kB",
        f"index KB {short}, encoder cccccccccccc, float32 1.0 kB",
        "downloads mesh, unfinished 1.0 kB",
    ]
    assert lines[-2] == "in all 6 (kb 1, lexicon 1, tfidf 1, index 2, downloads 1), 6.0 kB"
    assert lines[-1] == "beside them 1 files that are not nomina's, 1.0 kB: they are never removed"
    assert err == ""


def test_info_as_json(folder, kb, own, capsys):
    assert main(["cache", "info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["folder"], found["bytes"], found["other_files"]) == (str(folder), 7000, 1)
    index = next(entry for entry in found["entries"] if entry["encoder_fingerprint"] == own)
    assert index["kind"] == "index"
    assert index["kb_fingerprint"] == kb.fingerprint
    assert (index["index"], index["bytes"], index["finished"], index["can_be_made_again"]) == ("int8", 1000, True, True)
    assert index["last_use"].startswith(time.strftime("%Y-%m-%d", time.gmtime(time.time() - 4 * DAY)))
    assert [entry["can_be_made_again"] for entry in found["entries"]].count(False) == 1


def test_info_of_an_empty_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "none"))
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'none'}\nin all 0 (nothing), 0.0 kB\n"


def test_clear_removes_all_that_can_be_made_again(folder, capsys):
    assert main(["cache", "clear", "--yes"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert left(folder) == {"kb", "mine.txt"}
    assert err[0].startswith(
        f"nomina: left {folder / 'kb' / 'mesh-get-0123456789ab.kb'}: it was made of files that you"
    )
    assert err[1:] == ["removed 5 (lexicon 1, tfidf 1, index 2, downloads 1), 5.0 kB"]


def test_clear_by_kind(folder, capsys):
    assert main(["cache", "clear", "tfidf", "lexicon", "--yes"]) == 0
    assert left(folder) == {"embeddings", "kb", "downloads", "mine.txt"}


def test_clear_by_kb_file(folder, kb, capsys):
    assert main(["cache", "clear", "--kb", str(kb.path), "--yes"]) == 0
    assert left(folder) == {"tfidf", "kb", "downloads", "mine.txt"}
    assert kb.path.exists(), "the user's own KB is not touched"


def test_clear_by_digits_of_a_fingerprint_and_kind(folder, capsys):
    assert main(["cache", "clear", "index", "--kb", OTHER[:12], "--yes"]) == 2
    assert main(["cache", "clear", "--kb", OTHER[:12], "--yes"]) == 0
    assert left(folder) == {"embeddings", "lexicon", "kb", "downloads", "mine.txt"}


def test_clear_by_name_of_a_kb(folder, capsys):
    assert main(["cache", "clear", "--kb", "mesh", "--yes"]) == 0
    assert left(folder) == {"embeddings", "lexicon", "tfidf", "kb", "mine.txt"}
    assert main(["cache", "clear", "--kb", "hpo", "--yes"]) == 0
    assert capsys.readouterr().err.endswith("nothing to remove\n")
    assert "kb" in left(folder)


def test_clear_what_was_not_used_for_long(folder, capsys):
    assert main(["cache", "clear", "--older-than", "50", "--yes"]) == 0
    assert left(folder) == {"embeddings", "lexicon", "kb", "downloads", "mine.txt"}
    assert main(["cache", "clear", "index", "--older-than", "4.5", "--yes"]) == 0
    assert len(list((folder / "embeddings").iterdir())) == 1


@pytest.mark.parametrize(("answer", "goes"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_clear_asks_on_a_terminal(folder, monkeypatch, capsys, answer, goes):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert main(["cache", "clear", "tfidf"]) == 0
    err = capsys.readouterr().err
    assert "remove 1 (tfidf 1), 1.0 kB? [y/N]: " in err
    assert f"KB {OTHER[:12]}" in err, "what it is about is shown before"
    assert ("tfidf" not in left(folder)) == goes
    assert err.endswith("removed 1 (tfidf 1), 1.0 kB\n" if goes else "nothing removed\n")


def test_without_a_terminal_yes_must_be_said(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["cache", "clear"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[-1] == (
        "nomina: 5 (lexicon 1, tfidf 1, index 2, downloads 1), 5.0 kB would be removed:"
        " say --yes, as there is no terminal to ask on"
    )
    assert left(folder) == {"embeddings", "lexicon", "tfidf", "kb", "downloads", "mine.txt"}


def test_what_is_being_made_is_left_and_said(folder, monkeypatch, capsys):
    monkeypatch.setattr("nomina.cache.remove", lambda entry: entry.kind != "tfidf")
    assert main(["cache", "clear", "tfidf", "lexicon", "--yes"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert err == [
        f"nomina: left {folder / 'tfidf' / f'{OTHER}.1.postings'}: another process is making it",
        "removed 1 (lexicon 1), 1.0 kB",
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["everything"], "Invalid value for '[KIND]...': 'everything' is not one of 'kb', 'lexicon'"),
        (["--kb", "nothing"], "no KB 'nothing': name one of `nomina cache info`, a KB file, or 8 digits or more"),
        (["--kb", "b"], "no KB 'b'"),
        (["--older-than", "-1"], "Invalid value for '--older-than'"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, arguments, why):
    before = left(folder)
    assert main(["cache", "clear", "--yes", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"nomina: {why}")
    assert err.count("\n") == 1
    assert left(folder) == before


def test_the_kinds_are_those_of_the_library():
    assert module._KINDS == KINDS


@pytest.mark.parametrize(
    ("command", "example"), [("info", "nomina cache info --json"), ("clear", "nomina cache clear --older-than 90")]
)
def test_help_shows_how(capsys, command, example):
    assert main(["cache", command, "--help"]) == 0
    assert example in capsys.readouterr().out
