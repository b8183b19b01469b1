"""Lines of a file that may be packed, each a text or a fault: a line that is none does not end the reading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from nomina.files import open_bytes, unmarked
from nomina.reading import LARGEST_TEXT

_CHUNK = 1 << 18
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Line(NamedTuple):
    """A line, its end included, and what is wrong with it; then its text is what can be made of it, or a line end."""

    number: int
    text: str
    wrong: str | None = None


def lines(path: Path) -> Iterator[Line]:
    """The lines of a file; no more than ``LARGEST_TEXT`` bytes of one are held.

    Raises:
        FormatError: the file cannot be read, its packed data are damaged, or it is UTF-16.
    """
    with open_bytes(path) as stream:
        number = 0
        while raw := stream.readline(LARGEST_TEXT + 1):
            number += 1
            raw = unmarked(path, raw) if number == 1 else raw
            if len(raw) > LARGEST_TEXT:
                _pass_over(stream, raw)
                yield Line(number, "\n", f"is larger than {LARGEST_TEXT // 1_000_000} MB, the most for one text")
            else:
                yield _line(number, raw)


def _pass_over(stream: BinaryIO, raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(_CHUNK)


def _line(number: int, raw: bytes) -> Line:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{raw[error.start]:02x} in column {error.start + 1} is not UTF-8"
        return Line(number, raw.decode("utf-8", errors="replace"), wrong)
    if found := _CONTROL.search(text):
        return Line(number, text, f"control character U+{ord(found.group()):04X} in column {found.start() + 1}")
    return Line(number, text)
