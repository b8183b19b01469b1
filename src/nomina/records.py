"""Lines of JSON as dataclasses, strictly: unknown fields and wrong types are refused, in a user's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_UNKNOWN = "unexpected_keyword_argument"
_MOST_FAULTS = 1_000  # that are looked at; a line may have as many as it has bytes

Record = TypeVar("Record")


def parser(kind: type[Record]) -> Callable[[str], Record]:
    """What makes a dataclass of a line of JSON; its fields may hold dataclasses themselves.

    It raises ``ValueError`` where the line is not JSON, has an unknown field, lacks one, or one has a value that it
    cannot have.
    """
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(kind)

    def parse(line: str) -> Record:
        try:
            return adapter.validate_json(line, strict=True)
        except ValidationError as error:
            if error.error_count() > _MOST_FAULTS:
                raise ValueError(f"{error.error_count():,} values or fields of it cannot be") from None
            raise ValueError(_why(kind, min(error.errors(), key=_is_known))) from error

    return parse


def _is_known(fault: ErrorDetails) -> bool:
    """Unknown fields come first: what is missing is often there, misspelt."""
    return fault["type"] != _UNKNOWN


def _why(kind: type[Any], first: ErrorDetails) -> str:
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "json_invalid":
        return f"not JSON ({first['ctx']['error'].replace('line 1 column', 'column')})"
    if first["type"] == _UNKNOWN:
        known = f"; a line has: {', '.join(field.name for field in fields(kind))}" if len(first["loc"]) == 1 else ""
        return f"unknown field {place!r}{known}"
    if first["type"] == "missing":
        return f"the field {place!r} is missing"
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said
