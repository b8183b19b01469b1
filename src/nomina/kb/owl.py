"""OWL in RDF/XML, the ``.owl`` of the OBO Foundry: named classes with their labels, synonyms and places in the tree.

A class is read at a time. The types of synonyms stand apart from them, as axioms, so the file is read twice, and the
typed synonyms stay in memory (some 10,000 in HPO). Own code, because pronto holds the whole file in memory, stops where
a parent is not in the file, and gives synonyms in another order at each run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin
from xml.etree.ElementTree import Element

from nomina.errors import FormatError
from nomina.files import Skip, head, report
from nomina.kb.iri import fragment, short_id
from nomina.kb.obo import KINDS
from nomina.kb.schema import SourceInfo
from nomina.kb.xmlstream import elements, line_of
from nomina.types import PREFERRED, Entity, Name, Retired, Scope

_OWL = "{http://www.w3.org/2002/07/owl#}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_RDFS = "{http://www.w3.org/2000/01/rdf-schema#}"
_OIO = "{http://www.geneontology.org/formats/oboInOwl#}"
_OBO = "{http://purl.obolibrary.org/obo/}"
_BASE = re.compile(r"<(?:[\w.-]+:)?RDF\b[^>]*?\sxml:base\s*=\s*[\"']([^\"']*)[\"']")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_THING = "http://www.w3.org/2002/07/owl#Thing"

_SCOPES: dict[str, Scope] = {
    f"{_OIO}hasExactSynonym": "exact",
    f"{_OIO}hasNarrowSynonym": "narrow",
    f"{_OIO}hasBroadSynonym": "broad",
    f"{_OIO}hasRelatedSynonym": "related",
}
_PROPERTIES = {tag.replace("{", "").replace("}", ""): scope for tag, scope in _SCOPES.items()}
_CLASSES = (f"{_OWL}Class", f"{_RDF}Description")
_HEADER = {
    "title": re.compile(r"<(?:[\w.-]+:)?title\b[^>]*>([^<]+)<"),
    "release": re.compile(
        r"<(?:[\w.-]+:)?(?:versionInfo\b[^>]*>([^<]+)<|versionIRI\s[^>]*resource\s*=\s*\"([^\"]+)\")"
    ),
    "licence": re.compile(r"<(?:[\w.-]+:)?license\b(?:[^>]*resource\s*=\s*\"([^\"]+)\"|[^>]*>([^<]+)<)"),
}
_IMPORTS = re.compile(r"<(?:[\w.-]+:)?imports\s")


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like OWL in RDF/XML."""
    return re.search(rb"<(?:[\w.-]+:)?RDF\b", head) is not None and b"http://www.w3.org/2002/07/owl" in head


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity | Retired]:
    """The named classes in order; deprecated ones as ``Retired``. Imports are not followed.

    Labels and synonyms in other languages than English are left out, unless a class has no other label. A class that
    is described in several places comes several times, to be joined when the KB is built. A relative IRI (``#Heart``,
    ``rdf:ID="Heart"``) is completed by the ``xml:base`` of the file.

    Raises:
        FormatError: not well-formed, cut off, or with a DTD of its own (also in a lenient reading); an empty synonym, a
            relative IRI without ``xml:base`` (strict reading only; ``skip`` is told otherwise, the class left out).
    """
    context = _context(path)
    for element in elements(path, _CLASSES, skip):
        if not _is_named_class(element):
            continue
        try:
            yield _record(element, context)
        except ValueError as error:
            report(FormatError(path, line_of(element), str(error)), skip)


def describe(path: Path) -> SourceInfo:
    """Title, release and licence out of the header, and how many imports it names (they are not followed)."""
    text = head(path).decode("utf-8", errors="replace")
    start = text.partition("Ontology>")[0]
    found = {name: match for name, pattern in _HEADER.items() if (match := pattern.search(start))}
    texts = {name: next(group for group in match.groups() if group).strip() for name, match in found.items()}
    return SourceInfo(path.name, imports=len(_IMPORTS.findall(start)), **texts)


