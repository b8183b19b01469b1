"""``nomina index``: the vectors of a KB's names, made before they are needed."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.cli.encode import ENCODER, megabytes, open_encoder, seconds_since
from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.index.building import Progress

_EXAMPLES = """\b
Examples:
  nomina index build --kb hpo
  nomina index build --kb mesh --encoder model/
  nomina index build --kb my.kb --encoder model/ --kind float32
"""


@click.group()
def index() -> None:
    """Make the vectors of a KB's names before they are needed."""


@index.command(epilog=_EXAMPLES)
@click.option("--kb", required=True, metavar="NAME|FILE", help="The knowledge base.")
@ENCODER
@click.option(
    "--kind",
    default="int8",
    show_default=True,
    metavar="KIND",
    help="float32, float16, int8, faiss-flat, faiss-hnsw or faiss-ivfpq.",
)
def build(kb: str, encoder: Path | None, kind: str) -> None:
    """Encode all names of a KB into the cache folder, where every linker with this encoder finds them.

    A linker does the same at its first start; this shows how far it is. A build that was stopped or killed goes on
    where it stood, and a later version of a KB (kb add, kb retire) encodes only its new names. int8 is exact and the
    smallest of the exact ones; the faiss kinds need an extra and are made of an int8 index, which stays.
    """
    from nomina.index.building import index_class, index_path, open_index
    from nomina.kb.sources import resolve_kb
    from nomina.linkers.embedding import fingerprint

    index_class(kind)
    opened, made = resolve_kb(kb), open_encoder(encoder)
    key, start = fingerprint(made), time.perf_counter()
    path = index_path(opened, key, kind)
    before = _stamp(path)
    with _encoding() as progress:
        found = open_index(opened, made, key, kind, progress)
    how = "was there" if _stamp(path) == before else seconds_since(start)
    size = megabytes(path.stat().st_size)
    click.echo(f"{opened.manifest.name}: {found.size:,} names x {found.dim}, {kind}, {size}, {how}: {path}", err=True)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Another one where a file has been replaced; None where there is none."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


@contextlib.contextmanager
def _encoding() -> Iterator[Progress | None]:
    """The progress of the block; Ctrl-C is a user's wish and ends with one line."""
    try:
        with _bar() as progress:
            yield progress
    except KeyboardInterrupt as error:
        raise UsageError("stopped; what is encoded is kept, and the same command goes on from there") from error


@contextlib.contextmanager
def _bar() -> Iterator[Progress | None]:
    """A bar of names on a terminal's stderr, nothing in a log."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc="encoding", unit=" names", leave=False) as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            bar.refresh()

        yield update
