"""Model folders: what is written is read, whole or not at all, and everything else is one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nomina.artifact import MANIFEST, Artifact, writing
from nomina.errors import ArtifactError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(tmp_path / "models" / "model")


def save(folder: Path, content: bytes = b"weights", **options: object) -> Path:
    with writing(folder, "encoder", options, kb="abc") as target:
        (target / "model.bin").write_bytes(content)
        (target / "tokenizer.json").write_text("{}", encoding="utf-8")
    return folder


def manifest(folder: Path) -> dict:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def shown(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_what_is_written_is_read(folder: Path) -> None:
    found = Artifact.open(folder, "encoder")
    assert (found.folder, found.kind, found.kb, dict(found.options)) == (folder, "encoder", "abc", {})
    assert found.file("model.bin").read_bytes() == b"weights"
    assert sorted(found.files) == ["model.bin", "tokenizer.json"]
    assert found.files["tokenizer.json"] == (2, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
    assert shown(folder) == [MANIFEST, "model.bin", "tokenizer.json"]
    assert shown(folder.parent) == ["model"]


def test_the_fingerprint_is_that_of_the_content(folder: Path, tmp_path: Path) -> None:
    first = Artifact.open(folder, "encoder").fingerprint
    assert Artifact.open(save(tmp_path / "elsewhere"), "encoder").fingerprint == first
    assert Artifact.open(save(tmp_path / "other", b"weight5"), "encoder").fingerprint != first
    assert Artifact.open(save(tmp_path / "options", length=3), "encoder").fingerprint != first


def test_a_model_is_replaced_by_another(folder: Path) -> None:
    save(folder, b"new", length=2)
    found = Artifact.open(folder, "encoder")
    assert found.file("model.bin").read_bytes() == b"new"
    assert dict(found.options) == {"length": 2}
    assert shown(folder.parent) == ["model"]


def test_a_block_that_raises_leaves_the_old_model(folder: Path) -> None:
    before = manifest(folder)

    def broken() -> None:
        with writing(folder, "encoder", {}) as target:
            (target / "model.bin").write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert manifest(folder) == before
    assert Artifact.open(folder, "encoder").file("model.bin").read_bytes() == b"weights"
    assert shown(folder.parent) == ["model"]


KILLED = """
import os, sys
from nomina import artifact
target = sys.argv[1]
if sys.argv[2] == "between":
    rename = os.rename
    def once(a, b):
        rename(a, b)
        os._exit(9)
    artifact.os.rename = once
with artifact.writing(target, "encoder", {}) as folder:
    (folder / "model.bin").write_bytes(b"half")
    if sys.argv[2] == "while":
        os._exit(9)
"""


@pytest.mark.parametrize("when", ["while", "between"])
def test_a_writer_that_is_killed_leaves_the_old_model(folder: Path, when: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), when])
    assert done.returncode == 9
    assert len(shown(folder.parent)) > 1 or when == "between"
    assert Artifact.open(folder, "encoder").file("model.bin").read_bytes() == b"weights"
    save(folder, b"new")
    assert Artifact.open(folder, "encoder").file("model.bin").read_bytes() == b"new"
    assert shown(folder.parent) == ["model"]


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_file_is_found_when_it_is_asked_for(folder: Path, damage: str) -> None:
    path = folder / "model.bin"
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"weightz" if damage == "changed" else b"weight")
    found = Artifact.open(folder, "encoder")
    with pytest.raises(ArtifactError, match=r"model\.bin (is damaged|cannot be read).*: save or fetch the model again"):
        found.file("model.bin")
    assert found.file("tokenizer.json").is_file()


def test_a_file_that_the_manifest_does_not_name(folder: Path) -> None:
    (folder / "extra.bin").write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"has no extra\.bin"):
        Artifact.open(folder, "encoder").file("extra.bin")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not of a model that nomina saved"),
        ({"version": 2}, "a model of version 2, this nomina reads 1"),
        ({"kind": "linker"}, "a model of kind 'linker', not 'encoder'"),
        ({"kind": 3}, "fields are missing or wrong"),
        ({"kb": 3}, "fields are missing or wrong"),
        ({"options": []}, "fields are missing or wrong"),
        ({"files": {"../secret": {"bytes": 1, "sha256": ""}}}, "fields are missing or wrong"),
        ({"files": {"a": {"bytes": "1", "sha256": ""}}}, "fields are missing or wrong"),
        ({"files": {"a": None}}, "fields are missing or wrong"),
        ({"more": 1}, "fields are missing or wrong"),
    ],
)
def test_a_foreign_or_damaged_manifest_is_one_line(folder: Path, change: dict, message: str) -> None:
    (folder / MANIFEST).write_text(json.dumps({**manifest(folder), **change}), encoding="utf-8")
    with pytest.raises(ArtifactError, match=message) as caught:
        Artifact.open(folder, "encoder")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "{", "[]", '"x"', "\x00"])
def test_a_manifest_that_is_none(folder: Path, content: str) -> None:
    (folder / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"is damaged|is not of a model"):
        Artifact.open(folder, "encoder")


def test_no_manifest_and_no_folder(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ArtifactError, match=r"is no saved model \(it has no manifest\.json\)"):
            Artifact.open(place, "encoder")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ArtifactError, match="cannot be read"):
        Artifact.open(tmp_path / "file", "encoder")


def test_what_is_no_model_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("x", encoding="utf-8")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for place in ("thesis", "file"):
        with pytest.raises(UsageError, match="is there and is no saved model: name another folder, or remove it"):
            save(tmp_path / place)
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty")
    assert (tmp_path / "thesis" / "chapter.txt").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(UsageError, match=r"cannot write .*Permission denied"):
        save(tmp_path / "closed" / "model")


def test_a_place_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match=r"cannot write .*name another folder"):
        save(tmp_path / "file" / "model")
