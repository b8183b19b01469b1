"""JSON Lines: one ``Entity`` a line, fields as in the dataclass; a line with ``replaced_by`` is a ``Retired``.

``name`` and ``synonyms`` may stand in place of ``names``, as in a table. A name may be a plain text in place of an
object: ``{"id": "X:1", "names": ["heart attack", {"text": "MI", "kind": "abbreviation"}]}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.types import PREFERRED, Entity, Retired

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like JSON Lines."""
    return head.lstrip().startswith(b"{")


def read(path: Path, *, skip: Skip | None = None) -> Iterator[Entity | Retired]:
    """The concepts of a JSON Lines file in order.

    Where ``skip`` is given it is told of each fault and the line is left out; a second line with the same id is passed
    on, to be joined with the first when the KB is built.

    Raises:
        FormatError: a line that is not a concept, an unknown field, an id seen before (strict reading only).
    """
    seen: set[str] = set()
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        try:
            record = _record(line)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
            continue
        if record.id in seen:
            report(FormatError(path, number, f"a second line with the id {record.id}"), skip)
        seen.add(record.id)
        yield record


def _record(line: str) -> Entity | Retired:
    from pydantic import ValidationError

    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} in column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("nested too deep for a concept") from error
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {line.strip()[:40]!r}")
    _take_columns(value)
    names = value.get("names")
    if isinstance(names, list):
        value["names"] = [{"text": name} if isinstance(name, str) else name for name in names]
    kind = Retired if "replaced_by" in value else Entity
    try:
        record: Entity | Retired = _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ValueError(_why(kind, error)) from error
    return record


def _take_columns(value: dict[str, Any]) -> None:
    """``name`` and ``synonyms``, as a table has them, in place of ``names``."""
    if "names" in value or not {"name", "synonyms"} & value.keys():
        return
    name, synonyms = value.pop("name", None), value.pop("synonyms", [])
    if not isinstance(name, str | None) or not isinstance(synonyms, list):
        raise ValueError("'name' must be a text and 'synonyms' a list of texts")
    value["names"] = [*([{"text": name, "kind": PREFERRED}] if name else []), *synonyms]


@cache
def _adapter(kind: type[Entity] | type[Retired]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _why(kind: type[Entity] | type[Retired], error: ValidationError) -> str:
    """The first fault that pydantic found, in a user's words."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "unexpected_keyword_argument":
        known = ", ".join(field.name for field in fields(kind))
        others = " (or name and synonyms in place of names)" if kind is Entity else ""
        more = "; one of an id out of use: id, replaced_by" if kind is Entity else ""
        return f"unknown field {place!r}; a line has: {known}{others}{more}"
    if first["type"] == "missing":
        return f"the field {place!r} is missing"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}".removeprefix(": ")
