"""How far a run is: a line that is written over on a terminal, a line a minute in a log."""

from __future__ import annotations

import time
from typing import TextIO

from nomina.bulk.manifest import Totals

_SECONDS = {True: 0.5, False: 60.0}
_LONGEST_LINE = 100


class Progress:
    """Tells a stream how far a run is; made when its first shard is given out.

    Args:
        totals: what was done when the run was taken up.
        stream: where it is said.
        clock: seconds.
    """

    def __init__(self, totals: Totals, stream: TextIO, clock: float | None = None) -> None:
        self._before, self._stream, self._is_terminal = totals, stream, stream.isatty()
        self._start = self._said = time.monotonic() if clock is None else clock
        self._running: dict[int, tuple[int, int]] = {}

    def tick(self, worker: int, documents: int, errors: int) -> None:
        """What a worker has done of its shard; 0 when that is recorded."""
        self._running[worker] = (documents, errors)

    def show(self, totals: Totals, clock: float | None = None) -> None:
        """Say where the run is, if it is time to."""
        now = time.monotonic() if clock is None else clock
        if now - self._said < _SECONDS[self._is_terminal]:
            return
        self._said = now
        line = self.line(totals, now)
        self._stream.write(f"\r{line[:_LONGEST_LINE]:<{_LONGEST_LINE}}" if self._is_terminal else f"nomina: {line}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, where there is one."""
        if self._is_terminal:
            self._stream.write(f"\r{' ' * _LONGEST_LINE}\r")
            self._stream.flush()

    def line(self, totals: Totals, now: float) -> str:
        """Shards, documents, documents a second since the start of this run, time left, errors."""
        running, errors = (sum(part[i] for part in self._running.values()) for i in (0, 1))
        documents = totals.documents + running
        rate = (documents - self._before.documents) / max(now - self._start, 1e-9)
        parts = [
            f"{totals.done:,} of {totals.shards:,} shards",
            f"{documents:,} documents",
            f"{rate:,.0f} a second",
            f"{self._left(totals, running, rate)} left",
        ]
        if totals.errors + errors:
            parts.append(f"{totals.errors + errors:,} errors")
        return ", ".join(parts)

    @staticmethod
    def _left(totals: Totals, running: int, rate: float) -> str:
        """By the bytes of a document in the shards that are done; unknown before there is one."""
        if not totals.documents or not totals.size_done or rate <= 0:
            return "? min"
        all_documents = totals.size * totals.documents / totals.size_done
        return duration(max(all_documents - totals.documents - running, 0) / rate)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
