"""``nomina kb merge`` and ``nomina kb expand``: several KBs as one, and the names of one for concepts of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.cli.kb import building, counted, size_of
from nomina.cli.places import PLACE

if TYPE_CHECKING:
    from nomina.kb.join import Joined
    from nomina.kb.links import By

dedup_option = click.option(
    "--dedup", metavar="RULE", help="Leave a name that concepts share to one of them; the rule genbioel is the paper's."
)
_output = click.option("-o", "--output", required=True, type=PLACE, help="The KB file to write.")
_KINDS = click.Choice(["xref", "id"])


@click.command()
@click.argument("kbs", nargs=-1, required=True)
@click.option("--by", type=_KINDS, required=True, help="What makes concepts of two KBs the same.")
@_output
@dedup_option
def merge(kbs: tuple[str, ...], by: By, output: Path, dedup: str | None) -> None:
    """Make one KB of several KBS (files or names such as hpo).

    Concepts with the same id (and, with --by xref, those of which one names the other in its xrefs) become one, with
    the id and preferred name of the earlier KB.
    """
    from nomina.kb.join import merge
    from nomina.kb.sources import resolve_kb

    with building(output) as progress:
        done = merge(output, [resolve_kb(kb) for kb in kbs], by, dedup=dedup, progress=progress)
    _say(output, done)


@click.command()
@click.argument("kb")
@click.option("--with", "source", required=True, metavar="KB", help="The KB whose names are added.")
@click.option("--by", type=_KINDS, default="xref", show_default=True, help="What makes concepts of two KBs the same.")
@click.option("--many", is_flag=True, help="Also where a concept is linked with several.")
@_output
@dedup_option
def expand(kb: str, source: str, by: By, many: bool, output: Path, dedup: str | None) -> None:
    """Give the concepts of KB the names that the same concepts have in another KB.

    No concept is added. Each new name says which KB it comes from.
    """
    from nomina.kb.join import expand
    from nomina.kb.sources import resolve_kb

    with building(output) as progress:
        target, other = resolve_kb(kb), resolve_kb(source)
        done = expand(output, target, other, by, many=many, dedup=dedup, progress=progress)
    _say(output, done)


def _say(output: Path, done: Joined) -> None:
    click.echo(size_of(output, done.kb), err=True)
    click.echo(f"{counted(done.linked, 'concept')} {'is' if done.linked == 1 else 'are'} in both", err=True)
    if done.ambiguous:
        click.echo(
            f"{done.ambiguous:,} are linked with several, or share the one they are linked with: left out", err=True
        )
