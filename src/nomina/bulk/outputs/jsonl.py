"""Predictions as JSON lines, as ``nomina link`` writes them, packed or not."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from nomina.bulk.outputs import Batch, Failed
from nomina.errors import MissingExtra
from nomina.output import write_jsonl

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


def check(pack: str) -> None:
    """Whether it can be packed so.

    Raises:
        MissingExtra: ``zstandard`` is not installed.
    """
    if pack == "zst":
        _zstandard()


def _zstandard() -> Any:  # noqa: ANN401
    try:
        return import_module("zstandard")
    except ImportError as error:
        raise MissingExtra("zstd", "writing .zst files") from error


def write(batches: Iterable[Batch], path: Path, pack: str, failed: Failed) -> None:
    """One prediction a line."""
    with open(path, "wb") as raw, _packed(raw, pack) as packed:
        stream = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        for batch in batches:
            write_jsonl(chain.from_iterable(batch.predictions), stream)
        stream.flush()
        stream.detach()


@contextlib.contextmanager
def _packed(raw: BinaryIO, pack: str) -> Iterator[Any]:
    """A stream over another; neither name nor time stand in it, so that the same lines are the same bytes."""
    if pack == "none":
        yield raw
    elif pack == "gz":
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0) as stream:
            yield stream
    else:
        with _zstandard().ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(raw, closefd=False) as stream:
            yield stream
