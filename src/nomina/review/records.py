"""What goes into a project file: plain values, each checked when it is made."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from nomina.types import Candidate, Experiencer, Section, Span

State = Literal["decided", "open", "rejected"]
"""Of a mention: its concept (or that there is none) is decided; nobody says; it is no mention at all."""

# A list that comes in a request is refused at its first fault: of half a million of them, a list would be made.
Gold = Annotated[tuple[Annotated[tuple[str, ...], Field(fail_fast=True)], ...], Field(fail_fast=True)]
_Spans = Annotated[tuple[Span, ...], Field(fail_fast=True)]

_LONGEST_ID = 1000
_LONGEST_NAME = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SAVE = re.compile(r"[0-9a-f]{16,64}")
_STRICT = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a linker said of a mention; see ``nomina.Prediction``. As it is: that nothing was said."""

    candidates: Annotated[tuple[Candidate, ...], Field(fail_fast=True)] = ()
    ambiguous: bool = False
    abstained: bool = False
    probability: float | None = None
    negated: bool = False
    experiencer: Experiencer = "patient"
    hypothetical: bool = False

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if self.probability is not None and not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"probability {self.probability} is not between 0 and 1")
        for candidate in self.candidates:
            if not math.isfinite(candidate.score):
                raise ValueError(f"the score of {candidate.entity_id!r} is {candidate.score}, which is no number")


@dataclass(frozen=True, slots=True)
class Marked:
    """A mention as it is added: where, what a linker said, and its gold where somebody has decided already."""

    spans: _Spans
    type: str | None = None
    finding: Finding = Finding()
    gold: Gold | None = None
    name: str | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if self.gold is not None:
            check_gold(self.gold)
        check_spans(self.spans)


@dataclass(frozen=True, slots=True)
class Added:
    """A document as it is added; ``kb`` is the fingerprint of the KB that it was linked to."""

    id: str
    text: str
    mentions: Annotated[tuple[Marked, ...], Field(fail_fast=True)] = ()
    sections: Annotated[tuple[Section, ...], Field(fail_fast=True)] = ()
    kb: str = ""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if not self.id.strip() or _CONTROL.search(self.id):
            raise ValueError("a document needs an id without control characters")
        ends = [*(section.end for section in self.sections), *(mention.spans[-1][1] for mention in self.mentions)]
        if max(ends, default=0) > len(self.text):
            raise ValueError(f"{max(ends)} is behind the end of the text ({len(self.text)} characters)")


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody decides of one mention.

    ``key`` is that of ``keys_of``; a mention that the document has not yet comes with ``mention``, whose gold is not
    looked at.
    """

    key: str
    state: State
    gold: Gold = ()
    name: str | None = None
    mention: Marked | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    def __post_init__(self) -> None:
        if (self.state == "decided") != bool(self.gold):
            raise ValueError("what is decided has gold ids, and nothing else has")
        if self.gold:
            check_gold(self.gold)


def check_spans(spans: tuple[Span, ...]) -> None:
    """Refuse spans that no mention can have.

    Raises:
        ValueError: they are none, empty, unsorted or overlap.
    """
    before = 0
    for start, end in spans:
        if start < before or end <= start:
            raise ValueError(f"spans must be non-empty, sorted and apart, not {spans}")
        before = end
    if not spans:
        raise ValueError("a mention needs at least one span")


def check_gold(gold: Gold) -> None:
    """Refuse gold that no mention can have.

    Raises:
        ValueError: no part, a part without ids, or an id that is empty, too long or has control characters.
    """
    if not gold or not all(gold):
        raise ValueError("gold has at least one part, and each part an id")
    for id in (id for part in gold for id in part):
        if not id.strip() or len(id) > _LONGEST_ID or _CONTROL.search(id):
            raise ValueError(f"{id[:60]!r} is no id: it is empty, too long or has control characters")


def check_annotator(name: str) -> str:
    """A name without outer spaces.

    Raises:
        ValueError: it is empty, too long, or has a comma (which stands between names) or control characters.
    """
    tidy = name.strip()
    if not tidy or len(tidy) > _LONGEST_NAME or "," in tidy or not tidy.isprintable():
        raise ValueError(f"an annotator's name has 1 to {_LONGEST_NAME} characters and no comma, not {name[:60]!r}")
    return tidy


def check_save(save: str) -> str:
    """The number by which a save is known when it is sent again.

    Raises:
        ValueError: it is not 16 to 64 hexadecimal digits.
    """
    if not _SAVE.fullmatch(save):
        raise ValueError("save is 16 to 64 hexadecimal digits (0-9, a-f) that no other save has")
    return save


def key_of(spans: Iterable[Span]) -> str:
    """Where a mention stands, as text: ``0-5;9-12``."""
    return ";".join(f"{start}-{end}" for start, end in spans)


def keys_of(mentions: Iterable[tuple[Span, ...]]) -> list[str]:
    """A key for each mention of a document: its place, and ``#2`` and so on where others stand there before it."""
    seen: dict[str, int] = {}
    keys = []
    for spans in mentions:
        place = key_of(spans)
        seen[place] = seen.get(place, 0) + 1
        keys.append(place if seen[place] == 1 else f"{place}#{seen[place]}")
    return keys


def place_of(key: str) -> str:
    """The part of a key that says where."""
    return key.partition("#")[0]
