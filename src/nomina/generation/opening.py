"""The trie of a KB, made once per KB and spelling in the cache folder.

A KB whose lineage has a version with a trie takes that, and makes a small one of the added rows beside it. Where these
are more than an eighth of all, one is made of all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from nomina.arrays import cached
from nomina.arrays import write as write_arrays
from nomina.files import home
from nomina.generation.grown import GrownTrie
from nomina.generation.layers import TrieArrays, layered
from nomina.generation.spelling import Spelling
from nomina.generation.trie import FlatTrie
from nomina.kb.store import KnowledgeBase

TRIE_VERSION = "1"
"""Raised when what goes into a file changes."""

FOLDER = "tries"

Progress = Callable[[int, int], None]
"""Told how many names are spelt, and how many there are to be."""

_CHUNK = 1 << 16
_MOST_ADDED = 8


def open_trie(kb: KnowledgeBase, spelling: Spelling, progress: Progress | None = None) -> FlatTrie | GrownTrie:
    """The trie of a KB's raw names; rows that all owners have left are out of every look-up.

    Args:
        kb: whose names.
        spelling: how they are written.
        progress: told how far it is, where one must be made.

    Raises:
        UsageError: the cache folder cannot be written to.
    """
    return _live(kb, _newest(kb, spelling, progress))


def _live(kb: KnowledgeBase, trie: FlatTrie | GrownTrie) -> FlatTrie | GrownTrie:
    """The trie with retired rows left out."""
    if kb.ownerless:
        live = np.ones(len(kb.names), np.bool_)
        live[list(kb.ownerless)] = False
        trie.retire(live)
    return trie


def _newest(kb: KnowledgeBase, spelling: Spelling, progress: Progress | None) -> FlatTrie | GrownTrie:
    name = _name(kb.fingerprint, spelling)
    older = None if home().joinpath(FOLDER, name).is_file() else _older(kb, spelling)
    if older is None:
        return _open(name, kb, spelling, 0, progress)
    fingerprint, rows, main = older
    if rows == len(kb.names):
        return main
    delta = _open(_name(kb.fingerprint, spelling, fingerprint), kb, spelling, rows, progress)
    return GrownTrie(main, delta) if delta.size > 1 else main


def _older(kb: KnowledgeBase, spelling: Spelling) -> tuple[str, int, FlatTrie] | None:
    """Fingerprint, number of rows and trie of the newest version whose trie is in the cache folder and large enough."""
    for fingerprint in reversed(kb.lineage[:-1]):
        name, rows = _name(fingerprint, spelling), kb.ancestor_rows(fingerprint) or 0
        added = len(kb.names) - rows
        if added * _MOST_ADDED <= rows and home().joinpath(FOLDER, name).is_file():
            try:
                arrays = cached(FOLDER, name, _refuse, partial(FlatTrie.is_whole, rows=rows))
            except _DamagedError:
                continue
            if len(arrays[-1]):
                return fingerprint, rows, FlatTrie(TrieArrays(*arrays))
    return None


def _open(name: str, kb: KnowledgeBase, spelling: Spelling, start: int, progress: Progress | None) -> FlatTrie:
    """The trie of a file of the cache folder, of the rows from ``start`` on; made where it is not there."""

    def make(path: Path) -> None:
        write_arrays(path, _made(kb, spelling, start, progress))

    return FlatTrie(TrieArrays(*cached(FOLDER, name, make, partial(FlatTrie.is_whole, rows=len(kb.names) - start))))


def _made(kb: KnowledgeBase, spelling: Spelling, start: int, progress: Progress | None) -> TrieArrays:
    """The names are spelt some thousand at a time: only their tokens are held."""
    size = len(kb.names)
    surfaces = kb.surfaces(start)
    tokens, lengths = [], []
    for done in range(start, size, _CHUNK):
        if progress:
            progress(done - start, size - start)
        spelt, numbers = spelling.tokens(list(islice(surfaces, _CHUNK)))
        tokens.append(spelt)
        lengths.append(numbers)
    if progress:
        progress(size - start, size - start)
    number = np.concatenate(lengths)
    rows = np.flatnonzero(number)
    return layered(np.concatenate(tokens), number[rows], start + rows)


def _name(kb: str, spelling: Spelling, *more: str) -> str:
    return ".".join((kb, spelling.fingerprint[:32], *more, TRIE_VERSION, "trie"))


class _DamagedError(Exception):
    """An older version's file cannot be used."""


def _refuse(path: Path) -> None:
    raise _DamagedError
