"""``data.json`` beside BioSyn's corpora: pairs of mention and ids by split, ``{"test": [["flu", "D007251"]]}``.

The splits ``train`` and ``traindev`` have each pair once only, so they cannot be counted as mentions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nomina.corpora.biosyn import check_parts, mentions_of
from nomina.corpora.common import PARTS, Separators
from nomina.errors import FormatError, UsageError
from nomina.files import Skip, report
from nomina.kb.jsonstream import ANY, values
from nomina.types import Document

_FIRST = re.compile(rb'\s*\{\s*"[^"]+"\s*:\s*\[\s*\[\s*"')


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of an object with an array of arrays of texts."""
    return _FIRST.match(head) is not None


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    split: str = "",
    parts: str = PARTS,
    alternatives: str = "",
) -> Iterator[Document]:
    """The pairs of a split in order, each a document of the mention alone: ``test-1``, ``test-2``, ...

    Args:
        path: the file.
        skip: told of each fault; its pair is left out.
        dropped: counts empty ids.
        split: which split; may be left out where the file has but one.
        parts: characters between ids that are all needed.
        alternatives: characters between ids of which any will do.

    Raises:
        UsageError: no such split, or none named where the file has several.
        FormatError: not JSON; something that is no pair of mention and ids (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    split = _chosen(path, split)
    for found in values(path, [(split, ANY)], skip):
        id = f"{split}-{int(found.key) + 1}"
        try:
            mention, ids = _pair(found.value)
        except ValueError as error:
            report(FormatError(path, found.line, f"{id}: {error}"), skip)
            continue
        yield Document(id, mention, tuple(mentions_of(mention, 0, None, separators.split(ids, dropped))))


def _chosen(path: Path, split: str) -> str:
    """The split asked for, or the only one."""
    splits = [found.key for found in values(path, [(ANY,)], lambda _: None)]
    if split not in splits and (split or len(splits) != 1):
        asked = f"has no split {split!r}" if split else "has several splits: name one with --option split=NAME"
        raise UsageError(f"{path} {asked}; there are: {', '.join(splits)}")
    return split or splits[0]


def _pair(value: object) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(text, str) for text in value):
        raise ValueError(f"expected a mention and its ids, found {value!r:.60}")
    mention, ids = (text.strip() for text in value)
    check_parts(mention)
    return mention, ids
