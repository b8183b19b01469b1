"""Counters in the text format of Prometheus, of all workers together.

Each worker writes into a row of its own in memory that all share, so that any of them can answer for all; a worker that
takes a dead one's place counts on in its row. A library for that would be larger than this file.
"""

from __future__ import annotations

from collections.abc import MutableSequence

PATHS = (
    "/link",
    "/link/batch",
    "/concepts/{id}",
    "/search",
    "/info",
    "/project",
    "/healthz",
    "/readyz",
    "/metrics",
    "other",
)
"""What requests are counted under: paths without what a user wrote."""

_STATUSES = (
    "200",
    "400",
    "401",
    "403",
    "404",
    "405",
    "408",
    "409",
    "413",
    "415",
    "422",
    "429",
    "500",
    "503",
    "504",
    "other",
)
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SECONDS = "nomina_link_seconds"

_SINGLE = {
    "nomina_workers": ("gauge", "Worker processes that have opened and answer."),
    "nomina_documents_total": ("counter", "Documents that were linked."),
    "nomina_mentions_total": ("counter", "Mentions in them."),
    "nomina_batches_total": ("counter", "Batches that they were linked in."),
    "nomina_queue_documents": ("gauge", "Documents that wait or are being linked."),
    "nomina_reloads_total": ("counter", "Knowledge bases opened anew on SIGHUP."),
    "nomina_reload_failures_total": ("counter", "Knowledge bases that could not be opened anew; the old one serves."),
}
_REQUESTS = [(path, status) for path in PATHS for status in _STATUSES]
_KEYS: list[str | tuple[str, str | float]] = [
    *_SINGLE,
    *_REQUESTS,
    *((_SECONDS, key) for key in (*_BUCKETS, "sum", "count")),
]
_CELLS = {key: number for number, key in enumerate(_KEYS)}

WIDTH = len(_CELLS)
"""Numbers of one worker."""


class Metrics:
    """The numbers of one worker among those of all.

    Args:
        cells: ``WIDTH`` numbers a worker, zeros at the start.
        worker: whose row is written, from 0.
    """

    def __init__(self, cells: MutableSequence[float] | None = None, worker: int = 0) -> None:
        self._cells = [0.0] * WIDTH if cells is None else cells
        self._first = worker * WIDTH
        for name in ("nomina_workers", "nomina_queue_documents"):
            self.set(name, 0)

    def add(self, name: str, amount: float = 1) -> None:
        """Raise a counter."""
        self._cells[self._first + _CELLS[name]] += amount

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._cells[self._first + _CELLS[name]] = value

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request; of ``/link``, how long it took too."""
        code = str(status) if str(status) in _STATUSES else "other"
        self._cells[self._first + _CELLS[path, code]] += 1
        if path == "/link":
            for bound in [bound for bound in _BUCKETS if seconds <= bound][:1]:
                self._cells[self._first + _CELLS[_SECONDS, bound]] += 1
            self._cells[self._first + _CELLS[_SECONDS, "sum"]] += seconds
            self._cells[self._first + _CELLS[_SECONDS, "count"]] += 1

    def text(self, labels: dict[str, str]) -> str:
        """All workers' numbers; ``labels`` say what is served, in ``nomina_info``."""
        lines = []
        for name, (kind, help) in _SINGLE.items():
            lines += [*_head(name, kind, help), f"{name} {self._sum(name):.0f}"]
        name = "nomina_requests_total"
        lines += _head(name, "counter", "Requests by path and status.")
        for path, status in _REQUESTS:
            if count := self._sum((path, status)):
                lines.append(f'{name}{{path="{path}",status="{status}"}} {count:.0f}')
        lines += self._histogram()
        shown = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
        lines += [*_head("nomina_info", "gauge", "What is served."), f"nomina_info{{{shown}}} 1"]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        lines = _head(_SECONDS, "histogram", "Seconds from a request to /link to its answer.")
        below = 0.0
        for bound in _BUCKETS:
            below += self._sum((_SECONDS, bound))
            lines.append(f'{_SECONDS}_bucket{{le="{bound:g}"}} {below:.0f}')
        count = self._sum((_SECONDS, "count"))
        lines.append(f'{_SECONDS}_bucket{{le="+Inf"}} {count:.0f}')
        return [*lines, f"{_SECONDS}_sum {self._sum((_SECONDS, 'sum')):.6f}", f"{_SECONDS}_count {count:.0f}"]

    def _sum(self, key: str | tuple[str, str | float]) -> float:
        return sum(self._cells[at] for at in range(_CELLS[key], len(self._cells), WIDTH))


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
