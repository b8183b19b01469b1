"""``nomina link``: the mentions of texts, linked to concepts."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from nomina.cli import export
from nomina.errors import UsageError
from nomina.linkers import DEFAULT

if TYPE_CHECKING:
    from nomina.documents import Source
    from nomina.exports import Writer
    from nomina.kb.store import KnowledgeBase
    from nomina.terminal import Layout
    from nomina.types import Document, Prediction

_STDIO = Path("-")
_STDOUT = (_STDIO, Path("/dev/stdout"), Path("/dev/fd/1"), Path("/proc/self/fd/1"))
_DESCRIPTOR = re.compile(r"/dev/stderr|(?:/dev|/proc/self)/fd/([0-9]{1,5})")
_SECONDS_BEFORE_PROGRESS = 2
_CANDIDATES = 5

_EXAMPLES = """\b
Examples:
  nomina link note.txt
  nomina link notes/ --under HP:0000924 -o skeletal.jsonl
  nomina link corpus.pubtator --kb mesh.kb --linker tfidf -o predictions.jsonl
  nomina link --mentions terms.tsv --kb my.kb --linker model/ --format tsv
  nomina link corpus.pubtator --kb mesh --linker writer/ --candidates aligned/ -o predictions.jsonl
  nomina link --mentions terms.tsv --kb mondo --format sssom -o terms.sssom.tsv
"""

_FORMATS = ("table", "jsonl", "tsv", *export.STREAMS, *export.CORPORA)


def _share(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Between 0 and 1; ``click.FloatRange`` lets NaN pass."""
    if value is not None and not 0 <= value <= 1:
        raise click.BadParameter(f"{value} is not between 0 and 1.")
    return value


