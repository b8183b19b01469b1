"""PubTator: the text and the mentions of an abstract as lines; the form of NCBI disease, BC5CDR and MedMentions.

::

    227508|t|Naloxone reverses the antihypertensive effect of clonidine.
    227508|a|In unanesthetized, spontaneously hypertensive rats ...
    227508<TAB>0<TAB>8<TAB>Naloxone<TAB>Chemical<TAB>D009270
    227508<TAB>CID<TAB>D008750<TAB>D007022

Texts are joined by one space, as offsets count: the abstract begins at the length of the title plus 1. Each becomes a
section: ``t`` is the title, ``a`` the abstract, another word names itself. Blank lines mean nothing; a document ends
where the text of another begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nomina.corpora.common import (
    PARTS,
    SHOWN,
    Seen,
    Separators,
    cannot_hold,
    cell,
    column_text,
    count,
    one_line,
    text_at,
    written,
)
from nomina.errors import FormatError
from nomina.files import Skip, report, whole_lines
from nomina.types import Document, Mention, Section

_FIRST = re.compile(rb"\s*[^\s|]{1,200}\|[ta]\|")
_TEXT = re.compile(r"([^|\t]+)\|([^|\s]+)\|(.*)", re.DOTALL)
_MARK = re.compile(r"[^|\s]+")
_OFFSET = re.compile(r"-?[0-9]+")
_NAMES = {"t": "title", "a": "abstract"}
_MARKS = {name: mark for mark, name in _NAMES.items()}
_COLUMNS = 7  # the last one holds the mentions that a composite stands for, as in BC5CDR


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file are the title or abstract of a PubTator document."""
    return _FIRST.match(head) is not None


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> Iterator[Document]:
    """The documents of a file in order.

    ``dropped`` counts relations, individual mentions (the seventh column), further columns, empty ids between
    separators, and documents that come again, word for word, with their mentions.

    Args:
        path: the file.
        skip: told of each fault; its line, the document of a line that is no text, or the second of two documents with
            one id, is left out.
        dropped: see above.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.

    Raises:
        FormatError: a line that is no text, mention or relation of the document; a mention that does not stand at its
            offsets; two documents that differ and have one id (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    seen = Seen(path, skip, dropped)
    for draft in _drafts(path, skip):
        if not draft.is_whole:
            continue
        document = _document(draft, separators, path, skip, dropped)
        if seen.is_new(document, draft.line):
            yield document


@dataclass(slots=True)
class _Draft:
    """The lines of a document: name and text of each section, number and cells of each other line.

    ``is_whole``: whether nothing was dropped from one.
    """

    id: str
    line: int
    is_whole: bool = True
    texts: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)


def _drafts(path: Path, skip: Skip | None) -> Iterator[_Draft]:
    draft: _Draft | None = None
    for number, line, is_whole in whole_lines(path, skip):
        if not line.strip():
            continue
        text, cells = _TEXT.fullmatch(line), line.split("\t")
        if text and (text[2] == "t" or (text[2] == "a" and not _goes_on(draft, text[1]))):
            if draft:
                yield draft
            draft = _Draft(text[1], number)
        if draft and not is_whole:
            draft.is_whole = False
        if text and draft and _goes_on(draft, text[1]):
            draft.texts.append((text[2], text[3]))
        elif draft and cells[0] == draft.id:
            draft.rows.append((number, cells))
        else:
            of = f"of document {draft.id[:SHOWN]}" if draft else "of a document: the first has ID|t|TITLE"
            report(FormatError(path, number, f"is neither a text nor an annotation {of}: {line[:40]!r}"), skip)
    if draft:
        yield draft


def _goes_on(draft: _Draft | None, id: str) -> bool:
    """Whether a text with this id is one more of the document: it has the id, and no annotation came yet."""
    return draft is not None and draft.id == id and not draft.rows


def _document(draft: _Draft, separators: Separators, path: Path, skip: Skip | None, dropped: Counter[str]) -> Document:
    sections, at = [], 0
    for name, part in draft.texts:
        sections.append(Section(at, at + len(part), _NAMES.get(name, name)))
        at += len(part) + 1
    text = " ".join(part for _, part in draft.texts)
    mentions = []
    for number, cells in draft.rows:
        try:
            if mention := _mention(cells, text, separators, dropped):
                mentions.append(mention)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
    return Document(draft.id, text, tuple(mentions), tuple(sections))


def _mention(cells: list[str], text: str, separators: Separators, dropped: Counter[str]) -> Mention | None:
    """The mention of a line; None for a relation.

    Raises:
        ValueError: it is neither, or the mention does not stand at its offsets.
    """
    if len(cells) > 2 and not _OFFSET.fullmatch(cells[1]):
        count(dropped, "relations")
        return None
    if len(cells) < 4 or not _OFFSET.fullmatch(cells[2]):
        raise ValueError("is no annotation: expected ID, start, end, mention, type and ids between tabs")
    span = int(cells[1]), int(cells[2])
    mention_type, ids, individual = (cells + [""] * _COLUMNS)[4:_COLUMNS]
    own = text_at((span,), text, cells[3])
    mention = Mention((span,), own, mention_type.strip() or None, separators.split(ids, dropped))
    count(dropped, "individual mentions", bool(individual.strip()))
    count(dropped, "further columns", sum(map(bool, cells[_COLUMNS:])))
    return mention


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> None:
    """Write documents; each has its sections as lines where they are its text, one space apart, else a title only.

    Line breaks become spaces, several spans one from the first to the last character; ``dropped`` counts these, mention
    texts of their own, sections and changed types.

    Raises:
        UsageError: an id that cannot stand in its field, or the file cannot be written.
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    with written(path) as stream:
        for document in documents:
            stream.write("\n".join(_lines(document, separators, dropped)) + "\n\n")


