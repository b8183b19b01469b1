"""XML read a record at a time with the standard library: no entities, no DTD, memory of one record.

A file is in the encoding that its declaration or byte-order mark says, else in UTF-8.

A ``DOCTYPE`` that names an outside DTD is passed over and never fetched; one with declarations of its own is refused,
because that is the only place where a document can define entities.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers.expat import ErrorString

from nomina.errors import FormatError
from nomina.files import UTF16, Skip, blocks, open_bytes

_LINE = "nomina:line"  # no name that an attribute in a file can have without its namespace being declared
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_MISC = r"(?:\s|<!--(?:(?!-->).)*-->|<\?(?:(?!\?>).)*\?>)*"
_PROLOG = re.compile(rf"{_MISC}(?:<!DOCTYPE(?:[^\[>\"']|{_QUOTED})*>)?{_MISC}<[\w:]", re.DOTALL)

_DECLARED = re.compile(rb"\s*<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")
_BIG, _LITTLE = "<?".encode("utf-16-be"), "<?".encode("utf-16-le")
_AS_UTF8 = ("utf-8", "ascii", "utf-16", "utf-16-be", "utf-16-le", "utf-32")
"""Encodings that a declaration in bytes of ASCII may name: the first are UTF-8, the others cannot be true."""

_LONGEST = 1 << 20
"""Characters that may stand before the root."""


def elements(path: Path, wanted: Collection[str], skip: Skip | None, inner: Collection[str] = ()) -> Iterator[Element]:
    """Each child of the root with a ``wanted`` tag when it is complete; it is emptied when the next one is asked for.

    Args:
        path: the file.
        wanted: tags, as ``{namespace}tag`` where they have one; other children of the root are passed over.
        skip: told of bytes that do not belong in a text; what is not well-formed stops a lenient reading too.
        inner: tags of elements inside whose ``line_of`` is asked for, beside the wanted ones.

    Raises:
        FormatError: not well-formed, cut off, or with a DTD of its own.
    """
    numbered = frozenset((*wanted, *inner))
    names = "|".join(sorted(re.escape(tag.rpartition("}")[2]) for tag in numbered))
    opening = re.compile(rf"<(?=(?:[\w.-]+:)?(?:{names}))")
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    root: Element | None = None
    depth = 0
    try:
        for line, piece in _pieces(path, opening, skip):
            parser.feed(piece)
            for event, element in cast("Iterable[tuple[str, Element]]", parser.read_events()):
                if event == "start":
                    root = element if root is None else root
                    depth += 1
                    if element.tag in numbered:
                        element.set(_LINE, str(line))
                    continue
                depth -= 1
                if depth == 1 and root is not None:
                    if element.tag in wanted:
                        yield element
                    root.clear()
        parser.close()
    except ParseError as error:
        why = f"is not well-formed XML ({ErrorString(error.code)}): fetch it again, or mend this place"
        raise FormatError(path, error.position[0], why) from error


def encoding(path: Path) -> str | None:
    """The encoding of a file by its beginning; None for UTF-8.

    Raises:
        FormatError: one that is not known, or the file cannot be read.
    """
    with open_bytes(path) as stream:
        start = stream.read(1 << 10)
    if start.startswith(UTF16):
        return "utf-16"
    if start.startswith((_BIG, _LITTLE)):
        return "utf-16-be" if start.startswith(_BIG) else "utf-16-le"
    declared = _DECLARED.match(start)
    if declared is None:
        return None
    name = declared[1].decode("ascii")
    try:
        "<".encode(name)  # refuses what is no encoding of a text
    except (LookupError, UnicodeError) as error:
        raise FormatError(path, 1, f"is in an encoding that is not known, {name}: save it as UTF-8") from error
    return None if codecs.lookup(name).name in _AS_UTF8 else name


def line_of(element: Element) -> int:
    """The line in which an element of a wanted or inner tag begins."""
    return int(element.attrib[_LINE])


def text_of(element: Element, tag: str) -> str:
    """The text of a child (``a/b`` for a grandchild) with its white space tidied; empty where there is none."""
    return " ".join((element.findtext(tag) or "").split())


def _pieces(path: Path, opening: re.Pattern[str], skip: Skip | None) -> Iterator[tuple[int, str]]:
    """The text cut in front of each numbered element, with the line that each piece begins in."""
    for line, text in _from_root(path, skip):
        start = 0
        for match in opening.finditer(text):
            yield line, text[start : match.start()]
            line += text.count("\n", start, match.start())
            start = match.start()
        yield line, text[start:]


def _from_root(path: Path, skip: Skip | None) -> Iterator[tuple[int, str]]:
    """The blocks of a file, the first with all that stands before the root: a declaration may be a line of its own."""
    found, held = blocks(path, skip, encoding=encoding(path)), ""
    for _, text in found:
        held += text
        if _PROLOG.match(held) or len(held) > _LONGEST:
            break
    _check_prolog(path, held)
    yield 1, held
    yield from found


def _check_prolog(path: Path, text: str) -> None:
    if _PROLOG.match(text):
        return
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FormatError(path, 1, "brings its own DTD, which may hold entities: save it without (OWL: robot convert)")
    raise FormatError(path, 1, f"is not XML: expected a first element, found {text.strip()[:40]!r}")
