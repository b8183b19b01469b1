"""BioC in JSON: a collection, or what PubTator and PubMed Central serve, which are lists and lines of documents.

Passages become sections, annotations mentions. What is made of them stands in ``nomina.corpora.bioc``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nomina.corpora.bioc import ID_KEYS, SECTION_KEYS, Builder, record_of
from nomina.corpora.bioc_layout import Annotation, Passage, Record
from nomina.corpora.common import PARTS, Seen, Separators, cannot_hold, count, written
from nomina.errors import FormatError
from nomina.files import Skip, head, report, whole_lines
from nomina.kb.jsonstream import ANY, Place, values
from nomina.types import Document

_SHAPE = re.compile(rb'"(documents|PubTator3|passages)"\s*:')
_OWN = re.compile(rb'"(?:infons|bioctype)"\s*:')
_FIELDS: tuple[Place, ...] = (("infons",), ("source",), ("date",), ("key",))
_DOCUMENTS: tuple[Place, ...] = (("documents", ANY), ("PubTator3", ANY), (ANY, "documents", ANY))
_KNOWN = frozenset("id _id bioctype infons passages annotations relations".split())


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like BioC in JSON."""
    return head.lstrip()[:1] in (b"{", b"[") and None not in (_SHAPE.search(head), _OWN.search(head))


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
    """The documents of a file in order, one in memory at a time.

    ``dropped`` counts what it counts of BioC in XML, and further fields of documents, such as authors.

    Args:
        path: a collection, a list of collections or documents, a document, or documents one a line.
        skip: told of each fault; its annotation or document is left out.
        dropped: see above.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.
        id_key: keys of infons of an annotation; the first that is there holds its ids.
        section_key: keys of infons of a passage; the first that is there names the section.

    Raises:
        FormatError: not JSON (also when lenient, but for documents one a line); a document that is not as it should
            be, passages that overlap, an annotation that does not stand at its place in any way of counting; two
            documents that differ and have one id (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    builder = Builder(path, skip, dropped, Separators(parts, alternatives), id_key, section_key)
    seen = Seen(path, skip, dropped)
    for line, value in _values(path, skip, dropped):
        try:
            record = _record(value, line, dropped)
        except ValueError as error:
            report(FormatError(path, line, str(error)), skip)
            continue
        document = builder.document(record)
        if document and seen.is_new(document, line):
            yield document


def _values(path: Path, skip: Skip | None, dropped: Counter[str]) -> Iterator[tuple[int, Any]]:
    """Line and value of each document."""
    start = head(path)
    shape = _SHAPE.search(start)
    if shape and shape[1] == b"passages" and start.lstrip().startswith(b"{"):
        yield from _one_after_another(path, skip)
        return
    places = ((ANY,),) if shape and shape[1] == b"passages" else (*_FIELDS, *_DOCUMENTS)
    for found in values(path, places, skip):
        if found.place not in _FIELDS:
            yield found.line, found.value
        elif found.place == ("infons",) and isinstance(found.value, dict):
            count(dropped, "infons", len(found.value))
        else:
            count(dropped, "fields of the collection", bool(found.value))


def _one_after_another(path: Path, skip: Skip | None) -> Iterator[tuple[int, Any]]:
    """Documents one a line, or one over several lines."""
    numbered = whole_lines(path, skip)
    for number, line, is_whole in numbered:
        if not line.strip() or not is_whole:
            continue
        try:
            value = _parsed(path, number, line)
        except FormatError as error:
            if line.strip() != "{":
                report(error, skip)
                continue
            # Only a document over several lines begins so; what is wrong with it is wrong with the file.
            rest = list(numbered)
            value = _parsed(path, number, "\n".join([line, *(text for _, text, _ in rest)]))
            if not all(is_whole for _, _, is_whole in rest):
                return
        yield number, value


def _parsed(path: Path, number: int, text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line, why = number + error.lineno - 1, f"{error.msg} in column {error.colno}"
        raise FormatError(path, line, f"is not JSON ({why})") from error
    except RecursionError as error:
        raise FormatError(path, number, "is not JSON as it should be (nested too deep)") from error
    except ValueError as error:
        raise FormatError(path, number, f"is not JSON as it should be ({error})") from error


def _record(value: Any, line: int, dropped: Counter[str]) -> Record:  # noqa: ANN401
    if not isinstance(value, dict) or not isinstance(id := value.get("id"), str | int) or not str(id).strip():
        raise ValueError("a document without an id")
    for key in value.keys() - _KNOWN:
        count(dropped, "further fields", bool(value[key]))
    count(dropped, "infons", len(_infons(value, dropped)))
    passages = [_passage(passage, dropped) for passage in _dicts(value, "passages")]
    return Record(str(id), passages, _annotations(value, dropped), line)


def _passage(value: dict[str, Any], dropped: Counter[str]) -> Passage:
    text = value.get("text")
    if not isinstance(text, str | None):
        raise ValueError(f"the text of a passage must be a text, not {str(text)[:40]!r}")
    sentences = [_passage(sentence, dropped) for sentence in _dicts(value, "sentences")]
    # The bioc package writes an empty text where only the sentences have one.
    own = None if sentences and not text else text
    return Passage(
        _number(value.get("offset")), _whole(own), _infons(value, dropped), _annotations(value, dropped), sentences
    )


def _annotations(value: dict[str, Any], dropped: Counter[str]) -> list[Annotation]:
    count(dropped, "relations", len(_dicts(value, "relations")))
    found = []
    for annotation in _dicts(value, "annotations"):
        text = annotation.get("text")
        if not isinstance(text, str | None):
            raise ValueError(f"the text of an annotation must be a text, not {str(text)[:40]!r}")
        places = [(_number(p.get("offset")), _number(p.get("length"))) for p in _dicts(annotation, "locations")]
        found.append(Annotation(_infons(annotation, dropped), places, _whole(text)))
    return found


def _infons(value: dict[str, Any], dropped: Counter[str]) -> dict[str, str]:
    infons = value.get("infons") or {}
    if not isinstance(infons, dict):
        raise ValueError(f"infons must be an object, not {str(infons)[:40]!r}")
    count(dropped, "infons", sum(isinstance(infon, dict | list) for infon in infons.values()))
    plain = {key: infon for key, infon in infons.items() if infon is not None and not isinstance(infon, dict | list)}
    return {key: _whole(str(infon)) or "" for key, infon in plain.items()}


def _dicts(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"{key} must be a list of objects, not {str(found)[:40]!r}")
    return found


def _number(value: object) -> int:
    if isinstance(value, bool) or not str(value).isdecimal():
        raise ValueError(f"expected a number as offset and length, not {value!r}")
    return int(str(value))


def _whole(text: str | None) -> str | None:
    """The text, which may not hold half a character, as only an escape in JSON can make it."""
    if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("half a character (an escape from \\ud800 to \\udfff without the other half)")
    return text


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> None:
    """Write documents as a collection, each on a line; ids stand in the infon ``identifier``, sections are passages.

    ``dropped`` counts sections that overlap or are not in order, and mention texts of their own.

    Raises:
        UsageError: an id that cannot stand in its infon, or the file cannot be written.
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    with written(path) as stream:
        stream.write('{"source": "", "date": "", "key": "", "infons": {}, "documents": [')
        for number, document in enumerate(documents):
            try:
                record = record_of(document, separators, dropped)
            except ValueError as error:
                raise cannot_hold(document, error) from error
            line = json.dumps(_json(record), ensure_ascii=False).replace("\x7f", "\\u007f")
            stream.write(f"{',' if number else ''}\n{line}")
        stream.write("\n]}\n")


def _json(record: Record) -> dict[str, Any]:
    number = 0
    passages = []
    for passage in record.passages:
        annotations = []
        for annotation in passage.annotations:
            locations = [{"offset": offset, "length": length} for offset, length in annotation.locations]
            annotations.append(
                {"id": str(number), "infons": annotation.infons, "text": annotation.text, "locations": locations}
            )
            number += 1
        passages.append(
            {
                "offset": passage.offset,
                "infons": passage.infons,
                "text": passage.text,
                "sentences": [],
                "annotations": annotations,
                "relations": [],
            }
        )
    return {"id": record.id, "infons": {}, "passages": passages, "annotations": [], "relations": []}
