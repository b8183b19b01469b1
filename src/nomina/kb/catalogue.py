"""The open terminologies that ``nomina kb get`` knows, out of the table ``data/sources.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from nomina.errors import FormatError, UsageError
from nomina.kb.options import Value

_TABLE = files("nomina") / "data" / "sources.toml"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A terminology as a Python package carries it: one file of a pinned version, and the members of it to read."""

    package: str
    version: str
    sha256: tuple[str, ...]
    members: tuple[str, ...]
    release: str
    format: str | None = None
    options: Mapping[str, Value] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    root: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


@dataclass(frozen=True, slots=True)
class Owner:
    """A terminology as its owner distributes it, in the newest release; ``members`` are patterns of file names."""

    urls: tuple[str, ...]
    members: tuple[str, ...] = ()
    format: str | None = None
    options: Mapping[str, Value] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    root: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """An entry of the table; the comments at its head say what the fields are."""

    name: str
    title: str
    licence: str
    page: str
    owner: Owner
    snapshot: Snapshot | None = None
    note: str | None = None
    ids: str = ""


@cache
def catalogue() -> dict[str, Source]:
    """All sources by name, in the order of the table.

    Raises:
        FormatError: an entry that is not as it should be.
    """
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {name: _source(name, entry) for name, entry in table.items()}


def find(name: str) -> Source:
    """The source of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in catalogue():
        raise UsageError(f"no terminology {name!r} to get; there are: {', '.join(catalogue())}")
    return catalogue()[name]


def _source(name: str, entry: Mapping[str, Any]) -> Source:
    values = dict(entry)
    for key, kind in (("owner", Owner), ("snapshot", Snapshot)):
        if key in values:
            values[key] = _record(kind, f"{name}.{key}", values[key])
    return _record(Source, name, {**values, "name": name})


def _record(kind: type[T], place: str, values: Mapping[str, Any]) -> T:
    known = {known.name for known in fields(kind)}  # type: ignore[arg-type]  # all kinds are dataclasses
    if unknown := sorted(set(values) - known):
        raise FormatError(str(_TABLE), None, f"[{place}] has no field {unknown[0]!r}; there are: {', '.join(known)}")
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    try:
        return kind(**plain)
    except TypeError as error:
        raise FormatError(str(_TABLE), None, f"[{place}]: {error}") from error