@dataclass(slots=True)
class _Context:
    """What a class does not say: base of relative IRIs, types of synonyms by IRI, scope and text, default namespace."""

    base: str
    kinds: dict[tuple[str, Scope, str], str] = field(default_factory=dict)
    namespace: str | None = None

    def full(self, iri: str) -> str:
        """An IRI completed by the base; as it is where there is none."""
        return iri if not (iri and self.base) or _SCHEME.match(iri) else urljoin(self.base, iri)

    def id(self, iri: str) -> str:
        """The short id of an IRI.

        Raises:
            ValueError: it is relative, to nobody knows what.
        """
        full = self.full(iri)
        if not _SCHEME.match(full):
            raise ValueError(f"the IRI {iri!r} is relative, and the file has no xml:base to complete it")
        return short_id(full)


def _context(path: Path) -> _Context:
    base = _BASE.search(head(path).decode("utf-8", errors="replace"))
    context = _Context(base[1] if base else "")
    for element in elements(path, (f"{_OWL}Axiom", f"{_OWL}Ontology"), _reported_later):
        if element.tag == f"{_OWL}Ontology":
            for tag in ("default-namespace", "hasDefaultNamespace"):
                context.namespace = context.namespace or _text(element.find(_OIO + tag)) or None
            continue
        scope = _PROPERTIES.get(_resource(element.find(f"{_OWL}annotatedProperty")))
        kind = _resource(element.find(f"{_OIO}hasSynonymType"))
        if scope and kind:
            source = context.full(_resource(element.find(f"{_OWL}annotatedSource")))
            short = short_id(kind) if short_id(kind) != kind else fragment(kind)
            context.kinds[source, scope, _text(element.find(f"{_OWL}annotatedTarget"))] = KINDS.get(short, short)
    return context


def _reported_later(error: FormatError) -> None:
    """The reading proper meets the same fault."""


def _is_named_class(element: Element) -> bool:
    if not _iri(element):
        return False
    types = [_resource(type) for type in element.iterfind(f"{_RDF}type")]
    return element.tag == f"{_OWL}Class" or f"{_OWL[1:-1]}Class" in types


def _iri(element: Element) -> str:
    """The IRI that a class is given, which may be relative; empty where it has none."""
    name = element.get(f"{_RDF}ID")
    return element.get(f"{_RDF}about", "") if name is None else f"#{name}"


def _record(element: Element, context: _Context) -> Entity | Retired:
    iri = context.full(_iri(element))
    id = _text(element.find(f"{_OIO}id")) or context.id(iri)
    if _text(element.find(f"{_OWL}deprecated")) == "true":
        return Retired(id, _ids(element, f"{_OBO}IAO_0100001", context))
    label = _label(element)
    namespace = _text(element.find(f"{_OIO}hasOBONamespace")) or context.namespace
    return Entity(
        id,
        ((Name(label, kind=PREFERRED),) if label else ()) + tuple(_synonyms(element, iri, context)),
        _text(element.find(f"{_OBO}IAO_0000115")) or None,
        (namespace,) if namespace else (),
        tuple(parent for parent in _ids(element, f"{_RDFS}subClassOf", context) if parent != _THING),
        tuple(filter(None, (_text(xref) or _resource(xref) for xref in element.iterfind(f"{_OIO}hasDbXref")))),
        _ids(element, f"{_OIO}hasAlternativeId", context),
    )


def _label(element: Element) -> str:
    labels = [label for label in element.iterfind(f"{_RDFS}label") if _text(label)]
    english = [label for label in labels if _is_english(label)]
    return next(map(_text, english or labels), "")


def _synonyms(element: Element, iri: str, context: _Context) -> Iterator[Name]:
    for child in element:
        scope = _SCOPES.get(child.tag)
        if scope and _is_english(child):
            text = _text(child) or _resource(child)
            yield Name(text, scope, context.kinds.get((iri, scope, text)))


def _is_english(element: Element) -> bool:
    return element.get(_LANGUAGE, "en").partition("-")[0].casefold() == "en"


def _ids(element: Element, tag: str, context: _Context) -> tuple[str, ...]:
    """The ids that are said with a tag: as a resource, as a text, or as a class inside."""
    found: dict[str, None] = {}
    for child in element.iterfind(tag):
        named = child.find(f"{_OWL}Class")
        iri = _resource(child) or (_iri(named) if named is not None else "")
        if iri:
            found[context.id(iri)] = None
        elif text := _text(child):
            found[short_id(text)] = None
    return tuple(found)


def _resource(element: Element | None) -> str:
    return element.get(f"{_RDF}resource", "") if element is not None else ""


def _text(element: Element | None) -> str:
    """The text on one line; empty where there is none."""
    return " ".join((element.text or "").split()) if element is not None else ""
