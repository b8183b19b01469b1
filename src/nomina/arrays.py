"""Several numpy arrays in one file, memory-mapped by every process that opens it; made once, in the cache folder.

The arrays follow each other as .npy records (no object arrays, nothing pickled). Wider types go first, so that each is
aligned. In the cache folder a last record of four bytes is a checksum, looked at whenever a file is opened.
"""

from __future__ import annotations

import io
import mmap
import zlib
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

_BLOCK = 1 << 16
_MOST_BLOCKS = 1 << 10


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
    """The arrays of a file under ``home()``, made where it is missing, damaged or not ``whole``.

    Its checksum is over all of a file of up to 64 MB (20 ms) and, of a larger one, over 1,024 blocks of 64 KB evenly
    apart (23 ms), so that a start stays quick: there, damage of less than 1/1024 of the file may go unseen. Of several
    processes that want it, one makes it.

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
                    _seal(temporary)
                arrays = read(path)[:-1]
    except OSError as error:
        hint = "free some space, or set NOMINA_HOME to another folder"
        raise UsageError(f"cannot write {path} ({error.strerror or error}): {hint}") from error
    return arrays


def _valid(path: Path, whole: Callable[[Arrays], bool]) -> Arrays | None:
    try:
        arrays = read(path)[:-1] if _is_sealed(path) else None
    except (OSError, ValueError):
        return None
    return arrays if arrays is not None and whole(arrays) else None


def _seal(path: Path) -> None:
    """Put the checksum at the end of a file."""
    record = _record(_checksum(path, path.stat().st_size))
    with open(path, "ab") as stream:
        stream.write(record)


def _is_sealed(path: Path) -> bool:
    """Whether a file ends with the checksum of what is before it."""
    size = max(0, path.stat().st_size - len(_record(0)))
    with open(path, "rb") as stream:
        stream.seek(size)
        return stream.read() == _record(_checksum(path, size))


def _record(checksum: int) -> bytes:
    stream = io.BytesIO()
    npy.write_array(stream, np.array(checksum, np.uint32), version=(1, 0))
    return stream.getvalue()


def _checksum(path: Path, size: int) -> int:
    """The CRC-32 of the first ``size`` bytes of a file, or of evenly spaced blocks of it, and of ``size``."""
    step = max(_BLOCK, size // _MOST_BLOCKS)
    checksum = zlib.crc32(str(size).encode())
    with open(path, "rb", buffering=0) as stream:
        for start in range(0, size, step):
            stream.seek(start)
            checksum = zlib.crc32(stream.read(min(_BLOCK, size - start)), checksum)
    return checksum
