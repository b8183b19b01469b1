"""``nomina kb add`` and ``nomina kb retire``: a new version of a KB whose numbers stay."""

from __future__ import annotations

from pathlib import Path

import click

from nomina.cli.kb import building, counted, say_problems, size_of
from nomina.cli.places import PLACE


@click.command()
@click.argument("kb")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=PLACE, help="The KB file to write.")
@click.option("--format", metavar="FORMAT", help="As in `kb build`.")
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="As in `kb build`.")
@click.option("--lenient", is_flag=True, help="Report faults in the files and go on, where else the command stops.")
def add(
    kb: str, files: tuple[Path, ...], output: Path, format: str | None, texts: tuple[str, ...], lenient: bool
) -> None:
    """Add the concepts and names of FILES to KB, as a new version that keeps all numbers.

    KB is a KB file or a name such as hpo; FILES are what `kb build` takes. A concept whose id is there gains the names;
    ids that FILES call obsolete or merged are retired.
    """
    from nomina.kb.options import parsed
    from nomina.kb.sources import resolve_kb
    from nomina.kb.update import add_files

    with building(output) as progress:
        base, options = resolve_kb(kb), parsed(texts)
        done = add_files(base, output, files, options, format=format, lenient=lenient, progress=progress)
    say_problems(done.kb)
    click.echo(size_of(output, done.kb), err=True)
    click.echo(f"{counted(done.added, 'concept')} added, {done.changed:,} extended, {done.retired:,} retired", err=True)


@click.command()
@click.argument("kb")
@click.argument("ids", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=PLACE, help="The KB file to write.")
@click.option("--replaced-by", metavar="ID", help="The concept that the retired ids mean from now on.")
def retire(kb: str, ids: tuple[str, ...], output: Path, replaced_by: str | None) -> None:
    """Take the concepts IDS out of KB, as a new version that keeps all numbers.

    Their names are no longer found; what else has the same names still is.
    """
    from nomina.kb.sources import resolve_kb
    from nomina.kb.update import retire

    done = retire(resolve_kb(kb), output, ids, replaced_by)
    click.echo(size_of(output, done.kb), err=True)
    click.echo(f"{counted(done.retired, 'concept')} retired", err=True)
