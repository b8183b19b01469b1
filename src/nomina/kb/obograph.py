"""OBO Graphs in JSON (``hp.json``, ``mondo.json``): https://github.com/geneontology/obographs.

Nodes are read one at a time. Their parents stand apart from them, as edges, so the file is read twice, and the ``is_a``
edges of the whole file are held in memory: 250 bytes each, 70 MB for ChEBI.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.kb.iri import fragment, short_id
from nomina.kb.jsonstream import ANY, Place, values
from nomina.kb.obo import KINDS
from nomina.kb.schema import SourceInfo
from nomina.types import PREFERRED, Entity, Name, Retired, Scope

_NODES: Place = ("graphs", ANY, "nodes", ANY)
_EDGES: Place = ("graphs", ANY, "edges", ANY)
_META: Place = ("graphs", ANY, "meta")
_ID: Place = ("graphs", ANY, "id")
_SCOPES: dict[str, Scope] = {
    "hasExactSynonym": "exact",
    "hasNarrowSynonym": "narrow",
    "hasBroadSynonym": "broad",
    "hasRelatedSynonym": "related",
}
_REPLACED_BY = "IAO_0100001"
_THING = "http://www.w3.org/2002/07/owl#Thing"


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like OBO Graphs."""
    return re.match(rb'\s*\{\s*"(?:graphs|@context|meta)"\s*:', head) is not None and b'"graphs"' in head


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity | Retired]:
    """The classes of all graphs in order; deprecated ones as ``Retired``, properties and individuals left out.

    Raises:
        FormatError: not JSON or cut off (also in a lenient reading); a node that is not as it should be, a second one
            with the same id (strict reading only; ``skip`` is told otherwise, a faulty node left out, a second one
            passed on).
    """
    context = _context(path)
    seen: set[str] = set()
    for found in values(path, [_NODES], skip):
        try:
            record = _record(found.value, context)
        except ValueError as error:
            report(FormatError(path, found.line, str(error)), skip)
            continue
        if record is None:
            continue
        if record.id in seen:
            report(FormatError(path, found.line, f"a second node with the id {record.id}"), skip)
        seen.add(record.id)
        yield record


def describe(path: Path) -> SourceInfo:
    """Release, title and licence out of the graph's ``meta``."""
    properties: dict[str, str] = {}
    for found in values(path, [_META, _ID], _reported_later):
        if found.place == _ID:
            properties["id"] = str(found.value)
            continue
        properties["version"] = str(found.value.get("version") or "")
        for pred, val in _properties(found.value):
            properties.setdefault(fragment(pred), val)
        break
    return SourceInfo(
        path.name,
        title=properties.get("title") or properties.get("id"),
        release=properties.get("versionInfo") or properties.get("version") or None,
        licence=properties.get("license"),
    )


@dataclass(slots=True)
class _Context:
    """What a node does not say itself: its parents, and the namespace of a graph's nodes."""

    parents: dict[str, list[str]] = field(default_factory=dict)
    namespace: str | None = None


def _context(path: Path) -> _Context:
    context = _Context()
    for found in values(path, [_EDGES, _META], _reported_later):
        if found.place == _META:
            named = [val for pred, val in _properties(found.value) if fragment(pred) == "default-namespace"]
            context.namespace = context.namespace or next(iter(named), None)
        elif isinstance(found.value, dict) and fragment(str(found.value.get("pred"))) in ("is_a", "subClassOf"):
            child, parent = (short_id(str(found.value.get(end))) for end in ("sub", "obj"))
            if parent != _THING:
                context.parents.setdefault(intern(child), []).append(intern(parent))
    return context


def _reported_later(error: FormatError) -> None:
    """The reading proper meets the same fault."""


def _record(node: object, context: _Context) -> Entity | Retired | None:
    """The record of a node; None for one that is no class."""
    if not isinstance(node, dict) or not isinstance(node.get("id"), str):
        raise ValueError("a node without an id")
    if node.get("type") != "CLASS" or node["id"] == _THING:
        return None
    id, meta = short_id(node["id"]), _dict(node.get("meta"))
    properties: dict[str, list[str]] = {}
    for pred, val in _properties(meta):
        properties.setdefault(fragment(pred), []).append(val)
    if meta.get("deprecated"):
        return Retired(id, tuple(map(short_id, properties.get(_REPLACED_BY, ()))))
    label = node.get("lbl")
    namespaces = properties.get("hasOBONamespace") or filter(None, [context.namespace])
    return Entity(
        id,
        (*((Name(_text(label), kind=PREFERRED),) if label else ()), *map(_synonym, _dicts(meta.get("synonyms")))),
        _text(_dict(meta.get("definition")).get("val")) or None,
        tuple(namespaces),
        tuple(context.parents.get(id, ())),
        tuple(_text(xref.get("val")) for xref in _dicts(meta.get("xrefs")) if xref.get("val")),
        tuple(map(short_id, properties.get("hasAlternativeId", ()))),
    )


def _synonym(synonym: Mapping[str, Any]) -> Name:
    kind = synonym.get("synonymType")
    short = (short_id(kind) if short_id(kind) != kind else fragment(kind)) if isinstance(kind, str) and kind else None
    scope = _SCOPES.get(fragment(str(synonym.get("pred"))), "related")
    return Name(_text(synonym.get("val")), scope, KINDS.get(short, short) if short else None)


def _properties(meta: object) -> Iterable[tuple[str, str]]:
    """Predicate and value of each ``basicPropertyValue``."""
    for value in _dicts(_dict(meta).get("basicPropertyValues")):
        if isinstance(value.get("pred"), str) and isinstance(value.get("val"), str):
            yield value["pred"], value["val"]


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """A text on one line; empty for anything else."""
    return " ".join(value.split()) if isinstance(value, str) else ""
