"""The folder of a run: where what is done lies, and how it comes there whole; here on a file system.

A shard's files are made in a folder for what is on the way and moved into their places; the manifest, which then says
that it is done, is written by the process that gives out shards.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from shutil import rmtree

from nomina.bulk.find import Input
from nomina.bulk.manifest import ERRORS, FILE, OUTPUT, WORK, Done, Manifest, Shard, is_unfinished
from nomina.bulk.remote import is_remote, local_name
from nomina.errors import UsageError
from nomina.files import atomic, sha256, try_lock

RUN = "run"
"""Name of a run's lock, without ``.lock``."""


class Store(ABC):
    """The folder of a run, ``shown`` as the user knows it, at an ``address`` that other processes know it by.

    Names in it have ``/`` between their parts.
    """

    shown: str
    address: str

    @abstractmethod
    def held(self, reading: bool = False) -> contextlib.AbstractContextManager[None]:
        """Be the only process at work on the run, where that can be known; ``reading``: one of those that only read.

        Raises:
            UsageError: another one is.
        """

    @abstractmethod
    def is_running(self) -> bool | None:
        """Whether a process is at work on the run; None where that cannot be known."""

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """What is in one of its folders, sorted; nothing where it is missing."""

    @abstractmethod
    def create(self, about: Mapping[str, str], inputs: Sequence[Input], ending: str) -> None:
        """Make the manifest of a new run; see ``Manifest.create``."""

    @abstractmethod
    def manifest(self) -> contextlib.AbstractContextManager[Manifest]:
        """The manifest, opened.

        Raises:
            UsageError: there is none, it is damaged, or of another version.
        """

    @abstractmethod
    def redo(self, manifest: Manifest, numbers: Collection[int]) -> list[Shard]:
        """Put shards back among what is to be done; see ``Manifest.redo``."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what workers need, and take away what dead ones left."""

    @abstractmethod
    def clear(self) -> None:
        """Take away what was on the way."""

    @abstractmethod
    def work(self, shard: Shard) -> contextlib.AbstractContextManager[Path]:
        """A folder on this machine for what is on the way of a shard; it goes in the end.

        Raises:
            OSError: it cannot be made.
        """

    @abstractmethod
    def finish(self, shard: Shard, output: Path, errors: Path | None, done: Done) -> None:
        """Put the files of a shard in their places; where they were before, they are replaced.

        Raises:
            OSError: they cannot be written.
        """

    @abstractmethod
    def read(self, names: Sequence[str]) -> Iterator[bytes]:
        """The content of files."""

    @abstractmethod
    def write(self, name: str, parts: Iterable[bytes] | None) -> None:
        """Write a file out of parts, whole; None: there is to be none."""

    @abstractmethod
    def sha256(self, name: str) -> str:
        """Of a file.

        Raises:
            OSError: it cannot be read.
        """


def open_store(folder: str | Path) -> Store:
    """The folder of a run by path, or by URL."""
    if is_remote(str(folder)):
        from nomina.bulk.remote_store import RemoteStore

        return RemoteStore(str(folder))
    return LocalStore(Path(local_name(str(folder))))


class LocalStore(Store):
    """A folder of a file system that all workers see."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.shown, self.address = folder, str(folder), str(folder.absolute())

    @contextlib.contextmanager
    def held(self, reading: bool = False) -> Iterator[None]:
        """See ``Store.held``; the folder is made where it is missing, but for reading.

        Raises:
            OSError: it cannot be.
        """
        if not reading:
            self.folder.mkdir(parents=True, exist_ok=True)
        with try_lock(self.folder / RUN, shared=reading) as free:
            if not free:
                raise UsageError(f"another process is at work on {self.shown}: wait for it, or stop it first")
            yield

    def is_running(self) -> bool:
        """See ``Store.is_running``."""
        with try_lock(self.folder / RUN, shared=True) as free:
            return not free

    def names(self, folder: str = "") -> list[str]:
        """See ``Store.names``; a lock is none, nor is a manifest that a killed process did not finish."""
        place = self.folder / folder
        found = (path.name for path in place.iterdir()) if place.is_dir() else ()
        return sorted(name for name in found if name != f"{RUN}.lock" and not is_unfinished(name))

    def create(self, about: Mapping[str, str], inputs: Sequence[Input], ending: str) -> None:
        """See ``Store.create``."""
        Manifest.create(self.folder, about, inputs, ending)

    def manifest(self) -> contextlib.AbstractContextManager[Manifest]:
        """See ``Store.manifest``."""
        return Manifest.open(self.folder)

    def redo(self, manifest: Manifest, numbers: Collection[int]) -> list[Shard]:
        """See ``Store.redo``."""
        return manifest.redo(numbers)

    def prepare(self) -> None:
        """See ``Store.prepare``."""
        for name in (OUTPUT, ERRORS):
            (self.folder / name).mkdir(exist_ok=True)
        self.clear()

    def clear(self) -> None:
        """See ``Store.clear``."""
        rmtree(self.folder / WORK, ignore_errors=True)

    @contextlib.contextmanager
    def work(self, shard: Shard) -> Iterator[Path]:
        """See ``Store.work``; it is beside what is done, so that files are moved and not copied."""
        folder = self.folder / WORK / f"{shard.number:05d}-{token_hex(6)}"
        try:
            folder.mkdir(parents=True)
            yield folder
        finally:
            rmtree(folder, ignore_errors=True)

    def finish(self, shard: Shard, output: Path, errors: Path | None, done: Done) -> None:
        """See ``Store.finish``."""
        target = self.folder / ERRORS / f"{shard.name}.jsonl"
        if errors is not None:
            _put(errors, target)
        else:
            target.unlink(missing_ok=True)
        _put(output, self.folder / OUTPUT / shard.name)

    def read(self, names: Sequence[str]) -> Iterator[bytes]:
        """See ``Store.read``."""
        return ((self.folder / name).read_bytes() for name in names)

    def write(self, name: str, parts: Iterable[bytes] | None) -> None:
        """See ``Store.write``."""
        if parts is None:
            (self.folder / name).unlink(missing_ok=True)
            return
        with atomic(self.folder / name) as temporary, open(temporary, "wb") as stream:
            stream.writelines(parts)

    def sha256(self, name: str) -> str:
        """See ``Store.sha256``."""
        return sha256(self.folder / name)


def is_begun(store: Store) -> bool:
    """Whether there is a manifest."""
    return FILE in store.names()


def _put(path: Path, target: Path) -> None:
    """Move a file into its place, on disk before it is there."""
    _sync(path, os.O_RDWR)
    os.replace(path, target)
    if os.name != "nt":
        _sync(target.parent, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
