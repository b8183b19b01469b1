"""Well-known tables: CTD, NCBI Gene and Taxonomy, HGNC, FDA UNII, MeSH as tables. What is where is data: ``MAPS``.

Rows of an id that follow each other become one record, as where each name has a row of its own; a file that says only
parents or retired ids of what another file names is joined with it when the KB is built of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from nomina.errors import FormatError, UsageError
from nomina.files import Skip, head, report, sha256
from nomina.kb.column_maps import MAPS, ColumnMap, Values
from nomina.kb.delimited import rows
from nomina.kb.mesh_terms import parents_of, types_of
from nomina.kb.schema import SourceInfo
from nomina.packed import bare_name, members
from nomina.types import PREFERRED, Entity, Name, Retired

_CREATED = re.compile(r"^#.*Report created:\s*(.+)$", re.MULTILINE)
_DELIMITERS = ("\t", ",")
_SHOWN_COLUMNS = 8
_DUMP = ("names.dmp", "nodes.dmp", "merged.dmp", "delnodes.dmp")


class Layout(NamedTuple):
    """A file's table: its map, the column of each field, the last line before the data, and how fields are apart."""

    map: ColumnMap
    columns: list[str]
    after: int
    delimiter: str
    quoted: bool


def sniff(head: bytes) -> bool:
    """Whether the first lines of a file are those of a table in ``MAPS``."""
    return layout(head) is not None


def holds(names: set[str]) -> bool:
    """Whether a folder or archive of files with these names is a dump of NCBI Taxonomy."""
    return set(_DUMP[:2]) <= names


def layout(head: bytes, only: str = "") -> Layout | None:
    """Which table the first bytes of a file begin, by its header (also in a comment) or its first line."""
    maps = [MAPS[only]] if only else MAPS.values()
    first = 0
    lines = [line.rstrip("\r") for line in head.decode("utf-8", errors="replace").split("\n")]
    for number, line in enumerate(lines, start=1):
        for delimiter in _DELIMITERS:
            columns = [column.strip() for column in line.lstrip("# ").split(delimiter)]
            for map in maps:
                if not map.start and set(map.columns) <= set(columns):
                    quoted = map.quoted or delimiter != "\t"
                    return Layout(map, columns, _last_comment(lines, number), delimiter, quoted)
        if line.strip() and not line.startswith("#"):
            first = number
            break
    for map in maps:
        if first and map.start and re.match(map.start, lines[first - 1]):
            return Layout(map, list(map.columns), first - 1, map.delimiter, map.quoted)
    return None


def _last_comment(lines: Sequence[str], header: int) -> int:
    """CTD closes its header with an empty comment."""
    while header < len(lines) and lines[header].startswith("#"):
        header += 1
    return header


def read(path: Path, *, skip: Skip | None = None, map: str = "") -> Iterator[Entity | Retired]:
    """The records in order, a row or a run of rows each.

    Args:
        path: the table, or a folder or archive with the tables of NCBI Taxonomy.
        skip: told of each fault, where given; faulty rows are left out.
        map: a key of ``MAPS``; by default the first lines tell.

    Raises:
        FormatError: no such table, a row with too few or too many fields, without id or name (strict reading only).
        UsageError: no such map.
    """
    if map and map not in MAPS:
        raise UsageError(f"no table {map!r}; there are: {', '.join(MAPS)}")
    for file in _tables(path):
        yield from _read(file, skip, map)


def _tables(path: Path) -> list[Path]:
    inside = {bare_name(file): file for file in members(path)}
    return [inside[name] for name in _DUMP if name in inside] if holds(set(inside)) else [path]


def _read(path: Path, skip: Skip | None, map: str) -> Iterator[Entity | Retired]:
    found = layout(head(path), map)
    if found is None:
        raise FormatError(path, None, f"is none of the tables that nomina knows ({', '.join(MAPS)}): see docs/formats")
    table = _Table(found)
    ids = _trees(path, table)
    run: list[Entity] = []
    for number, fields in _rows(path, found, skip):
        try:
            record = table.record(fields, ids)
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
            continue
        if run and (not isinstance(record, Entity) or record.id != run[0].id):
            yield _joined(run)
            run = []
        if isinstance(record, Entity):
            run.append(record)
        elif record:
            yield record
    if run:
        yield _joined(run)


def describe(path: Path) -> SourceInfo:
    """The title and licence of the table, and the date where a comment says it."""
    files = _tables(path)
    if len(files) > 1:
        shown, licence = f"{path.name} ({len(files)} files)", MAPS["ncbi_taxonomy_names"].licence
        return SourceInfo(shown, sha256=sha256(*files), title="NCBI Taxonomy", licence=licence)
    start = head(path)
    found = layout(start)
    created = _CREATED.search(start.decode("utf-8", errors="replace"))
    release = created.group(1).strip() if created else None
    if found is None:
        return SourceInfo(path.name, release=release)
    return SourceInfo(path.name, title=found.map.title, release=release, licence=found.map.licence)


def _rows(path: Path, found: Layout, skip: Skip | None) -> Iterator[tuple[int, list[str]]]:
    return rows(path, found.delimiter, found.quoted, skip, found.after)


def _trees(path: Path, table: _Table) -> dict[str, str]:
    """The id at each MeSH tree number, which a row's parents are found by: a first look through the file."""
    if table.trees is None:
        return {}
    trees, id = table.trees, table.id
    return {n: id.one(fields) for _, fields in _rows(path, table.layout, _reported_later) for n in trees.of(fields)}


def _reported_later(error: FormatError) -> None:
    """The reading proper meets the same fault."""


