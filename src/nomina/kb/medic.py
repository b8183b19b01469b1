"""MEDIC in the form of BioSyn: ``id|other id||preferred name|synonym``, a disease a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.types import PREFERRED, Entity, Name

_NAMES = "||"
_DISTINCT = 0.6  # of the lines; in a dictionary every sixth
_TWO_NAMES = re.compile(r"[^|]\|[^|]")


def sniff(head: bytes) -> bool:
    """Whether the lines are ``ids||names``, one at least with several names, and seldom two with the same first id.

    That tells it from a dictionary (``ids||name``), which has a line for each name.
    """
    text = head.decode("utf-8", errors="replace")
    whole = [line for line in text.rpartition("\n")[0].split("\n") if line.strip()] or [text]
    parts = [line.partition(_NAMES) for line in whole]
    ids = {ids.split("|")[0] for ids, _, _ in parts}
    return (
        bool(parts[0][2])
        and " " not in parts[0][0]
        and len(ids) > _DISTINCT * len(parts)
        and any(_TWO_NAMES.search(names) for _, _, names in parts)
    )


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity]:
    """The diseases in order. The other ids of a line mean the same disease; a bare number is one of OMIM.

    Raises:
        FormatError: a line that is not of the form, without id or with an empty name, a second line of an id (strict
            reading only; ``skip`` is told otherwise, faulty lines are left out, a second line is passed on).
    """
    seen: set[str] = set()
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        try:
            entity = _entity(line)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
            continue
        if entity.id in seen:
            report(FormatError(path, number, f"a second line of the id {entity.id}"), skip)
        seen.add(entity.id)
        yield entity


def _entity(line: str) -> Entity:
    joined, bars, listed = line.partition(_NAMES)
    if not bars:
        raise ValueError(f"expected 'id|other id||name|synonym', found {line[:60]!r}")
    id, *others = [id.strip() for id in joined.split("|")]
    names = [Name(text.strip()) for text in listed.split("|")]
    return Entity(
        id,
        (Name(names[0].text, kind=PREFERRED), *names[1:]),
        xrefs=tuple(f"OMIM:{id}" for id in (id, *others) if id.isdecimal()),
        retired_ids=tuple(others),
    )
