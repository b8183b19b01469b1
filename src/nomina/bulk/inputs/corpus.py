"""PubTator and BioC: the readers of ``nomina.corpora``, leniently.

What such a reading leaves out is a fault; the document of an annotation comes all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nomina.bulk.inputs import Columns, Item, Told, telling
from nomina.corpora import read_corpus


def read(path: Path, columns: Columns, fault: Told, *, format: str | None = None) -> Iterator[Item]:
    """The documents of a file, numbered.

    Raises:
        FormatError: the file, or the rest of it, cannot be read.
    """
    for number, document in enumerate(read_corpus(path, format, skip=telling(fault)), start=1):
        yield Item(document, number, "document")
