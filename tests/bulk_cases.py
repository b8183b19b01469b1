"""Made files for bulk runs, and the commands over them as processes."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="kills processes as POSIX does")
NOMINA = [sys.executable, "-m", "nomina"]

_NAMES = ("seizure", "ataxia", "heart disease", "cardiac disease", "fit", "disease", "nothing")


def texts(shard: int, documents: int) -> Iterator[tuple[str, str]]:
    """Id and text of each document of a made shard; each text names some of the KB's concepts."""
    for number in range(documents):
        first, second = (_NAMES[(shard * 3 + number * step) % len(_NAMES)] for step in (1, 2))
        yield (
            f"{shard}-{number}",
            f"Patient {number} of {shard} had {first}, and no {second} (FD). Family history of ataxia.",
        )


def mentions(shards: int, documents: int) -> int:
    """How many names of the KB there are in so many made shards: one behind each text, and the two that were put in."""
    found = 0
    for shard in range(shards):
        for _, text in texts(shard, documents):
            found += 3 - text.count("nothing")
    return found


def make_inputs(folder: Path, shards: int, documents: int) -> Path:
    """A folder of JSON lines, every third file packed."""
    folder.mkdir(parents=True)
    for shard in range(shards):
        lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts(shard, documents))
        if shard % 3 == 2:
            (folder / f"s{shard:03d}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
        else:
            (folder / f"s{shard:03d}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def result(run: Path) -> dict[str, bytes]:
    """All that a finished run is judged by: every file but its manifest and its lock."""
    names = {"manifest.sqlite", "run.lock"}
    files = (file for file in run.rglob("*") if file.is_file() and file.name not in names)
    return {file.relative_to(run).as_posix(): file.read_bytes() for file in files}


def start(*arguments: object) -> subprocess.Popen[str]:
    """``nomina bulk`` as a process."""
    command = [*NOMINA, "bulk", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


def written(run: Path) -> int:
    """Bytes in finished shards and in what is on the way."""
    total = 0
    for file in (*files(run / "output"), *files(run / "work")):
        try:
            total += os.stat(file).st_size
        except OSError:
            continue
    return total


def files(folder: Path) -> list[str]:
    """The files under a folder, which others may take away at any moment."""
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]


def kill_at(process: subprocess.Popen[str], run: Path, size: int, *, open_file: bool, workers: bool = True) -> bool:
    """Kill a run when so many bytes are written; whether a shard was on the way.

    Args:
        process: the run's.
        run: its folder.
        size: bytes.
        workers: kill them too; else they find out themselves, maybe while the next run is at work.
        open_file: wait for a moment in which a file of a shard is there that is not finished.
    """
    was_open = False
    while process.poll() is None:
        was_open = bool(files(run / "work"))
        if written(run) >= size and (was_open or not open_file):
            for pid in (process.pid, *(children(process.pid) if workers else ())):
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.001)
    # Not until its pipes are closed: workers that live on hold them too.
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return bool(files(run / "work")) if workers else was_open


def children(pid: int) -> list[int]:
    """Processes whose parent is another one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found
