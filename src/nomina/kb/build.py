"""From a stream of records to a KB file: staged in SQLite's temporary tables and sorted there, outside memory.

Nothing here holds all names or all ids: the stream goes to temporary tables, SQLite sorts and joins them in files of
its own (in ``SQLITE_TMPDIR``, else ``TMPDIR``), and each table of the KB is then written once, in its final order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nomina._version import __version__
from nomina.files import sha256
from nomina.kb import reader_for
from nomina.kb.finish import finish
from nomina.kb.options import Value, as_text, fitting
from nomina.kb.schema import SCHEMA_VERSION, Manifest, SourceInfo
from nomina.kb.stage import Problems, Progress, Stage, silent, under_construction
from nomina.kb.store import KnowledgeBase
from nomina.text import NORMALISER_VERSION
from nomina.types import Entity, Retired


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What goes into a KB.

    ``types``: only concepts of one of these; ``root``: only what lies under one of these ids by ``is_a``, themselves
    included; ``lenient``: report and go on where the strict build stops; ``dedup``: a rule of ``kb.dedup.RULES`` by
    which a name that concepts share is left to one of them.
    """

    name: str
    types: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    lenient: bool = False
    dedup: str | None = None


def build(
    path: str | Path,
    records: Iterable[Entity | Retired],
    options: BuildOptions | None = None,
    sources: Sequence[SourceInfo] = (),
    progress: Progress | None = None,
) -> KnowledgeBase:
    """Write a KB file and open it. Records with the same id become one concept with the names of all.

    The old file stays whole until the new one is on disk; two builders at once do not meet.

    Raises:
        KnowledgeBaseError: nothing to look up in the records, an unknown root or type, a place that cannot be written.
    """
    options = options or BuildOptions(Path(path).stem)
    return _build(path, records, options, lambda: sources, Problems(options.lenient), progress)


def build_from_files(
    path: str | Path,
    files: Sequence[str | Path],
    options: BuildOptions | None = None,
    *,
    format: str | None = None,
    progress: Progress | None = None,
    **reader_options: Value,
) -> KnowledgeBase:
    """Build a KB from the files of terminologies: each sniffed, read, hashed and described in the manifest.

    Args:
        path: the KB file to write.
        files: one or more; concepts with the same id in several files become one.
        options: see ``BuildOptions``; the name is by default that of the file.
        format: a key of ``FORMATS`` where sniffing is not wanted.
        progress: told how far the build is.
        **reader_options: what the formats' ``read`` take beside; each is passed to the formats that know it.

    Raises:
        FormatError: a file that is not what it should be.
        UsageError: an unknown format or reader option.
        KnowledgeBaseError: as ``build``.
    """
    options = options or BuildOptions(Path(path).stem)
    return build_sources(path, files, options, reader_options, format=format, progress=progress)


def build_sources(
    path: str | Path,
    files: Sequence[str | Path],
    options: BuildOptions,
    reader_options: Mapping[str, Value],
    *,
    format: str | None = None,
    progress: Progress | None = None,
    described: Callable[[SourceInfo], SourceInfo] | None = None,
) -> KnowledgeBase:
    """``build_from_files`` for options of any name; ``described`` turns what a file says of itself into the manifest's.

    Raises:
        NominaError: as ``build_from_files``.
    """
    problems = Problems(options.lenient)
    records, describe = open_sources(files, problems, format, reader_options)

    def infos() -> tuple[SourceInfo, ...]:
        return tuple(map(described, describe()) if described else describe())

    return _build(path, records, options, infos, problems, progress)


def open_sources(
    files: Sequence[str | Path], problems: Problems, format: str | None, reader_options: Mapping[str, Value]
) -> tuple[Iterator[Entity | Retired], Callable[[], tuple[SourceInfo, ...]]]:
    """The records of several files as one stream, and what describes the files (slow: it hashes them).

    Raises:
        FormatError: a file that is like no format.
        UsageError: an unknown format or reader option.
    """
    readers = [(Path(file), *reader_for(file, format)) for file in files]
    options = fitting({name: reader.read for _, name, reader in readers}, reader_options)

    def records() -> Iterator[Entity | Retired]:
        for file, name, reader in readers:
            yield from reader.read(file, skip=problems.report if problems.lenient else None, **options[name])

    def describe() -> tuple[SourceInfo, ...]:
        infos = []
        for file, name, reader in readers:
            info = reader.describe(file) if hasattr(reader, "describe") else SourceInfo(file.name)
            digest = info.sha256 or sha256(file)
            infos.append(replace(info, format=name, sha256=digest, options=as_text(options[name])))
        return tuple(infos)

    return records(), describe


def _build(
    path: str | Path,
    records: Iterable[Entity | Retired],
    options: BuildOptions,
    sources: Callable[[], Sequence[SourceInfo]],
    problems: Problems,
    progress: Progress | None,
) -> KnowledgeBase:
    progress = progress or silent
    with under_construction(Path(path)) as connection:
        stage = Stage(connection, problems)
        stage.fill(records, progress)
        progress("sorting", stage.records)
        counts, entities, fingerprint = finish(connection, options.root, options.types, options.dedup)
        manifest = Manifest(
            options.name, tuple(sources()), NORMALISER_VERSION, SCHEMA_VERSION, __version__, fingerprint, entities,
            options.root, options.types, options.lenient,
            replace(counts, problems=problems.count), tuple(problems.messages), options.dedup,
        )  # fmt: skip
        _sign(connection, manifest)
        progress("writing", stage.records)
    return KnowledgeBase.open(path)


def _sign(connection: sqlite3.Connection, manifest: Manifest) -> None:
    connection.executemany("INSERT INTO manifest VALUES (?, ?)", manifest.rows())
    rows = manifest.counts.rows
    connection.execute("INSERT INTO lineage VALUES (0, ?, ?, ?)", (manifest.fingerprint, rows, manifest.entities))
