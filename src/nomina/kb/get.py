"""``nomina kb get``: an open terminology by name, fetched, built in the cache folder, and found there from then on."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from nomina._version import __version__
from nomina.download import DownloadError, Fetched, fetch
from nomina.errors import FormatError, KnowledgeBaseError, MissingExtra, UsageError
from nomina.files import home_folder, lock, sha256
from nomina.kb.build import BuildOptions, build_sources
from nomina.kb.catalogue import Owner, Snapshot, Source, catalogue, find
from nomina.kb.packages import PackageError, fetch_package, installed, member_sha256
from nomina.kb.schema import SCHEMA_VERSION, SourceInfo
from nomina.kb.sources import GOT_DIGITS, gotten
from nomina.kb.stage import Progress
from nomina.kb.store import KnowledgeBase
from nomina.packed import members
from nomina.text import NORMALISER_VERSION

_OWN_IDS = 0.05  # the least share of a terminology's own: EFO's files hold more concepts of others
Origin = Literal["snapshot", "owner"]
"""Where a terminology is fetched from: a pinned package, or its owner's newest files."""


class _Material(NamedTuple):
    """Files on disk, and what says how to read them; ``prefix`` goes before their names in the manifest."""

    files: Sequence[Path]
    how: Snapshot | Owner
    prefix: str = ""


def get(
    name: str,
    *,
    files: Sequence[str | Path] = (),
    origin: Origin | None = None,
    output: str | Path | None = None,
    again: bool = False,
    progress: Progress | None = None,
    fetched: Fetched | None = None,
) -> KnowledgeBase:
    """The KB of an open terminology; built where it is not yet there.

    Args:
        name: a key of ``catalogue()``.
        files: the owner's files, where they are on disk already; nothing is fetched then.
        origin: by default the snapshot, where there is one.
        output: the KB file to write, instead of one in the cache folder that the name then stands for.
        again: fetch and build even what is there.
        progress: told how far the build is.
        fetched: told how far a download is.

    Raises:
        UsageError: an unknown name, or something that cannot be fetched or is not what it should be: what to do then.
        FormatError: ``files`` that are not what they should be.
        KnowledgeBaseError: the KB cannot be built.
    """
    source = find(name)
    origin = origin or ("snapshot" if source.snapshot else "owner")
    if output is not None:
        return _from(source, origin, files, Path(output), again, progress, fetched)
    pin = _pin(source, origin, files)
    path = home_folder("kb") / f"{name}-get-{pin}.kb"
    with lock(path):
        there = _opened(path)
        if there is None:
            path.unlink(missing_ok=True)
        kb = there if there and not again else _from(source, origin, files, path, again, progress, fetched)
    now = time.time_ns()
    os.utime(path, ns=(now, now))  # the name stands for the one that was asked for last
    return kb


def doubt(source: Source, kb: KnowledgeBase) -> str | None:
    """What speaks against a KB's being of that terminology: few ids, if any, are as they should be."""
    fitting = sum(1 for id in kb if re.match(source.ids, id))
    if fitting >= _OWN_IDS * len(kb):
        return None
    ids = (
        f"{fitting:,} of {len(kb):,} ids are like those of {source.name} ({source.ids}), the first is {next(iter(kb))}"
    )
    return f"{ids}: is it the right file?"


def known() -> dict[str, Path | None]:
    """Every name that ``get`` knows, with the file it stands for, where that is there."""
    found = {}
    for name in catalogue():
        try:
            kb = gotten(name)
        except KnowledgeBaseError:
            kb = None
        found[name] = kb.path if kb else None
    return found


def fetched_again(path: Path, kb: KnowledgeBase | None) -> bool:
    """Whether ``get`` makes a file of the cache folder again by its name alone, without files that the user gave.

    Args:
        path: ``<name>-get-<hash>.kb``.
        kb: what is in it, where it can be opened.
    """
    name, _, pin = path.stem.rpartition("-get-")
    source = catalogue().get(name)
    if source is None:
        return False
    if pin in (_pin(source, "snapshot", ()), _pin(source, "owner", ())):
        return True
    package = f"{source.snapshot.package}-" if source.snapshot else None
    # Made by another version of nomina, perhaps, but out of the package.
    return package is not None and kb is not None and all(s.file.startswith(package) for s in kb.manifest.sources)


