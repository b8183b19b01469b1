"""Bytes of a file, a pipe or standard input as UTF-8 text: unpacked, bounded, refused where they are no text."""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from nomina.errors import FormatError, UsageError
from nomina.files import damaged_gzip

STDIN = Path("-")
"""Stands for standard input wherever a path is expected."""

LARGEST_TEXT = 16_000_000
"""Bytes of one text, unpacked: it is held whole, and finding its mentions takes some 40 times as much memory."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_FOREIGN = {
    b"%PDF": "a PDF file: extract its text first, for example with pdftotext",
    b"PK\x03\x04": "a zip archive or an office document: unpack it, or save it as plain text",
    b"\xd0\xcf\x11\xe0": "an office document: save it as plain text",
    b"{\\rtf": "an RTF document: save it as plain text",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
    b"SQLite format 3": "a database, perhaps a KB: give a KB with --kb",
}


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file, a pipe or (``-``) standard input, opened for one reading and unpacked where its first bytes say gzip.

    Raises:
        FormatError: it is missing, a folder or not readable; while it is read, the gzip data are damaged.
        UsageError: there is no standard input.
    """
    with contextlib.ExitStack() as stack:
        try:
            stream = _stdin() if path == STDIN else stack.enter_context(open(path, "rb"))
            packed = stream.peek(2)[:2] == _GZIP
        except OSError as error:
            raise FormatError(path, None, f"cannot be read ({error.strerror})") from error
        stack.enter_context(damaged_gzip(path))
        yield cast("BinaryIO", gzip.GzipFile(fileobj=stream)) if packed else stream


def _stdin() -> io.BufferedReader:
    if sys.stdin is None:
        raise UsageError("standard input is closed: name a file")
    return cast(io.BufferedReader, sys.stdin.buffer)


def text_of(stream: BinaryIO, path: Path, start: bytes = b"") -> str:
    """The rest of a stream, behind the bytes read already, as one text; line ends stay as they are.

    Raises:
        FormatError: it is no UTF-8 text, or larger than ``LARGEST_TEXT``.
    """
    raw = start + stream.read(LARGEST_TEXT + 1)
    if len(raw) > LARGEST_TEXT:
        raise too_large(path)
    return _decoded(path, 1, raw.removeprefix(_BOM))


def lines_of(stream: BinaryIO, path: Path, first: bytes = b"") -> Iterator[tuple[int, str]]:
    r"""Number (from 1) and text of each line, without its ``\n`` or ``\r\n``; ``first`` was read already.

    Raises:
        FormatError: a line that is no UTF-8 text, or larger than ``LARGEST_TEXT``.
    """
    number, raw = 0, first
    while raw := raw or stream.readline(LARGEST_TEXT + 1):
        number += 1
        if len(raw) > LARGEST_TEXT:
            raise too_large(path, number)
        if number == 1:
            raw = raw.removeprefix(_BOM)
        yield number, _decoded(path, number, raw.removesuffix(b"\n").removesuffix(b"\r"))
        raw = b""


def too_large(path: Path, line: int | None = None) -> FormatError:
    """What is said of a text that is not read."""
    what = "this line" if line else "this text"
    advice = "split it, for example with `split -C 10m FILE part-`"
    return FormatError(path, line, f"{what} is larger than {LARGEST_TEXT // 1_000_000} MB, the most for one: {advice}")


def _decoded(path: Path, line: int, raw: bytes) -> str:
    for magic, what in _FOREIGN.items() if line == 1 else ():
        if raw.startswith(magic):
            raise FormatError(path, None, f"is {what}")
    place = raw.find(b"\0")
    if place >= 0:
        where = line + raw.count(b"\n", 0, place)
        raise FormatError(path, where, "is binary (it holds a zero byte): only text files, UTF-8, can be read")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].rpartition(b"\n")
        where = line + before[0].count(b"\n") + len(before[1])
        what = f"byte 0x{raw[error.start]:02x} in column {len(before[2]) + 1} is not UTF-8"
        advice = "save the file as UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW`"
        raise FormatError(path, where, f"{what}: {advice}") from error
