from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina import files
from nomina.errors import FormatError, NotText, UsageError


def test_atomic_replaces_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old", encoding="utf-8")
    with files.atomic(target) as temporary:
        temporary.write_text("new", encoding="utf-8")
        assert temporary.parent == tmp_path
        assert target.read_text(encoding="utf-8") == "old"
    assert target.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
@pytest.mark.parametrize("there", [True, False])
def test_atomic_writes_to_where_a_link_leads(tmp_path: Path, there: bool) -> None:
    link, folder = tmp_path / "link", tmp_path / "folder"
    folder.mkdir()
    link.symlink_to(Path("folder", "a"))
    if there:
        (folder / "a").write_text("old", encoding="utf-8")
    with files.atomic(link) as temporary:
        assert temporary.parent == folder
        temporary.write_text("new", encoding="utf-8")
    assert link.is_symlink()
    assert (folder / "a").read_text(encoding="utf-8") == "new"
    assert sorted(tmp_path.rglob("*")) == [folder, folder / "a", link]


def test_a_folder_beside_goes_with_its_block(tmp_path: Path) -> None:
    target = tmp_path / "a[1]"
    with files.folder_beside(target) as folder, files.folder_beside(target) as other:
        assert folder.parent == other.parent == tmp_path
        assert folder.is_dir()
        (folder / "part").write_text("x", encoding="utf-8")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError), files.folder_beside(tmp_path / "no" / "a"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_a_folder_beside_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    target, neighbour = tmp_path / "a", tmp_path / ".b.12345678.parts"
    neighbour.mkdir()
    code = "import os, sys; from nomina.files import folder_beside\n"
    code += "with folder_beside(sys.argv[1]) as folder:\n (folder / 'part').touch(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, target], check=False)
    (left,) = (path for path in tmp_path.iterdir() if path != neighbour)
    assert sorted(path.name for path in left.iterdir()) == ["held", "part"]
    with files.folder_beside(target) as folder:
        assert sorted(tmp_path.iterdir()) == sorted([folder, neighbour])
    assert list(tmp_path.iterdir()) == [neighbour]


def _write_half(path: Path, error: type[BaseException]) -> None:
    path.write_text("half", encoding="utf-8")
    raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_atomic_keeps_the_old_file_when_the_block_raises(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "a"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(error), files.atomic(target) as temporary:
        _write_half(temporary, error)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_atomic_removes_what_a_dead_writer_left_and_nothing_else(tmp_path: Path) -> None:
    stale = tmp_path / ".a.0123456789ab.tmp"
    others = [tmp_path / name for name in (".b.0123456789ab.tmp", ".a.tmp", "a.0123456789ab.tmp")]
    for path in (stale, *others):
        path.touch()
    with files.atomic(tmp_path / "a") as mine, files.atomic(tmp_path / "a") as second:
        assert mine != second
        assert mine.exists()
        assert not stale.exists()
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a", *others])


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
def test_atomic_keeps_the_permissions_of_what_it_replaces_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for mode in (0o600, 0o640, 0o444):
        old.touch()
        old.chmod(mode)
        with files.atomic(old) as temporary:
            temporary.write_text("new", encoding="utf-8")
            assert temporary.stat().st_mode & 0o777 == 0o600
        assert old.read_text(encoding="utf-8") == "new"
        assert old.stat().st_mode & 0o777 == mode
        old.unlink()
    before = os.umask(0o027)
    try:
        with files.atomic(new):
            pass
    finally:
        os.umask(before)
    assert new.stat().st_mode & 0o777 == 0o640


def test_atomic_in_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), files.atomic(tmp_path / "no" / "a"):
        pass


def test_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    order: list[str] = []

    def wait() -> None:
        with files.lock(tmp_path / "a"):
            order.append("second")

    with files.lock(tmp_path / "a"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_locks_that_are_shared(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with files.try_lock(path, shared=True) as free:
        assert free
    assert list(tmp_path.iterdir()) == []
    with files.try_lock(path) as held, files.try_lock(path, shared=True) as free:
        assert (held, free) == (True, False)
    shared = (files.try_lock(path, shared=True) for _ in range(2))
    with next(shared) as one, next(shared) as two, files.try_lock(path) as held:
        assert (one, two, held) == (True, True, False)


@pytest.mark.parametrize("pack", [bytes, lambda data: gzip.compress(data, mtime=0)])
def test_lines_with_numbers_without_mark_and_line_ends(tmp_path: Path, pack) -> None:
    path = tmp_path / "a"
    path.write_bytes(pack("\ufeffé\ta\r\n\nb\u2028c\n  d".encode()))
    assert list(files.lines(path)) == [(1, "é\ta"), (2, ""), (3, "b\u2028c"), (4, "  d")]
    assert files.head(path, 8) == "é\ta\r".encode()


@pytest.mark.parametrize(
    ("data", "line", "why", "mended"),
    [
        (b"a\nb\xe9c\n", 2, "byte 0xe9 in column 2 is not UTF-8: save the file as UTF-8", ["a", "bc"]),
        (b"a\x00\nb\n", 1, "control character U\\+0000 in column 2", ["a", "b"]),
        (b"a\rb\n", 1, "control character U\\+000D in column 2", ["ab"]),
    ],
)
def test_lines_that_are_not_clean(tmp_path: Path, data: bytes, line: int, why: str, mended: list[str]) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=why) as caught:
        list(files.lines(path))
    assert (caught.value.path, caught.value.line) == (path, line)
    faults: list[FormatError] = []
    assert [text for _, text in files.lines(path, faults.append)] == mended
    assert [fault.line for fault in faults] == [line]


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"line\n" * 10_000, mtime=0)
    damaged = (whole[:-8], whole[:10] + b"\xff" * 20 + whole[30:], whole[:-8] + bytes(8), whole + b"tail")
    for number, data in enumerate(damaged):
        path = tmp_path / f"{number}.gz"
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"gz file is cut off or damaged"):
            list(files.lines(path))


