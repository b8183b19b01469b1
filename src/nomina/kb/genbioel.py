"""``target_kb.json`` of GenBioEL and its successors: one object, an array of names for each id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, report
from nomina.kb.jsonstream import ANY, values
from nomina.types import Entity, Name

_START = re.compile(rb'\s*\{\s*"([^"]+)"\s*:\s*\[\s*(?:"|\])')


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like ids with names; the field of a JSON line is no id."""
    match = _START.match(head)
    return match is not None and match[1].decode("utf-8", errors="replace") not in Entity.__dataclass_fields__


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity]:
    """The concepts in order.

    Raises:
        FormatError: not JSON or cut off (also in a lenient reading); an entry that is no array of texts, a second one
            of the same id (strict reading only; ``skip`` is told otherwise, a faulty entry left out, a second one
            passed on).
    """
    seen: set[str] = set()
    for found in values(path, [(ANY,)], skip):
        try:
            if not isinstance(found.value, list) or not all(isinstance(text, str) for text in found.value):
                raise ValueError(f"expected an array of names, found {found.value!r:.60}")
            entity = Entity(found.key, tuple(Name(text.strip()) for text in found.value))
        except ValueError as error:
            report(FormatError(path, found.line, f"{found.key!a}: {error}"), skip)
            continue
        if entity.id in seen:
            report(FormatError(path, found.line, f"a second entry of the id {entity.id}"), skip)
        seen.add(entity.id)
        yield entity
