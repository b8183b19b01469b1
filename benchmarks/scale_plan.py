"""Hours and cost of all of PubMed by measured figures: ``python benchmarks/scale_plan.py`` fills in ``docs/scale.md``.

Nothing is measured here. The speed on one machine is that of ``bulk.json``, ``bulk_ray.json``, ``bulk_peers.json`` in
``benchmarks/results``. What a worker does is read from ``bulk.json`` (the default linker and HPO, on CPUs) and
``bulk_gpu.json`` (MeSH's names and an encoder on a GPU); how much there is, nodes and prices from
``benchmarks/scale_plan.toml``. ``--prices FILE`` takes another file of that form and prints the table instead.

A worker does whole files, so that the last ones set the end: with F files and W workers there are ceil(F / W) rounds of
a file each. Nodes share nothing but what they read and write, which is not reckoned with, nor is a wait for nodes.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results"
PLAN = ROOT / "benchmarks/scale_plan.toml"
SPEEDS = ("bulk", "bulk_ray", "bulk_peers")
PAGE = ROOT / "docs/scale.md"
MARKS = ("<!-- plan by benchmarks/scale_plan.py -->", "<!-- end of plan -->")
SPEED_MARKS = ("<!-- speed by benchmarks/scale_plan.py -->", "<!-- end of speed -->")


class Rate(NamedTuple):
    """What was measured: of what, abstracts a second of a worker, seconds until it begins, and where."""

    what: str
    a_second: float
    start: float
    machine: str


class Cost(NamedTuple):
    """Of all there is on so many nodes."""

    hours: float
    node_hours: float
    price: float


def main() -> None:
    """Write the page, or print the table of other prices."""
    if sys.argv[1:2] == ["--prices"] and len(sys.argv) == 3:
        print("\n".join(table(Path(sys.argv[2]), RESULTS)))
    elif sys.argv[1:]:
        raise SystemExit("python benchmarks/scale_plan.py [--prices FILE]")
    else:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), PLAN, RESULTS), encoding="utf-8")


def page(text: str, plan: Path, results: Path) -> str:
    """The page with the tables."""
    return _put(_put(text, SPEED_MARKS, speed(results)), MARKS, table(plan, results))


def _put(text: str, marks: tuple[str, str], lines: Iterator[str]) -> str:
    start, end = marks
    before, _, rest = text.partition(start)
    return "\n".join([before + start, "", *lines, "", end + rest.partition(end)[2]])


def speed(results: Path) -> Iterator[str]:
    """What runs of one machine reach, by each engine, and others that look names up, on one core."""
    bulk, ray, peers = (json.loads((results / f"{name}.json").read_text("utf-8")) for name in SPEEDS)
    own, on_ray = bulk["figures"], ray["figures"]
    yield f"| {own['abstracts']:,} abstracts over and over, to HPO | abstracts a second |"
    yield "|---|---|"
    yield f"| one worker on one core | {own['workers_one_core']['documents_a_second']:,} |"
    yield f"| two workers on two cores | {own['workers_2']['documents_a_second']:,} |"
    yield f"| two workers on Ray, without the start of its cluster | {on_ray['documents_a_second']['ray']:,} |"
    yield ""
    encoded = own["encoded"]
    (few, least), (many, most) = own["peak_mb_by_documents"].items()
    yield (
        f"Two workers are {own['efficiency_of_2_workers']:.0%} of twice one; Ray keeps"
        f" {on_ray['kept']['without the start']:.0%} of the local engine's speed, with its start of"
        f" {on_ray['start_seconds']['ray']:.0f} seconds {on_ray['kept']['with it']:.0%} over"
        f" {on_ray['documents']:,} abstracts. Of {own['phrases_proposed']} phrases of an abstract that might name"
        f" something {encoded['phrases']} reach the encoder, and {encoded['words']} words. The largest process takes"
        f" {least:,.0f} MB for {int(few):,} made abstracts and {most:,.0f} MB for {int(many):,}"
        f" ({own['growth']:+.0%})."
    )
    yield ""
    yield f"| {peers['documents']:,} abstracts in one process, each for the first time | abstracts a second | MB |"
    yield "|---|---|---|"
    for name, one in peers["figures"].items():
        yield f"| {name} | {one['documents_a_second']:,.0f} | {one['peak_mb']:,} |"
    yield ""
    where = (f"`{name}.json` at {found['commit']}" for name, found in zip(SPEEDS, (bulk, ray, peers), strict=True))
    yield f"{bulk['machine']['cores']} cores of an {bulk['machine']['cpu']}: {', '.join(where)}."


def table(plan: Path, results: Path) -> Iterator[str]:
    """The lines of the table, and below it what it was reckoned from."""
    asked = tomllib.loads(plan.read_text(encoding="utf-8"))
    count = [f"{nodes:,} node{'s' * (nodes > 1)}" for nodes in asked["nodes"]]
    yield f"| node | linked | a worker | {' | '.join(count)} |"
    yield f"|---|---|---|{'---|' * len(count)}"
    measured: dict[str, None] = {}
    for node in asked["node"]:
        rates = rates_of(results / node["figures"], node.get("encoder"))
        if not rates:
            yield f"| {node['name']} | not measured yet (`{node['figures']}`) |  |{'  |' * len(count)}"
        for rate in rates:
            measured[f"`{node['figures']}`: {rate.machine}"] = None
            cells = (cell(cost(rate, node, asked, nodes), asked["currency"]) for nodes in asked["nodes"])
            yield f"| {node['name']} | {rate.what} | {rate.a_second:,.0f} a second | {' | '.join(cells)} |"
    yield ""
    files = math.ceil(asked["abstracts"] / asked["file"])
    yield f"{asked['abstracts']:,} abstracts in {files:,} files. Prices of a node for an hour, as of {asked['date']}:"
    yield f"{'; '.join(said(node, asked['currency']) for node in asked['node'])}."
    if measured:
        yield f"Measured: {'; '.join(measured)}."


def said(node: dict[str, Any], currency: str) -> str:
    """Price of a node, and what its workers keep of their speed."""
    kept = f"reckoned at {node['efficiency']:.0%} of the measured speed of a worker"
    return f"{node['name']}: for example {node['price']:.2f} {currency}, {kept}"


def rates_of(path: Path, encoder: str | None = None) -> list[Rate]:
    """What a file of figures says of a worker; nothing where it is missing. ``encoder``: what it is, by the plan."""
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    return _gpu(found, encoder or found["encoder"]["folder"]) if "runs" in found else _cpu(found)


def _cpu(found: dict[str, Any]) -> list[Rate]:
    """Of two workers beside each other, so that one is what it is with a neighbour."""
    figures = found["figures"]
    speed = figures["workers_2"]["documents_a_second"] / 2
    machine = f"2 workers on {found['machine']['cores']} cores, {found['machine']['cpu']}, at {found['commit']}"
    return [Rate("texts, HPO, default linker", speed, figures["start_seconds"], machine)]


def _gpu(found: dict[str, Any], encoder: str) -> list[Rate]:
    """Of the time that workers had files, without that of their start."""
    runs, workers = found["runs"], found["options"]["workers"]
    busy = " and ".join(f"{run['gpu']['mean_percent']:.0f}" for run in runs.values() if isinstance(run, dict))
    card = found["machine"]["gpu"].split(",")[0]
    machine = f"{workers} workers on {card}, {encoder}, at {found['commit']}; the GPU was busy {busy} % of the time"
    ways = {"texts": "texts, MeSH's names", "mentions": "texts with mentions, MeSH's names"}
    return [
        Rate(what, runs[way]["documents_a_worker_second"], runs["start_seconds"], machine)
        for way, what in ways.items()
        if way in runs
    ]


def cost(rate: Rate, node: dict[str, Any], asked: dict[str, Any], nodes: int) -> Cost:
    """Of so many nodes of a kind."""
    rounds = math.ceil(math.ceil(asked["abstracts"] / asked["file"]) / (nodes * node["workers"]))
    seconds = rounds * asked["file"] / (rate.a_second * node["efficiency"]) + rate.start
    hours = seconds / 3600
    return Cost(hours, hours * nodes, hours * nodes * node["price"])


def cell(found: Cost, currency: str) -> str:
    """As the table has it."""
    return f"{found.hours:,.1f} h, {found.price:,.0f} {currency}"


if __name__ == "__main__":
    main()
