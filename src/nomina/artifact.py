"""A saved model: a folder of plain files and ``manifest.json``, which says what it is and what each file must be.

::

    manifest.json    {"format": "nomina-model", "version": 1, "kind": "onnx-encoder", "kb": null, "options": {...},
                      "files": {"model.onnx": {"bytes": 13679041, "sha256": "..."}, ...}}
    model.onnx, tokenizer.json, ...

Weights are safetensors, ONNX or npz; nothing is pickled. A folder is written beside its place under a hidden name and
renamed, so that readers see the old one or the new one. Of two writers, one waits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nomina.errors import ArtifactError, UsageError
from nomina.files import lock, sha256

MANIFEST = "manifest.json"
FORMAT = "nomina-model"
VERSION = 1

_FIELDS = {"format", "version", "kind", "kb", "options", "files"}


@dataclass(frozen=True, slots=True)
class Artifact:
    """An opened model folder.

    Attributes:
        folder: where it is.
        kind: what it is, such as "onnx-encoder".
        options: what its reader needs beside the files.
        kb: fingerprint of the KB that it was made for, where it belongs to one.
        files: size in bytes and SHA-256 of each file by name.
    """

    folder: Path
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kb: str | None = None
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | Path, kind: str) -> Artifact:
        """Read the manifest of a folder.

        Raises:
            ArtifactError: it is missing, damaged, no model of nomina's, of a newer version or of another kind.
        """
        path = Path(folder).absolute()
        _bring_back(path)
        found = _read(path)
        if found["version"] != VERSION:
            raise ArtifactError(
                f"{path} is a model of version {found['version']}, this nomina reads {VERSION}: install a newer nomina"
                " or save the model again"
            )
        if found["kind"] != kind:
            raise ArtifactError(f"{path} holds a model of kind {found['kind']!r}, not {kind!r}: name another folder")
        files = {name: (int(file["bytes"]), str(file["sha256"])) for name, file in found["files"].items()}
        return cls(path, kind, found["options"], found["kb"], files)

    @property
    def fingerprint(self) -> str:
        """A hash over kind, options, KB and the content of all files: the same for the same model anywhere."""
        described = [self.kind, dict(self.options), self.kb, sorted(self.files.items())]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()

    def file(self, name: str) -> Path:
        """The path of a file whose size and SHA-256 have been checked.

        Raises:
            ArtifactError: it is missing or is not what was saved.
        """
        path = self.folder / name
        if name not in self.files:
            raise ArtifactError(f"{self.folder} has no {name}: save or fetch the model again")
        size, digest = self.files[name]
        try:
            whole = path.stat().st_size == size and sha256(path) == digest
        except OSError as error:
            raise ArtifactError(f"{path} cannot be read ({error.strerror}): save or fetch the model again") from error
        if not whole:
            raise ArtifactError(f"{path} is damaged (its size or SHA-256 differs): save or fetch the model again")
        return path


@contextlib.contextmanager
def writing(folder: str | Path, kind: str, options: Mapping[str, Any], kb: str | None = None) -> Iterator[Path]:
    """A new folder for the files of a model; it takes its place, with its manifest, when the block ends well.

    If the block raises, what was there stays. What a killed writer left behind is removed by the next one.

    Raises:
        UsageError: there is something else than a model in its place, or it cannot be written there.
    """
    target = Path(folder).absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock(target.with_name(f".{target.name}")):
            _bring_back_locked(target)
            _check_place(target)
            temporary = _beside(target, "tmp")
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            try:
                yield temporary
                _write_manifest(temporary, kind, options, kb)
                _replace(target, temporary)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"cannot write {target} ({error.strerror or error}): name another folder") from error


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{what}")


def _check_place(target: Path) -> None:
    if target.exists() and not (target.is_dir() and (_is_empty(target) or (target / MANIFEST).is_file())):
        raise UsageError(f"{target} is there and is no saved model: name another folder, or remove it")


def _is_empty(folder: Path) -> bool:
    return next(folder.iterdir(), None) is None


def _write_manifest(folder: Path, kind: str, options: Mapping[str, Any], kb: str | None) -> None:
    files = {}
    for path in sorted(folder.iterdir()):
        _sync(path)
        files[path.name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    described = {"format": FORMAT, "version": VERSION, "kind": kind, "kb": kb, "options": options, "files": files}
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _sync(manifest)


def _sync(path: Path) -> None:
    with open(path, "rb+") as stream:
        os.fsync(stream.fileno())


def _replace(target: Path, new: Path) -> None:
    """Put a folder in the place of another: a folder that is not empty cannot be renamed over."""
    old = _beside(target, "old")
    if target.exists():
        os.rename(target, old)
    os.rename(new, target)
    shutil.rmtree(old, ignore_errors=True)


def _bring_back(target: Path) -> None:
    """Undo what a writer did that was killed between the two renames of ``_replace``."""
    if not target.exists() and _beside(target, "old").is_dir():
        with contextlib.suppress(OSError), lock(target.with_name(f".{target.name}")):
            _bring_back_locked(target)


def _bring_back_locked(target: Path) -> None:
    old = _beside(target, "old")
    if old.is_dir() and not target.exists():
        os.rename(old, target)
    shutil.rmtree(old, ignore_errors=True)


def _read(folder: Path) -> dict[str, Any]:
    """The manifest as it stands, its layout checked."""
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ArtifactError(f"{folder} is no saved model (it has no {MANIFEST}): name a model's folder") from error
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read ({error.strerror}): name a model's folder") from error
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged ({error}): save or fetch the model again") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ArtifactError(f"{path} is not of a model that nomina saved: name another folder")
    if found.get("version") == VERSION and not _is_sound(found):
        raise ArtifactError(f"{path} is damaged (fields are missing or wrong): save or fetch the model again")
    return {"version": None, **found}


def _is_sound(found: dict[str, Any]) -> bool:
    if found.keys() != _FIELDS or not (found["kb"] is None or isinstance(found["kb"], str)):
        return False
    files = found["files"]
    return (
        isinstance(found["kind"], str)
        and isinstance(found["options"], dict)
        and isinstance(files, dict)
        and all(_is_file(name, file) for name, file in files.items())
    )


def _is_file(name: str, file: object) -> bool:
    return (
        Path(name).name == name
        and isinstance(file, dict)
        and isinstance(file.get("bytes"), int)
        and isinstance(file.get("sha256"), str)
    )
