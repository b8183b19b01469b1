"""A trained model as a folder: the trainable form, an encoder's exported form where it is wanted, and what was done.

::

    encoder.json, model.safetensors, config.json    the trainable form: ``--base``, ``nomina.encoders.load``
    manifest.json, model.onnx                       the exported form, which needs no torch: ``nomina link --linker``
    tokenizer.json                                  of both
    train.json                                      recipe, versions, figures, log
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nomina import encoders, generation
from nomina.artifact import MANIFEST, Artifact, writing
from nomina.encoders import DESCRIPTION
from nomina.encoders.base import TrainableEncoder
from nomina.encoders.export import Weights, export
from nomina.encoders.onnx import KIND, MODEL
from nomina.errors import UsageError
from nomina.files import atomic, folder_beside

if TYPE_CHECKING:
    from nomina.generation.generator import Generator

RECORD = "train.json"


def check_place(output: Path) -> None:
    """Whether a model may be written there.

    Raises:
        UsageError: there is something that is no model of nomina's.
    """
    if output.name and output.is_dir():
        known = any((output / name).is_file() for name in (MANIFEST, DESCRIPTION, generation.DESCRIPTION))
        if known or next(output.iterdir(), None) is None:
            return
    if output.exists() or not output.name:
        raise UsageError(f"{output} is there and is no saved model: name another folder, or remove it")


def write(
    encoder: TrainableEncoder,
    output: Path,
    record: Mapping[str, Any],
    sample: Sequence[str],
    weights: Weights | None,
) -> dict[str, float]:
    """Write the folder; a model that is there is replaced.

    Args:
        encoder: with its trained weights.
        output: the folder.
        record: what ``train.json`` is to say; the figures of the export are added.
        sample: texts on which the exported form is compared with torch; see ``encoders.export``.
        weights: how the exported form stores them; None: no exported form.

    Returns:
        The figures of the export, empty without one.

    Raises:
        ArtifactError: the exported form is too far from torch's.
        UsageError: it cannot be written there.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    figures: dict[str, float] = {}
    with folder_beside(output) as folder:
        trained, exported = folder / "trained", folder / "exported"
        encoder.save(trained)
        if weights:
            # A fresh one, uncompiled: it is what will be loaded, too.
            figures = export(encoders.load_trainable(trained), exported, sample, weights=weights)
            shutil.copy(exported / MODEL, trained / MODEL)
        _put(trained, output, Artifact.open(exported, KIND).options if weights else None, folder)
    _record(output, {**record, "export": figures})
    return figures


def write_generator(generator: Generator, output: Path, record: Mapping[str, Any]) -> None:
    """Write the folder of a generator; a model that is there is replaced. For arguments and errors see ``write``."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with folder_beside(output) as folder:
        generator.save(folder / "trained")
        _put(folder / "trained", output, None, folder)
    _record(output, record)


def _record(output: Path, record: Mapping[str, Any]) -> None:
    with atomic(output / RECORD) as temporary:
        temporary.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _put(trained: Path, output: Path, options: Mapping[str, Any] | None, folder: Path) -> None:
    """Put the files in their place, with a manifest over all of them where one of them is exported."""
    if output.exists() and (options is None or not (output / MANIFEST).is_file()):
        output.rename(folder / "old")
    if options is None:
        trained.rename(output)
        return
    with writing(output, KIND, options) as target:
        for file in sorted(trained.iterdir()):
            file.rename(target / file.name)
