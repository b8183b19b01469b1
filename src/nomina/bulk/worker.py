"""A process that does one shard after the other: ``python -m nomina.bulk.worker``, spoken to in lines of JSON.

It reads an order (``options``, ``folder``, ``device``, ``threads``), then a shard a line; the end of its input is its
end. It answers ``ready``, ``tick`` (how far a shard is), ``done``, or ``stop`` with what a user is to be told. Where
nobody reads its answers any more, as the run was killed, it ends with the next one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from nomina.bulk.manifest import Shard
from nomina.bulk.options import Options
from nomina.errors import NominaError

_SECONDS_A_TICK = 0.5

Say = Callable[..., None]


def main() -> int:
    """Work until there is nothing more to do."""
    # Whatever a library prints must not come among the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    orders = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (open for as long as the process)

    def say(kind: str, **what: Any) -> None:  # noqa: ANN401
        try:
            out.write(json.dumps({"kind": kind, **what}) + "\n")
            out.flush()
        except BrokenPipeError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
            # No kind of error that somebody on the way would take for one of a file.
            raise SystemExit(1) from error

    try:
        _work(orders, say)
    except NominaError as error:
        say("stop", why=str(error))
        return 2
    return 0


def _work(orders: TextIO, say: Say) -> None:
    from nomina.bulk.engine import make_new, pipeline
    from nomina.bulk.shard import run_shard
    from nomina.bulk.store import open_store

    first = orders.readline()
    if not first:
        return
    order = json.loads(first)
    options, store = Options.from_json(order["options"]), open_store(order["folder"])
    linker = pipeline(options, order["device"])
    say("ready")
    for line in orders:
        given = json.loads(line)
        make_new(linker, order["threads"])
        shard = Shard(*given["shard"])
        done = run_shard(linker, shard, options, store, _ticking(say), given["most_errors"])
        say("done", number=shard.number, done=done)


def _ticking(say: Say) -> Callable[[int, int], None]:
    last = time.monotonic()

    def tick(documents: int, errors: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_A_TICK:
            last = time.monotonic()
            say("tick", documents=documents, errors=errors)

    return tick


if __name__ == "__main__":
    sys.exit(main())
