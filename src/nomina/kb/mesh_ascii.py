"""MeSH in ASCII: descriptors (``d2025.bin``), supplementary records (``c2025.bin``), qualifiers (``q2025.bin``).

The same records as in XML, less their classes and concepts: a term says itself how it stands to the record. Elements:
https://www.nlm.nih.gov/mesh/dtype.html and ctype.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.kb.mesh_terms import KINDS, SCOPES, parents_of, registry_xref, source_info, types_of
from nomina.kb.schema import SourceInfo
from nomina.packed import bare_name, members
from nomina.types import PREFERRED, Entity, Name

_NEW = "*NEWRECORD"
_NAMES = ("MH", "NM", "SH")
_TERMS = ("PRINT ENTRY", "ENTRY", "SY", "QX")
_LISTED = frozenset((*_TERMS, "MN", "HM", "RN", "RR"))
_READ = frozenset((*_NAMES, *_LISTED, "UI", "MS", "NO"))


class _Index(NamedTuple):
    """What a record says of another by tree number or by name, as ids."""

    trees: dict[str, str]
    headings: dict[str, str]


@dataclass(slots=True)
class _Record:
    line: int
    single: dict[str, str] = field(default_factory=dict)
    listed: dict[str, list[str]] = field(default_factory=dict)


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like MeSH in ASCII."""
    return head.lstrip().startswith(_NEW.encode())


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity]:
    """The records in order.

    The headings that a supplementary record is mapped to stand there by name: their ids come from the descriptors of
    the same year beside the file (``d2025.bin`` for ``c2025.bin``); without them such a record has no parents.

    Raises:
        FormatError: a line that is no element, a record without id or name, a second one with the same id (strict
            reading only; ``skip`` is told otherwise, a faulty line or record left out, a second record passed on).
    """
    index = _index(path)
    seen: set[str] = set()
    for record in _records(path, skip):
        try:
            entity = _entity(record, index)
        except ValueError as error:
            report(FormatError(path, record.line, str(error)), skip)
            continue
        if entity.id in seen:
            report(FormatError(path, record.line, f"a second record with the id {entity.id}"), skip)
        seen.add(entity.id)
        yield entity


def describe(path: Path) -> SourceInfo:
    """The year, by the file's name, and the licence."""
    return source_info(path)


def _index(path: Path) -> _Index:
    """Tree numbers and names of the descriptors: of the file itself, or of those that lie beside it."""
    found = _Index({}, {})
    for file in (path, *_beside(path)):
        for record in _records(file, _reported_elsewhere):
            if "UI" in record.single and "MH" in record.single:
                found.headings[record.single["MH"]] = record.single["UI"]
                found.trees.update((number, record.single["UI"]) for number in record.listed.get("MN", ()))
    return found


def _beside(path: Path) -> list[Path]:
    """The descriptors of the same year beside supplementary records, in whatever way either is packed."""
    name = bare_name(path)
    if not name.startswith("c"):
        return []
    around = path.parent.iterdir() if path.parent.is_dir() else members(path.parent) if path.parent.is_file() else ()
    return sorted(file for file in around if bare_name(file) == f"d{name[1:]}")[:1]


def _reported_elsewhere(error: FormatError) -> None:
    """The reading proper meets the same fault."""


def _records(path: Path, skip: Skip | None) -> Iterator[_Record]:
    record: _Record | None = None
    for number, line in lines(path, skip):
        if line.strip() == _NEW:
            if record:
                yield record
            record = _Record(number)
            continue
        tag, equals, value = line.partition(" = ")
        tag, value = tag.strip(), value.strip()
        if record is None or not equals:
            if line.strip():
                why = f"expected '{_NEW}' or 'ELEMENT = value', found {line[:60]!r}"
                report(FormatError(path, number, why), skip)
        elif tag in _LISTED:
            record.listed.setdefault(tag, []).append(value)
        elif tag in _READ:
            record.single.setdefault(tag, value)
    if record:
        yield record


def _entity(record: _Record, index: _Index) -> Entity:
    name = next((record.single[tag] for tag in _NAMES if tag in record.single), "")
    if not name:
        raise ValueError(f"a record without a name ({', '.join(_NAMES)})")
    numbers = record.listed.get("MN", [])
    mapped = [_heading(value, index.headings) for value in record.listed.get("HM", ())]
    registry = [registry_xref(value) for tag in ("RN", "RR") for value in record.listed.get(tag, ())]
    return Entity(
        record.single.get("UI", ""),
        (Name(name, kind=PREFERRED), *(_term(value) for tag in _TERMS for value in record.listed.get(tag, ()))),
        record.single.get("MS") or record.single.get("NO"),
        types_of(numbers),
        tuple(dict.fromkeys((*parents_of(numbers, index.trees), *filter(None, mapped)))),
        tuple(dict.fromkeys(filter(None, registry))),
    )


def _heading(value: str, ids: dict[str, str]) -> str | None:
    """The id of ``*Heading`` or ``Heading/*qualifier``."""
    value = value.replace("*", "")
    return ids.get(value) or ids.get(value.rpartition("/")[0])


def _term(value: str) -> Name:
    """``term|T047|NON|EQV|NLM (1991)|900308|abcdef``: the last field says what the ones before it are."""
    *fields, roles = value.split("|")
    if not fields or len(fields) != len(roles) or not roles.startswith("a"):
        return Name(value)
    found = dict(zip(roles, fields, strict=True))
    return Name(found["a"], SCOPES.get(found.get("d", ""), "exact"), KINDS.get(found.get("c", "")))
