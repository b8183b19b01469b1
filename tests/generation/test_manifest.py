"""What a saved generator's folder says of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nomina.errors import ArtifactError
from nomina.generation.manifest import Writing, described, read_manifest

WRITING = Writing(0, None, 1, (0, 1), ("[", "]"), "{mention} is", context=False, window=256)
OPTIONS = {"layers": 3}


def written(folder: Path, **changed: object) -> Path:
    """A manifest with some values changed; without those that are ``...``."""
    values = {**described("shallow", OPTIONS, WRITING), **changed}
    path = folder / "generator.json"
    path.write_text(json.dumps({name: value for name, value in values.items() if value is not ...}), encoding="utf-8")
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert read_manifest(written(tmp_path)) == ("shallow", OPTIONS, WRITING)
    assert read_manifest(written(tmp_path, prompt="", markers=["", ""]))[2].prompt == ""


def test_older_manifests_say_no_version_and_nothing_of_context_and_window(tmp_path: Path) -> None:
    found = read_manifest(written(tmp_path, version=..., context=..., window=...))
    assert found == ("shallow", OPTIONS, replace(WRITING, context=True, window=128))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", ...), ("kind", 3), ("options", ...), ("options", []), ("pad_id", "0"), ("bos_id", True),
        ("eos_id", 2.7), ("eos_id", None), ("start", []), ("start", [0.5]), ("start", 3),
        ("markers", [1, 2]), ("markers", ["a"]), ("window", 0), ("window", "128"),
        ("prompt", None), ("prompt", "is"), ("prompt", "{mention} {mention}"), ("context", "no"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_named(tmp_path: Path, name: str, value: object) -> None:
    path = written(tmp_path, **{name: value})
    with pytest.raises(ArtifactError, match=rf"describe a saved generator \({name} is .+\): name a folder") as caught:
        read_manifest(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", [2, "1", None])
def test_another_version_is_refused(tmp_path: Path, version: object) -> None:
    with pytest.raises(ArtifactError, match=rf"is of version {version!r}, and this nomina reads 1: update nomina$"):
        read_manifest(written(tmp_path, version=version))


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_what_is_no_manifest_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "generator.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match="name a folder that has been saved") as caught:
        read_manifest(path)
    assert "\n" not in str(caught.value)
