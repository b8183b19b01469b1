"""The words of a KB's names with their vectors, made once per KB and encoder in the cache folder and memory-mapped."""

from __future__ import annotations

from array import array
from enum import IntFlag
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays, cached, write
from nomina.encoders.base import Encoder
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import token_hash
from nomina.span_words import (
    SPANS_VERSION,
    WORD_LISTS,
    KnownWords,
    Term,
    is_abnormality,
    is_measured,
    is_restricting,
    is_unsaid,
    terms,
)

NAME_WORDS_VERSION = f"1-{SPANS_VERSION}-{WORD_LISTS}"
"""Changes with the word lists; the number is raised when what is kept changes."""

Ints = NDArray[np.int64]


class Is(IntFlag):
    """What a word of a name is (see ``nomina.span_words``)."""

    ABNORMALITY = 1
    RESTRICTING = 2
    UNSAID = 4
    MEASURED = 8
    PART = 16


class Ragged(NamedTuple):
    """Lists of numbers, one behind the other: list i is ``values[starts[i] : starts[i + 1]]``."""

    starts: Ints
    values: Ints

    def of(self, lists: Ints) -> tuple[Ints, Ints]:
        """The numbers of some lists in a row, and how many each has."""
        first, counts = self.starts[lists], self.starts[lists + 1] - self.starts[lists]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
        return self.values[places], counts

    def turned(self, size: int) -> Ragged:
        """For each number below ``size`` the lists that hold it."""
        counts = np.bincount(self.values, minlength=size)
        lists = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        order = np.argsort(self.values, kind="stable")
        return Ragged(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), lists[order])


class NameWords:
    """The words that matter of all names of a KB, numbered in the order in which they first come.

    They take some 1.2 kB a word (at 256 dimensions) and 4 bytes a word of each name: 13 MB for HPO.

    Attributes:
        place: the number of each word.
        vectors: unit rows, float32 (words, dim); read-only.
        kinds: of ``Is``, uint8 (words,).
        of_names: the words of each row of the KB.
        names: the rows of the KB that have a word.

    Args:
        kb: whose names.
        encoder: what makes the vectors.
        fingerprint: of the encoder.
        known: which words name parts of the body.

    Raises:
        UsageError: the cache folder cannot be written to.
    """

    def __init__(self, kb: KnowledgeBase, encoder: Encoder, fingerprint: str, known: KnownWords) -> None:
        def make(path: Path) -> None:
            write(path, _made(kb, encoder, known))

        def whole(arrays: Arrays) -> bool:
            return len(arrays) == 7 and arrays[1].shape[1] == encoder.dim and len(arrays[2]) == len(kb.names) + 1

        name = f"{kb.fingerprint}.{fingerprint[:32]}.{NAME_WORDS_VERSION}.vectors"
        families, self.vectors, starts, words, family_starts, self.kinds, text = cached("spans", name, make, whole)
        self.place = {word: place for place, word in enumerate(text.tobytes().decode("utf-8").split())}
        self.of_names = Ragged(starts.astype(np.int64), words.astype(np.int64))
        self.names = self.of_names.turned(len(self.place))
        order = np.argsort(families, kind="stable")
        self._families = families[order]
        self._holders = np.repeat(np.arange(len(self.place)), np.diff(family_starts))[order]

    def __len__(self) -> int:
        return len(self.place)

    def holding(self, family: str) -> Ints:
        """The numbers of the words of a family."""
        value = np.uint64(token_hash(family))
        first, last = self._families.searchsorted(value, "left"), self._families.searchsorted(value, "right")
        held: Ints = self._holders[first:last]
        return held

    def are(self, kinds: Is) -> NDArray[np.bool_]:
        """Which words are of any of some kinds."""
        found: NDArray[np.bool_] = (self.kinds & kinds.value) != 0
        return found


def _made(kb: KnowledgeBase, encoder: Encoder, known: KnownWords) -> Arrays:
    """The arrays of the file: the wider types first, as ``nomina.arrays`` wants them."""
    found: dict[str, Term] = {}
    places: dict[str, int] = {}
    starts, words = array("Q", [0]), array("I")
    for key in kb.names:
        for term in terms(key.split()):
            found.setdefault(term.word, term)
            words.append(places.setdefault(term.word, len(places)))
        starts.append(len(words))
    families = [[token_hash(family) for family in term.families] for term in found.values()]
    return [
        np.array(list(chain.from_iterable(families)), np.uint64),
        encoder.encode(list(found)) if found else np.empty((0, encoder.dim), np.float32),
        np.array(starts, np.uint32),
        np.array(words, np.uint32),
        np.cumsum([0, *map(len, families)]).astype(np.uint32),
        np.array([_kinds(term, known) for term in found.values()], np.uint8),
        np.frombuffer(" ".join(found).encode("utf-8"), np.uint8),
    ]


def _kinds(term: Term, known: KnownWords) -> int:
    found = {
        Is.ABNORMALITY: is_abnormality(term),
        Is.RESTRICTING: is_restricting(term),
        Is.UNSAID: is_unsaid(term),
        Is.MEASURED: is_measured(term),
        Is.PART: known.is_part(term.word),
    }
    return sum(kind.value for kind, holds in found.items() if holds)
