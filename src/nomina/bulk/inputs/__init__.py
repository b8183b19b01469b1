"""What a bulk run reads: one module a format, found through ``INPUTS`` and imported on use.

Each has ``read(path, columns, fault) -> Iterator[Item]``. ``fault`` is told of each document that cannot be read, and
the reading goes on behind it; what makes the rest of a file unreadable is raised as a ``FormatError``. None holds more
than a document and a block of its file, but for those of ``corpus``, which remember a hash of each id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nomina.errors import FormatError, NotText
from nomina.files import Skip
from nomina.types import Document

INPUTS: dict[str, str] = {
    "pubtator": "nomina.bulk.inputs.corpus",
    "bioc_xml": "nomina.bulk.inputs.corpus",
    "bioc_json": "nomina.bulk.inputs.corpus",
    "pubmed_xml": "nomina.bulk.inputs.pubmed",
    "jsonl": "nomina.bulk.inputs.jsonl",
    "csv": "nomina.bulk.inputs.table",
    "tsv": "nomina.bulk.inputs.table",
    "parquet": "nomina.bulk.inputs.parquet",
}
"""Format name -> module. A new one is one file and one line here, and in ``find.ENDINGS`` how its files are named."""

TEXT, ID = "text", "id"
"""The columns that are read where none is named."""


class Columns(NamedTuple):
    """Which columns hold text and id; None: ``text``, and ``id`` where there is one (else file and row or line)."""

    text: str | None = None
    id: str | None = None


class NoColumn(FormatError):
    """A file without a column that is asked for: more likely a mistake of the command than of one file."""


class Item(NamedTuple):
    """A document and where it stands: ``offset`` counts, from 1, in the ``unit`` line, row or document."""

    document: Document
    offset: int
    unit: str


class Fault(NamedTuple):
    """A document that failed and why; ``offset`` None: the rest of the file."""

    offset: int | None
    unit: str
    document: str | None
    reason: str


Told = Callable[[Fault], None]
"""What is told of faults."""


def telling(fault: Told) -> Skip:
    """What tells of the faults of a lenient reading; one that drops bytes out of a text ends it.

    Behind them offsets would not be those of the file, and words without a letter be linked.
    """

    def skip(error: FormatError) -> None:
        if isinstance(error, NotText):
            raise FormatError(error.path, error.line, error.mend) from error
        fault(Fault(error.line, "line", None, error.why))

    return skip
