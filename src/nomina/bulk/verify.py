"""Whether what a run has written is still there, to the byte, and made of inputs that are as they were."""

from __future__ import annotations

from collections.abc import Iterator

from nomina.bulk.manifest import ERRORS, OUTPUT, Manifest
from nomina.bulk.store import Store


def damaged(store: Store, manifest: Manifest) -> Iterator[tuple[int, str]]:
    """Number of each finished shard whose files are not those that were written, and what is wrong with them."""
    for shard, done in manifest.recorded():
        files = [(f"{OUTPUT}/{shard.name}", done.sha256)]
        if done.errors_sha256:
            files.append((f"{ERRORS}/{shard.name}.jsonl", done.errors_sha256))
        for name, expected in files:
            if (why := _wrong(store, name, expected)) is not None:
                yield shard.number, f"{store.shown}/{name}: {why}"
                break


def outdated(manifest: Manifest) -> Iterator[tuple[int, str]]:
    """Number of each finished shard whose input is another by now, and what to say of it.

    Raises:
        NominaError: an input is of a place that cannot be reached.
    """
    for shard in manifest.shards("done", "broken"):
        if shard.has_changed():
            yield shard.number, f"{shard.input}: has changed since it was linked"


def unknown(store: Store, manifest: Manifest) -> list[str]:
    """Files among the output that are of no finished shard."""
    known = {shard.name for shard, _ in manifest.recorded()}
    return [f"{store.shown}/{OUTPUT}/{name}" for name in store.names(OUTPUT) if name not in known]


def _wrong(store: Store, name: str, expected: str) -> str | None:
    try:
        found = store.sha256(name)
    except OSError as error:
        return f"cannot be read ({error.strerror or 'No such file or directory'})"
    return None if found == expected else "is not what was written"
