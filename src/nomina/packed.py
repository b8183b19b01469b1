"""Files that are packed: gzip, zip and zstd are unpacked while they are read, members of a zip archive have paths.

``release.zip/META/MRSTY.RRF`` is a file in that archive; an archive of a single file is read as that file.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from nomina.errors import FormatError, MissingExtra

if TYPE_CHECKING:
    from zipfile import ZipFile

    from _typeshed import WriteableBuffer

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 18
_SUFFIXES = (".gz", ".zst", ".zip")


def on_disk(path: str | Path) -> tuple[Path, str | None]:
    """The file that a path leads to and, where it goes on inside that file, the member's name."""
    whole = Path(path)
    if not whole.exists():
        for file in whole.parents:
            if file.is_file():
                return file, whole.relative_to(file).as_posix()
    return whole, None


def bare_name(path: Path) -> str:
    """A file's name without ``.gz``, ``.zst`` or ``.zip``."""
    return path.stem if path.suffix.casefold() in _SUFFIXES else path.name


def members(path: str | Path) -> list[Path]:
    """The files in a folder or zip archive, sorted, hidden ones left out; none for any other file.

    Raises:
        FormatError: it is missing, not readable, or a damaged archive.
    """
    whole = Path(path)
    if whole.is_dir():
        found = [file for file in whole.rglob("*") if file.is_file()]
    elif _starts(whole, _ZIP):
        with _archive(whole) as archive:
            found = [whole / name for name in _names(archive)]
    else:
        return []
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(whole).parts))


def _starts(path: Path, magic: bytes) -> bool:
    file, member = on_disk(path)
    with _plain(file, path) as stream:
        return member is None and stream.peek(len(magic)).startswith(magic)


def unpacked(path: str | Path) -> BinaryIO:
    """A file opened for reading, unpacked as often as its first bytes say that it is packed.

    Raises:
        FormatError: it is missing, a folder, not readable, no such member, or an archive of several files; while it is
            read, the packed data are damaged.
        MissingExtra: it is a zstd file and ``zstandard`` is not installed.
    """
    file, member = on_disk(path)
    stream = _plain(file, path)
    try:
        if member is not None and not stream.peek(4).startswith(_ZIP):
            raise FormatError(path, None, f"cannot be read ({file} is no zip archive)")
        while (start := stream.peek(4)).startswith((_GZIP, _ZIP, _ZSTD)):
            unpack = _gzip if start.startswith(_GZIP) else _zstd if start.startswith(_ZSTD) else _zip
            stream = unpack(stream, Path(path), member)
            member = None
    except BaseException:
        stream.close()
        raise
    return stream


def _plain(file: Path, path: str | Path) -> io.BufferedReader:
    try:
        stream = open(file, "rb")  # noqa: SIM115 (the caller closes it)
        stream.peek(1)
    except OSError as error:
        raise FormatError(path, None, f"cannot be read ({error.strerror})") from error
    return stream


class _Unpacking(io.RawIOBase):
    """What an unpacker gives; on damaged data it raises ``FormatError``. Closes all that it stands on."""

    def __init__(
        self, read: Callable[[int], bytes], path: Path, kind: str, *under: IO[bytes] | gzip.GzipFile | ZipFile
    ) -> None:
        self._read, self._path, self._kind, self._under = read, path, kind, under

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        place = memoryview(buffer)
        try:
            data = self._read(len(place))
        except (EOFError, gzip.BadGzipFile, zlib.error, _ZstdError, _bad_zip()) as error:
            raise _damaged(self._path, self._kind, error) from error
        place[: len(data)] = data
        return len(data)

    def close(self) -> None:
        super().close()
        for stream in self._under:
            stream.close()


class _ZstdError(Exception):
    """Whatever ``zstandard`` finds wrong."""


def _damaged(path: Path, kind: str, error: Exception) -> FormatError:
    return FormatError(path, None, f"the {kind} file is cut off or damaged ({error}): fetch it again")


def _gzip(stream: io.BufferedReader, path: Path, member: str | None) -> io.BufferedReader:
    unpacker = gzip.GzipFile(fileobj=stream)
    return io.BufferedReader(_Unpacking(unpacker.read1, path, ".gz", unpacker, stream), _CHUNK)


def _zip(stream: io.BufferedReader, path: Path, member: str | None) -> io.BufferedReader:
    archive = _archive(path, stream)
    name = member if member is not None else _only(archive, path)
    try:
        unpacker = archive.open(name)
    except KeyError as error:
        raise FormatError(path, None, f"the archive has no such file; it has: {_some(_names(archive))}") from error
    except (NotImplementedError, RuntimeError) as error:
        raise FormatError(path, None, f"cannot be unpacked here ({error}): unpack it by hand") from error
    return io.BufferedReader(_Unpacking(unpacker.read, path, ".zip", unpacker, archive, stream), _CHUNK)


def _archive(path: Path, stream: BinaryIO | None = None) -> ZipFile:
    from zipfile import ZipFile

    try:
        return ZipFile(stream or path)
    except (OSError, _bad_zip()) as error:
        raise _damaged(path, ".zip", error) from error


def _bad_zip() -> type[Exception]:
    # Imported late: most of what nomina reads is not in an archive.
    from zipfile import BadZipFile

    return BadZipFile


def _names(archive: ZipFile) -> list[str]:
    return [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]


def _only(archive: ZipFile, path: Path) -> str:
    names = _names(archive)
    if len(names) != 1:
        why = f"holds {len(names)} files: name one, as in {path.name}/{names[0]}" if names else "holds no file"
        raise FormatError(path, None, f"the archive {why}")
    return names[0]


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _zstd(stream: io.BufferedReader, path: Path, member: str | None) -> io.BufferedReader:
    try:
        zstandard = import_module("zstandard")
    except ImportError as error:
        raise MissingExtra("zstd", f"reading {path}") from error
    chunks = _zstd_chunks(zstandard, stream)
    left = memoryview(b"")

    def read(size: int) -> bytes:
        nonlocal left
        while not left:
            if (chunk := next(chunks, None)) is None:
                return b""
            left = memoryview(chunk)
        data, left = left[:size], left[size:]
        return bytes(data)

    return io.BufferedReader(_Unpacking(read, path, ".zst", stream), _CHUNK)


def _zstd_chunks(zstandard: ModuleType, stream: BinaryIO) -> Iterator[bytes]:
    """Frame by frame; the library's own stream reader takes a frame that is cut off for a whole one."""
    data = stream.read(_CHUNK)
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not data:
                raise EOFError("the last frame has no end")
            try:
                yield cast("bytes", frame.decompress(data))
            except zstandard.ZstdError as error:
                raise _ZstdError(error) from error
            data = frame.unused_data if frame.eof else stream.read(_CHUNK)
        data = data or stream.read(_CHUNK)
