"""JSON read a member at a time, for files of hundreds of megabytes that are one object or array."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, NamedTuple

from nomina.errors import FormatError
from nomina.files import Skip, blocks

ANY = "*"
"""In a place: whatever key or number."""

Place = tuple[str, ...]
"""The keys that lead to a value, with ``ANY`` for each element of an array: ``("graphs", ANY, "nodes", ANY)``."""

_DECODER = JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"[-+.0-9eE]*")
_SURE = 1 << 16  # a fault so far before the end of what is read is no matter of reading on


class Found(NamedTuple):
    """A value at a wanted place: the place as asked for, its own key, the line that it begins in, and itself."""

    place: Place
    key: str
    line: int
    value: Any


def values(path: Path, wanted: Collection[Place], skip: Skip | None = None) -> Iterator[Found]:
    """The values at the wanted places in order; only one of them is in memory at a time.

    Args:
        path: the file.
        wanted: places; none may lie inside another.
        skip: told of bytes that do not belong in a text; what is not JSON stops a lenient reading too.

    Raises:
        FormatError: not JSON, or cut off.
    """
    text = _Text(path, skip)
    try:
        yield from _walk(text, list(wanted), 0)
        if text.peek():
            text.fail("more after the end")
    except RecursionError:
        text.fail("nested too deep")


def _walk(text: _Text, wanted: list[Place], depth: int) -> Iterator[Found]:
    """The wanted values inside the object or array that comes next; any other value is passed over."""
    if text.peek() not in ("{", "["):
        text.decode()
        return
    for key in text.members():
        here = [place for place in wanted if place[depth] in (key, ANY)]
        if here and len(here[0]) == depth + 1:
            text.peek()
            line = text.line()
            yield Found(here[0], key, line, text.decode())
        elif here:
            yield from _walk(text, here, depth + 1)
        else:
            _pass_over(text)


def _pass_over(text: _Text) -> None:
    """An unwanted value, its members one at a time: it may be most of the file."""
    if text.peek() not in ("{", "["):
        text.decode()
        return
    for _ in text.members():
        text.decode()


class _Text:
    """The part of the text that is being read, and where in it."""

    def __init__(self, path: Path, skip: Skip | None) -> None:
        self._path, self._blocks = path, blocks(path, skip)
        self._text, self._at = "", 0
        self._line, self._counted = 1, 0
        self._fault: FormatError | None = None

    def line(self) -> int:
        """The line of the next character."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def fail(self, why: str, at: int | None = None) -> None:
        """Raise: here, or at a later character."""
        line = self.line() + (self._text.count("\n", self._at, at) if at else 0)
        raise FormatError(self._path, line, f"is not JSON as it should be ({why}): fetch it again, or mend this place")

    def _more(self) -> bool:
        """Read on, at least as much again as is left; False at the end. What comes before a fault comes first."""
        if self._fault:
            raise self._fault
        self.line()
        parts, length = [self._text[self._at :]], 0
        self._at = self._counted = 0
        try:
            for _, block in self._blocks:
                parts.append(block)
                length += len(block)
                if length > len(parts[0]):
                    break
        except FormatError as error:
            if not length:
                raise
            self._fault = error
        self._text = "".join(parts)
        return length > 0

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        if self._at < len(self._text) and (character := self._text[self._at]) > " ":
            return character
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _take(self, characters: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in characters:
            self.fail(f"expected {' or '.join(characters)}, found {found or 'the end of the file'}")
        self._at += 1
        return found

    def decode(self) -> Any:  # noqa: ANN401
        """The next value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                if error.pos + _SURE < len(self._text) or not self._more():
                    self.fail(error.msg, error.pos)
                continue
            except ValueError as error:
                self.fail(str(error))
            if self._whole(value, end) or not self._more():
                self._at = end
                return value

    def _whole(self, value: object, end: int) -> bool:
        """Whether a value is all of it: a number may go on in what is not read yet."""
        if isinstance(value, str | dict | list):
            return True
        return _NUMBER.match(self._text, end).end() < len(self._text)  # type: ignore[union-attr]  # as above

    def members(self) -> Iterator[str]:
        """The key (in an array: the number) of each member of what comes next; its value must be taken in between."""
        end = "}" if self._take("{[") == "{" else "]"
        number = 0
        if self.peek() == end:
            self._at += 1
            return
        while True:
            key = str(number)
            if end == "}":
                if self.peek() != '"':
                    self.fail(f'expected ", found {self.peek() or "the end of the file"}')
                key = self.decode()
                self._take(":")
            yield key
            number += 1
            if self._take(f",{end}") == end:
                return