def test_sha256(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert files.sha256(path) == hashlib.sha256(b"abc").hexdigest()


def test_home_is_the_users_cache_folder_or_nomina_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "here"))
    assert files.home() == tmp_path / "here"
    assert files.home_folder("a", "b") == tmp_path / "here" / "a" / "b"
    assert (tmp_path / "here" / "a" / "b").is_dir()
    monkeypatch.setenv("NOMINA_HOME", "~/x")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.home() == tmp_path / "x"
    monkeypatch.setenv("NOMINA_HOME", "")
    assert files.home().name == "nomina"


def test_home_that_cannot_be_made_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot write to the cache folder .*: set NOMINA_HOME to a folder"):
        files.home_folder("kb")


def test_home_that_is_read_only_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match=r"Permission denied.*NOMINA_HOME"):
        files.home_folder()


def test_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("Löfgren’s\n", encoding="utf-8")
    code = f"from nomina.files import lines; print(ascii(list(lines({str(path)!r}))))"
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout.decode("ascii").strip() == ascii([(1, "Löfgren’s")])


pieces = st.lists(
    st.sampled_from([b"a", b"\n", b"\r\n", "é".encode(), "𝛽".encode(), b"\xe2\x82", b"\xff", b"\x00", b"\x80"])
)


@given(pieces=pieces, size=st.integers(1, 7))
def test_blocks_hold_the_text_of_lines(
    pieces: list[bytes], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks"
    path.write_bytes(b"".join(pieces))
    faults: list[FormatError] = []
    faulty: list[FormatError] = []
    by_line = list(files.lines(path, faults.append))
    by_block = list(files.blocks(path, faulty.append, size))
    text = "".join(block for _, block in by_block)
    assert text == "\n".join(line for _, line in by_line) + "\n" * path.read_bytes().endswith(b"\n")
    assert {fault.line for fault in faulty} == {fault.line for fault in faults}
    before = ""
    for number, block in by_block:
        assert number == before.count("\n") + 1
        before += block


def test_blocks_of_a_strict_reading_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbffirst\nsec\x00ond\n")
    with pytest.raises(FormatError, match=r"a:2: control character U\+0000 in column 4"):
        list(files.blocks(path))
    path.write_bytes(b"\xef\xbb\xbffirst\r\nsecond")
    assert list(files.blocks(path)) == [(1, "first\n"), (2, "second")]


def test_blocks_keep_what_xml_and_json_may_hold(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\rb\x7fc\r\nd\x0c")
    for size in (1, 2, 1000):
        before: list[str] = []
        with pytest.raises(NotText, match=r"a:2: control character U\+000C in column"):
            before.extend(text for _, text in files.blocks(path, size=size))
        assert "".join(before).rstrip("d") == "a\rb\x7fc\n"


def test_blocks_give_what_comes_before_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first\nsecond\nth\xe9rd\nfourth\n")
    before: list[tuple[int, str]] = []
    with pytest.raises(NotText, match=r"a:3: byte 0xe9 in column 3 is not UTF-8") as caught:
        before.extend(files.blocks(path))
    assert before == [(1, "first\nsecond\n")]
    assert caught.value.mend == "byte 0xe9 in column 3 is not UTF-8: save the file as UTF-8"


def test_blocks_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for encoding in ("latin-1", "utf-16", "utf-16-be", "shift_jis"):
        text = "one\r\ntwo é" if encoding != "shift_jis" else "one\r\ntwo カ"
        path.write_bytes(text.encode(encoding))
        for size in (1, 2, 1000):
            found = "".join(block for _, block in files.blocks(path, size=size, encoding=encoding))
            assert found == text.replace("\r", "")
    path.write_bytes("カ".encode("shift_jis")[:1])
    with pytest.raises(FormatError, match=r"a: is not the shift_jis that its beginning says: save it as UTF-8"):
        list(files.blocks(path, encoding="shift_jis"))


def test_whole_lines_say_which_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\nb\xe9c\x00\nd\n")
    faults: list[FormatError] = []
    assert list(files.whole_lines(path, faults.append)) == [(1, "a", True), (2, "bc", False), (3, "d", True)]
    assert [(fault.line, fault.why.partition(" in ")[0]) for fault in faults] == [
        (2, "byte 0xe9"), (2, "control character U+0000"),
    ]  # fmt: skip
    assert not any("lenient" in fault.why for fault in faults)
    with pytest.raises(FormatError, match=r"a:2: byte 0xe9 in column 2 is not UTF-8: save the file as UTF-8$"):
        list(files.whole_lines(path))


@pytest.mark.parametrize("read", [files.lines, files.blocks, files.whole_lines])
def test_utf16_is_one_error_also_when_lenient(tmp_path: Path, read) -> None:
    path = tmp_path / "a"
    path.write_bytes("é\n".encode("utf-16"))
    faults: list[FormatError] = []
    with pytest.raises(FormatError, match=r"a: is UTF-16: save it as UTF-8"):
        list(read(path, faults.append))
    assert faults == []
