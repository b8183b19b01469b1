"""One shard: a file read, linked and written, with a file of errors beside; both are whole or not there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TextIO

from nomina.bulk.find import reader
from nomina.bulk.inputs import Columns, Fault, Item
from nomina.bulk.manifest import Done, Shard
from nomina.bulk.options import Options
from nomina.bulk.outputs import OUTPUTS, Batch
from nomina.bulk.places import on_disk
from nomina.bulk.store import Store
from nomina.detect import by_size
from nomina.errors import FormatError, NominaError, UsageError
from nomina.files import sha256
from nomina.pipeline import Pipeline
from nomina.reading import LARGEST_TEXT
from nomina.types import Document, Prediction

Tick = Callable[[int, int], None]
"""Told now and then how many documents and errors a shard has had."""

_LONGEST_REASON = 300


class TooManyErrors(UsageError):
    """A shard with more errors than a run may have."""


@dataclass(slots=True)
class _Counts:
    documents: int = 0
    mentions: int = 0
    errors: int = 0
    whole: bool = True


class _Errors:
    """The file of errors of a shard, made when there is one; ``most``: how many there may be."""

    def __init__(self, path: Path, input: str, counts: _Counts, most: int | None) -> None:
        self.path, self._input, self._counts, self._most = path, input, counts, most
        self._stream: TextIO | None = None

    def add(self, fault: Fault) -> None:
        """Write one down.

        Raises:
            TooManyErrors: there are more than there may be.
            UsageError: it cannot be written.
        """
        record = {
            "file": self._input, "offset": fault.offset, "unit": fault.unit, "document": fault.document,
            "reason": " ".join(fault.reason.split())[:_LONGEST_REASON],
        }  # fmt: skip
        try:
            if self._stream is None:
                self._stream = open(self.path, "w", encoding="utf-8", newline="\n")  # noqa: SIM115 (see close)
            self._stream.write(json.dumps(record, ensure_ascii=True) + "\n")
        except OSError as error:
            raise UsageError(f"cannot write {self.path} ({error.strerror})") from error
        self._counts.errors += 1
        if self._most is not None and self._counts.errors > self._most:
            place = "" if fault.offset is None else f"{fault.unit} {fault.offset:,}: "
            raise TooManyErrors(
                f"{self._input} takes the run over --max-errors; its last error: {place}{record['reason']}"
            )

    def close(self) -> bool:
        """Whether there were any."""
        if self._stream is None:
            return False
        self._stream.close()
        return True


def run_shard(
    pipeline: Pipeline, shard: Shard, options: Options, store: Store, tick: Tick, most_errors: int | None = None
) -> Done:
    """Do a shard and put its files in their places in the run's folder.

    Args:
        pipeline: as new (``engine.make_new``).
        shard: what is read, and the name of what is written.
        options: of the run.
        store: the run's folder.
        tick: told after each batch; what it raises ends the shard.
        most_errors: how many documents may fail.

    Raises:
        UsageError: the input is another file by now, too many errors, or the output cannot be written.
        NominaError: what ends a whole run, such as a KB that is gone.
    """
    started = time.perf_counter()
    counts = _Counts()
    try:
        with store.work(shard) as work:
            output, errors = work / shard.name, _Errors(work / "errors.jsonl", shard.input, counts, most_errors)
            try:
                check_input(shard)
                _write(_linked(pipeline, shard, options, work, errors, counts, tick), output, options, errors, counts)
            finally:
                has_errors = errors.close()
            check_input(shard)
            found = sha256(output), sha256(errors.path) if has_errors else ""
            size, deleted = output.stat().st_size, _deleted(shard, work)
            seconds = round(time.perf_counter() - started, 3)
            done = Done(counts.documents, counts.mentions, counts.errors, size, *found, counts.whole, deleted, seconds)
            store.finish(shard, output, errors.path if has_errors else None, done)
            return done
    except OSError as error:
        raise UsageError(
            f"cannot write the output of {shard.input} ({error.strerror}): make room, and resume"
        ) from error


def check_input(shard: Shard) -> None:
    """Whether the file is the one that the run was begun with; one that is gone is an error of the reading.

    Raises:
        UsageError: it is another.
    """
    if shard.has_changed():
        raise UsageError(f"{shard.input} has changed since the run was begun: begin a new run in another folder")


def _linked(
    pipeline: Pipeline, shard: Shard, options: Options, work: Path, errors: _Errors, counts: _Counts, tick: Tick
) -> Iterator[Batch]:
    """What is to be written, batch by batch; a document that cannot be linked is an error."""
    items = _items(shard, options, work, errors, counts)
    while batch := _next_batch(items, pipeline.loads):
        if options.detect:
            batch = [item._replace(document=replace(item.document, mentions=())) for item in batch]
        linked = _together(pipeline, batch) or _one_by_one(pipeline, batch, errors)
        counts.documents += len(linked.documents)
        counts.mentions += sum(map(len, linked.predictions))
        yield linked
        tick(counts.documents, counts.errors)


def _together(pipeline: Pipeline, batch: list[Item]) -> Batch | None:
    """The batch linked; None where one of its documents fails, or two share an id and could not be told apart."""
    documents = [item.document for item in batch]
    found: dict[str, list[Prediction]] = {document.id: [] for document in documents}
    if len(found) < len(documents):
        return None
    try:
        for prediction in pipeline.link(documents):
            found[prediction.document_id].append(prediction)
    except NominaError:
        raise
    except Exception:  # which document it is, and why, is found out one by one
        return None
    return Batch(documents, list(found.values()))


def _one_by_one(pipeline: Pipeline, batch: list[Item], errors: _Errors) -> Batch:
    linked = Batch([], [])
    for item in batch:
        try:
            own = list(pipeline.link([item.document]))
        except NominaError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            errors.add(Fault(item.offset, item.unit, item.document.id, reason))
        else:
            linked.documents.append(item.document)
            linked.predictions.append(own)
    return linked


def _items(shard: Shard, options: Options, work: Path, errors: _Errors, counts: _Counts) -> Iterator[Item]:
    """The documents of a file that can be linked; where it breaks off, that is an error and the end."""
    columns = Columns(options.text_column, options.id_column)
    try:
        for item in reader(shard.format)(_at_hand(shard, work), columns, errors.add):
            if (why := _unfit(item.document)) is None:
                yield item
            else:
                errors.add(Fault(item.offset, item.unit, _shown(item.document.id), why))
    except FormatError as error:
        counts.whole = False
        errors.add(
            Fault(error.line, "file" if error.line is None else "line", None, f"{error.why}; the rest is not read")
        )


def _unfit(document: Document) -> str | None:
    """Why a document cannot be linked or written, if it cannot."""
    if len(document.text) > LARGEST_TEXT:
        return f"the text has more than {LARGEST_TEXT:,} characters, the most for one: split it"
    try:
        document.text.encode("utf-8")
        document.id.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"half a character (U+{ord(error.object[error.start]):04X}), which UTF-8 cannot hold"
    return None


def _shown(id: str) -> str:
    return id.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _next_batch(items: Iterator[Item], loads: int) -> list[Item]:
    """As many as the pipeline links at a time: its ``loads``."""
    batch: list[Item] = []

    def documents() -> Iterator[Document]:
        for item in items:
            batch.append(item)
            yield item.document

    by_size(documents(), loads)
    return batch


def _write(batches: Iterator[Batch], path: Path, options: Options, errors: _Errors, counts: _Counts) -> None:
    def failed(document: Document, why: str) -> None:
        counts.documents -= 1
        counts.mentions -= len(document.mentions)
        errors.add(Fault(None, "document", document.id, why))

    import_module(OUTPUTS[options.format].module).write(batches, path, options.pack, failed)


def _at_hand(shard: Shard, work: Path) -> Path:
    """The input as a file of this machine.

    Raises:
        FormatError: there is none.
        OSError: there is no room for it.
    """
    try:
        return on_disk(shard.input, work)
    except FileNotFoundError as error:
        raise FormatError(shard.input, None, "cannot be read (No such file or directory)") from error


def _deleted(shard: Shard, work: Path) -> tuple[str, ...]:
    if shard.format != "pubmed_xml":
        return ()
    from nomina.bulk.inputs.pubmed import deletions

    try:
        return deletions(_at_hand(shard, work))
    except FormatError:
        return ()
