"""Names written token by token: what a generative linker may write, and how. ``GENERATORS`` names the models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nomina.errors import ArtifactError, UsageError

if TYPE_CHECKING:
    from nomina.generation.generator import Generator

GENERATORS = {
    "bart": "nomina.generation.bart.BartGenerator",
    "shallow": "nomina.generation.shallow.ShallowGenerator",
}
"""Kind of a generative model, and where its class is."""

DESCRIPTION = "generator.json"
"""The file of a saved generator's folder that says its kind, its options, and how sources and targets are written."""


def generator_class(kind: str) -> type[Generator]:
    """The class of a kind of generator.

    Raises:
        ArtifactError: no such kind.
        MissingExtra: torch is not installed.
    """
    from nomina.encoders.base import import_torch

    if kind not in GENERATORS:
        raise ArtifactError(f"no generator is called {kind!r}: the kinds are {', '.join(GENERATORS)}")
    import_torch()
    module, _, name = GENERATORS[kind].rpartition(".")
    return cast("type[Generator]", getattr(import_module(module), name))


def is_generator(folder: str | Path) -> bool:
    """Whether a folder holds a generator: a saved one, or an encoder-decoder of Hugging Face."""
    return Path(folder, DESCRIPTION).is_file() or _is_encoder_decoder(Path(folder))


def load(folder: str | Path) -> Generator:
    """The generator in a folder: one that was saved, or an encoder-decoder of Hugging Face with GenBioEL's prompt.

    Raises:
        ArtifactError: there is no such folder, or it holds neither, or a damaged one: weights that are no finite
            numbers and a tokenizer of more tokens than the model knows among the damages.
        MissingExtra: torch is not installed.
    """
    made = _loaded(folder)
    from nomina.generation.checking import check

    check(made, folder)
    return made


def _loaded(folder: str | Path) -> Generator:
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ArtifactError(f"{folder} is a file: name the folder of a generator")
    if not path.is_dir():
        raise ArtifactError(f"no such folder: {folder}; name the folder of a generator")
    if not (path / DESCRIPTION).is_file():
        if not _is_encoder_decoder(path):
            raise ArtifactError(
                f"{folder} holds no generator (neither {DESCRIPTION} nor an encoder-decoder of Hugging Face): name a"
                " folder that `nomina train genbioel` wrote"
            )
        from nomina.encoders.base import import_torch

        import_torch()
        from nomina.generation.bart import BartGenerator

        return BartGenerator(folder)
    from nomina.generation.manifest import read_manifest

    kind, options, writing = read_manifest(path / DESCRIPTION)
    return generator_class(kind).load(folder, writing, **options)


def begin(base: str | Path, layers: Sequence[int] = (1, 3, 5)) -> Generator:
    """A generator to train: the one in a folder, or a shallow decoder on top of an encoder of Hugging Face.

    Args:
        base: A folder of either, or the name of an encoder at Hugging Face.
        layers: Encoder layers, from 0, that the layers of a shallow decoder start from.

    Raises:
        ArtifactError: it is none of them, or a damaged one.
        MissingExtra: torch is not installed.
        UsageError: the encoder has no such layer.
    """
    if is_generator(base):
        return load(base)
    from nomina.encoders.base import import_torch

    import_torch()
    from nomina.generation.checking import check
    from nomina.generation.shallow import ShallowGenerator

    made = ShallowGenerator.begin(base, layers)
    check(made, base)
    return made


def pack(folder: str | Path, target: str | Path) -> None:
    """Write a saved generator with a shallow decoder once more, its matrices as int8 rows: a quarter of its size.

    ``load`` reads it as any other, as float32 weights that differ by half a 127th of the largest of their row at most.

    Args:
        folder: Of the generator.
        target: Made where it is missing; may not be the same folder.

    Raises:
        ArtifactError: it holds no generator, a damaged one, or one of Hugging Face, whose folders stay theirs.
        MissingExtra: torch is not installed.
        UsageError: both are one folder, or the target cannot be made or written to.
    """
    found = load(folder)
    if Path(folder).resolve() == Path(target).resolve():
        raise UsageError(f"{folder} would be written over: name another folder for the packed generator")
    if found.kind != "shallow":
        raise ArtifactError(f"{folder} is an encoder-decoder of Hugging Face, which is not packed: save it with half")
    try:
        found.save(target, packed=True)
    except OSError as error:
        raise UsageError(f"cannot write to {target} ({error.strerror or error}): name another folder") from error


def _is_encoder_decoder(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "config.json").read_text(encoding="utf-8"))["is_encoder_decoder"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