def _lines(document: Document, separators: Separators, dropped: Counter[str]) -> Iterator[str]:
    if not document.id.isprintable() or "|" in document.id or document.id != document.id.strip() or not document.id:
        raise cannot_hold(document, "this id cannot stand in a PubTator file: it has no tab, bar or outer space")
    text = one_line(document.text, dropped)
    for start, end, mark in _marked(document, dropped):
        yield f"{document.id}|{mark}|{text[start:end]}"
    for mention in document.mentions:
        try:
            ids = separators.join(mention.gold)
        except ValueError as error:
            raise cannot_hold(document, error) from error
        count(dropped, "extra spans", len(mention.spans) - 1)
        hull = mention.start, mention.end
        whole = (
            mention if len(mention.spans) == 1 else replace(mention, spans=(hull,), text=document.text[slice(*hull)])
        )
        shown = column_text(whole, document.text, dropped)
        type = cell(mention.type or "", "types", dropped)
        yield "\t".join((document.id, *map(str, hull), shown, type, ids))


def _marked(document: Document, dropped: Counter[str]) -> list[tuple[int, int, str]]:
    """Start, end and mark of each text line."""
    text, sections = document.text, document.sections
    if _are_lines(text, sections):
        return [(section.start, section.end, _MARKS.get(section.name, section.name)) for section in sections]
    count(dropped, "sections", len(sections))
    title = -1 if sections else text.find("\n")
    return [(0, len(text), "t")] if title < 0 else [(0, title, "t"), (title + 1, len(text), "a")]


def _are_lines(text: str, sections: tuple[Section, ...]) -> bool:
    """Whether the sections are all of the text, one space apart, and have names that can be told from each other."""
    names, ends = [section.name for section in sections], [section.end for section in sections]
    return (
        bool(sections)
        and names[0] in _MARKS
        and "title" not in names[1:]
        and all(name not in _NAMES and _MARK.fullmatch(name) and name.isprintable() for name in names)
        and [section.start for section in sections] == [0, *(end + 1 for end in ends[:-1])]
        and ends[-1] == len(text)
        and all(text[end] == " " for end in ends[:-1])
    )
