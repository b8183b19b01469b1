"""Character 3-grams of KB names as inverted lists: for each gram, the rows that have it and with which TF-IDF weight.

A text of n characters has n grams: each character of it between its neighbours, where a space stands before and behind
the text. So the shortest name has one, and where a name begins and ends counts. A gram is one int64 (three code points
of 21 bits), whatever the script.

The weight of a gram is tf * idf with the plain count as tf and idf = ln(1 + N / df), above zero even where every name
has the gram; each name's weights are scaled to length 1. Building reads the names twice, a chunk at a time, and holds
one chunk; a file is filled in place. The six arrays of a file follow each other as .npy records, the wider types first
so that each is aligned, and are memory-mapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from nomina.arrays import Arrays

POSTINGS_VERSION = "1"
"""Raised when what goes into the file changes."""

_CHUNK = 1 << 14
_WIDTH = 21  # bits of a code point
_BOUNDARY = " "

Ints = NDArray[np.int64]


class Occurrences(NamedTuple):
    """Which of n texts has which gram how often: one entry a distinct pair, by gram, then by text.

    ``grams`` int64, sorted and distinct; ``gram`` (a place in ``grams``), ``text`` (from 0) and ``times``: int64, one
    value an entry.
    """

    grams: Ints
    gram: Ints
    text: Ints
    times: Ints


def occurrences(texts: Sequence[str]) -> Occurrences:
    """The grams of some texts."""
    owners, found = _grams(texts)
    grams = _distinct(found)
    pairs = np.searchsorted(grams, found) * len(texts) + owners
    pairs.sort()
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    times = np.diff(first, append=len(pairs))
    gram, text = np.divmod(pairs[first], max(1, len(texts)))
    return Occurrences(grams, gram, text, times)


def _grams(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """The text and the gram of every character."""
    padded = "".join(f"{_BOUNDARY}{text}{_BOUNDARY}" for text in texts)
    points = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    owners = np.repeat(np.arange(len(texts)), lengths)
    middle = np.arange(len(owners)) + 2 * owners + 1
    return owners, points[middle - 1] << 2 * _WIDTH | points[middle] << _WIDTH | points[middle + 1]


def _distinct(values: Ints) -> Ints:
    ordered = np.sort(values)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


class Postings(NamedTuple):
    """The inverted lists of ``size`` names.

    The list of ``grams[i]`` is ``rows[starts[i]:starts[i + 1]]``, ascending, and ``weights`` beside it. ``grams`` int64
    (v,), sorted; ``idf`` float64 (v,); ``starts`` int64 (v + 1,); ``rows`` int32 (m,); ``weights`` float32 (m,).
    """

    size: int
    grams: Ints
    idf: NDArray[np.float64]
    starts: Ints
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]


def build(names: Sequence[str]) -> Postings:
    """The inverted lists of look-up keys, in memory."""
    counted = _count(names)
    entries = int(counted.starts[-1])
    postings = counted._replace(rows=np.empty(entries, np.int32), weights=np.empty(entries, np.float32))
    _fill(names, postings)
    return postings


def write(names: Sequence[str], path: Path) -> None:
    """The inverted lists of look-up keys, as a file."""
    counted = _count(names)
    entries = int(counted.starts[-1])
    with open(path, "wb") as stream:
        for array in (np.array(counted.size), counted.grams, counted.idf, counted.starts):
            npy.write_array(stream, array, version=(1, 0))
        rows_at = _reserve(stream, entries, np.dtype(np.int32))
        weights_at = _reserve(stream, entries, np.dtype(np.float32))
    rows = np.memmap(path, np.int32, "r+", rows_at, (entries,))
    weights = np.memmap(path, np.float32, "r+", weights_at, (entries,))
    _fill(names, counted._replace(rows=rows, weights=weights))
    rows.flush()
    weights.flush()


def _reserve(stream: BinaryIO, count: int, dtype: np.dtype[Any]) -> int:
    """Write the head of an array and leave room for its values; the offset where they go."""
    npy.write_array_header_1_0(stream, {"descr": dtype.str, "fortran_order": False, "shape": (count,)})
    start = stream.tell()
    stream.truncate(start + count * dtype.itemsize)
    stream.seek(0, 2)
    return start


def load(arrays: Arrays) -> Postings:
    """The lists out of the arrays of a file of ``write``.

    Raises:
        ValueError: there are more or fewer arrays.
    """
    size, *rest = arrays
    if len(rest) != len(Postings._fields) - 1:
        raise ValueError(f"{1 + len(rest)} arrays where {len(Postings._fields)} are expected")
    return Postings(int(size[()]), *rest)


def is_whole(arrays: Arrays, size: int) -> bool:
    """Whether these are the lists of so many names."""
    try:
        postings = load(arrays)
    except (ValueError, IndexError):
        return False
    return postings.size == size and len(postings.rows) == len(postings.weights) == postings.starts[-1]


def _count(names: Sequence[str]) -> Postings:
    """All but the entries: every gram, how rare it is, where its list begins."""
    grams, number = np.empty(0, np.int64), np.empty(0, np.int64)
    for _, found in _chunks(names):
        both = np.concatenate([grams, found.grams])
        grams = _distinct(both)
        counts = np.concatenate([number, np.bincount(found.gram, minlength=len(found.grams))])
        number = np.bincount(np.searchsorted(grams, both), counts, minlength=len(grams)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(number)])
    return Postings(
        len(names), grams, np.log1p(len(names) / number), starts, np.empty(0, np.int32), np.empty(0, np.float32)
    )


def _fill(names: Sequence[str], postings: Postings) -> None:
    """Put each entry at the end of its gram's list so far; chunks come in order of rows, so every list ascends."""
    free = postings.starts[:-1].copy()
    for first_row, found in _chunks(names):
        places = np.searchsorted(postings.grams, found.grams)
        weights = found.times * postings.idf[places][found.gram]
        lengths = np.sqrt(np.bincount(found.text, weights * weights))
        counts = np.bincount(found.gram, minlength=len(places))
        before = np.cumsum(counts) - counts
        target = np.arange(len(found.gram)) + np.repeat(free[places] - before, counts)
        postings.rows[target] = found.text + first_row
        postings.weights[target] = weights / lengths[found.text]
        free[places] += counts


def _chunks(names: Iterable[str]) -> Iterator[tuple[int, Occurrences]]:
    """The first row and the grams of each chunk of names."""
    stream, row = iter(names), 0
    while chunk := list(islice(stream, _CHUNK)):
        yield row, occurrences(chunk)
        row += len(chunk)
