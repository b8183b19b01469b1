"""``generator.json``: what a saved generator's folder says of its kind, and of how sources and targets are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nomina.errors import ArtifactError
from nomina.generation.prompt import SLOT, WINDOW

VERSION = 1
"""Raised when a folder could not be read any more by those who know the version before. Without one it is 1."""

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Writing:
    """How sources and targets of a model are written; part of its manifest.

    Attributes:
        pad_id: token of padding.
        bos_id: first token of a source; None: there is none.
        eos_id: last token of a source and of a target.
        start: tokens that the decoder's input always starts with; BART: (eos, bos).
        markers: words before and behind the mention in its context (GenBioEL, footnote 1).
        prompt: what the decoder's input goes on with, "{mention}" for the mention; "": nothing (2.4).
        context: whether it was trained to read the text around a mention: one that was not is misled by it.
        window: most tokens of a source that it was trained to read.
    """

    pad_id: int
    bos_id: int | None
    eos_id: int
    start: tuple[int, ...]
    markers: tuple[str, str] = ("Start", "End")
    prompt: str = "{mention} is"
    context: bool = True
    window: int = WINDOW


def described(kind: str, options: dict[str, Any], writing: Writing) -> dict[str, Any]:
    """What ``read_manifest`` reads again, as JSON holds it."""
    return {"version": VERSION, "kind": kind, "options": options, **asdict(writing)}


def read_manifest(path: Path) -> tuple[str, dict[str, Any], Writing]:
    """Kind and options of a saved generator, and how it is written for, every value checked.

    Raises:
        ArtifactError: there is none, it is of another version, or a value cannot be.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read ({error}): name a folder that has been saved") from error
    if not isinstance(found, dict):
        raise ArtifactError(f"{path} does not describe a saved generator: name a folder that has been saved")
    if (version := found.get("version", 1)) != VERSION:
        raise ArtifactError(f"{path} is of version {version!r}, and this nomina reads {VERSION}: update nomina")
    given = {**_USUAL, **found}
    for name, can_be in _VALUES.items():
        if name not in given or not can_be(given[name]):
            said = repr(given[name])[:_SHOWN] if name in given else "nothing"
            raise ArtifactError(
                f"{path} does not describe a saved generator ({name} is {said}): name a folder that has been saved"
            )
    values = {name: given[name] for name in Writing.__dataclass_fields__}
    values |= {name: tuple(values[name]) for name in ("start", "markers")}
    return given["kind"], given["options"], Writing(**values)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are(can_be: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(can_be, value))


_USUAL = {"context": True, "window": WINDOW}
"""What older manifests do not say."""

_VALUES: dict[str, Callable[[Any], bool]] = {
    "kind": _is_text,
    "options": lambda value: isinstance(value, dict),
    "pad_id": _is_whole,
    "bos_id": lambda value: value is None or _is_whole(value),
    "eos_id": _is_whole,
    "start": _are(_is_whole),
    "markers": lambda value: _are(_is_text)(value) and len(value) == 2,
    "prompt": lambda value: _is_text(value) and (not value or value.count(SLOT) == 1),
    "context": lambda value: isinstance(value, bool),
    "window": lambda value: _is_whole(value) and value > 0,
}
"""What each value can be."""
