"""``nomina bulk``: many files linked shard by shard, stopped and taken up again."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from nomina.cli.places import Place
from nomina.errors import NominaError, UsageError
from nomina.linkers import DEFAULT

if TYPE_CHECKING:
    from nomina.bulk.find import Input
    from nomina.bulk.manifest import Manifest, Totals
    from nomina.bulk.store import Store

_EXAMPLES = """\b
Examples:
  nomina bulk run pubmed/ --out linked/ --workers 8
  nomina bulk run 'notes/**/*.csv' --text-column note --id-column id --out linked/
  nomina bulk run s3://corpus/pubmed/ --out s3://corpus/linked
  nomina bulk run pubmed/ --part 3/32 --out linked-3/
  nomina bulk status linked/
  nomina bulk resume linked/
"""
Engine = Literal["local", "ray"]

_MOST_NAMED = 5
"""Files that are left out and named one by one."""
_COUNT = click.IntRange(min=1)


@click.group(epilog=_EXAMPLES)
def bulk() -> None:
    """Link millions of documents: a file out for each file in, exactly once."""


def _working(command: Callable[..., None]) -> Callable[..., None]:
    """The options of those that work on a run; they are free to change from one time to the next."""
    for option in (
        click.option("--address", help="Of the Ray cluster; by default RAY_ADDRESS, else one on this machine."),
        click.option(
            "--engine", default="local", show_default=True, type=click.Choice(["local", "ray"]), help="Who works."
        ),
        click.option("--max-errors", metavar="N", type=click.IntRange(min=0), help="Stop when more documents fail."),
        click.option("--device", default="cpu", show_default=True, help="cpu, cuda, or some GPUs as in cuda:0,1."),
        click.option("--workers", metavar="N", type=_COUNT, help="Processes; by default one a core, or one a GPU."),
    ):
        command = option(command)
    return command


@bulk.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", "folder", required=True, type=Place(), help="The folder of the run, or its URL.")
@click.option("--part", metavar="I/N", help="Every Nth file from the Ith on; N runs with folders of their own do all.")
@click.option("--input-format", metavar="FORMAT", help="What all files are read as; by default by their names.")
@click.option("--text-column", metavar="NAME", help="Of tables, JSON lines and Parquet; by default text.")
@click.option("--id-column", metavar="NAME", help="By default id where there is one, else file and number.")
@click.option("--detect", is_flag=True, help="Find mentions, also where documents come with theirs.")
@click.option("--kb", default="hpo", metavar="NAME|FILE", show_default=True, help="The knowledge base.")
@click.option("--linker", default=DEFAULT, metavar="NAME|FOLDER", show_default=True, help="As in nomina link.")
@click.option("-k", default=5, show_default=True, type=_COUNT, help="Concepts a mention at most.")
@click.option("--level", default="concept", type=click.Choice(["concept", "name"]), help="Offer concepts, or names?")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Abstain under this score.")
@click.option("--under", multiple=True, metavar="ID", help="Only this concept and those under it; may be repeated.")
@click.option("--types", multiple=True, metavar="TYPE", help="Only concepts of this type; may be repeated.")
@click.option("--overlaps", default="longest", type=click.Choice(["longest", "all"]), help="Also within longer ones?")
@click.option("--spans/--no-spans", default=None, help="Phrases that the dictionary misses too?")
@click.option("--no-context", is_flag=True, help="Do not look for negation and family history.")
@click.option("--format", default="jsonl", show_default=True, help="jsonl, parquet, pubtator, bioc_xml or bioc_json.")
@click.option("--pack", default="none", show_default=True, help="Pack jsonl: gz or zst.")
@_working
def run(
    inputs: tuple[str, ...],
    folder: str,
    part: str | None,
    input_format: str | None,
    no_context: bool,
    workers: int | None,
    device: str,
    max_errors: int | None,
    engine: Engine,
    address: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Link files, folders and patterns into a new folder, or go on with what was begun there in the same way.

    INPUTS are PubTator, BioC, PubMed XML, JSON lines, CSV, TSV or Parquet, plain or packed, on this machine or by URL
    (s3://, gs:// and others); a pattern stands in quotes.
    """
    from nomina.bulk.engine import check_device
    from nomina.bulk.find import find
    from nomina.bulk.options import Options
    from nomina.bulk.run import begin

    store = _store(folder)
    found = find(inputs, input_format, store.shown)
    if found.others:
        click.echo(f"nomina: left out {found.others:,} files that are named like no format", err=True)
    for what in found.left_out[:_MOST_NAMED]:
        click.echo(f"nomina: left out {what}", err=True)
    if len(found.left_out) > _MOST_NAMED:
        click.echo(f"nomina: left out {len(found.left_out) - _MOST_NAMED:,} more such files", err=True)
    options["linker"], options["kb"] = _absolute_linker(options["linker"]), _absolute_kb(options["kb"])
    asked = Options(context=not no_context, **options)
    check_device(asked, _devices(device)[0])
    begin(store, _part(found.inputs, part), asked)
    _go_on(store, device, max_errors, engine=engine, workers=workers, address=address)


@bulk.command()
@click.argument("folder", metavar="RUN")
@click.option("--retry", is_flag=True, help="Read those files again that could not be read to their end.")
@_working
def resume(folder: str, retry: bool, device: str, max_errors: int | None, **staff: Any) -> None:  # noqa: ANN401
    """Go on with a run, as it was begun."""
    _go_on(_store(folder), device, max_errors, again=retry, **staff)


