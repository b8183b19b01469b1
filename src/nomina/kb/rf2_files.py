"""The files of a SNOMED CT release in RF2: where they lie, and their rows.

Their names say what they are: ``sct2_Description_Snapshot-en_INT_20240131.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nomina.errors import FormatError
from nomina.files import Skip, lines, report
from nomina.packed import bare_name, members, on_disk

Row = tuple[int, list[str]]
"""Line number and fields."""

_COMPONENT = ("id", "effectiveTime", "active", "moduleId")
_DESCRIPTION = (*_COMPONENT, "conceptId", "languageCode", "typeId", "term", "caseSignificanceId")
_MEMBER = (*_COMPONENT, "refsetId", "referencedComponentId")
COLUMNS = {
    "Concept": (*_COMPONENT, "definitionStatusId"),
    "Description": _DESCRIPTION,
    "TextDefinition": _DESCRIPTION,
    "Relationship": (
        *(*_COMPONENT, "sourceId", "destinationId", "relationshipGroup", "typeId"),
        *("characteristicTypeId", "modifierId"),
    ),
    "Language": (*_MEMBER, "acceptabilityId"),
    "Association": (*_MEMBER, "targetComponentId"),
}
"""Kind of file -> its columns, which its first line names."""

_METADATA_LAST = frozenset(COLUMNS) - {"Association"}
_METADATA_ID = 18  # digits of the identifiers that SNOMED CT uses for itself; the last column tells a line cut off

_NAME = re.compile(
    r"x?(?:sct2_(?P<component>Concept|Description|TextDefinition|Relationship)_\w*?"
    r"|der2_cRefset_(?P<refset>Language|Association)\w*?)Snapshot[-_].*?(?P<date>\d{8})?\.txt",
    re.IGNORECASE,
)
_KINDS = {kind.casefold(): kind for kind in COLUMNS}


def kind_of(name: str) -> str | None:
    """What a file holds by its name; None for what is not read."""
    match = _NAME.fullmatch(name)
    return _KINDS[(match["component"] or match["refset"]).casefold()] if match else None


def date_of(path: Path) -> str | None:
    """The release date in a file's name."""
    match = _NAME.fullmatch(bare_name(path))
    return match["date"] if match else None


def find_files(path: Path) -> dict[str, list[Path]]:
    """The files of a release by kind: of a folder, of an archive, or of the ``Snapshot`` folder around a file.

    Raises:
        FormatError: there is no snapshot of concepts or of descriptions.
    """
    found: dict[str, list[Path]] = {}
    for file in _around(path):
        if kind := kind_of(bare_name(file)):
            found.setdefault(kind, []).append(file)
    for kind in ("Concept", "Description"):
        if kind not in found:
            raise FormatError(
                path, None, f"has no file sct2_{kind}_Snapshot... with it (Full and Delta files are not read)"
            )
    return found


def _around(path: Path) -> Iterable[Path]:
    if path.is_dir() or kind_of(bare_name(path)) is None:
        return members(path)
    root = next((parent for parent in path.parents if parent.name.casefold() == "snapshot"), path.parent)
    if root.is_dir():
        return members(root)
    return [file for file in members(on_disk(path)[0]) if root in file.parents]


def rows(path: Path, kind: str, skip: Skip | None) -> Iterator[Row]:
    """The rows of a file behind its header.

    Raises:
        FormatError: other columns than the kind has (lenient reading too); else a fault is told to ``skip``.
    """
    columns = COLUMNS[kind]
    expected = ", ".join(columns)
    for number, line in lines(path, skip):
        fields = line.split("\t")
        if number == 1:
            if [field.casefold() for field in fields] != [column.casefold() for column in columns]:
                raise FormatError(path, 1, f"expected a first line with the columns {expected}")
        elif len(fields) != len(columns):
            if line and not line.isspace():
                why = f"expected {len(columns)} fields ({expected}), found {len(fields)}: is the line cut off?"
                report(FormatError(path, number, why), skip)
        elif kind in _METADATA_LAST and len(fields[-1]) != _METADATA_ID:
            why = f"{columns[-1]} must have {_METADATA_ID} digits, found {fields[-1]!r}: is the line cut off?"
            report(FormatError(path, number, why), skip)
        elif fields[2] not in ("0", "1"):
            report(FormatError(path, number, f"active must be 0 or 1, not {fields[2]!r}"), skip)
        else:
            yield number, fields
