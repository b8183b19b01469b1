"""A review project (``nomina serve --project``): its documents with the mentions that somebody decided.

What is rejected is no mention, what nobody decided is left out, since a mention without gold would count as one without
a concept; "no concept" stays the id that says so.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from nomina.errors import FormatError, UsageError
from nomina.files import Skip, head, open_bytes
from nomina.review.opening import MAGIC, is_project
from nomina.types import Document


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a project."""
    return is_project(head)


def read(
    path: Path, *, skip: Skip | None = None, dropped: Counter[str] | None = None, annotator: Sequence[str] = ()
) -> Iterator[Document]:
    """The documents in the order in which they were added, as they are when the first one is read.

    ``dropped`` counts mentions that nobody has decided, and rejected ones.

    Args:
        path: the project; it may be open elsewhere.
        skip: not told of anything: a fault is one of the whole file.
        dropped: see above.
        annotator: whose decisions count; by default everybody's, and of several the latest.

    Raises:
        FormatError: it is no project, or damaged.
        UsageError: an annotator who has decided nothing.
    """
    from nomina.review import views
    from nomina.review.project import Project

    if not is_project(head(path)):
        raise FormatError(path, None, "is no review project")
    with _unpacked(path) as file:
        try:
            with Project(file, writes=False) as project:
                project.connection.execute("BEGIN")
                views.check_annotators(project, annotator)
                yield from views.documents(project, annotator, dropped)
        except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            why = " ".join(str(error).split())
            raise FormatError(path, None, f"is a damaged project ({why}): take a copy of it") from error


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """The file itself, or a copy for as long as it is read where it is packed."""
    if _is_plain(path):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, "project.sqlite")
        with open_bytes(path) as packed, open(copy, "wb") as written:
            shutil.copyfileobj(packed, written)
        try:
            yield copy
        except UsageError as error:
            raise UsageError(str(error).replace(str(copy), str(path))) from error


def _is_plain(path: Path) -> bool:
    """Whether a file, which may be the member of an archive, is on disk as it is."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
