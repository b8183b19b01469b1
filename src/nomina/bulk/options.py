"""What a bulk run is asked to do: plain values that its manifest keeps and a resumed run must share."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

from nomina.bulk.outputs import OUTPUTS, PACKINGS
from nomina.errors import ArtifactError, UsageError
from nomina.files import sha256
from nomina.linkers import DEFAULT, ENCODING, LINKERS


@dataclass(frozen=True, slots=True)
class Options:
    """How documents are read, linked and written; the first ones are those of ``nomina.load``.

    ``linker`` and ``kb`` are names, or absolute paths. ``detect``: take texts alone, so that mentions are looked for in
    documents that come with theirs too. ``pack``: a name out of ``PACKINGS``. The columns are those of tables, JSON
    lines and Parquet.
    """

    linker: str = DEFAULT
    kb: str = "hpo"
    k: int = 5
    threshold: float | None = None
    under: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    overlaps: Literal["longest", "all"] = "longest"
    context: bool = True
    level: Literal["concept", "name"] = "concept"
    spans: bool | None = None
    detect: bool = False
    format: str = "jsonl"
    pack: str = "none"
    text_column: str | None = None
    id_column: str | None = None

    def checked(self) -> Self:
        """Itself.

        Raises:
            UsageError: no such output format or packing, or one that cannot be packed.
            MissingExtra: a package that writing needs is not installed.
        """
        if self.format not in OUTPUTS:
            raise UsageError(f"no output format {self.format!r}; there are: {', '.join(OUTPUTS)}")
        if self.pack not in PACKINGS:
            raise UsageError(f"no packing {self.pack!r}; there are: {', '.join(PACKINGS)}")
        if self.pack != "none" and self.format != "jsonl":
            raise UsageError(f"only jsonl is packed, not {self.format}: leave --pack out")
        import_module(OUTPUTS[self.format].module).check(self.pack)
        return self

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """What ``to_json`` wrote.

        Raises:
            UsageError: an option that this version does not have.
        """
        found: dict[str, Any] = json.loads(line)
        if unknown := found.keys() - {field.name for field in fields(cls)}:
            raise UsageError(f"the option {min(unknown)} of the run is of another version of nomina: use that one")
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in found.items()
        }
        return cls(**values)


def linker_fingerprint(linker: str) -> str:
    """A hash of what a linker's answers depend on beside the KB and nomina's version: its model, if it has one.

    Raises:
        ArtifactError: no such folder, or the encoder that nomina comes with is missing.
    """
    from nomina import encoders

    if linker in LINKERS:
        if linker not in ENCODING:
            return ""
        folder = encoders.shipped()
    else:
        folder = Path(linker)
    files = sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []
    if not files:
        raise ArtifactError(f"no such folder: {linker}; name the folder of a model, or one of {', '.join(LINKERS)}")
    return sha256(*files)
