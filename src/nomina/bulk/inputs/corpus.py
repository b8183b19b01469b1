"""PubTator and BioC: the readers of ``nomina.corpora``, leniently.

What such a reading leaves out (an annotation, a byte that is no text) is a fault, and its document comes all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nomina.bulk.inputs import Columns, Fault, Item, Told
from nomina.corpora import read_corpus
from nomina.errors import FormatError


def read(path: Path, columns: Columns, fault: Told, *, format: str | None = None) -> Iterator[Item]:
    """The documents of a file, numbered.

    Raises:
        FormatError: the file, or the rest of it, cannot be read.
    """

    def skip(error: FormatError) -> None:
        fault(Fault(error.line, "line", None, error.why))

    for number, document in enumerate(read_corpus(path, format, skip=skip), start=1):
        yield Item(document, number, "document")
