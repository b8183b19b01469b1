"""Ontologies as the package ``cellxgene-ontology-guide`` keeps them: one object, with an entry for each id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.kb.jsonstream import ANY, values
from nomina.kb.schema import SourceInfo
from nomina.types import PREFERRED, Entity, Name, Retired

_START = re.compile(rb'\s*\{\s*"[^"]+"\s*:\s*\{\s*"(?:ancestors|label|description|deprecated|synonyms)"\s*:')

_NAME = re.compile(r"([A-Za-z]+)-ontology-(.+?)\.json")


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like an ontology of ``cellxgene-ontology-guide``."""
    return _START.match(head) is not None


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity | Retired]:
    """The terms in order, deprecated ones as ``Retired``. Parents are the nearest of the listed ancestors.

    Raises:
        FormatError: not JSON or cut off (also in a lenient reading); an entry that is not as it should be, a second one
            of the same id (strict reading only; ``skip`` is told otherwise, a faulty entry left out, a second one
            passed on).
    """
    seen: set[str] = set()
    for found in values(path, [(ANY,)], skip):
        try:
            record = _record(found.key, found.value)
        except (AttributeError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, ValueError) else f"expected an object, found {found.value!r:.60}"
            report(FormatError(path, found.line, f"{found.key!a}: {why}"), skip)
            continue
        if record.id in seen:
            report(FormatError(path, found.line, f"a second entry of the id {record.id}"), skip)
        seen.add(record.id)
        yield record


def describe(path: Path) -> SourceInfo:
    """Ontology and release, which the package says in the file's name."""
    named = _NAME.match(path.name)
    return SourceInfo(path.name, title=named[1] if named else None, release=named[2] if named else None)


def _record(id: str, entry: dict[str, Any]) -> Entity | Retired:
    if entry.get("deprecated"):
        replacement = entry.get("replaced_by") or ()
        return Retired(id, (replacement,) if isinstance(replacement, str) else tuple(replacement))
    label = (entry.get("label") or "").strip()
    ancestors: dict[str, int] = entry.get("ancestors") or {}
    nearest = min(ancestors.values(), default=0)
    return Entity(
        id,
        (
            *((Name(label, kind=PREFERRED),) if label else ()),
            *(Name(text.strip()) for text in entry.get("synonyms") or () if text.strip() != label),
        ),
        " ".join((entry.get("description") or "").split()) or None,
        parents=tuple(ancestor for ancestor, distance in ancestors.items() if distance == nearest),
    )
