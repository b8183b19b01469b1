"""``nomina corpus``: what annotated corpora hold, and the same in another format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from nomina.errors import FormatError, UsageError

if TYPE_CHECKING:
    from nomina.corpora.describe import Description
    from nomina.types import Document

_FILE = click.Path(path_type=Path)
_STDIO = Path("-")
_SHOWN_FAULTS = 5
_SHOWN_TYPES = 10
_WIDTH = 30
_LENIENT = "Report faults and leave out what they are about, where else the command stops."


@click.group()
def corpus() -> None:
    """Describe and convert annotated corpora (formats: docs/corpora)."""


@corpus.command()
@click.argument("file", type=_FILE)
@click.option("--kb", metavar="NAME|FILE", help="A knowledge base: how many of the ids it has.")
@click.option("--train", metavar="FILE", type=_FILE, help="Training data: what they have seen of it.")
@click.option("--format", metavar="FORMAT", help="The format of both, where a look at them says something else.")
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="An option of it; may be repeated.")
@click.option(
    "--train-option", "train_texts", multiple=True, metavar="KEY=VALUE", help="One for --train, in place of --option."
)
@click.option("--lenient", is_flag=True, help=_LENIENT)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def describe(
    file: Path,
    kb: str | None,
    train: Path | None,
    format: str | None,
    texts: tuple[str, ...],
    train_texts: tuple[str, ...],
    lenient: bool,
    as_json: bool,
) -> None:
    """Count what is in a corpus: documents, mentions, ids, and what is left out of it."""
    from nomina.corpora.describe import describe
    from nomina.kb.sources import resolve_kb

    if train_texts and train is None:
        raise click.UsageError("--train-option needs --train.")
    given = _Reading(file, format, texts, lenient)
    learnt = None if train is None else _Reading(train, format, train_texts or texts, lenient)
    opened = None if kb is None else resolve_kb(kb)
    found = describe(given, opened, learnt, given.dropped)
    for reading in filter(None, (given, learnt)):
        _say_faults(reading)
    if found.coverage and found.coverage.warning:
        click.echo(f"nomina: {found.coverage.warning}", err=True)
    if as_json:
        click.echo(json.dumps(found.as_json(), ensure_ascii=False, indent=2))
    else:
        for label, value in _lines(found):
            click.echo(f"{label:<{_WIDTH}}{value}")


@corpus.command()
@click.argument("file", type=_FILE)
@click.option("-o", "--output", required=True, type=_FILE, help="The file or folder to write.")
@click.option("--to", required=True, metavar="FORMAT", help="The format to write.")
@click.option("--from", "format", metavar="FORMAT", help="That of FILE, where a look at it says something else.")
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="An option of the reader; may be repeated.")
@click.option("--to-option", "to_texts", multiple=True, metavar="KEY=VALUE", help="One of the writer; may be repeated.")
@click.option("--lenient", is_flag=True, help=_LENIENT)
def convert(
    file: Path,
    output: Path,
    to: str,
    format: str | None,
    texts: tuple[str, ...],
    to_texts: tuple[str, ...],
    lenient: bool,
) -> None:
    """Write a corpus in another format; what that cannot hold is said on stderr."""
    from nomina.corpora import write_corpus
    from nomina.kb.options import parsed

    _check_output(output, file)
    given = _Reading(file, format, texts, lenient)
    lost: Counter[str] = Counter()
    target = output.resolve() if output.is_symlink() else output  # the link stays, what it points to is written
    write_corpus(given, target, to, dropped=lost, options=parsed(to_texts))
    _say_faults(given)
    for counts, what in ((given.dropped, "not read"), (lost, f"not kept by {to}")):
        if counts:
            click.echo(f"{what}: {_counted(counts)}", err=True)
    click.echo(f"{output}: {given.documents:,} documents, {given.mentions:,} mentions", err=True)


def _check_output(output: Path, file: Path) -> None:
    """Before the work: whether the output can be a file or folder of its own.

    Raises:
        UsageError: it is standard output, a device or pipe, or what is read.
    """
    if output == _STDIO or (output.exists() and not output.is_file() and not output.is_dir()):
        raise UsageError(f"cannot write {output}: a corpus is written to a file or folder, name one with -o")
    if output.exists() and file.exists() and output.samefile(file):
        raise UsageError(f"{output} is the corpus itself: choose another output")


class _Reading:
    """The documents of a corpus, to be read once, with counts of what went by."""

    def __init__(self, path: Path, format: str | None, texts: tuple[str, ...], lenient: bool) -> None:
        from nomina.corpora import read_corpus
        from nomina.kb.options import parsed

        self.dropped: Counter[str] = Counter()
        self.faults = _Faults()
        self.path, self.documents, self.mentions = path, 0, 0
        skip = self.faults.add if lenient else None
        self._found = read_corpus(path, format, skip=skip, dropped=self.dropped, options=parsed(texts))

    def __iter__(self) -> Iterator[Document]:
        for document in self._found:
            self.documents += 1
            self.mentions += len(document.mentions)
            yield document


class _Faults:
    """The first faults, and how many there were."""

    def __init__(self) -> None:
        self.first: list[FormatError] = []
        self.count = 0

    def add(self, fault: FormatError) -> None:
        self.count += 1
        if self.count <= _SHOWN_FAULTS:
            self.first.append(fault)


def _say_faults(reading: _Reading) -> None:
    for fault in reading.faults.first:
        click.echo(f"nomina: {fault}", err=True)
    if (more := reading.faults.count - len(reading.faults.first)) > 0:
        click.echo(f"nomina: and {more:,} more faults", err=True)
    if not reading.documents:
        click.echo(f"nomina: {reading.path} holds no document: is it of that format?", err=True)


def _counted(counts: Counter[str] | dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in Counter(counts).most_common())


class _Line(NamedTuple):
    label: str
    value: str


def _lines(found: Description) -> Iterator[_Line]:
    for label in ("documents", "characters", "mentions", "distinct_mentions", "distinct_pairs", "repeated_pairs"):
        yield _Line(_LABELS.get(label, label.replace("_", " ")), f"{getattr(found, label):,}")
    for label in ("composite", "discontinuous", "overlapping", "without_gold", "nil", "ids"):
        yield _Line(_LABELS.get(label, label.replace("_", " ")), f"{getattr(found, label):,}")
    if found.ids_in_kb is not None:
        yield _Line("  in the KB", _share(found.ids_in_kb, found.ids))
    if found.coverage:
        rules = ", ".join(f"{count:,} {rule}" for rule, count in found.coverage.by_rule.items())
        yield _Line("gold in the KB", f"{found.coverage.in_kb:.1%} ({rules})")
    yield from _seen_lines(found)
    if set(found.types) - {""}:
        yield _Line("types", _types(found.types))
    yield _Line("not read", _counted(found.dropped) or "nothing")


_LABELS = {
    "distinct_pairs": "distinct (mention, gold)",
    "repeated_pairs": "  repeated",
    "without_gold": "without gold",
    "nil": "without a concept (NIL)",
    "ids": "distinct ids",
}


def _seen_lines(found: Description) -> Iterator[_Line]:
    if found.seen is None:
        return
    yield _Line("training mentions", f"{found.seen.train_mentions:,}")
    for name, count in found.seen.groups.items():
        yield _Line(f"  {name}", _share(count, found.seen.of))
    yield _Line("  same (mention, gold)", _share(found.seen.pairs, found.seen.of))


def _share(count: int, whole: int) -> str:
    return f"{count:,} ({count / whole:.1%})" if whole else f"{count:,}"


def _types(types: dict[str, int]) -> str:
    named: Iterable[tuple[str, int]] = [(type or "none", count) for type, count in types.items()]
    shown = [f"{type} {count:,}" for type, count in named][:_SHOWN_TYPES]
    return ", ".join(shown) + (f" and {len(types) - _SHOWN_TYPES:,} more" if len(types) > _SHOWN_TYPES else "")
