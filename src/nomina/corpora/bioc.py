"""What BioC's two forms, XML and JSON, share: documents made of passages and annotations, and back.

Passages become sections, annotations mentions. Elements: Comeau et al., BioC: a minimalist approach to
interoperability for biomedical text processing, Database 2013.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nomina.corpora.bioc_layout import Annotation, Block, Layout, Passage, Record, chosen, numbered, spans_of
from nomina.corpora.common import SHOWN, Separators, count, own_text, text_at
from nomina.enumerations import joined
from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.types import Document, Mention, Section

ID_KEYS = (
    "identifier", "Identifier", "MESH", "MeSH", "OMIM", "NCBI Gene", "NCBI Homologene", "NCBI Gene identifier", "Gene",
    "NCBI Taxonomy", "Species", "UMLS", "CUI", "concept_id",
)  # fmt: skip
"""Keys of the infon that holds an annotation's ids, in the order in which they are asked for."""

SECTION_KEYS = ("type", "section_type")
"""Keys of the infon that names a passage."""

_TYPE = "type"
_SPACE = " "


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes documents of records; ``id_key`` and ``section_key`` are asked for in order."""

    path: Path
    skip: Skip | None
    dropped: Counter[str]
    separators: Separators
    id_key: Sequence[str]
    section_key: Sequence[str]

    def document(self, record: Record) -> Document | None:
        """The document of a record; None for one that a lenient reading leaves out.

        Raises:
            FormatError: passages that overlap, an annotation that is not what stands at its place (strict reading
                only; ``skip`` is told otherwise, and the document or the annotation left out).
        """
        try:
            return self._document(record)
        except ValueError as error:
            report(FormatError(self.path, record.line, f"document {record.id!r}: {error}"), self.skip)
            return None

    def _document(self, record: Record) -> Document:
        named: list[tuple[str | None, int, int]] = []
        blocks: list[Block] = []
        for passage in record.passages:
            before = len(blocks)
            blocks += self._blocks(passage)
            key = next((key for key in self.section_key if key in passage.infons), None)
            named.append((None if key is None else passage.infons[key], before, len(blocks)))
            count(self.dropped, "infons", len(passage.infons) - (key is not None))
        layout = chosen(blocks, record.annotations, self.dropped)
        sections = [
            Section(layout.starts[first], layout.starts[end - 1] + len(blocks[end - 1].text), name)
            for name, first, end in named
            if name is not None
        ]
        mentions: list[Mention] = []
        for number, annotation in numbered(blocks, record.annotations):
            try:
                mentions += self._mentions(annotation, number, layout)
            except ValueError as error:
                line = annotation.line or record.line
                report(FormatError(self.path, line, f"document {record.id!r}: {error}"), self.skip)
        return Document(record.id, layout.text, tuple(mentions), tuple(sections))

    def _blocks(self, passage: Passage) -> Iterator[Block]:
        count(self.dropped, "sentences", len(passage.sentences))
        for sentence in passage.sentences:
            count(self.dropped, "infons", len(sentence.infons))
        if passage.text is not None or not passage.sentences:
            inner = [annotation for sentence in passage.sentences for annotation in sentence.annotations]
            yield Block(passage.offset, passage.text or "", [*passage.annotations, *inner])
            return
        for number, sentence in enumerate(passage.sentences):
            own = passage.annotations if number == 0 else []
            yield Block(sentence.offset, sentence.text or "", [*own, *sentence.annotations])

    def _mentions(self, annotation: Annotation, block: int, layout: Layout) -> Iterator[Mention]:
        if not annotation.locations:
            count(self.dropped, "annotations without a place")
            return
        spans = spans_of(annotation, block, layout)
        if spans is None:
            offsets = ";".join(str(offset) for offset, _ in annotation.locations)
            raise ValueError(f"the annotation {(annotation.text or '')[:SHOWN]!r} at {offsets} is not in the text")
        own = joined(layout.text, spans)
        if annotation.text:
            try:
                own = text_at(spans, layout.text, annotation.text)
            except ValueError as error:
                raise ValueError(f"{error}, nor if offsets count bytes or from the passage on") from error
        key = next((key for key in self.id_key if annotation.infons.get(key, "").strip()), None)
        gold = () if key is None else self.separators.split(annotation.infons[key], self.dropped)
        used = {key, _TYPE} & annotation.infons.keys()
        count(self.dropped, "infons", len(annotation.infons) - len(used))
        yield Mention(spans, own, annotation.infons.get(_TYPE) or None, gold)


def record_of(document: Document, separators: Separators, dropped: Counter[str]) -> Record:
    """A document as BioC has it: its sections as passages, what is between them and no space as one without a name.

    Sections that are not in order and apart are dropped. Annotations stand in the passage that they begin in.

    Raises:
        ValueError: ids that cannot stand in one infon.
    """
    text = document.text
    passages = []
    for start, end, name in _stretches(document, dropped):
        passages.append(Passage(start, text[start:end], {} if name is None else {SECTION_KEYS[0]: name}))
    for mention in document.mentions:
        ids = separators.join(mention.gold)
        infons = {_TYPE: mention.type, ID_KEYS[0]: ids}
        annotation = Annotation(
            {key: value for key, value in infons.items() if value},
            [(start, end - start) for start, end in mention.spans],
            own_text(mention, text, dropped),
        )
        inside = [passage for passage in passages if passage.offset <= mention.start]
        (inside or passages)[-1 if inside else 0].annotations.append(annotation)
    return Record(document.id, passages)


def _stretches(document: Document, dropped: Counter[str]) -> list[tuple[int, int, str | None]]:
    text = document.text
    found: list[tuple[int, int, str | None]] = []
    at = 0
    for section in document.sections:
        if section.start < at:
            count(dropped, "sections", len(document.sections))
            return [(0, len(text), None)]
        if text[at : section.start].strip(_SPACE):
            found.append((at, section.start, None))
        found.append((section.start, section.end, section.name))
        at = section.end
    if at < len(text) or not found:
        found.append((at, len(text), None))
    return found
