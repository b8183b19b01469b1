"""The plain values that flow through nomina: frozen, slotted, standard library only.

Offsets are code points of ``Document.text``, start inclusive, end exclusive, as in Python slices.
Every class checks its bounds when made and raises ``ValueError`` with the offending value; readers turn that into a
``FormatError`` with a file and a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

Scope = Literal["exact", "narrow", "broad", "related"]
Span = tuple[int, int]

SCOPES: tuple[Scope, ...] = ("exact", "narrow", "broad", "related")
"""Synonym scopes in order of trust (the OBO vocabulary)."""

PREFERRED = "preferred"
"""``Name.kind`` of the name that a terminology itself puts first."""

_NO_TEXT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
"""What no name, id or label holds: control characters but the tab, line breaks, halves of surrogate pairs."""

_NO_PROSE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""The same of a definition, which may have several lines."""


def _check(what: str, texts: Iterable[str | None], wrong: re.Pattern[str] = _NO_TEXT) -> None:
    """Refuse texts with a character that is none. Slower than ``isprintable``, by which most are let through before."""
    for text in texts:
        if text and (found := wrong.search(text)):
            raise ValueError(f"{what} must not hold the character U+{ord(found.group()):04X}, as {text[:60]!a} does")


def _check_id(id: str) -> None:
    if not id or id != id.strip():
        raise ValueError(f"an entity id must be non-empty and without outer spaces, not {id!r}")
    if not id.isprintable():
        _check("an id", (id,))
        if "\t" in id:
            raise ValueError(f"an id must not hold a tab, as {id!r} does")


@dataclass(frozen=True, slots=True)
class Name:
    """One way to write a concept: raw text, how close it is, what it is, where it came from."""

    text: str
    scope: Scope = "exact"
    kind: str | None = None
    source: str | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a name must not be empty")
        if not (self.text.isprintable() and (self.kind or "").isprintable() and (self.source or "").isprintable()):
            _check("a name", (self.text, self.kind, self.source))
        if self.scope not in SCOPES:
            raise ValueError(f"scope {self.scope!r} is not one of {', '.join(SCOPES)}")


@dataclass(frozen=True, slots=True)
class Entity:
    """A concept of a knowledge base. ``retired_ids`` are ids (alternative, merged, replaced) that now mean this one."""

    id: str
    names: tuple[Name, ...] = ()
    definition: str | None = None
    types: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    retired_ids: tuple[str, ...] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        _check_id(self.id)
        if self.definition is not None and not self.definition.isprintable():
            _check("a definition", (self.definition,), _NO_PROSE)
        others = (*self.types, *self.parents, *self.xrefs, *self.retired_ids)
        if others and not "".join(others).isprintable():
            _check("a type or an id", others)

    @property
    def name(self) -> str:
        """The preferred name, else the first one, else the id."""
        for name in self.names:
            if name.kind == PREFERRED:
                return name.text
        return self.names[0].text if self.names else self.id


@dataclass(frozen=True, slots=True)
class Retired:
    """An id that its terminology has taken out of use, with the ids named in its place (none: simply gone)."""

    id: str
    replaced_by: tuple[str, ...] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        _check_id(self.id)
        _check("an id", self.replaced_by)


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text to link.

    Several spans make a discontinuous mention ("breast ... cancer" out of "breast and ovarian cancer").
    ``gold`` holds the right answers: every part of a composite is needed, any id of a part will do. Without one, nobody
    has said what it means.
    """

    spans: tuple[Span, ...]
    text: str
    type: str | None = None
    gold: tuple[tuple[str, ...], ...] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.spans:
            raise ValueError("a mention needs at least one span")
        before = 0
        for start, end in self.spans:
            if start < before or end <= start:
                raise ValueError(f"spans must be non-empty, sorted and apart, not {self.spans}")
            before = end

    @property
    def start(self) -> int:
        """Offset of the first character."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.spans[-1][1]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a text with the name that its source gives it: "title", "abstract", "methods"."""

    start: int
    end: int
    name: str

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"a section must not end before it starts, as {self.start}-{self.end} does")


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id and, where known, its mentions and sections."""

    id: str
    text: str
    mentions: tuple[Mention, ...] = ()
    sections: tuple[Section, ...] = ()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        for section in self.sections:
            if section.end > len(self.text):
                raise ValueError(
                    f"document {self.id!r}: section {section.start}-{section.end} ends behind the text"
                    f" ({len(self.text)} characters)"
                )
        for mention in self.mentions:
            if mention.end > len(self.text):
                raise ValueError(
                    f"document {self.id!r}: span {mention.start}-{mention.end} ends behind the text"
                    f" ({len(self.text)} characters)"
                )


class Query(NamedTuple):
    """A mention together with the document it stands in: what a linker is asked."""

    document: Document
    mention: Mention


@dataclass(frozen=True, slots=True)
class Candidate:
    """A concept offered for a mention.

    ``name`` is the KB name that matched, ``row`` its number in the KB, ``rule`` the reason, ``score`` higher is better;
    candidates that nothing tells apart share a ``rank`` (from 1).
    """

    entity_id: str
    preferred: str
    name: str
    score: float
    rank: int
    rule: str
    row: int

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


Experiencer = Literal["patient", "family"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a linker says of one mention: candidates best first, or an honest abstention."""

    document_id: str
    mention: Mention
    candidates: tuple[Candidate, ...] = ()
    ambiguous: bool = False
    abstained: bool = False
    probability: float | None = None
    negated: bool = False
    experiencer: Experiencer = "patient"
    hypothetical: bool = False

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if self.probability is not None and not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"probability {self.probability} is not between 0 and 1")