@bulk.command()
@click.argument("folder", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
def status(folder: str, as_json: bool) -> None:
    """How far a run is."""
    store = _store(folder)
    with store.manifest() as manifest:
        totals = manifest.totals()
    running = store.is_running()
    state = (
        "finished" if totals.done == totals.shards else "unfinished" if running is None
        else "running" if running else "stopped"
    )  # fmt: skip
    counts = {
        "shards": totals.shards, "done": totals.done, "not_read_to_the_end": totals.broken,
        "documents": totals.documents, "mentions": totals.mentions, "errors": totals.errors,
    }  # fmt: skip
    if as_json:
        click.echo(json.dumps({"state": state, **counts}))
        return
    click.echo(f"{state}: {_summary(totals)}")


@bulk.command()
@click.argument("folder", metavar="RUN")
@click.option("--redo", is_flag=True, help="Have nomina bulk resume make damaged shards again.")
def verify(folder: str, redo: bool) -> None:
    """Compare what was written with its checksums, and inputs with what they were when they were linked."""
    from nomina.bulk.verify import damaged, unknown

    store, gone = _store(folder), []
    with store.manifest() as manifest, store.held(reading=not redo):
        found = list(damaged(store, manifest))
        changed = _outdated(manifest)
        for _, what in (*found, *changed):
            click.echo(what)
        for name in unknown(store, manifest):
            click.echo(f"{name}: is of no finished shard")
        wrong = {number for number, _ in (*found, *changed)}
        if redo:
            gone = store.redo(manifest, wrong)
        for shard in gone:
            click.echo(f"{shard.input}: is gone, so that {shard.name} cannot be made again: put it back first")
        totals = manifest.totals()
    if not wrong:
        click.echo(f"all {totals.done:,} finished shards are as they were written")
        return
    parts = [f"{len(found):,} shards are damaged"] if found else []
    parts += [f"{len(changed):,} inputs have changed"] if changed else []
    advice = f"nomina bulk resume {folder}" if redo else f"nomina bulk verify --redo {folder}, then resume"
    left = f"; {len(gone):,} cannot be made again, as their inputs are gone" if gone else ""
    raise UsageError(f"{', '.join(parts)}: make them again with {advice}{left}")


def _outdated(manifest: Manifest) -> list[tuple[int, str]]:
    """Finished shards whose inputs have changed; what is written can be judged without them."""
    from nomina.bulk.verify import outdated

    try:
        return list(outdated(manifest))
    except NominaError as error:
        click.echo(f"nomina: whether inputs have changed is not known: {error}", err=True)
        return []


def _store(folder: str) -> Store:
    """The run's folder by path or URL.

    Raises:
        UsageError: no such kind of place, or one that workers do not see.
    """
    from nomina.bulk.remote import check_shared
    from nomina.bulk.store import open_store

    check_shared(folder)
    return open_store(folder)


def _part(inputs: list[Input], part: str | None) -> list[Input]:
    """``2/3``: every third one from the second on.

    Raises:
        UsageError: it is none, or there are fewer files.
    """
    if part is None:
        return inputs
    first, slash, size = part.partition("/")
    if not (slash and first.isdecimal() and size.isdecimal() and 1 <= int(first) <= int(size)):
        raise UsageError(f"no part {part!r}: --part is such as 1/32, 2/32 and so on to 32/32")
    chosen = inputs[int(first) - 1 :: int(size)]
    if not chosen:
        raise UsageError(f"there are {len(inputs):,} files, none for --part {part}: take fewer parts")
    return chosen


def _go_on(
    store: Store,
    device: str,
    max_errors: int | None,
    *,
    again: bool = False,
    engine: Engine,
    workers: int | None,
    address: str | None,
) -> None:
    from nomina.bulk.run import Staff, go_on

    if address is not None and engine != "ray":
        raise UsageError("--address is that of a Ray cluster: add --engine ray, or leave it out")
    devices = _devices(device)
    if engine == "ray" and ":" in device:
        raise UsageError(f"Ray chooses the GPUs itself: write --device cuda, not {device}")
    totals = go_on(
        store,
        crew=Staff(engine, workers, address),
        devices=devices,
        most_errors=max_errors,
        again=again,
        stream=sys.stderr or io.StringIO(),
    )
    click.echo(f"nomina: {_summary(totals)}", err=True)
    if totals.errors:
        click.echo(f"nomina: see {store.shown}/errors.jsonl", err=True)


def _summary(totals: Totals) -> str:
    parts = [
        f"{totals.done:,} of {totals.shards:,} shards",
        f"{totals.documents:,} documents",
        f"{totals.mentions:,} mentions",
        f"{totals.errors:,} errors",
    ]
    if totals.broken:
        parts.append(f"{totals.broken:,} files not read to their end")
    return ", ".join(parts)


def _devices(device: str) -> list[str]:
    """``cuda:0,1`` as two devices.

    Raises:
        UsageError: it is none.
    """
    if device in ("cpu", "cuda"):
        return [device]
    name, _, numbers = device.partition(":")
    if name != "cuda" or not all(number.isdecimal() for number in numbers.split(",")):
        raise UsageError(f"no device {device!r}: it is cpu, cuda, or some GPUs as in cuda:0,1")
    return [f"cuda:{number}" for number in numbers.split(",")]


def _absolute_linker(linker: str) -> str:
    from nomina.linkers import LINKERS

    return linker if linker in LINKERS or not Path(linker).is_dir() else str(Path(linker).absolute())


def _absolute_kb(kb: str) -> str:
    """The name of a KB, or the whole path of its file."""
    from nomina.kb.sources import resolve_kb

    path = Path(kb).absolute()
    return str(path) if resolve_kb(kb).path == path else kb
