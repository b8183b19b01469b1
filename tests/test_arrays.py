"""Arrays in one file: what comes back, and that a damaged file is made anew."""

import mmap
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nomina.arrays import Arrays, cached, read, write
from nomina.errors import UsageError

ARRAYS = [
    np.arange(5, dtype=np.uint64),
    np.array([[1.5, -2.5], [0.0, 3.0]], np.float32),
    np.zeros(0, np.int32),
    np.array([7, 255], np.uint8),
]


def same(found: Arrays, expected: Arrays = ARRAYS) -> bool:
    return len(found) == len(expected) and all(
        one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other)
        for one, other in zip(found, expected, strict=True)
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def make(path: Path) -> None:
    write(path, ARRAYS)


def test_all_arrays_come_back_in_order_mapped_and_read_only(tmp_path: Path) -> None:
    write(tmp_path / "a", ARRAYS)
    found = read(tmp_path / "a")
    assert same(found)
    assert not any(array.flags.writeable for array in found)
    base = found[0]
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(memoryview(base).obj, mmap.mmap)
    with pytest.raises(ValueError, match="read-only"):
        found[0][0] = 1


def test_the_last_array_may_be_empty(tmp_path: Path) -> None:
    arrays = [np.arange(2), np.zeros((0, 3), np.float32)]
    write(tmp_path / "a", arrays)
    assert same(read(tmp_path / "a"), arrays)


def test_the_order_of_the_axes_comes_back(tmp_path: Path) -> None:
    arrays = [np.asfortranarray(np.arange(6).reshape(2, 3))]
    write(tmp_path / "a", arrays)
    assert same(read(tmp_path / "a"), arrays)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        write(tmp_path / "a", [np.array([{}], object)])


def test_every_cut_and_every_damage_is_a_value_error_or_other_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, ARRAYS)
    data = path.read_bytes()
    for size in range(0, len(data), 3):
        path.write_bytes(data[:size])
        try:
            assert not same(read(path))
        except ValueError:
            continue
    chosen = random.Random(3)
    for _ in range(1500):
        broken = bytearray(data)
        broken[chosen.randrange(len(broken))] = chosen.randrange(256)
        path.write_bytes(broken)
        try:
            read(path)
        except (ValueError, UserWarning):
            continue


def test_a_file_is_made_once_and_found_again(home: Path) -> None:
    made = []

    def counted(path: Path) -> None:
        made.append(path)
        make(path)

    assert same(cached("folder", "name", counted, same))
    before = (home / "folder" / "name").stat()
    assert same(cached("folder", "name", counted, same))
    after = (home / "folder" / "name").stat()
    assert len(made) == 1
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert sorted(os.listdir(home / "folder")) == ["name", "name.lock"]


@pytest.mark.parametrize("damage", ["empty", "cut", "cut between two arrays", "other arrays", "text", "header"])
def test_a_damaged_file_is_made_anew(home: Path, damage: str) -> None:
    cached("folder", "name", make, same)
    path = home / "folder" / "name"
    data = path.read_bytes()
    first = tuple(ARRAYS[:1])
    write(home / "first", first)
    broken = {
        "empty": b"",
        "cut": data[:-1],
        "cut between two arrays": (home / "first").read_bytes(),
        "other arrays": (home / "first").read_bytes() * 4,
        "text": b"no arrays at all\n" * 20,
        "header": data[:10] + b"{(" + data[12:],
    }[damage]
    path.write_bytes(broken)
    assert same(cached("folder", "name", make, same))
    assert path.read_bytes() == data


def test_every_changed_byte_is_found_and_the_file_made_anew(home: Path) -> None:
    cached("folder", "name", make, same)
    path = home / "folder" / "name"
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 4
        path.write_bytes(broken)
        assert same(cached("folder", "name", make, lambda arrays: True))
        assert path.read_bytes() == data


def test_of_a_large_file_blocks_are_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomina.arrays._BLOCK", 16)
    monkeypatch.setattr("nomina.arrays._MOST_BLOCKS", 8)
    made = []

    def large(path: Path) -> None:
        made.append(path)
        write(path, [np.arange(1000)])

    cached("folder", "name", large, lambda arrays: True)
    path = home / "folder" / "name"
    data = path.read_bytes()
    step = (len(data) - 132) // 8
    for start in (0, 2000, len(data) - step - 132):
        path.write_bytes(data[:start] + b"\xff" * step + data[start + step :])
        (array,) = cached("folder", "name", large, lambda arrays: True)
        assert np.array_equal(array, np.arange(1000))
    assert len(made) == 4
    path.write_bytes(data + bytes(8))
    cached("folder", "name", large, lambda arrays: True)
    assert len(made) == 5


def test_a_file_without_a_checksum_is_made_anew(home: Path) -> None:
    (home / "folder").mkdir(parents=True)
    make(home / "folder" / "name")
    assert same(cached("folder", "name", make, same))
    assert same(read(home / "folder" / "name")[:-1])
    assert len(read(home / "folder" / "name")) == len(ARRAYS) + 1


def test_an_interrupted_make_leaves_nothing_behind_and_the_old_file_whole(home: Path) -> None:
    def interrupted(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached("folder", "name", interrupted, same)
    assert os.listdir(home / "folder") == ["name.lock"]
    assert same(cached("folder", "name", make, same))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_a_users_error_but_a_whole_file_in_it_is_used(home: Path) -> None:
    cached("folder", "name", make, same)
    (home / "folder").chmod(0o500)
    try:
        assert same(cached("folder", "name", make, same))
        with pytest.raises(UsageError, match="NOMINA_HOME"):
            cached("folder", "other", make, same)
    finally:
        (home / "folder").chmod(0o700)


def test_a_home_that_is_a_file_is_a_users_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="set NOMINA_HOME to a folder you can write to"):
        cached("folder", "name", make, same)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError("800 requested and 0 written")])
def test_a_full_disk_is_a_users_error(home: Path, error: OSError) -> None:
    def full(path: Path) -> None:
        raise error

    why = r"\((No space left on device|800 requested and 0 written)\)"
    with pytest.raises(UsageError, match=rf"cannot write .*name {why}: free some space"):
        cached("folder", "name", full, same)


MAKER = """
import time
import numpy as np
from nomina.arrays import cached, write

def make(path):
    with open(path.parent / "made", "a", encoding="utf-8") as stream:
        stream.write("x")
    time.sleep(0.3)
    write(path, [np.arange(3)])

(array,) = cached("folder", "name", make, lambda arrays: len(arrays) == 1)
print(array.tolist())
"""


def test_of_several_processes_one_makes_the_file(home: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", MAKER], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["[0, 1, 2]\n"] * 3
    assert (home / "folder" / "made").read_text(encoding="utf-8") == "x"
