"""``nomina link --format``: the formats of other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.exports import Writer
    from nomina.kb.store import KnowledgeBase
    from nomina.types import Document, Prediction

STREAMS = ("sssom", "fhir", "phenopacket")
"""Those of ``nomina.exports``."""

CORPORA = ("brat", "pubtator", "bioc_xml", "bioc_json")
"""Those of ``nomina.corpora``, with what was found as gold; a file or folder has to be named."""

Link = Callable[[Iterable["Document"]], "Iterable[Prediction]"]


def check(format: str, output: Path | None, options: tuple[str, ...]) -> None:
    """Before the work: whether the format goes with the other options.

    Raises:
        UsageError: a corpus without a file to write, or options of a format that has none.
    """
    if format in CORPORA and output is None:
        place = "folder" if format == "brat" else "file"
        raise UsageError(f"the format {format} is written to a {place}: name one with -o")
    if options and format not in (*STREAMS, *CORPORA):
        raise UsageError(f"the format {format} has no option {options[0].partition('=')[0]}")


def writer(format: str, kb: KnowledgeBase, options: tuple[str, ...], dropped: Counter[str]) -> Writer:
    """What writes predictions in one of ``STREAMS``.

    Raises:
        UsageError: an option that the format does not have, or a KB whose ids it cannot hold.
    """
    from nomina.exports import exporter
    from nomina.kb.options import parsed

    return exporter(format, kb, parsed(options), dropped)


def write_corpus(
    documents: Iterable[Document],
    link: Link,
    output: Path,
    format: str,
    options: tuple[str, ...],
    dropped: Counter[str],
) -> None:
    """Link documents and write them as a corpus, whole or not at all; the id of a text is its name without ``.txt``.

    Mentions with several concepts that nothing tells apart have none, unless the option ``alternatives`` says what
    stands between them.

    Raises:
        UsageError: an option that the format does not have, a place that cannot be written to, an id that the format
            cannot hold.
    """
    from nomina.corpora import write_corpus as write
    from nomina.exports import Passing, annotated
    from nomina.kb.options import parsed

    passing = Passing(documents)
    target = output.resolve() if output.is_symlink() else output
    given = parsed(options)
    found = annotated(passing, link(passing), dropped, ties="alternatives" in given)
    write(map(_named, found), target, format, dropped=dropped, options=given)


def _named(document: Document) -> Document:
    from dataclasses import replace

    return replace(document, id=document.id.removesuffix(".gz").removesuffix(".txt") or document.id)


def say(format: str, dropped: Counter[str]) -> None:
    """What the format could not keep, on stderr."""
    if counts := +dropped:
        listed = ", ".join(f"{count:,} {what}" for what, count in counts.most_common())
        click.echo(f"nomina: not kept by {format}: {listed}", err=True)
