"""Whether what a run has written is still there, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nomina.bulk.manifest import ERRORS, OUTPUT, Manifest
from nomina.files import sha256


def damaged(manifest: Manifest) -> Iterator[tuple[int, str]]:
    """Number of each finished shard whose files are not those that were written, and what is wrong with them."""
    for shard, done in manifest.recorded():
        files = [(manifest.folder / OUTPUT / shard.name, done.sha256)]
        if done.errors_sha256:
            files.append((manifest.folder / ERRORS / f"{shard.name}.jsonl", done.errors_sha256))
        for path, expected in files:
            if (why := _wrong(path, expected)) is not None:
                yield shard.number, f"{path}: {why}"
                break


def unknown(manifest: Manifest) -> list[Path]:
    """Files among the output that are of no finished shard."""
    known = {shard.name for shard, _ in manifest.recorded()}
    folder = manifest.folder / OUTPUT
    return sorted(path for path in folder.iterdir() if path.name not in known) if folder.is_dir() else []


def _wrong(path: Path, expected: str) -> str | None:
    try:
        found = sha256(path)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if found == expected else "is not what was written"
