"""`nomina encode`: names to a .npy file."""

import gzip
import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from nomina.cli import encode as module
from nomina.cli.main import main
from nomina.encoders.onnx import OnnxEncoder

ENCODER = Path(__file__).parents[1] / "data" / "tiny-encoder"
NAMES = ["heart attack", "", "seizure", "漢字", "short stature"]
TEXT = "\n".join(NAMES) + "\n"


@pytest.fixture
def encode(tmp_path, monkeypatch, capsys):
    """Run `nomina encode` with the tiny encoder in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: str | bytes = b"") -> tuple[int, str, str]:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        code = main(["encode", *map(str, arguments), "--encoder", str(ENCODER)])
        return code, *capsys.readouterr()

    return run


def expected() -> np.ndarray:
    """Vectors one by one; zeros for what the tokenizer, which knows Latin letters, knows nothing of."""
    encoder = OnnxEncoder(ENCODER)
    alone = [encoder.encode([name])[0] for name in NAMES]
    return np.array([vector * (name not in ("", "漢字")) for name, vector in zip(NAMES, alone, strict=True)])


def test_each_line_has_a_row(encode):
    Path("names.txt").write_text(TEXT, encoding="utf-8")
    code, out, err = encode("names.txt", "-o", "vectors.npy")
    found = np.load("vectors.npy")
    assert (code, out) == (0, "")
    assert found.dtype == np.float32
    assert found == pytest.approx(expected(), abs=1e-6)
    assert err.startswith("vectors.npy: 5 x 24, float32, 0.6 kB, ")
    assert err.endswith("nomina: the encoder knows nothing in 2 of the names: rows of zeros\n")


@pytest.mark.parametrize("part", [1, 2, 5, 100])
def test_names_go_through_in_parts(encode, monkeypatch, part):
    monkeypatch.setattr(module, "_PART", part)
    assert encode("-", "-o", "vectors.npy", stdin=TEXT)[0] == 0
    assert np.load("vectors.npy") == pytest.approx(expected(), abs=1e-6)
    assert np.load("vectors.npy", mmap_mode="r").shape == (5, 24)


def test_float16_is_the_same_rounded(encode):
    Path("names.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    code, _, _ = encode("names.txt.gz", "-o", "vectors.npy", "--dtype", "float16")
    found = np.load("vectors.npy")
    assert code == 0
    assert found.dtype == np.float16
    assert found == pytest.approx(expected(), abs=1e-3)


def test_no_names_are_no_rows(encode):
    code, _, err = encode("-", "-o", "vectors.npy")
    assert code == 0
    assert np.load("vectors.npy").shape == (0, 24)
    assert err.count("\n") == 1


def test_windows_line_ends_and_a_missing_last_one_do_not_count(encode):
    encode("-", "-o", "one.npy", stdin="﻿seizure\r\nheart attack")
    encode("-", "-o", "other.npy", stdin="seizure\nheart attack\n")
    assert np.array_equal(np.load("one.npy"), np.load("other.npy"))
    assert np.load("one.npy").shape == (2, 24)


def test_a_bad_line_is_one_line_of_error_and_the_old_file_stays(encode):
    Path("vectors.npy").write_bytes(b"old")
    code, _, err = encode("-", "-o", "vectors.npy", stdin=b"fine\nb\xffd\n")
    assert code == 2
    assert err.startswith("nomina: -:2: byte 0xff in column 2 is not UTF-8: ")
    assert err.count("\n") == 1
    assert Path("vectors.npy").read_bytes() == b"old"
    assert os.listdir() == ["vectors.npy"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("names.txt", "-o", "names.txt"), "names.txt is read and cannot be the output too"),
        (("names.txt", "-o", "folder"), "cannot write folder: it is no file"),
        (("names.txt", "-o", os.devnull), f"cannot write {os.devnull}: it is no file"),
        (("names.txt", "-o", "none/vectors.npy"), "cannot write none/vectors.npy: there is no folder none"),
        (("missing.txt", "-o", "vectors.npy"), "missing.txt: cannot be read (No such file or directory)"),
        (("names.txt",), "Missing option '-o'"),
    ],
)
def test_mistakes_are_one_line(encode, arguments, why):
    Path("names.txt").write_text(TEXT, encoding="utf-8")
    Path("folder").mkdir()
    code, out, err = encode(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"nomina: {why}")
    assert err.count("\n") == 1
    assert Path("names.txt").read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("none", "no such folder: none; name the folder of an encoder"),
        ("names.txt", "names.txt is a file: name the folder of an encoder"),
        ("empty", "empty holds no encoder (neither manifest.json nor encoder.json): name a folder that "),
    ],
)
def test_what_is_no_encoder_is_told_apart(folder, why, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text(TEXT, encoding="utf-8")
    Path("empty").mkdir()
    assert main(["encode", "names.txt", "-o", "vectors.npy", "--encoder", folder]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"nomina: {why}")
    assert err.count("\n") == 1


def test_without_a_folder_it_is_the_encoder_that_nomina_comes_with(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("nomina.encoders.shipped", lambda: ENCODER)
    (tmp_path / "names.txt").write_text(TEXT, encoding="utf-8")
    assert main(["encode", str(tmp_path / "names.txt"), "-o", str(tmp_path / "vectors.npy")]) == 0
    assert np.load(tmp_path / "vectors.npy") == pytest.approx(expected(), abs=1e-6)


def test_help_shows_how(capsys):
    assert main(["encode", "--help"]) == 0
    assert "cut -f2 terms.tsv | nomina encode - -o vectors.npy" in capsys.readouterr().out
