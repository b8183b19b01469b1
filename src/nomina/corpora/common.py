"""What the readers and writers of corpora share: ids in one field, documents met before, files written whole."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

from nomina.enumerations import joined
from nomina.errors import FormatError, UsageError
from nomina.files import Skip, atomic, report
from nomina.types import Document, Mention, Span

PARTS = "|+;,"
"""What stands between the ids of a mention where a corpus does not say otherwise: all of them are meant."""

NONE = "none"
"""The value of an option for separators that says that there are none."""

SHOWN = 60
"""Characters of a text that a message shows."""

Gold = tuple[tuple[str, ...], ...]

_COMPOSITE = "|"
_LINE_BREAK = re.compile(r"[\n\r\v\f]")
_CONTROL_OR_TAB = re.compile(r"[\x00-\x1f\x7f]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def count(dropped: Counter[str], what: str, number: int = 1) -> None:
    """Add to what is dropped; what does not occur is not mentioned."""
    if number:
        dropped[what] += number


@dataclass(frozen=True, slots=True)
class Separators:
    """How the ids of a mention stand in one field: ``a/b|c`` is (a or b) and c with ``|`` for parts, ``/`` for others.

    Args:
        parts: characters between ids that are all needed; the first one is written. "none" for no such character.
        alternatives: characters between ids of which any will do.

    Raises:
        UsageError: a letter, digit or space among them, or a character in both.
    """

    parts: str
    alternatives: str

    def __post_init__(self) -> None:
        for name in ("parts", "alternatives"):
            value = getattr(self, name)
            value = "" if value == NONE else value
            object.__setattr__(self, name, value)
            if any(character.isalnum() or character.isspace() for character in value):
                raise UsageError(
                    f"the option {name} takes characters such as | or ;, or the word {NONE}: not {value!r}"
                )
        if both := set(self.parts) & set(self.alternatives):
            raise UsageError(f"the character {min(both)!r} cannot stand between parts and between alternatives")

    def split(self, field: str, dropped: Counter[str]) -> Gold:
        """The ids of a field, without outer spaces; an empty field has none, an empty place in one is counted."""
        if not field.strip():
            return ()
        parts = []
        for part in _split(field, self.parts):
            ids = [id.strip() for id in _split(part, self.alternatives)]
            count(dropped, "empty ids", ids.count(""))
            parts.append(tuple(filter(None, ids)))
        return tuple(filter(None, parts))

    def join(self, gold: Gold) -> str:
        """The field that ``split`` makes this of again.

        Raises:
            ValueError: there is none.
        """
        field = self.parts[:1].join(self.alternatives[:1].join(part) for part in gold)
        if self.split(field, Counter()) != gold or not field.isprintable():
            between = f"parts={self.parts or NONE}, alternatives={self.alternatives or NONE}"
            raise ValueError(
                f"the ids {gold} cannot stand in one field with {between}: choose others with these options"
            )
        return field


def _split(field: str, separators: str) -> list[str]:
    return re.split(f"[{re.escape(separators)}]", field) if separators else [field]


class Seen:
    """The documents met so far, 16 bytes of hashes each: an id comes once, a document that comes again is dropped.

    The training set of NCBI disease holds one document twice.
    """

    def __init__(self, path: Path, skip: Skip | None, dropped: Counter[str]) -> None:
        self._path, self._skip, self._dropped = path, skip, dropped
        self._contents: dict[bytes, bytes] = {}

    def is_new(self, document: Document, line: int | None) -> bool:
        """Whether a document is to be passed on; the very same one again is counted, and so are its mentions.

        Raises:
            FormatError: another one had its id (strict reading only; ``skip`` is told otherwise).
        """
        id, content = _hash(document.id), _hash(repr(document))
        if id not in self._contents:
            self._contents[id] = content
            return True
        if self._contents[id] != content:
            why = f"another document with the id {document.id!r}: ids must differ to tell documents apart"
            report(FormatError(self._path, line, why), self._skip)
            return False
        count(self._dropped, "repeated documents")
        count(self._dropped, "repeated mentions", len(document.mentions))
        return False


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=8).digest()


def stands(text: str, found: Sequence[str]) -> bool:
    """Whether the text of a mention is what stands at its spans: that of the one, or one that holds those of several.

    Of a composite, ``a|b``, a part will do: so BioSyn writes several mentions in one place.
    """
    if len(found) > 1:
        return all(part in text for part in found)
    return text == found[0] or (text != "" and text in map(str.strip, found[0].split(_COMPOSITE)))


def text_at(spans: tuple[Span, ...], text: str, given: str) -> str:
    """The text of a mention as a file gives it, or as it stands in the document where only white space differs.

    Raises:
        ValueError: it does not stand there.
    """
    found = [text[start:end] for start, end in spans]
    if spans[-1][1] > len(text):
        raise ValueError(f"the span {spans[-1][0]}-{spans[-1][1]} ends behind the text ({len(text)} characters)")
    if stands(given, found):
        return given
    if _words(given) == _words(" ".join(found)):
        return " ".join(found)
    place = ";".join(f"{start}-{end}" for start, end in spans)
    stand = " ".join(found)
    raise ValueError(f"the mention {given[:SHOWN]!r} is not what stands at {place}, {stand[:SHOWN]!r}")


def _words(text: str) -> list[str]:
    return _CONTROL_OR_TAB.sub(" ", text).split()


def own_text(mention: Mention, text: str, dropped: Counter[str]) -> str:
    """The text of a mention as a file of spans can hold it; any other is counted, and that of the spans taken."""
    if stands(mention.text, [text[start:end] for start, end in mention.spans]):
        return mention.text
    count(dropped, "mention texts")
    return joined(text, mention.spans)


def column_text(mention: Mention, text: str, dropped: Counter[str]) -> str:
    """The text of a mention for a column: ``own_text`` with a space for each tab, line break and control character."""
    own = own_text(mention, text, dropped)
    if _CONTROL_OR_TAB.search(own) and own != (found := joined(text, mention.spans)):
        count(dropped, "mention texts")
        own = found
    return _CONTROL_OR_TAB.sub(" ", own)


def one_line(text: str, dropped: Counter[str]) -> str:
    """A text whose line breaks and other control characters are spaces, so that offsets hold; they are counted."""
    if found := _CONTROL.findall(text):
        breaks = sum(map(bool, map(_LINE_BREAK.match, found)))
        count(dropped, "line breaks", breaks)
        count(dropped, "control characters", len(found) - breaks)
    return _CONTROL.sub(" ", text)


def cell(value: str, what: str, dropped: Counter[str]) -> str:
    """A value for a column: its white space and control characters as single spaces; one that changes is counted."""
    tidy = " ".join(_words(value))
    count(dropped, what, tidy != value)
    return tidy


def cannot_hold(document: Document, why: object) -> UsageError:
    """What is said of a document that a format cannot hold."""
    return UsageError(f"document {document.id!r}: {why}")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in a user's words what goes wrong in the block that writes ``path``.

    Raises:
        UsageError: it cannot be written, or a text has a character that UTF-8 cannot hold.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror})") from error
    except UnicodeEncodeError as error:
        raise UsageError(f"cannot write {path}: half a character (U+{ord(error.object[error.start]):04X})") from error


@contextlib.contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """A text file that appears, whole, when the block ends well.

    Raises:
        UsageError: as ``writing`` says.
    """
    with writing(path), atomic(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        yield stream