class _Column:
    """A column of one file: where it is, and how its values are taken."""

    __slots__ = ("_cut", "_empty", "_keep", "_place", "_prefix", "_separator")

    def __init__(self, values: Values, layout: Layout) -> None:
        self._place = _place(layout.columns, values.column)
        self._empty = frozenset(("", *layout.map.empty))
        self._separator, self._prefix = values.separator, values.prefix
        self._keep = re.compile(values.keep) if values.keep else None
        self._cut = re.compile(values.cut) if values.cut else None

    def one(self, fields: Sequence[str]) -> str:
        """The whole field; empty where the file has no such column, or the row nothing in it."""
        value = fields[self._place].strip() if 0 <= self._place < len(fields) else ""
        return "" if value in self._empty else value

    def of(self, fields: Sequence[str]) -> tuple[str, ...]:
        """The values in the field."""
        whole = self.one(fields)
        if not whole:
            return ()
        parts = [part.strip() for part in whole.split(self._separator)] if self._separator else [whole]
        if self._keep:
            parts = [part for part in parts if self._keep.match(part)]
        if self._cut:
            parts = [self._cut.sub("", part).strip() for part in parts]
        return tuple([self._prefix + part for part in parts if part])


def _place(columns: Sequence[str], column: str) -> int:
    """Where a column is; -1 where it is not."""
    if column.endswith("*"):
        return next((i for i, name in enumerate(columns) if name.startswith(column[:-1])), -1)
    return columns.index(column) if column in columns else -1


class _Table:
    """A map with its columns found in one file."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        map = layout.map
        self.id = self._column(Values(map.id))
        self.trees = self._column(map.trees) if map.trees else None
        self._preferred, self._definition = self._column(Values(map.preferred)), self._column(Values(map.definition))
        self._names = [(self._column(values), self._column(Values(values.kind_in)), values) for values in map.names]
        self._types, self._parents = self._columns(map.types), self._columns(map.parents)
        self._xrefs, self._retired_ids = self._columns(map.xrefs), self._columns(map.retired_ids)
        self._omit, self._omitted = self._column(Values(map.omit[0])), map.omit[1]
        if map.gone:
            self._gone = self._column(Values(map.gone.column))
            self._replaced_by = self._column(map.gone.replaced_by) if map.gone.replaced_by else None

    def _column(self, values: Values) -> _Column:
        return _Column(values, self.layout)

    def _columns(self, columns: Sequence[Values]) -> list[_Column]:
        return [self._column(values) for values in columns]

    def record(self, fields: Sequence[str], ids: Mapping[str, str]) -> Entity | Retired | None:
        """The record of one row, with the ids at MeSH tree numbers; None for a row to pass over.

        Raises:
            ValueError: the row has too few or too many fields, no id, or no name where it should have one.
        """
        map, width = self.layout.map, len(self.layout.columns)
        if len(fields) < width or (len(fields) > width and not map.start):
            columns = ", ".join(self.layout.columns[:_SHOWN_COLUMNS])
            raise ValueError(
                f"{len(fields)} fields in place of {width} ({columns}{', ...' * (width > _SHOWN_COLUMNS)})"
            )
        id = self.id.one(fields)
        if not id:
            raise ValueError(f"the row has no {map.id}")
        if map.gone and (not map.gone.column or self._gone.one(fields) in map.gone.values):
            return Retired(id, self._replaced_by.of(fields) if self._replaced_by else ())
        if self._omitted and self._omit.one(fields) in self._omitted:
            return None
        numbers = self.trees.of(fields) if self.trees else ()
        parents = _all(self._parents, fields, parents_of(numbers, ids) if numbers else ())
        return Entity(
            id,
            tuple(self._named(fields)),
            self._definition.one(fields) or None,
            _all(self._types, fields, types_of(numbers) if numbers else ()),
            tuple([parent for parent in parents if parent != id]),
            _all(self._xrefs, fields),
            _all(self._retired_ids, fields),
        )

    def _named(self, fields: Sequence[str]) -> Iterator[Name]:
        preferred = self._preferred.one(fields)
        seen = {preferred}
        if preferred:
            yield Name(preferred, kind=PREFERRED)
        for column, sort, values in self._names:
            scope, kind = values.scope, values.kind
            if values.kinds:
                scope, kind = values.kinds.get(sort.one(fields), (scope, kind))
            for text in column.of(fields):
                if text not in seen:
                    yield Name(text, scope, kind)
                    seen.add(text)
        if self._names and seen == {""}:
            raise ValueError(f"the row has no name ({self.layout.map.preferred or self._names[0][2].column})")


def _all(columns: Sequence[_Column], fields: Sequence[str], first: tuple[str, ...] = ()) -> tuple[str, ...]:
    found = [*first, *(value for column in columns for value in column.of(fields))]
    return tuple(dict.fromkeys(found))


def _joined(run: Sequence[Entity]) -> Entity:
    """The rows of an id as one record: each name once, the first definition."""
    if len(run) == 1:
        return run[0]
    names: dict[tuple[str, str], Name] = {}
    for entity in run:
        for name in entity.names:
            key = name.text, name.scope
            if key not in names or (name.kind == PREFERRED and names[key].kind != PREFERRED):
                names[key] = name
    return replace(
        run[0],
        names=tuple(names.values()),
        definition=next((entity.definition for entity in run if entity.definition), None),
        types=_union([entity.types for entity in run]),
        parents=_union([entity.parents for entity in run]),
        xrefs=_union([entity.xrefs for entity in run]),
        retired_ids=_union([entity.retired_ids for entity in run]),
    )


def _union(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(lists)))
