"""``nomina review``: a project filled, what to decide next in it, and how far annotators agree."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from nomina.cli.link import names_progress, sources_of
from nomina.errors import UsageError
from nomina.linkers import DEFAULT

if TYPE_CHECKING:
    from nomina.review.agreement import Agreement, Disagreement, Opinion

_FILE = click.Path(path_type=Path)
_WIDTH = 36
_CANDIDATES = 5
_LABELS = {
    "documents": "documents that both have begun",
    "left_out": "  others, left out",
    "undecided": "mentions undecided by one, left out",
    "both": "spans that are mentions for both",
    "only_first": "  for the first only",
    "only_second": "  for the second only",
    "span_f1": "F1 of spans",
    "same": "shared spans with the same concept",
    "concepts": "  as a share",
    "concept_kappa": "  Cohen's kappa",
    "proposed": "proposed mentions both decided",
    "mention_kappa": "  Cohen's kappa, mention or not",
}
_COLUMNS = ("document_id", "spans", "mention", "first", "second", "first_name", "second_name")


def _annotator(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from nomina.review.records import check_annotator

    try:
        return check_annotator(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group()
def review() -> None:
    """Review projects (nomina serve --project): fill one, see what is next, and who agrees with whom."""


@review.command()
@click.argument("project", type=_FILE)
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--corpus", metavar="FORMAT", help="FILES are corpora of this format, such as pubtator or brat.")
@click.option("--detect", is_flag=True, help="Find mentions, also where documents come with theirs.")
@click.option("--kb", default="hpo", metavar="NAME|FILE", show_default=True, help="The knowledge base.")
@click.option("--linker", default=DEFAULT, metavar="NAME|FOLDER", show_default=True, help="As of nomina link.")
@click.option(
    "--annotator",
    default="nomina",
    metavar="NAME",
    show_default=True,
    callback=_annotator,
    help="Whose decisions gold ids of FILES are.",
)
def add(
    project: Path, files: tuple[Path, ...], corpus: str | None, detect: bool, kb: str, linker: str, annotator: str
) -> None:
    """Link the documents of FILES and put them into PROJECT, made where it is missing.

    FILES are as of nomina link, but documents of a corpus that come without mentions are put in too, and theirs looked
    for. A document that is there already stays as it is: what broke off can be repeated.
    """
    from nomina.documents import read
    from nomina.pipeline import load
    from nomina.review.filling import fill
    from nomina.review.project import Project
    from nomina.review.unknown import unknown_in

    sources = sources_of(files, None, corpus)
    pipeline = load(linker, kb, k=_CANDIDATES, progress=names_progress())
    with Project(project) as opened:
        filled = fill(opened, read(sources, detect=detect, bare=True), pipeline, annotator)
        unknown = unknown_in(opened, pipeline.kb)
    known = f", {filled.known:,} of them were there" if filled.known else ""
    click.echo(f"nomina: {filled.documents:,} documents{known}; {filled.mentions:,} mentions", err=True)
    if unknown:
        click.echo(f"nomina: {unknown}", err=True)


@review.command("next")
@click.argument("project", type=_FILE)
@click.option("-n", "most", type=click.IntRange(1), default=20, show_default=True, help="Documents at most.")
@click.option("--annotator", multiple=True, metavar="NAME", help="Whose decisions count; by default everybody's.")
def next_(project: Path, most: int, annotator: tuple[str, ...]) -> None:
    """List the documents that are not done, the most uncertain first.

    Columns: id, uncertainty (mean over undecided mentions of 1 - probability, from 0 to 1), undecided mentions, all
    mentions.
    """
    from nomina.review import views
    from nomina.review.project import Project

    with Project(project, writes=False) as opened:
        rows = views.most_uncertain(views.rows(opened, annotator))
    click.echo("document_id\tuncertainty\tundecided\tmentions")
    for row in rows[:most]:
        click.echo(f"{row.id}\t{row.uncertainty or 0.0:.4f}\t{row.open}\t{row.mentions}")


@review.command()
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE, required=False)
@click.option("--between", nargs=2, metavar="NAME NAME", help="Annotators: one of each project, or two of one.")
@click.option("--tsv", type=_FILE, metavar="FILE", help="List what they disagree on there (- is standard output).")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def agreement(
    first: Path, second: Path | None, between: tuple[str, str] | None, tsv: Path | None, as_json: bool
) -> None:
    """Compare the decisions of two projects, or of two annotators of one."""
    from nomina.review.agreement import Side, agreement
    from nomina.review.project import Project

    if second is None and between is None:
        raise UsageError("name two projects, or two annotators of one with --between")
    ours, theirs = ((between[0],), (between[1],)) if between else ((), ())
    with Project(first, writes=False) as one, Project(second or first, writes=False) as other:
        figures, found = agreement(Side(one, ours), Side(other, theirs))
    if tsv is not None:
        _list(found, tsv)
    if as_json:
        click.echo(json.dumps(asdict(figures), indent=2))
    elif tsv != Path("-"):
        _show(figures)


def _show(figures: Agreement) -> None:
    values = asdict(figures)
    for key, label in _LABELS.items():
        value = values[key]
        shown = "not defined" if value is None else f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
        click.echo(f"{label:<{_WIDTH}}  {shown}")


def _list(found: Iterable[Disagreement], place: Path) -> None:
    from nomina.corpora.common import written

    if place == Path("-"):
        _write(found, sys.stdout)
        return
    with written(place) as stream:
        _write(found, stream)


def _write(found: Iterable[Disagreement], stream: TextIO) -> None:
    from nomina.review.records import key_of

    stream.write("\t".join(_COLUMNS) + "\n")
    for each in found:
        sides = each.first, each.second
        cells = (each.document_id, key_of(each.spans), each.text, *map(_ids, sides), *map(_name, sides))
        stream.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")


def _ids(opinion: Opinion | None) -> str:
    if opinion is None or opinion.gold is None:
        return "no mention"
    return "|".join("/".join(part) for part in opinion.gold)


def _name(opinion: Opinion | None) -> str:
    return (opinion and opinion.name) or ""
