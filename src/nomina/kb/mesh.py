"""MeSH in XML: descriptors (``desc2025.xml``), supplementary records (``supp2025.xml``), qualifiers (``qual2025.xml``).

One record, with all its concepts and terms, is one entity, as in indexing and in the corpora. Terms of the preferred
concept are exact names, those of the record's other concepts narrow, broad or related ones. The headings that a
supplementary record is mapped to are its parents. Elements: https://www.nlm.nih.gov/mesh/xml_data_elements.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from nomina.errors import FormatError
from nomina.files import Skip, blocks, head, report
from nomina.kb.mesh_terms import CLASSES, KINDS, SCOPES, parents_of, registry_xref, source_info, types_of
from nomina.kb.schema import SourceInfo
from nomina.kb.xmlstream import elements, line_of, text_of
from nomina.types import PREFERRED, Entity, Name, Scope

_KINDS_OF_RECORD = ("Descriptor", "Qualifier", "Supplemental")
_RECORDS = frozenset(f"{kind}Record" for kind in _KINDS_OF_RECORD)
_ROOT = re.compile(rb"<(?:Descriptor|Qualifier|Supplemental)RecordSet\b")
_DTD = re.compile(rb"<!DOCTYPE[^>]*>")
_PLACE = re.compile(
    r"<(?:(?P<record>(?:Descriptor|Qualifier)Record)[\s>]|(?:Descriptor|Qualifier)UI>\s*(?P<id>[^<\s]+)"
    r"|TreeNumber>\s*(?P<number>[^<\s]+))"
)


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like MeSH XML."""
    return _ROOT.search(head) is not None


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity]:
    """The records of a MeSH file in order, one in memory at a time.

    Where ``skip`` is given it is told of each fault; a record without id, without name or with an empty term is left
    out, a second record with the same id is passed on.

    Raises:
        FormatError: what is wrong with a record (strict reading only), or the file is not well-formed or cut off.
    """
    seen: set[str] = set()
    ids = _tree(path)
    for element in elements(path, _RECORDS, skip):
        try:
            entity = _entity(element, ids)
        except ValueError as error:
            report(FormatError(path, line_of(element), str(error)), skip)
            continue
        if entity.id in seen:
            report(FormatError(path, line_of(element), f"a second record with the id {entity.id}"), skip)
        seen.add(entity.id)
        yield entity


def describe(path: Path) -> SourceInfo:
    """The year, by the file's name or its DTD, and the licence."""
    dtd = _DTD.search(head(path))
    return source_info(path, dtd.group().decode("utf-8", errors="replace") if dtd else "")


def _tree(path: Path) -> dict[str, str]:
    """The id of the record at each tree number: a look through the text, faster than parsing it."""
    found: dict[str, str] = {}
    if b"<SupplementalRecordSet" in head(path):
        return found
    id, left = "", ""
    for _, block in blocks(path, skip=_reported_later):
        text = left + block
        end = text.rfind("<")
        for match in _PLACE.finditer(text, 0, max(end, 0)):
            if match["record"]:
                id = ""
            elif match["id"]:
                id = id or match["id"]
            else:
                found[match["number"]] = id
        left = text[max(end, 0) :]
    return found


def _reported_later(error: FormatError) -> None:
    """The reading proper meets the same fault."""


def _entity(record: Element, ids: Mapping[str, str]) -> Entity:
    kind = record.tag.removesuffix("Record")
    id, name = text_of(record, f"{record.tag}UI" if kind == "Supplemental" else f"{kind}UI"), _name(record, kind)
    numbers = [" ".join((number.text or "").split()) for number in record.iterfind("TreeNumberList/TreeNumber")]
    if kind == "Supplemental":
        types = _class(record)
        mapped = "HeadingMappedToList/HeadingMappedTo/DescriptorReferredTo"
        headings = [text_of(heading, "DescriptorUI").removeprefix("*") for heading in record.iterfind(mapped)]
        parents = tuple(dict.fromkeys(heading for heading in headings if heading))
    else:
        types, parents = types_of(numbers), parents_of(numbers, ids)
    concepts = record.findall("ConceptList/Concept")
    preferred = next((concept for concept in concepts if concept.get("PreferredConceptYN") == "Y"), None)
    definition = text_of(preferred, "ScopeNote") if preferred is not None else ""
    return Entity(
        id,
        (Name(name, kind=PREFERRED), *_terms(concepts, preferred, name)),
        definition or text_of(record, "Note") or None,
        types,
        parents,
        _xrefs(preferred),
    )


def _name(record: Element, kind: str) -> str:
    tag = f"{record.tag}Name" if kind == "Supplemental" else f"{kind}Name"
    if not (name := text_of(record, f"{tag}/String")):
        raise ValueError(f"a record without a {tag}")
    return name


def _class(record: Element) -> tuple[str, ...]:
    name = CLASSES.get(record.get("SCRClass", ""))
    return (f"SCR_{name}",) if name else ()


def _terms(concepts: list[Element], preferred: Element | None, name: str) -> Iterator[Name]:
    """All terms but the one that names the record, which comes first."""
    scopes = _scopes(preferred)
    for concept in concepts:
        scope = "exact" if concept is preferred else scopes.get(text_of(concept, "ConceptUI"), "related")
        for term in concept.iterfind("TermList/Term"):
            text = text_of(term, "String")
            if text != name or scope != "exact":
                yield Name(text, scope, _kind(term))


def _scopes(preferred: Element | None) -> dict[str, Scope]:
    """How the record's other concepts stand to the preferred one: the second of a pair is narrower, broader, ..."""
    found: dict[str, Scope] = {}
    if preferred is not None:
        for relation in preferred.iterfind("ConceptRelationList/ConceptRelation"):
            if scope := SCOPES.get(relation.get("RelationName", "")):
                found[text_of(relation, "Concept2UI")] = scope
    return found


def _kind(term: Element) -> str | None:
    """What the lexical tag says; a turned-round term ("Attack, Heart") is its own kind."""
    return "permuted" if term.get("IsPermutedTermYN") == "Y" else KINDS.get(term.get("LexicalTag", ""))


def _xrefs(preferred: Element | None) -> tuple[str, ...]:
    """Registry numbers of the preferred concept; those of narrower ones (a salt, a brand) are another thing's."""
    if preferred is None:
        return ()
    tags = ("RegistryNumber", "RegistryNumberList/RegistryNumber", "RelatedRegistryNumberList/RelatedRegistryNumber")
    numbers = [number.text or "" for tag in tags for number in preferred.iterfind(tag)]
    return tuple(dict.fromkeys(xref for number in numbers if (xref := registry_xref(number))))
