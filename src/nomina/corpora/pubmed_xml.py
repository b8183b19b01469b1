"""PubMed's own XML, as its baseline and update files (``pubmedYYnNNNN.xml.gz``) and E-utilities have it; read only.

A document is an article: its PMID, and title and abstract joined by one space, as PubTator joins them. The parts of a
structured abstract are sections named by their labels in lower case; the labels are not part of the text. What a
``DeleteCitation`` names is left out where it stands in the same file; ``deleted`` says what it names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from nomina.corpora.common import Seen, count
from nomina.errors import FormatError
from nomina.files import Skip, chunks, open_bytes, report
from nomina.kb.xmlstream import elements, encoding, line_of
from nomina.types import Document, Section

_ROOT = re.compile(rb"<PubmedArticleSet[\s>]")
_DELETIONS = b"<DeleteCitation"
_PMID = re.compile(rb"<PMID[^>]*>\s*([0-9]+)\s*</PMID>")
_CHUNK = 1 << 20
_COUNTED = {"PubmedBookArticle": "book articles", "BookDocumentSet": "book articles"}


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like a set of PubMed articles."""
    return head.lstrip().startswith(b"<") and _ROOT.search(head) is not None


def read(path: Path, *, skip: Skip | None = None, dropped: Counter[str] | None = None) -> Iterator[Document]:
    """The articles of a file in order, one in memory at a time; an article without title and abstract has no text.

    ``dropped`` counts deleted articles that stand in the file (another version of an article may), abstracts in other
    languages, articles of books, and documents that come again, word for word.

    Args:
        path: the file.
        skip: told of each fault; its article is left out.
        dropped: see above.

    Raises:
        FormatError: not well-formed, or entities (also when lenient); an article without a PMID, two that differ and
            have one PMID (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    seen = Seen(path, skip, dropped)
    for line, document in articles(path, deleted(path), skip, dropped):
        if seen.is_new(document, line):
            yield document


def deleted(path: Path) -> tuple[str, ...]:
    """The PMIDs that the ``DeleteCitation`` of a file names, in order: a pass over its bytes before it is parsed.

    Raises:
        FormatError: the file cannot be read or unpacked.
    """
    with open_bytes(path) as stream:
        found = _behind(chunks(stream, path, _CHUNK, encoding(path)), _DELETIONS)
    return tuple(match.decode("ascii") for match in _PMID.findall(found))


def _behind(data: Iterator[bytes], mark: bytes) -> bytes:
    """All that comes behind a mark, which stands at the very end of a file; nothing where it does not come."""
    tail = b""
    for chunk in data:
        tail += chunk
        if (place := tail.find(mark)) >= 0:
            return tail[place:] + b"".join(data)
        tail = tail[-len(mark) :]
    return b""


def articles(
    path: Path, left_out: Collection[str], skip: Skip | None, dropped: Counter[str]
) -> Iterator[tuple[int, Document]]:
    """Line and document of each article but those of the PMIDs that are left out; see ``read``."""
    gone = frozenset(left_out)
    for element in elements(path, ("PubmedArticle", *_COUNTED), skip):
        if element.tag in _COUNTED:
            count(dropped, _COUNTED[str(element.tag)])
            continue
        line = line_of(element)
        pmid = (element.findtext("MedlineCitation/PMID") or "").strip()
        if not pmid.isdecimal():
            report(FormatError(path, line, f"an article whose PMID is no number but {pmid[:20]!r}"), skip)
        elif pmid in gone:
            count(dropped, "deleted articles")
        else:
            count(dropped, "abstracts in other languages", len(element.findall("MedlineCitation/OtherAbstract")))
            yield line, _document(pmid, element)


def _document(pmid: str, element: Element) -> Document:
    parts = [("title", part) for part in element.iterfind("MedlineCitation/Article/ArticleTitle")]
    for part in element.iterfind("MedlineCitation/Article/Abstract/AbstractText"):
        parts.append((" ".join((part.get("Label") or "abstract").casefold().split()), part))
    texts: list[str] = []
    sections: list[Section] = []
    at = 0
    for name, part in parts:
        if text := " ".join("".join(part.itertext()).split()):
            texts.append(text)
            sections.append(Section(at, at + len(text), name))
            at += len(text) + 1
    return Document(pmid, " ".join(texts), sections=tuple(sections))
