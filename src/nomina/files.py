"""Files and folders: atomic writes, locks, transparent unpacking, UTF-8 lines, the cache folder."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import os
import re
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from nomina.errors import FormatError, NotText, UsageError
from nomina.packed import on_disk, unpacked

Skip = Callable[[FormatError], None]
"""Told of each fault that a lenient reader repairs or leaves out."""

_BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""What files in UTF-16 begin with."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NEITHER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Control characters that may stand neither in XML nor in JSON."""


def home() -> Path:
    """The folder of everything that nomina makes for itself: ``NOMINA_HOME``, else the user's cache folder."""
    chosen = os.environ.get("NOMINA_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("nomina")


def home_folder(*parts: str) -> Path:
    """A folder under ``home()``, made where it is missing.

    Raises:
        UsageError: it cannot be made or written to.
    """
    folder = home().joinpath(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(folder, error.strerror) from error
    if not os.access(folder, os.W_OK):
        raise _not_writable(folder, "Permission denied")
    return folder


def _not_writable(folder: Path, why: str | None) -> UsageError:
    return UsageError(
        f"cannot write to the cache folder {folder} ({why}): set NOMINA_HOME to a folder you can write to"
    )


@contextlib.contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place, whole and on disk, when the block ends well.

    A file that is replaced leaves its permissions to the new one, which only its owner may open until then. If the
    block raises, ``path`` stays as it was and the temporary file goes. What a killed process left behind is removed
    here the next time. Two writers at once each have their own temporary file; the last to finish stays. Where ``path``
    is a link, what it leads to is replaced.

    Raises:
        OSError: the folder is missing or cannot be written to.
    """
    target = Path(os.path.realpath(path))
    _remove_stale(target)
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    temporary, descriptor = _claim(target, 0o666 if mode is None else 0o600)
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    _sync_folder(target.parent)


def _claim(target: Path, mode: int) -> tuple[Path, int]:
    """A new temporary file, locked; tried again where another writer took it for stale before the lock was on."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if not _LOCKS or (_try_lock(descriptor) and temporary.exists()):
            return temporary, descriptor
        os.close(descriptor)


def _remove_stale(target: Path) -> None:
    """Remove the temporary files of dead writers: a living one holds a lock on its own."""
    pattern = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.tmp")
    for path in target.parent.iterdir() if target.parent.is_dir() else ():
        if not pattern.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _try_lock(descriptor):
                    path.unlink()
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def folder_beside(path: str | Path) -> Iterator[Path]:
    """An empty folder beside ``path`` for what is made on the way to it.

    It goes when the block ends; what a killed process left behind is removed here the next time, as by ``atomic``.

    Raises:
        OSError: there is no folder around ``path``, or it cannot be written to.
    """
    from shutil import rmtree
    from tempfile import TemporaryDirectory

    target = Path(path).absolute()
    pattern = re.compile(re.escape(f".{target.name}.") + r"\w{8}\.parts")
    for old in [found for found in target.parent.iterdir() if pattern.fullmatch(found.name)]:
        with contextlib.suppress(OSError), _held(old / _HELD, os.O_RDWR) as free:
            if free:
                rmtree(old, ignore_errors=True)
    with (
        TemporaryDirectory(prefix=f".{target.name}.", suffix=".parts", dir=target.parent) as folder,
        _held(Path(folder, _HELD), os.O_RDWR | os.O_CREAT),
    ):
        yield Path(folder)


_HELD = "held"


@contextlib.contextmanager
def _held(path: Path, how: int, shared: bool = False) -> Iterator[bool]:
    """Hold a lock on a file, where no other process does (``shared``: none alone); whether it is held."""
    descriptor = os.open(path, how)
    try:
        yield _try_lock(descriptor, shared)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_LOCKS = sys.platform != "win32"

if sys.platform == "win32":

    def _try_lock(descriptor: int, shared: bool = False) -> bool:
        """Without locks nothing is known to be stale."""
        return False

    def _wait_lock(descriptor: int) -> None:
        """Without locks two builders both build; the last one to finish stays."""

else:
    import fcntl

    def _try_lock(descriptor: int, shared: bool = False) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _wait_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def lock(path: str | Path) -> Iterator[None]:
    """Hold ``path`` + ``.lock`` while the block runs; another process that wants it waits, a dead one lets go."""
    target = Path(path)
    descriptor = os.open(target.with_name(f"{target.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _wait_lock(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def try_lock(path: str | Path, shared: bool = False) -> Iterator[bool]:
    """As ``lock``, but without waiting: whether it is held now, or another process has it. Without locks it is held.

    ``shared``: held beside others who share it, and nothing is written; it is held too where there is no ``.lock``, or
    none that may be read.
    """
    target = Path(path)
    file = target.with_name(f"{target.name}.lock")
    if shared and not os.access(file, os.R_OK):
        yield True
        return
    with _held(file, os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT, shared) as held:
        yield held or not _LOCKS


def open_bytes(path: str | Path) -> BinaryIO:
    """A file opened for reading, unpacked where its first bytes say gzip, zip or zstd; see ``nomina.packed``."""
    return unpacked(path)


def head(path: str | Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked and without a byte-order mark."""
    with open_bytes(path) as stream:
        return stream.read(size).removeprefix(_BOM)


@contextlib.contextmanager
def damaged_gzip(path: str | Path) -> Iterator[None]:
    """Turn what gzip raises on a damaged file into a ``FormatError``."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(path, None, f"the .gz file is cut off or damaged ({error}): fetch it again") from error


def lines(path: str | Path, skip: Skip | None = None) -> Iterator[tuple[int, str]]:
    r"""Number (from 1) and text of each line, without its ``\n`` or ``\r\n``; a byte-order mark is dropped.

    A byte that is not UTF-8 and a control character (NUL and such) are errors; where ``skip`` is given it is told of
    them and they are dropped.
    """
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                raw = unmarked(path, raw)
            yield number, decoded(path, number, raw.removesuffix(b"\n").removesuffix(b"\r"), skip)


def whole_lines(path: str | Path, skip: Skip | None = None) -> Iterator[tuple[int, str, bool]]:
    """As ``lines``, and whether ``skip`` was told that the line is no text: then what it is part of is to be left out.

    Where bytes were dropped from a line, offsets in it are not those of the file.
    """
    is_whole = True

    def told(error: FormatError) -> None:
        nonlocal is_whole
        is_whole = False
        report(FormatError(path, error.line, error.mend if isinstance(error, NotText) else error.why), skip)

    for number, line in lines(path, told):
        yield number, line, is_whole
        is_whole = True


def unmarked(path: str | Path, raw: bytes) -> bytes:
    """The first bytes of a file without a byte-order mark.

    Raises:
        FormatError: it is that of UTF-16.
    """
    if raw.startswith(UTF16):
        raise FormatError(path, None, "is UTF-16: save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`")
    return raw.removeprefix(_BOM)


def blocks(
    path: str | Path, skip: Skip | None = None, size: int = 1 << 18, *, encoding: str | None = None
) -> Iterator[tuple[int, str]]:
    r"""The text as ``lines`` gives it, in blocks of about ``size`` bytes for formats whose lines mean nothing.

    Each with the number of the line that it begins in. A block ends behind a line where it holds one; a longer line is
    cut anywhere, so that memory stays bounded. Faults are treated as by ``lines``, but that U+007F and a single ``\r``
    are none in XML and JSON; ``\r\n`` becomes ``\n``. What stands in the lines before a fault that is raised comes
    first. ``encoding`` is that of the file where it is not UTF-8.
    """
    number, left = 1, b""
    with open_bytes(path) as stream, damaged_gzip(path):
        for chunk in chunks(stream, path, size, encoding):
            raw = left + (unmarked(path, chunk) if not left and number == 1 else chunk)
            cut = raw.rfind(b"\n") + 1 or _whole_characters(raw)
            raw, left = raw[:cut], raw[cut:]
            yield from _block(path, number, raw, skip)
            number += raw.count(b"\n")
    yield from _block(path, number, left.removesuffix(b"\r"), skip)


def chunks(stream: BinaryIO, path: str | Path, size: int, encoding: str | None = None) -> Iterator[bytes]:
    """The bytes of a stream, so many at a time; those in an encoding as UTF-8.

    Raises:
        FormatError: bytes that the encoding does not have.
    """
    found = iter(lambda: stream.read(size), b"")
    if encoding is None:
        yield from found
        return
    try:
        for text in codecs.iterdecode(found, encoding):
            yield text.encode("utf-8")
    except UnicodeError as error:
        raise FormatError(path, None, f"is not the {encoding} that its beginning says: save it as UTF-8") from error


def _whole_characters(raw: bytes) -> int:
    r"""How much of the bytes can be decoded alone: no part of a character, nor the half of a ``\r\n``, at the end."""
    end = len(raw)
    while end and len(raw) - end < 4 and raw[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if end and (raw[end - 1] >= 0xC0 or raw[end - 1] == 0x0D) else len(raw)


def _block(path: str | Path, number: int, raw: bytes, skip: Skip | None) -> Iterator[tuple[int, str]]:
    raw = raw.replace(b"\r\n", b"\n")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if not _NEITHER.search(text):
        yield number, text
        return
    parts: list[str] = []
    for line, part in enumerate(raw.split(b"\n"), start=number):
        try:
            parts.append(decoded(path, line, part, skip, _NEITHER))
        except FormatError:
            yield number, "\n".join([*parts, ""])
            raise
    yield number, "\n".join(parts)


def decoded(path: str | Path, number: int, raw: bytes, skip: Skip | None, control: re.Pattern[str] = _CONTROL) -> str:
    """A line as text; what ``lines`` says of bytes that are no text, and of ``control`` characters, holds here too."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"byte 0x{raw[error.start]:02x} in column {error.start + 1} is not UTF-8"
        report(NotText(path, number, what, "save the file as UTF-8", "bytes"), skip)
        text = raw.decode("utf-8", errors="ignore")
    if found := control.search(text):
        what = f"control character U+{ord(found.group()):04X} in column {found.start() + 1}"
        report(NotText(path, number, what, "remove it", "characters"), skip)
        text = control.sub("", text)
    return text


def report(error: FormatError, skip: Skip | None) -> None:
    """Raise a fault, or tell ``skip`` of it."""
    if skip is None:
        raise error
    skip(error)


def sha256(*paths: str | Path) -> str:
    """The SHA-256 of a file as it lies on disk, in hex; of several files, that of their names and hashes.

    A member of an archive stands for the archive.
    """
    files = list(dict.fromkeys(on_disk(path)[0] for path in paths))
    if len(files) != 1:
        return hashlib.sha256("".join(f"{file.name} {sha256(file)}\n" for file in files).encode()).hexdigest()
    with open(files[0], "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
