"""The folder of a run on an object store, or on whatever else fsspec has.

A file there is whole or not there, and nothing can be renamed or locked. A shard is finished when its small
``done/NAME.done.json``, with counts and checksums, is there: it is written last, by the worker. The manifest of the
begin is kept beside; who works on the run has a copy of it, filled in out of these small files.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nomina.bulk.find import Input
from nomina.bulk.manifest import ERRORS, FILE, OUTPUT, Done, Manifest, Shard, no_run
from nomina.bulk.remote import Remote
from nomina.bulk.store import Store
from nomina.errors import UsageError
from nomina.files import folder_beside

DONE, ENDING = "done", ".done.json"
"""The folder of the small files, and how they end."""

_LISTED = 1000
"""Small files that are read at once."""


class RemoteStore(Store):
    """A folder by URL. That only one process works on the run is up to its user: two of them do the same twice."""

    def __init__(self, url: str) -> None:
        self._place = Remote(url)
        self.shown = self.address = self._place.url

    def held(self, reading: bool = False) -> contextlib.AbstractContextManager[None]:
        """See ``Store.held``; that cannot be known."""
        return contextlib.nullcontext()

    def is_running(self) -> None:
        """See ``Store.is_running``; that cannot be known."""
        return None

    def names(self, folder: str = "") -> list[str]:
        """See ``Store.names``."""
        return self._place.names(folder)

    def create(self, about: Mapping[str, str], inputs: Sequence[Input], ending: str) -> None:
        """See ``Store.create``."""
        with tempfile.TemporaryDirectory() as folder:
            Manifest.create(Path(folder), about, inputs, ending)
            self._place.send(Path(folder, FILE), FILE)

    @contextlib.contextmanager
    def manifest(self) -> Iterator[Manifest]:
        """See ``Store.manifest``."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                Remote(f"{self.address}/{FILE}").fetch(Path(folder, FILE))
            except FileNotFoundError as error:
                raise no_run(self.shown) from error
            with Manifest.open(Path(folder), self.shown) as manifest:
                manifest.redo_all()
                manifest.record_all(self._done(manifest))
                yield manifest

    def _done(self, manifest: Manifest) -> Iterator[tuple[int, Done]]:
        shards = {f"{shard.name}{ENDING}": shard for shard in manifest.shards()}
        there = [name for name in self.names(DONE) if name in shards]
        for start in range(0, len(there), _LISTED):
            names = there[start : start + _LISTED]
            for name, content in zip(names, self.read([f"{DONE}/{name}" for name in names]), strict=True):
                yield shards[name].number, self._read_done(name, content)

    def _read_done(self, name: str, content: bytes) -> Done:
        try:
            found: dict[str, Any] = json.loads(content)
            return Done(**{**found, "deleted": tuple(found["deleted"])})
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"{self.shown}/{DONE}/{name} is not what nomina wrote: remove it, and its file is done again"
            ) from error

    def redo(self, manifest: Manifest, numbers: Collection[int]) -> list[Shard]:
        """See ``Store.redo``; killed in between, they are done as before, and put back the next time."""
        gone = manifest.redo(numbers)
        self._place.send(manifest.folder / FILE, FILE)
        for shard in manifest.shards():
            if shard.number in numbers and shard not in gone:
                self._place.remove(f"{DONE}/{shard.name}{ENDING}")
        return gone

    def prepare(self) -> None:
        """See ``Store.prepare``; there is nothing to do."""

    def clear(self) -> None:
        """See ``Store.clear``; each worker clears what dead ones left."""

    def work(self, shard: Shard) -> contextlib.AbstractContextManager[Path]:
        """See ``Store.work``; it is in the folder for temporary files, ``TMPDIR``."""
        return folder_beside(Path(tempfile.gettempdir(), "nomina-bulk"))

    def finish(self, shard: Shard, output: Path, errors: Path | None, done: Done) -> None:
        """See ``Store.finish``."""
        target = f"{ERRORS}/{shard.name}.jsonl"
        if errors is not None:
            self._place.send(errors, target)
        else:
            self._place.remove(target)
        self._place.send(output, f"{OUTPUT}/{shard.name}")
        self._place.write(json.dumps(done._asdict()).encode(), f"{DONE}/{shard.name}{ENDING}")

    def read(self, names: Sequence[str]) -> Iterator[bytes]:
        """See ``Store.read``."""
        return self._place.read(names)

    def write(self, name: str, parts: Iterable[bytes] | None) -> None:
        """See ``Store.write``."""
        if parts is None:
            self._place.remove(name)
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "whole")
            with open(path, "wb") as stream:
                stream.writelines(parts)
            self._place.send(path, name)

    def sha256(self, name: str) -> str:
        """See ``Store.sha256``."""
        return self._place.sha256(name)