def _pin(source: Source, origin: Origin, files: Sequence[str | Path]) -> str:
    """Some digits for what the KB is made of; the owner's files have no version, so there the newest one stays."""
    what: object = [sha256(file) for file in files]
    if not files and origin == "snapshot":
        what = source.snapshot
    parts = (__version__, SCHEMA_VERSION, NORMALISER_VERSION, source.owner, what)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:GOT_DIGITS]


def _opened(path: Path) -> KnowledgeBase | None:
    try:
        return KnowledgeBase.open(path)
    except KnowledgeBaseError:
        return None


def _from(
    source: Source,
    origin: Origin,
    files: Sequence[str | Path],
    path: Path,
    again: bool,
    progress: Progress | None,
    fetched: Fetched | None,
) -> KnowledgeBase:
    if files:
        return _build(source, _Material(_wanted(files, source.owner.members), source.owner), path, progress)
    folder = home_folder("downloads", f"{source.name}-{origin}")
    if again:
        _forget(folder)
        folder = home_folder("downloads", folder.name)
    try:
        material = _snapshot(source, folder) if origin == "snapshot" else _owner(source, folder, fetched)
        kb = _build(source, material, path, progress)
    except (PackageError, DownloadError) as error:
        if not any(folder.glob("*.part")):
            shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{error}: {_next_step(source, origin)}") from error
    except (FormatError, KnowledgeBaseError) as error:
        if isinstance(error.__cause__, sqlite3.Error | OSError) and isinstance(error, KnowledgeBaseError):
            raise  # the place is at fault, not the file
        _forget(folder)
        what = f"what the {origin} of {source.name} gave is not as it should be, and is forgotten"
        raise UsageError(f"{what} ({error}): {_next_step(source, origin)}") from error
    shutil.rmtree(folder, ignore_errors=True)
    return kb


def _forget(folder: Path) -> None:
    """Remove the whole files of a folder of downloads; one that broke off stays to be gone on with."""
    if not any(folder.glob("*.part")):
        shutil.rmtree(folder, ignore_errors=True)
        return
    for file in folder.iterdir():
        if not file.name.endswith((".part", ".part.json", ".lock")):
            file.unlink()


def _snapshot(source: Source, folder: Path) -> _Material:
    snapshot = source.snapshot
    if snapshot is None:
        raise UsageError(f"{source.name} is in no package: get it from its owner, with --from owner")
    if find_spec("zstandard") is None and any(member.endswith(".zst") for member in snapshot.members):
        raise MissingExtra("zstd", f"the snapshot of {source.name}")
    found = installed(snapshot) or fetch_package(snapshot, folder)
    prefix = f"{snapshot.package}-{snapshot.version}/"
    return _Material(found, snapshot, prefix)


def _owner(source: Source, folder: Path, fetched: Fetched | None) -> _Material:
    owner = source.owner
    found = [fetch(url, folder, progress=fetched) for url in owner.urls]
    return _Material(_wanted(found, owner.members), owner)


def _wanted(files: Sequence[str | Path], patterns: Sequence[str]) -> list[Path]:
    """The files; of an archive with several, those whose names fit a pattern."""
    found = []
    for file in map(Path, files):
        inside = [member for member in members(file) if any(fnmatchcase(member.name, p) for p in patterns)]
        found += inside or [file]
    return found


def _next_step(source: Source, origin: Origin) -> str:
    """What a user can do when a terminology cannot be fetched."""
    other = "owner" if origin == "snapshot" else "snapshot" if source.snapshot else None
    first = f"try --from {other}, or " if other else ""
    return f"{first}fetch {' and '.join(source.owner.urls)} yourself and give --file PATH"


def _build(source: Source, material: _Material, path: Path, progress: Progress | None) -> KnowledgeBase:
    how = material.how
    files = iter(material.files)

    def described(info: SourceInfo) -> SourceInfo:
        file = next(files)
        return replace(
            info,
            sha256=member_sha256(file) if isinstance(how, Snapshot) else info.sha256,
            file=material.prefix + info.file,
            title=info.title or source.title,
            release=info.release or (how.release if isinstance(how, Snapshot) else None),
            licence=info.licence or source.licence,
        )

    options = BuildOptions(source.name, how.types, how.root)
    return build_sources(
        path, material.files, options, how.options, format=how.format, progress=progress, described=described
    )
