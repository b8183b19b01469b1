"""nomina's own form: one document a line, with the fields of the dataclasses. It holds all that a document can have.

``{"id": "1", "text": "Short stature.", "mentions": [{"spans": [[0, 13]], "text": "Short stature", "type": "phenotype",
"gold": [["HP:0004322"]]}], "sections": [{"start": 0, "end": 14, "name": "title"}]}``; all but ``id``, ``text`` and
``spans`` may be left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nomina.corpora.common import SHOWN, Seen, own_text, stands, written
from nomina.enumerations import joined
from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.records import parser
from nomina.types import Document, Mention, Section, Span

_START = re.compile(rb'\s*\{\s*"(?:id|text|mentions|sections)"\s*:')


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like documents as JSON lines."""
    return _START.match(head) is not None and b'"text"' in head.partition(b"\n")[0]


def read(path: Path, *, skip: Skip | None = None, dropped: Counter[str] | None = None) -> Iterator[Document]:
    """The documents of a file in order; ``dropped`` counts those that come again, word for word, with their mentions.

    Raises:
        FormatError: a line that is no document, two documents that differ and have one id (strict reading only;
            ``skip`` is told otherwise and the line left out).
    """
    parse = document_parser()
    seen = Seen(path, skip, Counter() if dropped is None else dropped)
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        try:
            document = parse(line)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
            continue
        if seen.is_new(document, number):
            yield document


def document_parser() -> Callable[..., Document]:
    """What makes a document of a line; of a line without an id, given a second argument, one with that as its id.

    It raises ``ValueError`` where the line is none, or a mention's text is not what stands at its spans. Of a
    composite, ``a|b``, a mention may have a part as its text.
    """
    parse = parser(_Document)

    def document(line: str, otherwise: str | None = None) -> Document:
        return parse(line).checked(otherwise)

    return document


@dataclass(frozen=True, slots=True)
class _Mention:
    """A mention as it stands in a file: without a text, that of its spans is meant."""

    spans: tuple[Span, ...]
    text: str | None = None
    type: str | None = None
    gold: tuple[tuple[str, ...], ...] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def within(self, text: str) -> Mention:
        """The mention of a text.

        Raises:
            ValueError: its spans are not in the text, or its own text does not stand there.
        """
        own = joined(text, self.spans) if self.text is None else self.text
        mention = Mention(self.spans, own, self.type, self.gold)
        found = [text[start:end] for start, end in self.spans]
        if mention.end > len(text):
            raise ValueError(f"the span {self.spans[-1]} ends behind the text ({len(text)} characters)")
        if not stands(own, found):
            place, stand = f"{mention.start}-{mention.end}", " ".join(found)
            raise ValueError(f"the mention {own[:SHOWN]!r} is not what stands at {place}, {stand[:SHOWN]!r}")
        return mention


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """A document as it stands in a file."""

    id: str | None = None
    text: str
    mentions: tuple[_Mention, ...] = ()
    sections: tuple[Section, ...] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def checked(self, otherwise: str | None) -> Document:
        """The document, its mentions held against its text; ``otherwise`` is its id where it has none.

        Raises:
            ValueError: no id at all, a mention or section that is not in the text.
        """
        id = otherwise if self.id is None else self.id
        if id is None:
            raise ValueError("the field 'id' is missing")
        return Document(id, self.text, tuple(m.within(self.text) for m in self.mentions), self.sections)


def write(documents: Iterable[Document], path: Path, *, dropped: Counter[str] | None = None) -> None:
    """Write documents, one a line.

    ``dropped`` counts texts of mentions that do not stand at their spans: those of the spans are written.

    Raises:
        UsageError: the file cannot be written.
    """
    dropped = Counter() if dropped is None else dropped
    with written(path) as stream:
        for document in documents:
            line = json.dumps(_record(document, dropped), ensure_ascii=False)
            stream.write(line.replace("\x7f", "\\u007f") + "\n")  # no reader takes this one as it is


def _record(document: Document, dropped: Counter[str]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.mentions:
        record["mentions"] = [_mention(mention, document.text, dropped) for mention in document.mentions]
    if document.sections:
        record["sections"] = [{"start": s.start, "end": s.end, "name": s.name} for s in document.sections]
    return record


def _mention(mention: Mention, text: str, dropped: Counter[str]) -> dict[str, Any]:
    record: dict[str, Any] = {"spans": mention.spans, "text": own_text(mention, text, dropped)}
    return record | {key: value for key in ("type", "gold") if (value := getattr(mention, key))}
