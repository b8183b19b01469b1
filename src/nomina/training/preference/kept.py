"""What a round has computed, kept beside its checkpoints: a killed and resumed round takes the same pairs up again.

A file holds a fingerprint of what its arrays were made of, then the arrays (``nomina.arrays``): nothing is pickled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from nomina.arrays import read, write
from nomina.errors import ArtifactError
from nomina.files import atomic
from nomina.training import gather

_TEXT = "utf-8"

Array = NDArray[Any]


def fingerprint(module: nn.Module, parts: Iterable[object]) -> str:
    """A hash over the weights of a model, and over whatever else the arrays are made of.

    Args:
        module: whose parameters and buffers count, by name.
        parts: strings, numbers, dataclasses of them by their ``repr``; arrays by their bytes.
    """
    found = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype} {part.shape}\n".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(repr(part).encode(_TEXT) + b"\n")
    return found.hexdigest()


def kept(path: Path, made_of: str, make: Callable[[], Sequence[Array]]) -> list[Array]:
    """The arrays of a file, made and written where it is missing, damaged or made of something else.

    Of several processes the first one makes and writes it, the others read it.

    Args:
        path: in a folder that all processes see.
        made_of: see ``fingerprint``.
        make: what makes the arrays.

    Raises:
        ArtifactError: the file cannot be written, or not be read again.
    """
    if gather.share()[0] == 0 and _read(path, made_of) is None:
        arrays = [np.frombuffer(made_of.encode(_TEXT), np.uint8), *make()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic(path) as temporary:
                write(temporary, arrays)
        except OSError as error:
            raise ArtifactError(f"cannot write {path} ({error.strerror}): free some space or name another") from error
    gather.wait()
    found = _read(path, made_of)
    if found is None:
        raise ArtifactError(f"{path} was written and cannot be read again: is the folder one that all processes see?")
    return found


def _read(path: Path, made_of: str) -> list[Array] | None:
    try:
        (first, *rest) = read(path)
    except (OSError, ValueError):
        return None
    return rest if first.tobytes() == made_of.encode(_TEXT) else None
