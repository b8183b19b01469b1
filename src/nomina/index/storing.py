"""Writing array files part by part, so that an index of any size is made in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from nomina.arrays import Arrays

Shape = tuple[np.dtype[Any], tuple[int, ...]]


def write_planes(path: Path, parts: Iterable[Arrays], shapes: Sequence[Shape]) -> None:
    """Write a file in the form of ``nomina.arrays`` whose arrays come in parts along their first axis.

    Args:
        path: the file.
        parts: for each stretch of rows its part of every array.
        shapes: type and shape of each whole array.
    """
    starts = []
    with open(path, "wb") as stream:
        for dtype, shape in shapes:
            npy.write_array_header_1_0(stream, {"descr": dtype.str, "fortran_order": False, "shape": shape})
            starts.append(stream.tell())
            stream.truncate(stream.tell() + dtype.itemsize * int(np.prod(shape)))
            stream.seek(0, 2)
        for part in parts:
            for place, array in enumerate(part):
                stream.seek(starts[place])
                stream.write(np.ascontiguousarray(array, shapes[place][0]).data)
                starts[place] += array.nbytes
