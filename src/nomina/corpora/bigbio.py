"""What BigBIO's two files, JSON lines and Parquet, share: records of its KB schema as documents, and back.

Source: Fries et al., BigBIO: a framework for data-centric biomedical NLP, NeurIPS 2022, appendix ("bigbio_kb").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from nomina.corpora.bioc_layout import Annotation, Block, Layout, chosen, spans_of
from nomina.corpora.common import SHOWN, Separators, cannot_hold, count, own_text, text_at
from nomina.enumerations import joined
from nomina.errors import FormatError, UsageError
from nomina.files import Skip, report
from nomina.types import Document, Mention, Section

PARTS, ALTERNATIVES = "parts", "alternatives"
_KNOWN = frozenset("id document_id passages entities events coreferences relations".split())
_SHOWN_PLACES = 5
_LOOSE = {"extra": "ignore"}


@dataclass(frozen=True, slots=True)
class _Normalized:
    db_name: str | None = None
    db_id: str | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = _LOOSE


@dataclass(frozen=True, slots=True)
class _Piece:
    """A passage or an entity: texts, each at its offsets; an entity has concepts."""

    text: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    type: str | None = None
    normalized: tuple[_Normalized, ...] | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = _LOOSE


@dataclass(frozen=True, slots=True)
class _Record:
    passages: tuple[_Piece, ...]
    entities: tuple[_Piece, ...] | None = None
    id: str | None = None
    document_id: str | None = None
    events: tuple[Any, ...] | None = None
    coreferences: tuple[Any, ...] | None = None
    relations: tuple[Any, ...] | None = None

    __pydantic_config__: ClassVar[dict[str, str]] = _LOOSE


class Concepts(NamedTuple):
    """How the concepts of an entity become gold: each may join several ids, and is a part or an alternative.

    ``database``: whether the name of the database goes before each id, as in ``MESH:D003110``.
    """

    separators: Separators
    several: str
    database: bool


def concepts(parts: str, alternatives: str, several: str, database: bool) -> Concepts:
    """The options of a reader, checked.

    Raises:
        UsageError: ``several`` is another word, or separators that cannot be.
    """
    if several not in (PARTS, ALTERNATIVES):
        raise UsageError(f"the option several is {PARTS} or {ALTERNATIVES}, not {several!r}")
    return Concepts(Separators(parts, alternatives), several, database)


class Builder:
    """Makes documents of records."""

    def __init__(self, path: Path, skip: Skip | None, dropped: Counter[str], concepts: Concepts) -> None:
        self._path, self._skip, self._dropped, self._concepts = path, skip, dropped, concepts
        self._checked = _checker()

    def document(self, value: object, line: int | None) -> Document | None:
        """The document of a record; None for one that a lenient reading leaves out.

        Raises:
            FormatError: it is no record of the schema, passages overlap, an entity is not what stands at its place
                (strict reading only; ``skip`` is told otherwise, and the record or the entity left out).
        """
        try:
            return self._document(value, line)
        except ValueError as error:
            report(FormatError(self._path, line, str(error)), self._skip)
            return None

    def _document(self, value: object, line: int | None) -> Document:
        record = self._checked(value)
        id = record.document_id or record.id
        if not id:
            raise ValueError("the record has no document_id")
        count(self._dropped, "further fields", len(set(value) - _KNOWN) if isinstance(value, dict) else 0)
        for what in ("events", "coreferences", "relations"):
            count(self._dropped, what, len(getattr(record, what) or ()))
        blocks = [Block(start, text, []) for piece in record.passages for start, text in _placed(piece)]
        marked = record.entities or ()
        entities = [self._annotation(entity) for entity in marked]
        layout = chosen(blocks, entities, self._dropped)
        sections = list(_sections(record, blocks, layout))
        mentions: list[Mention] = []
        for entity, annotation in zip(marked, entities, strict=True):
            try:
                mentions += self._mentions(entity, annotation, layout)
            except ValueError as error:
                report(FormatError(self._path, line, f"document {id!r}: {error}"), self._skip)
        return Document(id, layout.text, tuple(mentions), tuple(sections))

    def _annotation(self, entity: _Piece) -> Annotation:
        return Annotation({}, [(start, end - start) for start, end in entity.offsets], " ".join(entity.text))

    def _mentions(self, entity: _Piece, annotation: Annotation, layout: Layout) -> Iterator[Mention]:
        if not entity.offsets:
            count(self._dropped, "entities without a place")
            return
        spans = spans_of(annotation, -1, layout)
        if spans is None:
            places = ";".join(f"{start}-{end}" for start, end in entity.offsets[:_SHOWN_PLACES])
            raise ValueError(f"the entity {(annotation.text or '')[:SHOWN]!r} at {places} is not in the text")
        text = text_at(spans, layout.text, annotation.text or joined(layout.text, spans))
        yield Mention(spans, text, entity.type or None, self._gold(entity.normalized or ()))

    def _gold(self, normalized: tuple[_Normalized, ...]) -> tuple[tuple[str, ...], ...]:
        parts: list[tuple[str, ...]] = []
        for concept in normalized:
            found = self._concepts.separators.split(concept.db_id or "", self._dropped)
            if concept.db_name and self._concepts.database:
                found = tuple(tuple(f"{concept.db_name}:{id}" for id in part) for part in found)
            else:
                count(self._dropped, "database names", bool(concept.db_name))
            parts += found
        if self._concepts.several == ALTERNATIVES and parts:
            return (tuple(id for part in parts for id in part),)
        return tuple(parts)


def _checker() -> Callable[[object], _Record]:
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(_Record)

    def checked(value: object) -> _Record:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first["loc"] else "it has no fields"
            raise ValueError(f"is no record of BigBIO's KB schema: {why}") from error

    return checked


def _placed(piece: _Piece) -> Iterator[tuple[int, str]]:
    """Offset and text of each stretch of a passage.

    Raises:
        ValueError: it has other offsets than texts.
    """
    if len(piece.text) != len(piece.offsets):
        raise ValueError(f"a passage has {len(piece.text)} texts and {len(piece.offsets)} offsets")
    for text, (start, _) in zip(piece.text, piece.offsets, strict=True):
        yield start, text


def _sections(record: _Record, blocks: list[Block], layout: Layout) -> Iterator[Section]:
    at = 0
    for piece in record.passages:
        first, at = at, at + len(piece.text)
        if piece.type and at > first:
            yield Section(layout.starts[first], layout.starts[at - 1] + len(blocks[at - 1].text), piece.type)


def record_of(document: Document, separators: Separators, db_name: str, dropped: Counter[str]) -> dict[str, Any]:
    """A document as a record; text outside of its sections is a passage without a type.

    ``dropped`` counts sections that are not in order and apart, and texts of mentions that do not stand at their spans.

    Raises:
        UsageError: a part of gold whose ids cannot stand in one ``db_id``.
    """
    text = document.text
    passages = [
        {"id": f"{document.id}_P{number}", "type": name, "text": [text[start:end]], "offsets": [[start, end]]}
        for number, (start, end, name) in enumerate(_stretches(document, dropped))
    ]
    entities = []
    for number, mention in enumerate(document.mentions):
        own = own_text(mention, text, dropped)
        found = [text[start:end] for start, end in mention.spans]
        count(dropped, "mention texts", own == mention.text and own != joined(text, mention.spans))
        try:
            ids = [separators.join((part,)) for part in mention.gold]
        except ValueError as error:
            raise cannot_hold(document, error) from error
        entities.append(
            {
                "id": f"{document.id}_T{number}",
                "type": mention.type or "",
                "text": found,
                "offsets": [list(span) for span in mention.spans],
                "normalized": [{"db_name": db_name, "db_id": id} for id in ids],
            }
        )
    rest: dict[str, Any] = {"events": [], "coreferences": [], "relations": []}
    return {"id": document.id, "document_id": document.id, "passages": passages, "entities": entities, **rest}


def _stretches(document: Document, dropped: Counter[str]) -> list[tuple[int, int, str]]:
    """Start, end and name of each passage."""
    sections = document.sections
    if any(before.end > behind.start for before, behind in pairwise(sections)):
        count(dropped, "sections", len(sections))
        sections = ()
    found = []
    at = 0
    for section in sections:
        if document.text[at : section.start].strip(" "):
            found.append((at, section.start, ""))
        found.append((section.start, section.end, section.name))
        at = section.end
    if at < len(document.text) or not found:
        found.append((at, len(document.text), ""))
    return found
