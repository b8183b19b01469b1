"""The figures of ``docs/howto-serve.md`` out of ``results/serve.json``: ``python benchmarks/serve_page.py``.

They stand between two marks and take the place of what is there; the rest of the page is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from serve import CLIENTS, RESULT, WORKERS
from startup import ROOT

PAGE = ROOT / "docs/howto-serve.md"
MARKS = ("<!-- figures by benchmarks/serve_page.py -->", "<!-- end of figures -->")
BUSY = 1.0  # load before the run, beyond which a reader has to know of it

_ROW = "| {} | {} | {:,.0f} | {:,.0f} | {:,.0f} | {:,.0f} | {:,.0f} / {:,.0f} | {:.0f}% |"


def places() -> list[str]:
    """How the results name the services."""
    return [f"{workers} worker{'s' * (workers > 1)}" for workers in WORKERS]


def rows(facts: dict[str, Any]) -> Iterator[str]:
    """Requests a second, latencies of one worker in ms, and the client's share of the run in CPU time."""
    yield "| a request has | clients | API, each | in groups | 1 worker | 2 workers | p50 / p99, ms | client's CPU |"
    yield "|---|---|---|---|---|---|---|---|"
    for workload, python in facts["python"].items():
        for clients in CLIENTS:
            plain = [python[how][f"texts of {clients} clients"]["requests_a_second"] for how in ("each", "in groups")]
            runs = [facts["service"][place][workload][f"{clients} clients"] for place in places()]
            speeds = [run["requests_a_second"] for run in runs]
            one = runs[0]
            share = 100 * one["client_cpu_seconds"] / one["seconds"]
            what = f"a{'n' * (workload[0] in 'aeiou')} {workload}"
            yield _ROW.format(what, clients, *plain, *speeds, one["p50_ms"], one["p99_ms"], share)


def kept(facts: dict[str, Any]) -> Iterator[str]:
    """The share of the API's throughput that a service has at 8 clients."""
    for place in places():
        shares = facts["kept_at_8_clients"][place].items()
        told = ", ".join(f"{of['each']:.0%} and {of['in groups']:.0%} ({what})" for what, of in shares)
        yield f"* {place}, 8 clients, as a share of the API asked *each* and *in groups*: {told}."


def answers(facts: dict[str, Any]) -> Iterator[str]:
    """What became of the texts that were held against the API's answers."""
    told = facts["answers"]
    broken = told["broken"]
    lost = sum(broken["by"].values())
    asked = sum(told["texts"].values())
    yield (
        f"* {asked:,} distinct texts from {told['clients']} clients to {told['workers']} workers, with "
        f"{told['reloads']} reloads between two versions of the KB and one worker killed: {lost} requests broke, "
        f"{broken['on_connections_of_others']} of them on connections of the other worker, and "
        f"{broken['answered_when_asked_again']} were answered when asked again. Of {told['answered']:,} answers, "
        f"{told['different']} differ from the API's with the KB that they name ({told['equal_but_for_rounding']} by "
        f"rounding alone, {told['largest_rounding']:g} at most)."
    )


def figures(facts: dict[str, Any]) -> str:
    """What stands between the marks."""
    machine, before = facts["machine"], facts["load_average_before"][0]
    state = f"busy with other work (load {before:g} before)" if before > BUSY else "idle else"
    where = f"{machine['cores']} cores of an {machine['cpu']}, {state}; embedded default; commit {facts['commit']}."
    return "\n".join(["", where, "", *rows(facts), "", *kept(facts), *answers(facts), ""])


def page(text: str, facts: dict[str, Any]) -> str:
    """The page with these figures."""
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n{figures(facts)}\n{MARKS[1]}{after}"


def main() -> None:
    """Write the page."""
    facts = json.loads(RESULT.read_text("utf-8"))
    PAGE.write_text(page(PAGE.read_text("utf-8"), facts), encoding="utf-8")


if __name__ == "__main__":
    main()
