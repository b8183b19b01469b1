"""BioC in XML: passages become sections, annotations mentions. The common part is ``nomina.corpora.bioc``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from nomina.corpora.bioc import ID_KEYS, SECTION_KEYS, Builder, record_of
from nomina.corpora.bioc_layout import Annotation, Passage, Record
from nomina.corpora.common import PARTS, Seen, Separators, cannot_hold, count, written
from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.kb.xmlstream import elements, line_of
from nomina.types import Document

_ROOT = re.compile(rb"<collection[\s>]")
_FOREIGN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # no XML 1.0 text can have them
_AS_NUMBERS = {"\r": "&#13;", "\x7f": "&#127;"}  # what a parser, or nomina's own reading of lines, would not let stand
_FIELDS = ("source", "date", "key")


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like a BioC collection."""
    return head.lstrip().startswith(b"<") and _ROOT.search(head) is not None


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
    id_key: Sequence[str] = ID_KEYS,
    section_key: Sequence[str] = SECTION_KEYS,
) -> Iterator[Document]:
    """The documents of a collection in order, one in memory at a time.

    ``dropped`` counts relations, sentences (their limits), infons that are neither type, ids nor a section's name, the
    collection's source, date and key, annotations without a place, empty ids, documents whose offsets are not those of
    the file (bytes, UTF-16, from the passage's start), and documents that come again, with their mentions.

    Args:
        path: the file.
        skip: told of each fault; its annotation or document is left out.
        dropped: see above.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.
        id_key: keys of infons of an annotation; the first that is there holds its ids.
        section_key: keys of infons of a passage; the first that is there names the section.

    Raises:
        FormatError: not well-formed, or entities (also when lenient); a document without an id, passages that overlap,
            an annotation that does not stand at its place in any way of counting; two documents that differ and have
            one id (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    builder = Builder(path, skip, dropped, Separators(parts, alternatives), id_key, section_key)
    seen = Seen(path, skip, dropped)
    for element in elements(path, ("document", "infon", *_FIELDS), skip, inner=("passage", "sentence", "annotation")):
        if element.tag != "document":
            what = "infons" if element.tag == "infon" else "fields of the collection"
            count(dropped, what, bool((element.text or "").strip()))
            continue
        try:
            record = _record(element, dropped)
        except ValueError as error:
            report(FormatError(path, line_of(element), str(error)), skip)
            continue
        document = builder.document(record)
        if document and seen.is_new(document, record.line):
            yield document


def _record(element: Element, dropped: Counter[str]) -> Record:
    id = element.findtext("id")
    if not id or not id.strip():
        raise ValueError("a document without an id")
    count(dropped, "infons", len(_infons(element)))
    count(dropped, "relations", sum(1 for _ in element.iter("relation")))
    passages = [_passage(passage) for passage in element.iterfind("passage")]
    return Record(id, passages, _annotations(element), line_of(element))


def _passage(element: Element) -> Passage:
    return Passage(
        _number(element.findtext("offset"), element),
        element.findtext("text"),
        _infons(element),
        _annotations(element),
        [_passage(sentence) for sentence in element.iterfind("sentence")],
    )


def _annotations(element: Element) -> list[Annotation]:
    return [
        Annotation(
            _infons(annotation),
            [
                (_number(place.get("offset"), annotation), _number(place.get("length"), annotation))
                for place in annotation.iterfind("location")
            ],
            annotation.findtext("text"),
            line_of(annotation),
        )
        for annotation in element.iterfind("annotation")
    ]


def _infons(element: Element) -> dict[str, str]:
    return {infon.get("key", ""): infon.text or "" for infon in element.iterfind("infon")}


def _number(text: str | None, element: Element) -> int:
    if text is None or not text.strip().isdecimal():
        where = f"the {element.tag} in line {line_of(element)}"
        raise ValueError(f"{where} needs a number as offset and length, not {text!r}")
    return int(text)


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> None:
    """Write documents as a collection; ids stand in the infon ``identifier``, sections are passages.

    ``dropped`` counts sections that overlap or are not in order, mention texts of their own, and control characters,
    which XML cannot hold: they become spaces.

    Raises:
        UsageError: an id that cannot stand in its infon, an empty document id, or the file cannot be written.
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    with written(path) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>\n')
        stream.write("".join(f"<{name}></{name}>\n" for name in _FIELDS))
        for document in documents:
            try:
                record = record_of(document, separators, dropped)
            except ValueError as error:
                raise cannot_hold(document, error) from error
            stream.write("".join(_xml(record, dropped)))
        stream.write("</collection>\n")


def _xml(record: Record, dropped: Counter[str]) -> Iterator[str]:
    number = 0
    yield f"<document>\n<id>{_escaped(record.id)}</id>\n"
    for passage in record.passages:
        count(dropped, "control characters", len(_FOREIGN.findall(passage.text or "")))
        yield f"<passage>\n{_infon_lines(passage.infons)}"
        yield f"<offset>{passage.offset}</offset>\n<text>{_escaped(passage.text or '')}</text>\n"
        for annotation in passage.annotations:
            yield f'<annotation id="{number}">\n{_infon_lines(annotation.infons)}'
            for offset, length in annotation.locations:
                yield f'<location offset="{offset}" length="{length}"/>\n'
            yield f"<text>{_escaped(annotation.text or '')}</text>\n</annotation>\n"
            number += 1
        yield "</passage>\n"
    yield "</document>\n"


def _infon_lines(infons: Mapping[str, str]) -> str:
    return "".join(f'<infon key="{key}">{_escaped(value)}</infon>\n' for key, value in infons.items())


def _escaped(text: str) -> str:
    return escape(_FOREIGN.sub(" ", text), _AS_NUMBERS)
