"""Encoders: texts in, unit vectors out. ``ENCODERS`` names them; each is imported when it is first used."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nomina.artifact import MANIFEST, Artifact
from nomina.errors import ArtifactError

if TYPE_CHECKING:
    from nomina.encoders.base import Encoder, TrainableEncoder

ENCODERS = {
    "bert": "nomina.encoders.bert.BertEncoder",
    "rescnn": "nomina.encoders.rescnn.ResCnnEncoder",
}
"""Kind of an encoder, and where its class is."""

DESCRIPTION = "encoder.json"
"""The file of a saved encoder's folder that says its kind and options."""

_HUB_NAME = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)?")


def encoder_class(kind: str) -> type[TrainableEncoder]:
    """The class of a kind of encoder.

    Raises:
        ArtifactError: no such kind.
    """
    if kind not in ENCODERS:
        raise ArtifactError(f"no encoder is called {kind!r}: the kinds are {', '.join(ENCODERS)}")
    module, _, name = ENCODERS[kind].rpartition(".")
    return cast("type[TrainableEncoder]", getattr(import_module(module), name))


def load(folder: str | Path) -> Encoder:
    """The encoder in a folder: an exported one, which needs no torch, or one that ``TrainableEncoder.save`` wrote.

    Raises:
        ArtifactError: there is no such folder, or it holds neither, or a damaged one.
        MissingExtra: it is a trainable one, and torch is not installed.
    """
    if is_exported(folder):
        from nomina.encoders.onnx import OnnxEncoder

        return OnnxEncoder(folder)
    return load_trainable(folder)


def is_exported(folder: str | Path) -> bool:
    """Whether a folder holds a model with a manifest, as ``nomina.encoders.export.export`` writes it."""
    return Path(folder, MANIFEST).is_file()


def shipped() -> Path:
    """The folder of the encoder that nomina comes with, an exported one.

    Raises:
        ArtifactError: it is not there.
    """
    folder = Path(__file__).resolve().parents[1] / "data" / "encoder"
    if not is_exported(folder):
        raise ArtifactError(
            f"the encoder that nomina comes with is missing ({folder}): install nomina again, or name the linker"
            " dictionary, which needs none"
        )
    return folder


def load_trainable(folder: str | Path) -> TrainableEncoder:
    """The encoder that ``TrainableEncoder.save`` wrote to a folder, also where an exported form of it is in there.

    Raises:
        ArtifactError: there is no such folder, or it holds none, or a damaged one.
        MissingExtra: torch is not installed.
    """
    check_folder(folder)
    path = Path(folder) / DESCRIPTION
    if not path.is_file():
        raise ArtifactError(_nothing_in(Path(folder)))
    try:
        options = json.loads(path.read_text(encoding="utf-8"))
        kind, prefix = str(options.pop("kind")), str(options.pop("query_prefix", ""))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ArtifactError(f"{path} does not describe a saved encoder: name a folder that has been saved") from error
    encoder = encoder_class(kind).load(folder, **options)
    encoder.query_prefix = prefix
    return encoder


def check_folder(folder: str | Path) -> None:
    """Whether there is a folder of that name.

    Raises:
        ArtifactError: there is none.
    """
    path = Path(folder)
    if not path.exists():
        raise ArtifactError(f"no such folder: {folder}; name the folder of an encoder")
    if not path.is_dir():
        raise ArtifactError(f"{folder} is a file: name the folder of an encoder")


def check_encoder(folder: str | Path) -> None:
    """Whether a folder holds an encoder; a look at its description is all.

    Raises:
        ArtifactError: there is no such folder, or it holds none.
    """
    check_folder(folder)
    if is_exported(folder):
        from nomina.encoders.onnx import KIND

        Artifact.open(folder, KIND)
    elif not Path(folder, DESCRIPTION).is_file():
        raise ArtifactError(_nothing_in(Path(folder)))


def check_base(base: str) -> None:
    """Whether an encoder to start from may be there: a folder, or what can be a name of Hugging Face.

    Raises:
        ArtifactError: it is a path, and no folder is there.
    """
    if not _HUB_NAME.fullmatch(base) or Path(base).exists():
        check_folder(base)


def _nothing_in(folder: Path) -> str:
    if (folder / "config.json").is_file():
        return (
            f"{folder} holds a model of Hugging Face, which cannot link as it is: make an encoder of it with"
            " `nomina train --base`, or name the folder of one"
        )
    return (
        f"{folder} holds no encoder (neither {MANIFEST} nor {DESCRIPTION}): name a folder that `nomina train` or"
        " `export` wrote"
    )
