"""``nomina evaluate``: how good saved predictions are."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.cli.places import PLACE
from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.evaluation.shape import Report
    from nomina.types import Document

_EXAMPLES = """\b
Examples:
  nomina evaluate predictions.jsonl --gold test.pubtator --kb mesh
  nomina evaluate ours.jsonl --against theirs.jsonl --gold test.pubtator --kb mesh \\
      --train train.pubtator -o report.json --html report.html
"""

_FILE = click.Path(path_type=Path)
_STDIO = Path("-")


@click.command(epilog=_EXAMPLES)
@click.argument("predictions", type=_FILE)
@click.option("--gold", required=True, metavar="FILE", type=_FILE, help="The corpus with the right answers.")
@click.option("--kb", metavar="NAME|FILE", help="The knowledge base that was linked to.")
@click.option("--train", metavar="FILE", type=_FILE, help="The corpus that a system was trained on.")
@click.option("--against", multiple=True, metavar="[NAME=]FILE", help="Another system's predictions; may be repeated.")
@click.option(
    "--protocol",
    default="clean-raw",
    show_default=True,
    metavar="NAME",
    help="as-published, as-published-generative, clean-kb or clean-raw.",
)
@click.option("--end-to-end", is_flag=True, help="The mentions were found in raw text: score their spans too.")
@click.option("--name", help="What the report calls the system; by default the file's name.")
@click.option("--no-baselines", is_flag=True, help="Do not run exact match, train look-up and TF-IDF beside it.")
@click.option("--format", metavar="FORMAT", help="The format of the corpora, where a look at them says something else.")
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="An option of it; may be repeated.")
@click.option("--seed", default=0, type=click.IntRange(min=0), show_default=True, help="Of the resampling.")
@click.option("-o", "--output", type=PLACE, help="Write the report as JSON.")
@click.option("--html", type=PLACE, help="Write it as a page that needs nothing else.")
@click.option("--markdown", type=PLACE, help="Write it as Markdown.")
def evaluate(
    predictions: Path,
    gold: Path,
    kb: str | None,
    train: Path | None,
    against: tuple[str, ...],
    protocol: str,
    end_to_end: bool,
    name: str | None,
    no_baselines: bool,
    format: str | None,
    texts: tuple[str, ...],
    seed: int,
    output: Path | None,
    html: Path | None,
    markdown: Path | None,
) -> None:
    """Compare PREDICTIONS, as nomina link writes them in JSON lines, with the gold of a corpus; - is standard input.

    The report is shown on a terminal; in a pipe it is JSON, unless it is written to files.
    """
    from nomina.evaluation.protocols import protocol_of
    from nomina.evaluation.report import evaluate
    from nomina.kb.options import parsed
    from nomina.kb.sources import resolve_kb
    from nomina.output import read_predictions

    protocol_of(protocol)
    others = _others(against)
    options = parsed(texts)
    _check_files((predictions, gold, train, *others.values()), (output, html, markdown))
    report = evaluate(
        read_predictions(predictions),
        _documents(gold, format, options),
        None if kb is None else resolve_kb(kb),
        protocol,
        train=None if train is None else _documents(train, format, options),
        against={each: read_predictions(path) for each, path in others.items()},
        name=name or _stem(predictions),
        baselines=not no_baselines,
        end_to_end=end_to_end,
        seed=seed,
        corpus_path=str(gold),
        train_path=str(train or ""),
        command=shlex.join(["nomina", *sys.argv[1:]]),
    )
    for warning in report.warnings:
        click.echo(f"nomina: {warning}", err=True)
    _write(report, output, html, markdown)


def _stem(path: Path) -> str:
    return "stdin" if path == _STDIO else path.name.removesuffix(".gz").removesuffix(".jsonl")


def _others(texts: Sequence[str]) -> dict[str, Path]:
    """The files of ``--against`` by the names of their systems."""
    found: dict[str, Path] = {}
    for text in texts:
        before, equals, behind = text.partition("=")
        name, path = (before, Path(behind)) if equals and not Path(text).exists() else (_stem(Path(text)), Path(text))
        if name in found:
            raise click.UsageError(f"two systems are named {name!r}: write --against NAME=FILE.")
        found[name] = path
    return found


def _check_files(read: Sequence[Path | None], written: Sequence[Path | None]) -> None:
    """Before the work: whether what is read is there, and whether there will be a place for what is written.

    Raises:
        UsageError: a file is missing or empty, cannot be written, or is to be read and written or written twice.
    """
    sources = [path for path in read if path is not None and path != _STDIO]
    for path in sources:
        if not path.exists():
            raise UsageError(f"there is no file {path}")
        if path.is_file() and path.stat().st_size == 0:
            raise UsageError(f"{path} is empty")
    targets = [path for path in written if path is not None]
    for i, path in enumerate(targets):
        if path.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder, name a file in it")
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise UsageError(f"cannot write {path}: the folder is not yours to write to, name another")
        if any(path.absolute() == other.absolute() for other in targets[:i]):
            raise UsageError(f"{path} is to be written twice: name another file")
        if path.exists() and any(path.samefile(source) for source in sources):
            raise UsageError(f"{path} is read and cannot be written too: name another file")


def _documents(path: Path, format: str | None, options: dict[str, str]) -> Iterator[Document]:
    from nomina.corpora import read_corpus

    return read_corpus(path, format, options=options)


def _write(report: Report, output: Path | None, html: Path | None, markdown: Path | None) -> None:
    """Each form to its file; without any, or on a terminal, also to standard output."""
    from nomina.evaluation.render_html import html as as_html
    from nomina.evaluation.render_markdown import markdown as as_markdown
    from nomina.evaluation.shape import Report

    for path, render in ((output, Report.as_text), (html, as_html), (markdown, as_markdown)):
        if path is not None:
            _save(path, render(report))
            click.echo(f"nomina: wrote {path}", err=True)
    if sys.stdout is not None and sys.stdout.isatty():
        click.echo(as_markdown(report), nl=False)
    elif output is None and html is None and markdown is None:
        click.echo(report.as_text(), nl=False)


def _save(path: Path, text: str) -> None:
    from nomina.files import atomic

    with atomic(path.resolve()) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
