"""``nomina encode``: names in, their vectors out as a .npy file."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from nomina.cli.places import PLACE
from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.encoders.base import Encoder

ENCODER = click.option(
    "--encoder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="A saved or exported encoder; by default nomina's own.",
)
"""The option of every command that encodes."""

_PART = 1 << 13  # names at a time
_EXAMPLES = """\b
Examples:
  nomina encode names.txt -o vectors.npy
  cut -f2 terms.tsv | nomina encode - -o vectors.npy --dtype float16
  nomina encode names.txt.gz --encoder model/ -o vectors.npy

\b
  import numpy
  vectors = numpy.load("vectors.npy")
  cosines = vectors @ vectors[0]
"""


@click.command(epilog=_EXAMPLES)
@click.argument("names", type=click.Path(path_type=Path))
@ENCODER
@click.option("-o", "--output", required=True, type=PLACE, help="The .npy file to write.")
@click.option("--dtype", default="float32", type=click.Choice(["float32", "float16"]), show_default=True)
def encode(names: Path, encoder: Path | None, output: Path, dtype: str) -> None:
    """Write the vectors of names to a .npy file, one row a line, so that a dot product of two rows is a cosine.

    NAMES is a text file, UTF-8, one name a line, as it is or with .gz; - is standard input. A name in which the encoder
    knows nothing (an empty line, a foreign script) has a row of zeros, which is near to nothing.

    Names are read, encoded and written some thousand at a time; OUTPUT appears when it is whole.
    """
    from nomina.files import atomic

    _check_output(output, names)
    made = open_encoder(encoder)
    start = time.perf_counter()
    with atomic(output) as temporary, open(temporary, "r+b") as stream:
        rows, unknown = _write(_parts(names), made, stream, dtype)
    size = output.stat().st_size
    click.echo(f"{output}: {rows:,} x {made.dim}, {dtype}, {megabytes(size)}, {seconds_since(start)}", err=True)
    if unknown:
        click.echo(f"nomina: the encoder knows nothing in {unknown:,} of the names: rows of zeros", err=True)


def open_encoder(folder: Path | None) -> Encoder:
    """The encoder in a folder, or the one that nomina comes with.

    Raises:
        ArtifactError: the folder holds no encoder, or nomina's own is missing.
        MissingExtra: it is a trainable one, and torch is not installed.
    """
    from nomina import encoders

    return encoders.load(encoders.shipped() if folder is None else folder)


def megabytes(size: int) -> str:
    """``12.3 MB``; what is small in kB."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def seconds_since(start: float) -> str:
    """``12.3 s``, of ``time.perf_counter``."""
    return f"{time.perf_counter() - start:,.1f} s"


def _check_output(output: Path, names: Path) -> None:
    """Before the work: whether there will be a place for its result.

    Raises:
        UsageError: there will be none, or it is the file that is read.
    """
    if output.exists() and not output.is_file():
        raise UsageError(f"cannot write {output}: it is no file, and .npy can only be written to one")
    if not output.parent.is_dir():
        raise UsageError(f"cannot write {output}: there is no folder {output.parent}")
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: the folder is not yours to write to, name another with -o")
    if output.exists() and names.exists() and output.samefile(names):
        raise UsageError(f"{output} is read and cannot be the output too: name another file with -o")


def _parts(names: Path) -> Iterator[list[str]]:
    """The lines of a file, some thousand at a time, with a count on a terminal's stderr."""
    from tqdm import tqdm

    from nomina.reading import lines_of, opened

    shown = sys.stderr.isatty()
    with opened(names) as stream, tqdm(unit=" names", delay=2, leave=False, disable=not shown) as bar:
        texts = (text for _, text in lines_of(stream, names))
        while part := list(islice(texts, _PART)):
            yield part
            bar.update(len(part))


def _write(parts: Iterator[list[str]], encoder: Encoder, stream: BinaryIO, dtype: str) -> tuple[int, int]:
    """Write all vectors; how many there are, and how many of them are zeros."""
    from nomina.index.building import vectors_of

    rows = unknown = 0
    stream.write(_header(0, encoder.dim, dtype))
    for texts in parts:
        vectors = vectors_of(encoder, texts)
        stream.write(vectors.astype(dtype).tobytes())
        rows += len(texts)
        unknown += len(texts) - int(vectors.any(axis=1).sum())
    # numpy leaves room in a header for more rows, so that it can be written again when their number is known.
    stream.seek(0)
    stream.write(_header(rows, encoder.dim, dtype))
    return rows, unknown


def _header(rows: int, dim: int, dtype: str) -> bytes:
    import numpy as np
    from numpy.lib import format as npy

    stream = io.BytesIO()
    fields: dict[str, Any] = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (rows, dim)}
    npy.write_array_header_1_0(stream, fields)
    return stream.getvalue()
