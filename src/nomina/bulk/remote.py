"""Files of other places than this machine, by URL (``s3://``, ``gs://``, ``https://``): whatever fsspec has.

Nothing is remembered of a listing, as others may write there. What goes wrong on the way is one line that ends a run,
which can go on; a file that is not there is an ``OSError``, as of a local one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
from collections.abc import Iterable, Iterator
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from nomina.errors import MissingExtra, NominaError, UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HERE = "file://"
_OF_ONE_PROCESS = "memory://"
_OF_EXTRA = ("s3://", "s3a://")
"""Places whose package comes with the extra; of others fsspec names it."""
_VERSIONS = (
    "ETag",
    "etag",
    "generation",
    "md5Hash",
    "content_md5",
    "LastModified",
    "last_modified",
    "mtime",
    "created",
)
"""What file systems tell of a file's version, whichever they have."""
_GONE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LONGEST_REASON = 200
_BLOCK = 1 << 20


def is_remote(name: str) -> bool:
    """Whether it is the URL of a place that is not this machine's file system."""
    return _URL.match(name) is not None and not name.startswith(_HERE)


def local_name(name: str) -> str:
    """The path of a ``file://`` URL; any other name as it is."""
    return name.removeprefix(_HERE)


def check_shared(name: str) -> None:
    """Whether other processes, such as workers, see what is there.

    Raises:
        UsageError: they do not.
    """
    if name.startswith(_OF_ONE_PROCESS):
        raise UsageError(f"{name} is of one process alone, and workers are others: name another place")


class Remote:
    """A file or folder by URL, and what is under it.

    Raises:
        MissingExtra: ``fsspec`` is not installed, or for ``s3://`` not ``s3fs``.
        UsageError: no such kind of place, or a package for it is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            core = import_module("fsspec.core")
        except ImportError as error:
            raise MissingExtra("remote", f"reading and writing {url}") from error
        self.url = url.rstrip("/")
        try:
            self._fs, self._path = core.url_to_fs(self.url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            if isinstance(error, ImportError) and url.startswith(_OF_EXTRA):
                raise MissingExtra("remote", f"reading and writing {url}") from error
            raise UsageError(f"cannot use {url} ({_shown(error)})") from error
        except Exception as error:  # each kind of place has its own: no credentials, no such project
            raise NominaError(f"cannot reach {url} ({_shown(error)})") from error

    def size_and_change(self) -> tuple[int, int]:
        """Bytes of a file and a number that is another one when the file is.

        Raises:
            OSError: it is not there.
            NominaError: it cannot be reached, or not by this user.
        """
        with self._reached():
            return _size_and_change(self._fs.info(self._path))

    def fetch(self, path: Path) -> None:
        """Write the file to a local one.

        Raises:
            OSError: it is not there, or the local disk is full.
            NominaError: it cannot be reached, or not by this user.
        """
        with self._reached():
            self._fs.get_file(self._path, str(path))

    def start(self, size: int) -> bytes:
        """The first bytes of the file; errors as of ``fetch``."""
        with self._reached(), self._fs.open(self._path, "rb", block_size=size) as stream:
            return bytes(stream.read(size))

    def files(self) -> list[tuple[str, bool]]:
        """The URLs of the file, of those in the folder, sorted, hidden ones left out, or of those that match a pattern.

        With each, whether it is the file that is named.

        Raises:
            OSError: there is nothing.
            NominaError: it cannot be reached.
        """
        with self._reached():
            if self._fs.isfile(self._path):
                return [(self.url, True)]
            if has_magic(self._path):
                return [
                    (self._shown(path), False) for one in sorted(self._fs.glob(self._path)) for path in self._in(one)
                ]
            found = self._in(self._path)
            if not found:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            return [(self._shown(path), False) for path in found]

    def _in(self, path: str) -> list[str]:
        """The file itself, or those under a folder."""
        found: list[str] = [one for one in self._fs.find(path) if not one.endswith("/")]
        inner = len(path.rstrip("/"))
        return sorted(
            (one for one in found if not any(part.startswith(".") for part in one[inner:].split("/"))),
            key=lambda one: one.split("/"),
        )

    def _shown(self, path: str) -> str:
        return str(self._fs.unstrip_protocol(path))

    def names(self, folder: str = "") -> list[str]:
        """What is in a folder under this one, sorted; nothing where there is no such folder."""
        place = self._under(folder)
        with self._reached():
            try:
                found = self._fs.ls(place, detail=False)
            except FileNotFoundError:
                return []
        inner = len(place.rstrip("/")) + 1
        return sorted(name for one in found if (name := one.rstrip("/")[inner:]))

    def read(self, names: Iterable[str]) -> Iterator[bytes]:
        """The content of small files under this folder, one after the other, fetched at once."""
        paths = [self._under(name) for name in names]
        with self._reached():
            found = self._fs.cat(paths) if paths else {}
        return (found[path] for path in paths)

    def send(self, path: Path, name: str) -> None:
        """Write a local file to one under this folder; it is there whole, or not at all.

        Raises:
            NominaError: it cannot be reached, or not be written to.
        """
        with self._written():
            self._fs.put_file(str(path), self._under(name))

    def write(self, data: bytes, name: str) -> None:
        """As ``send``, of some bytes."""
        with self._written():
            self._fs.pipe_file(self._under(name), data)

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        with self._reached(), contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._under(name))

    def sha256(self, name: str) -> str:
        """The SHA-256 of a file under this folder, block by block; errors as of ``fetch``."""
        found = hashlib.sha256()
        with self._reached(), self._fs.open(self._under(name), "rb", block_size=8 * _BLOCK) as stream:
            for block in _blocks(stream):
                found.update(block)
        return found.hexdigest()

    def _under(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}" if name else self._path

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """As ``_reached``; that there is no such place, such as a bucket, is no error of a file."""
        try:
            with self._reached():
                yield
        except _GONE as error:
            raise NominaError(f"cannot write to {self.url} ({_shown(error)}): see whether it is there") from error

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """What cannot be reached is said in one line, with the first one of what the library says."""
        try:
            yield
        except (*_GONE, NominaError):
            raise
        except Exception as error:  # each kind of place has its own
            if isinstance(error, OSError) and error.errno in _FULL:
                raise
            raise NominaError(f"cannot reach {self.url} ({_shown(error)}): go on later") from error


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        yield block


def _size_and_change(info: dict[str, Any]) -> tuple[int, int]:
    known = repr([str(info[key]) for key in _VERSIONS if info.get(key) is not None])
    return int(info.get("size") or 0), int.from_bytes(hashlib.sha256(known.encode()).digest()[:7], "big")


def _shown(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:_LONGEST_REASON]
