"""``nomina kb subset``: a part of a KB as a KB of its own."""

from __future__ import annotations

from pathlib import Path

import click

from nomina.cli.kb import building, size_of
from nomina.cli.kb_join import dedup_option
from nomina.cli.places import PLACE


@click.command()
@click.argument("kb")
@click.option("--under", multiple=True, metavar="ID", help="Only this concept and all under it; may be repeated.")
@click.option("--types", multiple=True, metavar="TYPE", help="Only concepts of this type; may be repeated.")
@click.option(
    "--source", "sources", multiple=True, metavar="SOURCE", help="Only names of this source; may be repeated."
)
@click.option("-o", "--output", required=True, type=PLACE, help="The KB file to write.")
@dedup_option
def subset(
    kb: str, under: tuple[str, ...], types: tuple[str, ...], sources: tuple[str, ...], output: Path, dedup: str | None
) -> None:
    """Make a KB of a part of KB: of subtrees, of types, of the names of some sources.

    What is kept meets all the conditions. The new KB's rows are numbered anew; to filter answers and keep a model, use
    --under and --types of `nomina link`.
    """
    from nomina.kb.sources import resolve_kb
    from nomina.kb.subset import subset

    with building(output) as progress:
        whole = resolve_kb(kb)
        made = subset(output, whole, under=under, types=types, sources=sources, dedup=dedup, progress=progress)
    click.echo(size_of(output, made), err=True)
