"""PubMed's XML without the ids of a whole file in memory: they are unique by what they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nomina.bulk.inputs import Columns, Item, Told, telling
from nomina.corpora.pubmed_xml import articles, deleted
from nomina.errors import FormatError


def read(path: Path, columns: Columns, fault: Told) -> Iterator[Item]:
    """The articles of a file but those that it deletes itself.

    Raises:
        FormatError: the file, or the rest of it, cannot be read.
    """
    for line, document in articles(path, deletions(path), telling(fault), Counter()):
        yield Item(document, line, "line")


def deletions(path: Path) -> tuple[str, ...]:
    """The PMIDs that a file takes back; none where it cannot be read to its end, as ``read`` then says."""
    try:
        return deleted(path)
    except FormatError:
        return ()
