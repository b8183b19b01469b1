"""A cascade as a folder: its description in the manifest, what was learnt beside it.

::

    manifest.json      {"kind": "cascade", "options": {"parts": [{"part": "dictionary", ...}, ...], "sure": 0.98}, ...}
    calibration.json   {"version": 1, "stages": [{"rank": [...], "judge": [...]}, ...], "abstain": 0.5, "dev": {...}}

Models stay where they are. A part names its model's folder as seen from the cascade's, so that both can be moved
together, and its fingerprint: weights that were learnt with another model are refused. A description without weights
(``stages`` is empty) of dictionary and embedding is the default cascade, ``CascadeLinker``, with that encoder.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from nomina import encoders
from nomina.artifact import Artifact, writing
from nomina.errors import ArtifactError, UsageError
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker
from nomina.linkers.fitted_cascade import KIND
from nomina.linkers.fitted_cascade.linker import FittedCascadeLinker
from nomina.linkers.fitted_cascade.parts import PartOptions, Progress
from nomina.linkers.fitted_cascade.weights import Stage

CALIBRATION = "calibration.json"
VERSION = 1

_DEFAULT = ("dictionary", "embedding")


def save(linker: FittedCascadeLinker, folder: str | Path, dev: Mapping[str, Any] | None = None) -> None:
    """Write a fitted cascade; from now on it can be told to other processes.

    Args:
        linker: see there.
        folder: an earlier cascade in its place is replaced once the new one is whole.
        dev: figures on the development mentions that it was fitted on, kept for who reads the folder.

    Raises:
        UsageError: there is something else in its place, or it cannot be written there.
    """
    learnt = {"stages": [asdict(stage) for stage in linker.stages], "abstain": linker.abstain, "dev": dict(dev or {})}
    _write([part.options for part in linker.parts], linker.sure, learnt, folder)
    linker.folder = Path(folder).absolute()
    linker.made_as = Artifact.open(folder, KIND).fingerprint


def describe(parts: Sequence[PartOptions], folder: str | Path) -> None:
    """Write a cascade without weights: the default one, with the encoder that the part embedding names.

    Raises:
        ArtifactError: there is no such encoder.
        UsageError: other parts, which need weights; see ``save`` too.
    """
    if tuple(options.part for options in parts) != _DEFAULT:
        raise UsageError(
            f"only {' and '.join(_DEFAULT)} go together without weights: name development mentions (--dev)"
        )
    if parts[1].model:
        encoders.check_encoder(parts[1].model)
    _write(parts, 1.0, {"stages": [], "abstain": 0.0, "dev": {}}, folder)


def load(kb: KnowledgeBase, folder: str | Path, progress: Progress | None = None) -> Linker:
    """The cascade in a folder, over a KB.

    Raises:
        ArtifactError: there is none, it is damaged, or the folder of a model is not there.
    """
    artifact = Artifact.open(folder, KIND)
    path = artifact.file(CALIBRATION)
    try:
        learnt = json.loads(path.read_text(encoding="utf-8"))
        if learnt["version"] != VERSION:
            raise ArtifactError(f"{path} is of version {learnt['version']}, not {VERSION}: fit the cascade again")
        parts = [_part(found, artifact.folder) for found in artifact.options["parts"]]
        stages = [Stage(_numbers(found["rank"]), _numbers(found["judge"])) for found in learnt["stages"]]
        sure, abstain = _numbers([artifact.options["sure"], learnt["abstain"]])
        if not (0 < sure <= 1 and 0 <= abstain <= 1):
            raise ValueError(f"sure and abstain are probabilities, not {sure:g} and {abstain:g}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{artifact.folder} is no cascade that can be read ({error}): fit it again") from error
    if not stages and tuple(options.part for options in parts) == _DEFAULT:
        from nomina.linkers.cascade import CascadeLinker

        return CascadeLinker(kb, parts[1].model or None, index=parts[1].index, progress=progress)
    linker = FittedCascadeLinker(kb, parts, stages, sure=sure, abstain=abstain, progress=progress)
    linker.folder, linker.made_as = artifact.folder, artifact.fingerprint
    return linker


def again(kb: KnowledgeBase, folder: str | Path, fingerprint: str) -> FittedCascadeLinker:
    """The cascade of a fingerprint.

    Raises:
        ArtifactError: the folder holds another one by now; see ``load`` too.
    """
    linker = load(kb, folder)
    if not isinstance(linker, FittedCascadeLinker) or linker.made_as != fingerprint:
        raise ArtifactError(f"{folder} is another cascade than before: make the linker again")
    return linker


def _write(parts: Sequence[PartOptions], sure: float, learnt: Mapping[str, Any], folder: str | Path) -> None:
    target = Path(folder).absolute()
    described = [asdict(replace(options, model=_seen_from(target, options.model))) for options in parts]
    with writing(target, KIND, {"parts": described, "sure": sure}) as temporary:
        text = json.dumps({"version": VERSION, **learnt}, indent=1) + "\n"
        (temporary / CALIBRATION).write_text(text, encoding="utf-8")


def _seen_from(folder: Path, model: str) -> str:
    """The path of a model from a folder; of another drive as it is."""
    if not model:
        return ""
    try:
        return Path(os.path.relpath(Path(model).absolute(), folder)).as_posix()
    except ValueError:
        return str(Path(model).absolute())


def _part(found: dict[str, Any], folder: Path) -> PartOptions:
    known = {field.name: type(field.default) for field in fields(PartOptions) if field.name != "part"} | {"part": str}
    if wrong := [key for key, value in found.items() if key not in known or type(value) is not known[key]]:
        raise ValueError(f"{wrong[0]} of a part is unknown or of another type")
    options = PartOptions(**found)
    return replace(options, model=os.path.normpath(folder / options.model)) if options.model else options


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    if not all(type(value) in (int, float) and math.isfinite(value) for value in values):
        raise ValueError("weights are numbers")
    return tuple(map(float, values))
