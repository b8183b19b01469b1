"""Several numpy arrays in one file, memory-mapped by every process that opens it; made once, in the cache folder.

The arrays follow each other as .npy records (no object arrays, nothing pickled). Wider types go first, so that each is
aligned.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from nomina.errors import UsageError
from nomina.files import atomic, home, home_folder, lock

Arrays = list[NDArray[Any]]


def write(path: Path, arrays: Sequence[NDArray[Any]]) -> None:
    """Write the arrays; the file is replaced as it stands (see ``files.atomic``)."""
    with open(path, "wb") as stream:
        for array in arrays:
            npy.write_array(stream, array, version=(1, 0), allow_pickle=False)


def read(path: Path) -> Arrays:
    """All arrays of a file, read-only and memory-mapped.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is no such file, or cut off.
    """
    arrays: Arrays = []
    with open(path, "rb") as stream:
        whole = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        while stream.tell() < len(whole):
            shape, order, dtype = _header(stream)
            flat = np.frombuffer(whole, dtype, int(np.prod(shape)), stream.tell())
            arrays.append(flat.reshape(shape, order=order))
            stream.seek(flat.nbytes, 1)
    return arrays


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Shape, order and type of the array that follows."""
    try:
        npy.read_magic(stream)
        shape, columns_first, dtype = npy.read_array_header_1_0(stream)
    except (SyntaxError, TypeError, TokenError) as error:
        # numpy promises a ValueError, but not where the damage is within the header's text
        raise ValueError(f"damaged header ({error})") from error
    return shape, "F" if columns_first else "C", dtype


def cached(folder: str, name: str, make: Callable[[Path], None], whole: Callable[[Arrays], bool]) -> Arrays:
    """The arrays of a file under ``home()``, made where it is missing or not ``whole``.

    Of several processes that want it, one makes it.

    Raises:
        UsageError: the cache folder cannot be written to.
    """
    path = home().joinpath(folder, name)
    if (arrays := _valid(path, whole)) is not None:
        return arrays
    path = home_folder(folder) / name
    try:
        with lock(path):
            if (arrays := _valid(path, whole)) is None:
                with atomic(path) as temporary:
                    make(temporary)
                arrays = read(path)
    except OSError as error:
        hint = "free some space, or set NOMINA_HOME to another folder"
        raise UsageError(f"cannot write {path} ({error.strerror}): {hint}") from error
    return arrays


def _valid(path: Path, whole: Callable[[Arrays], bool]) -> Arrays | None:
    try:
        arrays = read(path)
    except (OSError, ValueError):
        return None
    return arrays if whole(arrays) else None
