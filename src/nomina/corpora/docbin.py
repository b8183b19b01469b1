"""DocBin, the files of spaCy (``.spacy``): entities and span groups with their ``kb_id_``.

The form is msgpack; nothing is unpickled. A file is one compressed piece: it is held whole, as numbers of words.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from nomina.corpora.common import NONE, PARTS, Seen, Separators, cannot_hold, count, writing
from nomina.enumerations import joined
from nomina.errors import FormatError, MissingExtra, UsageError
from nomina.files import Skip, atomic, open_bytes
from nomina.types import Document, Mention, Span

GROUP = "mentions"
"""The span group that is written: all mentions, also those that overlap, which ``doc.ents`` cannot hold."""

OF_ONE = "discontinuous-"
"""How ``span.id_`` begins where several spans of a group are one mention; a number follows."""

_ID = "id"
_ATTRIBUTES = ("ENT_IOB", "ENT_TYPE", "ENT_KB_ID")
_TOKEN = re.compile(r"\w+|\W")
_LOOK = 200
_FAULTS = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, struct.error, zlib.error)


def sniff(head: bytes) -> bool:
    """Whether the first bytes are compressed by zlib and a DocBin's beneath."""
    try:
        return b"attrs" in zlib.decompressobj().decompress(head, _LOOK)
    except zlib.error:
        return False


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
    groups: Sequence[str] = (),
) -> Iterator[Document]:
    """The documents of a file in order; the id is what ``doc.user_data["id"]`` says, else the number from 1 on.

    A span that is in several groups, or in one and among the entities, is one mention; so are the spans of a group that
    share an ``id_`` which begins with ``OF_ONE``. ``dropped`` counts categories, spans without a character, and
    documents that come again, word for word.

    Args:
        path: the file.
        skip: told of the second of two documents with one id, which is left out.
        dropped: see above.
        parts: characters in a ``kb_id_`` between ids that are all needed.
        alternatives: characters between ids of which any will do.
        groups: names of span groups to read, "none" for the entities alone; by default all groups.

    Raises:
        FormatError: no DocBin; two documents that differ and have one id (strict reading only).
        UsageError: a name of ``groups`` that no document has.
        MissingExtra: ``spacy`` is not installed.
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    seen = Seen(path, skip, dropped)
    for document in _documents(path, groups, separators, dropped):
        if seen.is_new(document, None):
            yield document


class _Marked(NamedTuple):
    spans: tuple[Span, ...]
    type: str | None
    ids: str


def _documents(path: Path, groups: Sequence[str], separators: Separators, dropped: Counter[str]) -> Iterator[Document]:
    """All documents.

    Raises:
        FormatError: it is no DocBin, or one that points outside of its texts.
        UsageError: a name of ``groups`` that no document has.
    """
    met: set[str] = set()
    tokens, vocab = _spacy("reading", path)
    with open_bytes(path) as stream:
        packed = stream.read()
    try:
        for number, doc in enumerate(tokens.DocBin().from_bytes(packed).get_docs(vocab), start=1):
            count(dropped, "categories", len(doc.cats))
            met.update(doc.spans)
            id, text = doc.user_data.get(_ID), doc.text
            mentions = tuple(
                Mention(mark.spans, joined(text, mark.spans), mark.type, separators.split(mark.ids, dropped))
                for mark in _marked(doc, groups, dropped)
            )
            yield Document(id if isinstance(id, str) and id else str(number), text, mentions)
    except _FAULTS as error:
        raise FormatError(path, None, f"is no whole DocBin of spaCy ({' '.join(str(error).split())[:80]})") from error
    if missing := sorted({*groups} - met - {NONE}):
        there = ", ".join(sorted(met)) or "none"
        raise UsageError(f"{path} has no span group {missing[0]}; there are: {there}")


def _marked(doc: Any, groups: Sequence[str], dropped: Counter[str]) -> list[_Marked]:  # noqa: ANN401
    """What is marked in the groups asked for, and among the entities if it is in none of them."""
    chosen = [name for name in groups if name in doc.spans] if groups else list(doc.spans)
    found: list[_Marked] = []
    for spans in (*(doc.spans[name] for name in chosen), doc.ents):
        kept = [span for span in spans if span.end_char > span.start_char]
        count(dropped, "empty spans", len(spans) - len(kept))
        known = set(found)
        found += [mark for mark in _whole(kept) if mark not in known]
    return found


def _whole(spans: Sequence[Any]) -> list[_Marked]:
    """The mentions of a group where the first span of each stands."""
    mentions: dict[object, list[Any]] = {}
    for number, span in enumerate(spans):
        mentions.setdefault(span.id_ if span.id_.startswith(OF_ONE) else number, []).append(span)
    return [
        _Marked(tuple(sorted((s.start_char, s.end_char) for s in each)), each[0].label_ or None, each[0].kb_id_)
        for each in mentions.values()
    ]


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> None:
    """Write documents; all of them are held, as numbers of words.

    All mentions are in the span group "mentions", of a discontinuous one all spans (see ``OF_ONE``). The others that
    have a type are entities as well, of two that overlap the longer one. Words end where spans do. ``dropped`` counts
    sections, and texts of mentions that are not those of their spans.

    Raises:
        UsageError: ids that cannot stand in one ``kb_id_``, or the file cannot be written.
        MissingExtra: ``spacy`` is not installed.
    """
    tokens, vocab = _spacy("writing", path)
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    with writing(path), atomic(path) as temporary:
        packed = tokens.DocBin(attrs=_ATTRIBUTES, store_user_data=True)
        for document in documents:
            packed.add(_doc(document, separators, dropped, tokens, vocab))
        temporary.write_bytes(packed.to_bytes())


def _doc(document: Document, separators: Separators, dropped: Counter[str], tokens: Any, vocab: Any) -> Any:  # noqa: ANN401
    text = document.text
    count(dropped, "sections", len(document.sections))
    marked: list[_Marked] = []
    for mention in document.mentions:
        try:
            ids = separators.join(mention.gold)
        except ValueError as error:
            raise cannot_hold(document, error) from error
        count(dropped, "mention texts", mention.text != joined(text, mention.spans))
        marked.append(_Marked(mention.spans, mention.type, ids))
    every = [span for mark in marked for span in mark.spans]
    words, spaces = _words(text, {start for start, _ in every}, {end for _, end in every})
    doc = tokens.Doc(vocab, words=words, spaces=spaces)
    doc.user_data[_ID] = document.id
    spans = [span for number, mark in enumerate(marked) for span in _spans(doc, mark, number)]
    doc.spans[GROUP] = spans
    doc.ents = import_module("spacy.util").filter_spans([span for span in spans if span.label and not span.id])
    return doc


def _spans(doc: Any, mark: _Marked, number: int) -> list[Any]:  # noqa: ANN401
    id = f"{OF_ONE}{number}" if len(mark.spans) > 1 else ""
    return [doc.char_span(*span, label=mark.type or "", kb_id=mark.ids, span_id=id) for span in mark.spans]


def _words(text: str, starts: set[int], ends: set[int]) -> tuple[list[str], list[bool]]:
    """Words that make up the text, and whether a space follows each; mentions start and end with words."""
    words: list[str] = []
    spaces: list[bool] = []
    cuts = sorted({0, len(text)} | starts | ends | {found.end() for found in _TOKEN.finditer(text)})
    for start, end in pairwise(cuts):
        follows = words and not spaces[-1] and start not in starts and end not in ends
        if text[start:end] == " " and follows:
            spaces[-1] = True
        else:
            words.append(text[start:end])
            spaces.append(False)
    return words, spaces


def _spacy(doing: str, path: Path) -> tuple[Any, Any]:
    """The module of tokens, and an empty vocabulary."""
    try:
        return import_module("spacy.tokens"), import_module("spacy.vocab").Vocab()
    except ImportError as error:
        raise MissingExtra("spacy", f"{doing} {path}") from error
