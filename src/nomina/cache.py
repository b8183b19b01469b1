"""What lies in the cache folder, for what it was made, and the removal of what nomina can make again.

Nothing is touched but files of the names that nomina gives, and no KB that was made of files which the user gave.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from nomina.errors import KnowledgeBaseError
from nomina.files import home, try_lock
from nomina.kb.get import fetched_again
from nomina.kb.store import KnowledgeBase

Kind = Literal["kb", "lexicon", "spans", "tfidf", "index", "trie", "downloads"]
"""KBs by name; tables of names and variants; words of names and their vectors; TF-IDF's lists; vectors of names; tries;
broken-off downloads."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_FOLDERS: dict[Kind, str] = {
    "kb": "kb",
    "lexicon": "lexicon",
    "spans": "spans",
    "tfidf": "tfidf",
    "index": "embeddings",
    "trie": "tries",
    "downloads": "downloads",
}
_NAMES: dict[Kind, re.Pattern[str]] = {
    "kb": re.compile(r"(?P<name>hpo)-[0-9a-f]{12}\.kb|(?P<got>[a-z0-9-]+)-get-[0-9a-f]{12}\.kb"),
    "lexicon": re.compile(r"(?P<kb>[0-9a-f]{32})\.[^.]+\.table"),
    "spans": re.compile(r"(?P<kb>[0-9a-f]{32})\.(?:[^.]+\.words|[^.]+\.[^.]+\.vectors)"),
    "tfidf": re.compile(r"(?P<kb>[0-9a-f]{32})\.[^.]+\.postings"),
    "index": re.compile(r"(?P<kb>[0-9a-f]{32})\.(?P<encoder>[^.]+)\.(?P<index>[a-z0-9-]+)\.[^.]+"),
    "trie": re.compile(r"(?P<kb>[0-9a-f]{32})\.[^.]+(\.[0-9a-f]{32})?\.[^.]+\.trie"),
    "downloads": re.compile(r"(?P<name>[a-z0-9-]+)-(snapshot|owner)"),
}
_HIDDEN = re.compile(r"\.(.+)\.(?:[0-9a-f]{12}\.tmp|\w{8}\.parts)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the cache folder, with all files that go with it.

    Attributes:
        kind: what it is.
        path: its file or folder; missing while it is being made, or where that was broken off.
        bytes: of all its files.
        last_use: when it was made or last read, as far as the file system notes that, in seconds since 1970.
        kb: the name of the KB that it is, or is of; None where that KB is not in the cache folder.
        fingerprint: of that KB, where known.
        encoder: first digits of the encoder's fingerprint, of an index.
        index: kind of an index.
        kept: why it is never removed, where it is not.
    """

    kind: Kind
    path: Path
    bytes: int
    last_use: float
    kb: str | None = None
    fingerprint: str | None = None
    encoder: str | None = None
    index: str | None = None
    kept: str | None = None

    @property
    def finished(self) -> bool:
        """Whether it is whole, and not on the way to be made or fetched."""
        return self.kind != "downloads" and self.path.exists()


@dataclass(frozen=True, slots=True)
class _Kbs:
    """Names of the KBs in the cache folder by fingerprint, those of their ancestors included; and the opened files."""

    names: dict[str, str] = field(default_factory=dict)
    files: dict[Path, KnowledgeBase] = field(default_factory=dict)


def entries() -> list[Entry]:
    """All that lies in the cache folder, by kind, then by KB and path."""
    kbs = _kbs()
    found = [
        _entry(kind, path, files, kbs) for kind in KINDS for path, files in _grouped(kind).items() if _is_more(files)
    ]
    return sorted(found, key=lambda entry: (KINDS.index(entry.kind), entry.kb or "~", entry.path.name))


def others(known: Iterable[Entry]) -> tuple[int, int]:
    """How many files, of how many bytes, lie in the cache folder beside these entries."""
    groups = {kind: _grouped(kind) for kind in KINDS}
    counted = {file for entry in known for path in groups[entry.kind].get(entry.path, ()) for file in _files(path)}
    stats = list(_stats(file for file in _files(home()) if file not in counted))
    return len(stats), sum(stat.st_size for stat in stats)


def remove(entry: Entry) -> bool:
    """Remove an entry, what was left of broken-off work at it included; False where another process is at it.

    Raises:
        OSError: it cannot be removed.
    """
    with contextlib.ExitStack() as stack:
        if not all(stack.enter_context(try_lock(path)) for path in _locked(entry)):
            return False
        for path in _grouped(entry.kind).get(entry.path, ()):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    return True


def _locked(entry: Entry) -> list[Path]:
    """What another process holds a lock on while it makes the entry."""
    if entry.kind != "downloads":
        return [entry.path]
    return [path.with_suffix("") for path in entry.path.glob("*.lock")]


def _grouped(kind: Kind) -> dict[Path, list[Path]]:
    """The paths of a kind's folder that belong to nomina, under the path of what they belong to."""
    folder = home() / _FOLDERS[kind]
    groups: dict[Path, list[Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        hidden = _HIDDEN.fullmatch(path.name)
        name = hidden[1] if hidden else path.name.removesuffix(".lock").removesuffix(".parts")
        if _NAMES[kind].fullmatch(name):
            groups.setdefault(folder / name, []).append(path)
    return groups


def _is_more(paths: list[Path]) -> bool:
    """Whether there is more than a lock."""
    return any(path.suffix != ".lock" for path in paths)


def _entry(kind: Kind, path: Path, paths: list[Path], kbs: _Kbs) -> Entry:
    stats = list(_stats(file for p in paths for file in _files(p)))
    size = sum(stat.st_size for stat in stats)
    last_use = max((max(stat.st_atime, stat.st_mtime) for stat in stats), default=path.parent.stat().st_mtime)
    match = _NAMES[kind].fullmatch(path.name)
    parts: Mapping[str, str | None] = match.groupdict() if match else {}
    if kind in ("kb", "downloads"):
        kb = kbs.files.get(path)
        name = parts.get("name") or parts.get("got")
        kept = None
        if parts.get("got") and path.exists() and not fetched_again(path, kb):
            kept = "it was made of files that you gave, or by another version of nomina"
        return Entry(kind, path, size, last_use, name, kb.fingerprint if kb else None, kept=kept)
    fingerprint = parts["kb"] or ""
    name = kbs.names.get(fingerprint)
    return Entry(kind, path, size, last_use, name, fingerprint, parts.get("encoder"), parts.get("index"))


def _files(path: Path) -> Iterator[Path]:
    """The file, or all files of the folder."""
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file())
    else:
        yield path


def _stats(files: Iterable[Path]) -> Iterator[os.stat_result]:
    """Of files but for locks; one that another process removes meanwhile is none."""
    for file in files:
        if file.suffix != ".lock":
            with contextlib.suppress(FileNotFoundError):
                yield file.stat()


def _kbs() -> _Kbs:
    found = _Kbs()
    for path in _grouped("kb"):
        with contextlib.suppress(KnowledgeBaseError, OSError), _unread(path):
            kb = KnowledgeBase.open(path)
            name = path.stem.partition("-get-")[0] if "-get-" in path.stem else "hpo"
            found.files[path] = kb
            for ancestor in kb.lineage:
                found.names.setdefault(ancestor, name)
    return found


@contextlib.contextmanager
def _unread(path: Path) -> Iterator[None]:
    """Leave the time of a file's last use as it is: looking into it is none."""
    before = path.stat()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
