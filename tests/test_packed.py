from __future__ import annotations

import gzip
import sys
import zipfile
from pathlib import Path

import pytest

from nomina import files, packed
from nomina.errors import FormatError, MissingExtra

TEXT = "Löfgren’s\n".encode() * 50_000


def zipped(path: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def read(path: Path) -> bytes:
    with packed.unpacked(path) as stream:
        return stream.read()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_archive_of_one_file_is_read_as_that_file(tmp_path: Path, compression: int) -> None:
    path = zipped(tmp_path / "a.zip", {"inner/a.txt": TEXT, "__MACOSX/a.txt": b"no", "empty/": b""}, compression)
    assert read(path) == TEXT
    assert files.head(path, 9) == TEXT[:9]
    assert sum(1 for _ in files.lines(path)) == 50_000


def test_members_have_paths(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"b/two.txt": b"2", "b/one.txt": b"1", ".hidden": b"no", "__MACOSX/x": b"no"})
    assert packed.members(path) == [path / "b/one.txt", path / "b/two.txt"]
    assert (read(path / "b" / "one.txt"), read(path / "b/two.txt")) == (b"1", b"2")
    with pytest.raises(FormatError, match=r"the archive has no such file; it has: b/two\.txt, b/one\.txt"):
        read(path / "three.txt")
    with pytest.raises(FormatError, match=r"the archive holds 3 files: name one, as in a\.zip/b/two\.txt"):
        read(path)
    with pytest.raises(FormatError, match="the archive holds no file"):
        read(zipped(tmp_path / "b.zip", {"d/": b""}))


def test_members_of_a_folder_and_of_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "b" / ".git").mkdir(parents=True)
    for name in ("b/x", "a", "b/.git/x", ".hidden"):
        (tmp_path / name).write_bytes(b"x")
    assert packed.members(tmp_path) == [tmp_path / "a", tmp_path / "b" / "x"]
    assert packed.members(tmp_path / "a") == []
    with pytest.raises(FormatError, match="cannot be read"):
        packed.members(tmp_path / "no")


def test_packed_more_than_once(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.txt.gz": gzip.compress(gzip.compress(TEXT))})
    assert read(path) == TEXT


def test_a_path_into_a_file_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"plain")
    with pytest.raises(FormatError, match=r"a\.txt/b: cannot be read \(.*a\.txt is no zip archive\)"):
        read(tmp_path / "a.txt" / "b")


def test_a_damaged_archive_is_a_format_error(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "a.zip", {"a.txt": TEXT}).read_bytes()
    damaged = {"cut": whole[:-30], "flipped": whole[:80] + b"\xff" * 20 + whole[100:], "head": whole[:50]}
    for name, data in damaged.items():
        path = tmp_path / f"{name}.zip"
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"the \.zip file is cut off or damaged"):
            read(path)


def test_an_archive_with_a_password_is_to_be_unpacked_by_hand(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.txt": b"secret"})
    data = bytearray(path.read_bytes())
    for header in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[header] |= 1
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError, match=r"password.*: unpack it by hand"):
        read(path)


def test_zstd_in_several_frames(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="needs the extra zstd")
    path = tmp_path / "a.zst"
    data = zstandard.compress(TEXT) + zstandard.compress(b"") + zstandard.compress(TEXT)
    path.write_bytes(data)
    assert read(path) == TEXT * 2
    for damaged in (data[:-5], data[:-1], data[:20] + b"\xff" * 40 + data[60:], data + b"tail"):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"the \.zst file is cut off or damaged"):
            read(path)


def test_zstd_without_its_extra_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r'a\.zst needs an extra: python -m pip install "nomina\[zstd\]"'):
        read(tmp_path / "a.zst")


def test_bare_names() -> None:
    names = ["MRSTY.RRF", "MRSTY.RRF.gz", "MRSTY.RRF.ZST", "MRSTY.RRF.zip"]
    assert {packed.bare_name(Path(name)) for name in names} == {"MRSTY.RRF"}


def test_the_hash_of_several_files_and_of_members(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"one": b"1", "two": b"2"})
    assert files.sha256(archive / "one", archive / "two") == files.sha256(archive)
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(name.encode())
    both = files.sha256(tmp_path / "one", tmp_path / "two")
    assert both not in (files.sha256(tmp_path / "one"), files.sha256(tmp_path / "two"))
    (tmp_path / "two").write_bytes(b"other")
    assert files.sha256(tmp_path / "one", tmp_path / "two") != both
