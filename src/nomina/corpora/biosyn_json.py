"""BioSyn's mentions in one file: ``{"train": [["colon carcinoma", "D003110"], ...], "dev": ..., "test": ...}``.

There are no documents in it: each mention is one, numbered from 0. The training part holds each pair but once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nomina.corpora.biosyn import document_of
from nomina.corpora.common import PARTS, Separators
from nomina.errors import FormatError, UsageError
from nomina.files import Skip, open_bytes, report
from nomina.types import Document

_SPLITS = ("train", "dev", "test", "traindev")


def sniff(head: bytes) -> bool:
    """Whether the file starts with a part that is a list of pairs."""
    start = b"".join(head.split())
    return any(start.startswith(f'{{"{split}":[["'.encode()) for split in _SPLITS)


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    split: str = "test",
    parts: str = PARTS,
    alternatives: str = "",
) -> Iterator[Document]:
    """The mentions of one part, each a document. The file is read whole.

    Args:
        path: the file.
        skip: told of each fault; its mention is left out.
        dropped: counts empty ids.
        split: train, dev, test or another key of the file.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.

    Raises:
        FormatError: no JSON of this form, a mention that is no pair of texts (strict reading only).
        UsageError: no such part.
    """
    separators = Separators(parts, alternatives)
    dropped = Counter() if dropped is None else dropped
    for number, pair in enumerate(_part(path, split)):
        match pair:
            case [str(text), str(ids)] if text.strip():
                yield document_of(str(number), [("", text.strip(), None, separators.split(ids, dropped))])
            case _:
                why = f"{split}[{number}] is not [mention, ids] but {json.dumps(pair)[:60]}"
                report(FormatError(path, None, why), skip)


def _part(path: Path, split: str) -> list[Any]:
    with open_bytes(path) as stream:
        try:
            whole = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise FormatError(path, None, f"is not JSON ({error})") from error
    if not isinstance(whole, dict):
        raise FormatError(path, None, "is not an object of train, dev and test")
    if split not in whole:
        raise UsageError(f"{path} has no part {split!r}; it has: {', '.join(whole)}")
    part = whole[split]
    if not isinstance(part, list):
        raise FormatError(path, None, f"{split} is not a list of pairs")
    return part
