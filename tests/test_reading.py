import gzip
import io
import os
import re
import sys
from pathlib import Path

import pytest

from nomina import reading
from nomina.errors import FormatError, UsageError
from nomina.reading import STDIN, lines_of, opened, text_of

PATH = Path("a.txt")


def text(raw: bytes) -> str:
    return text_of(io.BytesIO(raw), PATH)


def lines(raw: bytes, first: bytes = b"") -> list[tuple[int, str]]:
    return list(lines_of(io.BytesIO(raw), PATH, first))


def test_a_text_keeps_its_line_ends_and_loses_its_byte_order_mark():
    assert text("\ufeffLöfgren’s\r\n心臓\n\x0c".encode()) == "Löfgren’s\r\n心臓\n\x0c"
    assert text(b"") == ""


def test_what_was_read_already_comes_first():
    assert text_of(io.BytesIO(b"b"), PATH, b"a\n") == "a\nb"
    assert lines(b"b\nc", b"\xef\xbb\xbfa\n") == [(1, "a"), (2, "b"), (3, "c")]


def test_lines_are_numbered_and_lose_their_ends():
    assert lines("\ufeffa\r\n\nc \x85d\n".encode()) == [(1, "a"), (2, ""), (3, "c \x85d")]
    assert lines(b"") == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"%PDF-1.4", "a.txt: is a PDF file: extract its text first, for example with pdftotext"),
        (b"PK\x03\x04...", "a.txt: is a zip archive or an office document: unpack it, or save it as plain text"),
        (b"\xd0\xcf\x11\xe0...", "a.txt: is an office document: save it as plain text"),
        (b"{\\rtf1 Seizures}", "a.txt: is an RTF document: save it as plain text"),
        ("short".encode("utf-16"), "a.txt: is UTF-16: save it as UTF-8"),
        (b"SQLite format 3\0", "a.txt: is a database, perhaps a KB: give a KB with --kb"),
        (b"a\nb\0c", "a.txt:2: is binary (it holds a zero byte): only text files, UTF-8, can be read"),
    ],
)
def test_what_is_no_text_is_refused_by_what_it_is(raw, said):
    with pytest.raises(FormatError, match=f"^{re.escape(said)}$"):
        text(raw)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"ab\xe9", "a.txt:1: byte 0xe9 in column 3 is not UTF-8: save the file as UTF-8, for example with `iconv "),
        (b"a\n\nL\xf6fgren", "a.txt:3: byte 0xf6 in column 2 is not UTF-8: "),
        (b"a\n\xf6", "a.txt:2: byte 0xf6 in column 1 is not UTF-8: "),
    ],
)
def test_a_byte_that_is_not_utf8_is_named_with_its_place(raw, said):
    with pytest.raises(FormatError, match=f"^{re.escape(said)}"):
        text(raw)
    with pytest.raises(FormatError, match=f"^{re.escape(said)}"):
        lines(raw)


def test_a_text_or_line_of_the_largest_size_is_read_and_none_larger(monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_TEXT", 5)
    assert text(b"12345") == "12345"
    assert lines(b"1234\n1234\n12345") == [(1, "1234"), (2, "1234"), (3, "12345")]
    with pytest.raises(FormatError, match=r"^a.txt: this text is larger than .* split it, for example with `split -C"):
        text(b"123456")
    with pytest.raises(FormatError, match=r"^a.txt:2: this line is larger than"):
        lines(b"1234\n123456\n")


def test_gzip_is_known_by_its_first_bytes(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(gzip.compress("γ\n".encode()))
    with opened(path) as stream:
        assert text_of(stream, path) == "γ\n"


@pytest.mark.parametrize("size", [25, 12])
def test_damaged_gzip(tmp_path, size):
    path = tmp_path / "note.txt.gz"
    path.write_bytes(gzip.compress(b"short stature, seizures")[:size] + b"?")
    said = f"^{re.escape(str(path))}: the .gz file is cut off or damaged"
    with pytest.raises(FormatError, match=said), opened(path) as stream:
        stream.read()


def test_what_cannot_be_opened(tmp_path):
    with (
        pytest.raises(FormatError, match=r"no.txt: cannot be read \(No such file or directory\)"),
        opened(tmp_path / "no.txt"),
    ):
        pass
    with pytest.raises(FormatError, match=r"cannot be read \(Is a directory\)"), opened(tmp_path):
        pass


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_packed_pipe_is_read_once(tmp_path):
    path, writer = pipe(tmp_path, gzip.compress(b"fever"))
    with opened(path) as stream:
        assert stream.read() == b"fever"
    os.waitpid(writer, 0)


def pipe(folder: Path, content: bytes) -> tuple[Path, int]:
    """A named pipe and the process that writes to it."""
    path = folder / "pipe"
    os.mkfifo(path)
    writer = os.fork()
    if not writer:
        path.write_bytes(content)
        os._exit(0)
    return path, writer


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(b"fever")))))
    with opened(STDIN) as stream:
        assert stream.read() == b"fever"
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input is closed: name a file"), opened(STDIN):
        pass