def _asking(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a generator, which ``nomina.load`` takes by these names."""
    for option in (
        click.option("--candidates", metavar="NAME|FOLDER", help="It scores the best names of this linker or encoder."),
        click.option("--alone", is_flag=True, help="It reads mentions without the text around."),
        click.option("--batch", type=click.IntRange(min=1), help="Mentions it reads at a time; more use a GPU better."),
        click.option(
            "--beams", type=click.IntRange(min=1), help="Of a generator: names it finds at most; by default 5."
        ),
    ):
        command = option(command)
    return command


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--mentions", metavar="FILE", type=click.Path(path_type=Path), help="Mentions, one a line or a column mention."
)
@click.option("--corpus", metavar="FORMAT", help="FILES are corpora of this format, such as pubtator or brat.")
@click.option("--detect", is_flag=True, help="Find mentions, also where documents come with theirs.")
@click.option("--kb", default="hpo", metavar="NAME|FILE", show_default=True, help="The knowledge base.")
@click.option(
    "--linker",
    default=DEFAULT,
    metavar="NAME|FOLDER",
    show_default=True,
    help="cascade (dictionary, then encoder), dictionary, tfidf or embedding; a folder: cascade with its encoder, a"
    " generator, or a fitted cascade.",
)
@click.option("-k", type=click.IntRange(min=1), help="Concepts a mention at most; by default 5, in a table the best.")
@click.option(
    "--level", default="concept", type=click.Choice(["concept", "name"]), help="Offer concepts, or k names with theirs?"
)
@click.option("--threshold", type=float, callback=_share, help="Abstain under this score, from 0 to 1.")
@click.option("--under", multiple=True, metavar="ID", help="Only this concept and those under it; may be repeated.")
@click.option("--types", multiple=True, metavar="TYPE", help="Only concepts of this type; may be repeated.")
@click.option(
    "--overlaps", default="longest", type=click.Choice(["longest", "all"]), help="Mentions inside longer ones?"
)
@click.option(
    "--spans/--no-spans",
    default=None,
    help="Phrases that the dictionary misses too? By default where the KB is of phenotypes.",
)
@click.option("--no-context", is_flag=True, help="Do not look for negation and family history.")
@_asking
@click.option("--format", type=click.Choice(_FORMATS), help="By default a table on a terminal, else jsonl.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the format; may be repeated.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write, whole or not at all.")
def link(
    files: tuple[Path, ...],
    mentions: Path | None,
    corpus: str | None,
    detect: bool,
    kb: str,
    linker: str,
    k: int | None,
    no_context: bool,
    format: str | None,
    options: tuple[str, ...],
    output: Path | None,
    **wanted: Any,  # noqa: ANN401
) -> None:
    """Find the mentions of texts and link each to the concepts of a knowledge base.

    FILES are texts, .jsonl files with a document a line, annotated corpora, folders of them, or - for standard input,
    which is read where none is named. All of it is UTF-8, as it is or with .gz.
    """
    from nomina.documents import read
    from nomina.pipeline import load

    output = None if output in _STDOUT else output
    sources = sources_of(files, mentions, corpus)
    format = format or _usual_format(output)
    export.check(format, output, options)
    _check_output(output, sources, is_folder=format == "brat")
    pipeline = load(
        linker,
        kb,
        k=k or (1 if format == "table" else _CANDIDATES),
        context=not no_context,
        progress=names_progress(),
        **wanted,
    )
    if pipeline.linker.remark:
        click.echo(f"nomina: {pipeline.linker.remark}", err=True)
    dropped: Counter[str] = Counter()
    predictions = _Counted(pipeline.link)
    if format in export.CORPORA and output is not None:
        documents = _with_progress(read(sources, detect=detect), None)
        export.write_corpus(documents, predictions.of, output, format, options, dropped)
    else:
        write = _writer(format, sources, pipeline.kb, options, dropped)
        with _opened(output) as out:
            write(predictions.of(_with_progress(read(sources, detect=detect), out)), out)
    export.say(format, dropped)
    if not predictions.count and not detect and all(source.kind == "corpus" for source in sources):
        click.echo("nomina: the corpus has no mentions; --detect finds them", err=True)
    elif format == "table" and not predictions.count:
        click.echo(f"nomina: found no name of the KB {pipeline.kb.manifest.name}", err=True)


def sources_of(files: tuple[Path, ...], mentions: Path | None, corpus: str | None) -> list[Source]:
    """What is to be read, its heads checked; what is left out is said on stderr."""
    from nomina.documents import Found, check, corpora, find, mention_list

    if mentions and (files or corpus):
        raise click.UsageError(f"give {'FILES' if files else '--corpus'} or --mentions, not both.")
    if not mentions and not files:
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("nothing to read: name files or a folder, or pipe a text in.")
        files = (_STDIO,)
    found = Found(corpora(files, corpus), 0) if corpus else find(files)
    sources = [mention_list(mentions)] if mentions else found.sources
    empty = check(sources)
    if found.others:
        click.echo(f"nomina: left out {found.others:,} files that are neither .txt nor .jsonl", err=True)
    for source in empty:
        click.echo(f"nomina: {source.path} is empty", err=True)
    return sources


def _check_output(output: Path | None, sources: list[Source], *, is_folder: bool) -> None:
    """Before the work: whether there will be a place for its result.

    Raises:
        UsageError: there will be none, or it is a file that is read.
    """
    if output is None:
        return
    if (number := _descriptor(output)) is not None:
        try:
            os.fstat(number)
        except OSError as error:
            raise UsageError(f"cannot write {output}: it is not open") from error
        return
    if output.is_dir() and not is_folder:
        raise UsageError(f"cannot write {output}: it is a folder, name a file in it")
    if not output.parent.is_dir():
        raise UsageError(f"cannot write {output}: there is no folder {output.parent}")
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: the folder is not yours to write to, name another with -o")
    if output.exists() and any(source.path.exists() and output.samefile(source.path) for source in sources):
        raise UsageError(f"{output} is read and cannot be the output too: name another file with -o")


def _descriptor(output: Path) -> int | None:
    """The number of the open file that a path stands for: opened by its path, it would be emptied or replaced."""
    found = _DESCRIPTOR.fullmatch(str(output))
    return found and int(found[1] or 2)


def _usual_format(output: Path | None) -> str:
    if output is not None:
        return "tsv" if output.suffix == ".tsv" else "jsonl"
    if sys.stdout is None:
        raise UsageError("standard output is closed: name a file with -o")
    return "table" if sys.stdout.isatty() else "jsonl"


@contextlib.contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears when all is written; a device or a pipe is written to as it is."""
    if output is None:
        yield sys.stdout
        return
    if (number := _descriptor(output)) is not None:
        with open(number, "w", encoding="utf-8", newline="\n", closefd=False) as stream:
            yield stream
        return
    from nomina.files import atomic

    with contextlib.ExitStack() as stack:
        if not output.exists() or output.is_file():
            output = stack.enter_context(atomic(output.resolve()))
        yield stack.enter_context(open(output, "w", encoding="utf-8", newline="\n"))


def _writer(
    format: str, sources: list[Source], kb: KnowledgeBase, options: tuple[str, ...], dropped: Counter[str]
) -> Writer:
    if format == "table":
        return partial(_write_table, sources)
    if format in export.STREAMS:
        return export.writer(format, kb, options, dropped)
    from nomina.output import write_jsonl, write_tsv

    return write_tsv if format == "tsv" else write_jsonl


def _write_table(sources: list[Source], predictions: Iterable[Prediction], out: TextIO) -> None:
    from nomina.terminal import write_table

    width = shutil.get_terminal_size().columns if out.isatty() else None
    layout: Layout = "mentions" if sources[0].kind == "mentions" else "documents"
    write_table(predictions, out, layout=layout, untitled=sources[0].id if len(sources) == 1 else None, width=width)


class _Counted:
    """The predictions of a linker, counted as they pass."""

    def __init__(self, link: export.Link) -> None:
        self._link, self.count = link, 0

    def of(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """Those of documents."""
        for prediction in self._link(documents):
            self.count += 1
            yield prediction


def names_progress() -> Callable[[int, int], None] | None:
    """A bar on a terminal's stderr while the names of a KB are encoded, once; nothing in a log."""
    if not sys.stderr.isatty():
        return None
    bar: Any = None

    def told(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            from tqdm import tqdm

            bar = tqdm(desc="encoding the KB, once", total=total, unit=" names", leave=False)
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return told


def _with_progress(documents: Iterator[Document], out: TextIO | None) -> Iterable[Document]:
    """A count on a terminal's stderr where it takes a while and nothing else is shown there; nothing in a log."""
    if not sys.stderr.isatty() or (out is not None and out.isatty()):
        return documents
    from tqdm import tqdm

    bar: Iterable[Document] = tqdm(documents, unit=" documents", delay=_SECONDS_BEFORE_PROGRESS, leave=False)
    return bar
