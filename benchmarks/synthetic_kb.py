"""Knowledge bases as large as UMLS, of made names: the same for the same seed and words, on any machine.

Concepts and names are as many as in the KB of MedMentions ST21pv in the ANGEL paper, table A (3,092,324 identifiers,
6,051,091 names). How long names are the table does not say: here they have the numbers of words, and the words in the
places of them, of the terminologies they are made of. Nor does it say how many names are shared: ``SHARED`` of them
are, at any size, as what happens to be made twice is made anew (measured: 1.95% at size 0.05, 1.97% at 0.2). Every
concept has a type and most a parent, some have a definition and an xref.

``python benchmarks/synthetic_kb.py -o made.kb [--size 0.01]`` builds one.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nomina.kb.build import BuildOptions, build
from nomina.kb.sources import resolve_kb
from nomina.kb.store import KnowledgeBase
from nomina.types import PREFERRED, Entity, Name

CONCEPTS = 3_092_324
NAMES = 6_051_091
SHARED = 0.02
"""Share of names that another concept has too."""

WORDS_OF = ("hpo", "mesh")
SEED = 1
_TYPES = [f"T{number:03d}" for number in range(21)]
_DEFINED = 0.05
_REFERRED = 0.2
_NON_ASCII = 0.01
_ACCENTED = str.maketrans("aeiouAEIOU", "áèïôüÀÉÎÖÛ")
_APART = re.compile(r"[\W_]+")
_BATCH = 20_000
_FEW_WORDS = 2
_DEFINITION_WORDS = 25
_RECENT = 5_000
_SEEN_BITS = 27  # 16 MB; with 6 million names one in 22 is taken for made already, and only made anew
_TRIES = 4
"""To make a new name of a length; then it grows by a word at a time, as few words have few names in them."""


class Words(NamedTuple):
    """Real words: all of them, as often as they occur, and how many words real names have."""

    words: Sequence[str]
    lengths: NDArray[np.int64]


def words_of(kbs: Iterable[KnowledgeBase]) -> Words:
    """The words of the names of KBs, in order."""
    words: list[str] = []
    lengths: list[int] = []
    known: dict[str, str] = {}  # one object for each word, however often it occurs
    for kb in kbs:
        for surface in kb.surfaces():
            found = surface.split()
            words += [known.setdefault(word, word) for word in found]
            lengths.append(len(found))
    return Words(words, np.array(lengths))


def entities(words: Words, concepts: int = CONCEPTS, names: int = NAMES, seed: int = SEED) -> Iterator[Entity]:
    """Made concepts with exactly that many of names in all."""
    rng = np.random.default_rng(seed)
    made = _Names(rng, words)
    done = given = 0
    while done < concepts:
        count = min(_BATCH, concepts - done)
        numbers = _numbers(rng, count, names - given if done + count == concepts else round(count * names / concepts))
        texts = made.texts(int(numbers.sum()))
        given += int(numbers.sum())
        definitions = iter(_definitions(rng, words, count))
        chances = rng.random((count, 2))
        parents = rng.integers(0, np.maximum(1, np.arange(done, done + count)))
        for i, number in enumerate(numbers.tolist()):
            definition = next(definitions) if chances[i, 0] < _DEFINED else None
            xrefs = (f"MADE:{done + i}",) if chances[i, 1] < _REFERRED else ()
            found = tuple(Name(next(texts), kind=None if j else PREFERRED, source="MADE") for j in range(number))
            parent = (f"C{parents[i]:07d}",) if done + i else ()
            yield Entity(f"C{done + i:07d}", found, definition, (_TYPES[(done + i) % len(_TYPES)],), parent, xrefs)
        done += count


def shared(kb: KnowledgeBase) -> float:
    """The share of a KB's names that another concept has too, by their look-up keys."""
    several = "SELECT row FROM name GROUP BY row HAVING min(entity) < max(entity)"
    ((found,),) = kb.select(f"SELECT count(*) FROM name WHERE row IN ({several})")
    return float(found) / kb.manifest.counts.names


def _numbers(rng: np.random.Generator, count: int, total: int) -> NDArray[np.int64]:
    """How many names each of some concepts has: one at least, geometric beyond, that total in all."""
    numbers: NDArray[np.int64] = rng.geometric(count / total, count)
    while (surplus := int(numbers.sum()) - total) != 0:
        places = rng.choice(count, min(abs(surplus), count), replace=False)
        numbers[places] = np.maximum(1, numbers[places] - (1 if surplus > 0 else -1))
    return numbers


class _Names:
    """Makes names: real words in the number that a real name has; short ones joined of the halves of two words."""

    def __init__(self, rng: np.random.Generator, words: Words) -> None:
        self._rng, self._words = rng, words
        self._chosen = self._choose()
        self._recent = ["Made disease"] * _RECENT
        self._seen = bytearray(1 << (_SEEN_BITS - 3))

    def _choose(self) -> Iterator[str]:
        while True:
            for i in self._rng.integers(0, len(self._words.words), _BATCH).tolist():
                yield self._words.words[i]

    def texts(self, number: int) -> Iterator[str]:
        """That many; ``SHARED`` of them are in pairs, of which the second is the first once more."""
        lengths = self._rng.choice(self._words.lengths, number).tolist()
        chances = self._rng.random((number, 2)).tolist()
        places = self._rng.integers(0, _RECENT, number).tolist()
        for length, (shared, foreign), place in zip(lengths, chances, places, strict=True):
            text = self._recent[place] if shared < SHARED / 2 else self._new(length, foreign < _NON_ASCII)
            self._recent[place] = text
            yield text

    def _new(self, length: int, foreign: bool) -> str:
        for tries in itertools.count():
            text = self._made(length + max(0, tries - _TRIES), foreign)
            key = _APART.sub(" ", text.casefold()).strip()  # nearly the look-up key, and quicker made
            place = crc32(key.encode()) >> (32 - _SEEN_BITS)
            if not self._seen[place >> 3] >> (place & 7) & 1:
                self._seen[place >> 3] |= 1 << (place & 7)
                return text
        raise AssertionError("counts without end")

    def _made(self, length: int, foreign: bool) -> str:
        found = [next(self._chosen) for _ in range(length)]
        if length <= _FEW_WORDS:  # real short names are words of their own, not any two common words
            other = next(self._chosen)
            found[0] = found[0][: (len(found[0]) + 1) // 2] + other[len(other) // 2 :]
        text = " ".join(found)
        return f"{text.translate(_ACCENTED)} β" if foreign else text


def _definitions(rng: np.random.Generator, words: Words, count: int) -> Iterator[str]:
    for row in rng.integers(0, len(words.words), (count, _DEFINITION_WORDS)).tolist():
        yield " ".join(words.words[i] for i in row)


def main() -> None:
    """Build one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--size", type=float, default=1.0, help="as a share of UMLS; default: %(default)s")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    options = parser.parse_args()
    words = words_of(map(resolve_kb, WORDS_OF))
    made = entities(words, round(CONCEPTS * options.size), round(NAMES * options.size), options.seed)
    kb = build(options.output, made, BuildOptions("synthetic"))
    print(kb.manifest.counts, f"{shared(kb):.2%} of the names shared")


if __name__ == "__main__":
    main()
