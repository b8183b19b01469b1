"""ICD-10-CM as the tabular list in XML (``icd10cm-tabular-2026.xml``): chapters, sections, codes, each under the last.

A chapter is read at a time (the longest takes 25 MB). The titles of codes are their preferred names; inclusion terms
and notes on what a category includes are narrower than the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from nomina.errors import FormatError
from nomina.files import Skip, head, report
from nomina.kb.schema import SourceInfo
from nomina.kb.xmlstream import elements, line_of, text_of
from nomina.types import PREFERRED, Entity, Name

LICENCE = "https://www.cdc.gov/nchs/icd/icd-10-cm/index.html"

_PREFIX = "ICD10CM"
"""Of the xref of a code to itself, by which other terminologies know it."""

_ROOT = b"<ICD10CM.tabular"
_VERSION = re.compile(rb"<version>\s*([^<]*?)\s*</version>")
_CODES = re.compile(r"\s*\([A-Z]\d[^()]*\)$")
_NOTES = ("inclusionTerm/note", "includes/note")
_LENGTH = 6  # of a code in front of its seventh character
_DEATH = re.compile(r"S06\...[78][DS]")
"""Codes that do not exist: who died of the injury has no later encounter. The list says so in a note's prose alone."""


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like the tabular list."""
    return _ROOT in head


def read(path: Path, *, skip: Skip | None = None, seventh: bool = False) -> Iterator[Entity]:
    """Chapters, sections and codes in order.

    Args:
        path: the tabular list.
        skip: told of each fault, where given; an entry without code or title is left out.
        seventh: write out the codes with seventh characters too (``S52.501A``), which the list only describes.

    Raises:
        FormatError: not well-formed or cut off (also in a lenient reading), an entry without code or title, a second
            one with the same code.
    """
    seen: set[str] = set()
    for chapter in elements(path, ("chapter",), skip, inner=("section", "diag")):
        for line, fields in _entries(chapter, seventh):
            try:
                entity = _entity(*fields)
            except ValueError as error:
                report(FormatError(path, line, str(error)), skip)
                continue
            if entity.id in seen:
                report(FormatError(path, line, f"a second entry with the code {entity.id}"), skip)
            seen.add(entity.id)
            yield entity


def describe(path: Path) -> SourceInfo:
    """The version, which is a year."""
    version = _VERSION.search(head(path))
    release = version.group(1).decode("utf-8", errors="replace") if version else None
    return SourceInfo(path.name, title="ICD-10-CM", release=release, licence=LICENCE)


_Fields = tuple[str, list[str], str, str]
"""Code, title and further names, type, parent (empty: none)."""


def _entity(code: str, names: list[str], type: str, parent: str) -> Entity:
    title, *narrower = names
    if not code or not title:
        raise ValueError(f"a {type} without its {'title' if code else 'code'}")
    found = (Name(title, kind=PREFERRED), *(Name(text, "narrow") for text in dict.fromkeys(narrower) if text != title))
    return Entity(code, found, None, (type,), (parent,) if parent else (), (f"{_PREFIX}:{code}",))


def _entries(chapter: Element, seventh: bool) -> Iterator[tuple[int, _Fields]]:
    """Line and fields of a chapter and all in it."""
    number = text_of(chapter, "name")
    yield line_of(chapter), (number, _names(chapter), "chapter", "")
    for section in chapter.iterfind("section"):
        above, code = number, section.get("id", "").strip()
        if "-" in code:  # a section of one category has its code, and adds nothing to it
            yield line_of(section), (code, _names(section), "section", number)
            above = code
        for diag in section.iterfind("diag"):
            yield from _codes(diag, above, {}, seventh)


def _codes(diag: Element, parent: str, seventh: Mapping[str, str], wanted: bool) -> Iterator[tuple[int, _Fields]]:
    """Line and fields of a code and those under it; ``seventh`` is what those above say of seventh characters."""
    line, code, names, below = line_of(diag), text_of(diag, "name"), _names(diag), diag.findall("diag")
    seventh = {one.get("char", ""): _tidy(one.text) for one in diag.iterfind("sevenChrDef/extension")} or seventh
    yield line, (code, names, "category" if below else "code", parent)
    for one in below:
        yield from _codes(one, code, seventh, wanted)
    if wanted and not below:
        stem = code if len(code) > len("S52") else f"{code}."
        for character, meaning in seventh.items():
            full = f"{stem.ljust(_LENGTH + 1, 'X')}{character}"
            if not _DEATH.fullmatch(full):
                yield line, (full, [f"{names[0]}, {meaning}"], "code", code)


def _names(element: Element) -> list[str]:
    """The title, then inclusion terms and notes on what is included; the codes at their ends are cut off."""
    notes = [_tidy(note.text) for tag in _NOTES for note in element.iterfind(tag)]
    texts = [_CODES.sub("", text) for text in (text_of(element, "desc"), *notes)]
    return [texts[0], *filter(None, texts[1:])]


def _tidy(text: str | None) -> str:
    return " ".join((text or "").split())
