"""A file that is read, by its absolute path or its URL: what is known of it, and where it lies while it is read."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from nomina.bulk.remote import Remote, is_remote

_FETCHED = "input"


def bare(place: str) -> Path:
    """The name of a file in its folder, for what is told by its ending alone."""
    return Path(PurePosixPath(place).name) if is_remote(place) else Path(place)


def size_and_change(place: str) -> tuple[int, int]:
    """Bytes of a file, and when it was last written to, in nanoseconds, or another number that changes with it.

    Raises:
        OSError: it is not there.
        NominaError: it cannot be reached.
    """
    if is_remote(place):
        return Remote(place).size_and_change()
    stat = Path(place).stat()
    return stat.st_size, stat.st_mtime_ns


def on_disk(place: str, work: Path) -> Path:
    """The file itself; one of another place is fetched, whole, to a folder for what is on the way, once.

    Raises:
        OSError: it is not there, or there is no room.
        NominaError: it cannot be reached.
    """
    if not is_remote(place):
        return Path(place)
    path = work / _FETCHED / bare(place).name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        Remote(place).fetch(path)
    return path
