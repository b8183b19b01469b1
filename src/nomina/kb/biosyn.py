"""Dictionaries of BioSyn and its successors: ``ids||name``, a name a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.kb import medic
from nomina.types import Entity, Name

_BARS = "||"
_JOINTS = re.compile(r"[|+]")


def sniff(head: bytes) -> bool:
    """Whether the first line has two bars, and the lines are not those of MEDIC with all names of a disease on one."""
    return _BARS.encode() in head.lstrip().partition(b"\n")[0] and not medic.sniff(head)


def read(path: Path, *, skip: Skip | None = None, split_ids: bool = False) -> Iterator[Entity]:
    """One concept a line, in order; lines of one id, next to each other or not, are joined when the KB is built.

    Args:
        path: the dictionary.
        skip: told of each fault, where given; faulty lines are left out.
        split_ids: ``C567755|613097||name`` gives the name to both ids (also ``+``). Without it the whole is one id, as
            it was one record: such rows are scored by row.

    Raises:
        FormatError: a line that is not of the form, an empty id or name (strict reading only).
    """
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        try:
            yield from _entities(line, split_ids)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)


def _entities(line: str, split_ids: bool) -> list[Entity]:
    fields = line.split(_BARS)
    if len(fields) != 2:
        raise ValueError(f"expected 'ids||name', found {line[:60]!r}")
    names = (Name(fields[1].strip()),)
    ids = _JOINTS.split(fields[0]) if split_ids else [fields[0]]
    return [Entity(id.strip(), names) for id in ids]
