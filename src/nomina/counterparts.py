"""Which phrases can have a name at all, by their words: of most it is known without encoding them.

``nomina.proposals`` takes a name for a phrase only where each word of the one has a counterpart in the other: a word of
the same families, or one of a near vector. Phrases are many and new, their words few and known. So for each word the
names with a counterpart of it are kept, as bits. A phrase whose words have no name in common, or only names with a word
that has no counterpart in the phrase, need neither be encoded nor compared with all names: of HPO and abstracts nine
out of ten.

All conditions here are wider than those of the comparison: it would find nothing either where they do not hold.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nomina.encoders.base import Encoder
from nomina.name_words import Ints, Is, NameWords
from nomina.span_words import Term, is_abnormality, is_direction, is_measured, is_restricting

NAME_WORD = 0.5
"""The least cosine of a name's word with its counterpart in a phrase."""

PHRASE_WORD = 0.4
"""The least cosine of a phrase's word with its counterpart in a name."""

_MARGIN = 1e-3  # more than what a cosine differs by when it is computed in another way
_KEPT = 3 << 11  # vectors of words; full soon, so that memory does not go on growing
_ROOM = 1 << 26  # bytes for what is kept of words as bits
_FEWEST = 1 << 6  # words that are kept, however many names there are
_PHRASES = 1 << 8  # looked at together
_BLOCK = 1 << 12  # stretches of 64 names looked at together
_CELLS = 1 << 21  # cosines at a time: 8 MB

Bits = NDArray[np.uint8]
Bools = NDArray[np.bool_]
Vectors = NDArray[np.float32]


class Counterparts:
    """The words of phrases, what they mean, and which names have counterparts of them.

    Args:
        names: the words of the KB's names.
        encoder: what makes vectors of other words.
        allowed: which names count, one value a row.
    """

    def __init__(self, names: NameWords, encoder: Encoder, allowed: Bools) -> None:
        self._names, self._encoder = names, encoder
        self._allowed = _packed(allowed & (np.diff(names.of_names.starts) > 0))
        self._vectors: dict[str, Vectors] = {}
        self._kept = _Kept(names, len(allowed))
        self._unsaid, self._measured, self._parts = (
            _packed(names.are(kind)) for kind in (Is.UNSAID, Is.MEASURED, Is.PART)
        )

    def forget(self) -> None:
        """Empty what was learnt of words, which later answers may hang on: see ``learn``."""
        self._vectors.clear()
        self._kept.forget()

    def learn(self, words: Iterable[str]) -> None:
        """Make the vectors of words that have none yet: all together, as vectors hang on these in their last bits."""
        if len(self._vectors) > _KEPT:
            self._vectors.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._vectors and word not in self._names.place]
        if new:
            self._vectors.update(zip(new, self._encoder.encode(new), strict=True))

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vectors of words of names, or learnt ones; (number of words, dim)."""
        place, own = self._names.place, self._names.vectors
        return np.stack([own[place[word]] if word in place else self._vectors[word] for word in words])

    def names_for(self, phrases: Sequence[Sequence[Term]]) -> list[Ints]:
        """The rows of names that may have counterparts of all words of a phrase, and it of all of theirs; by phrase.

        The words have been learnt. A phrase without words has no names.
        """
        found = [np.empty(0, np.int64)] * len(phrases)
        for part in self._parts_of(phrases):
            chosen = [phrases[i] for i in part]
            self._keep({term.word: term for phrase in chosen for term in phrase})
            of, row = self._pairs(chosen)
            order = np.argsort(of, kind="stable")
            for i, rows in zip(part, np.split(row[order], np.cumsum(np.bincount(of))), strict=False):
                found[i] = rows
        return found

    def _parts_of(self, phrases: Sequence[Sequence[Term]]) -> Iterator[list[int]]:
        """Phrases of like length together, so many that all of their words can be kept at once."""
        part: list[int] = []
        words: set[str] = set()
        for i in sorted(filter(phrases.__getitem__, range(len(phrases))), key=lambda i: len(phrases[i])):
            own = {term.word for term in phrases[i]}
            if part and (len(part) == _PHRASES or len(words | own) > self._kept.room):
                yield part
                part, words = [], set()
            part.append(i)
            words |= own
        if part:
            yield part

    def _keep(self, wanted: Mapping[str, Term]) -> None:
        """See that what is to be kept of words is there."""
        new = [word for word in wanted if not self._kept.has(word)]
        size = max(1, _CELLS // max(1, len(self._names)))
        for start in range(0, len(new), size):
            words = new[start : start + size]
            cosines = self.vectors(words) @ self._names.vectors.T
            for word, near in zip(words, cosines, strict=True):
                self._kept.add(wanted[word], near)

    def _pairs(self, phrases: Sequence[Sequence[Term]]) -> tuple[Ints, Ints]:
        """Numbers of phrases and rows of names for them; a pair may come twice."""
        every = self._kept.slots([[term.word for term in phrase] for phrase in phrases])
        compared = self._kept.slots([[term.word for term in _compared(phrase)] for phrase in phrases])
        met = np.bitwise_or.reduce(self._kept.met[every], axis=1) | self._unsaid
        met[[_has_direction(phrase) for phrase in phrases]] |= self._measured
        likely = self._with_all(self._kept.common, compared, met)
        # An organ that is not said may be implied, where all that is said is in the name.
        implied = self._with_all(self._kept.shared, compared, met | self._parts)
        of, row = (np.concatenate(both) for both in zip(*likely, *implied, strict=True))
        return of, row

    def _with_all(self, names: Bits, slots: Ints, met: Bits) -> Iterator[tuple[Ints, Ints]]:
        """For each phrase the names that are among those of all its words and have only words that are met."""
        left = names[slots[:, 0]] & self._allowed
        for column in slots.T[1:]:
            left &= names[column]
        stretches = left.view(np.uint64)
        phrase, at = np.nonzero(stretches)
        for start in range(0, len(phrase) + 1, _BLOCK):
            part = slice(start, start + _BLOCK)
            bits = np.unpackbits(stretches[phrase[part], at[part]].view(np.uint8).reshape(-1, 8), axis=1)
            stretch, bit = np.nonzero(bits)
            of, row = phrase[part][stretch], 64 * at[part][stretch] + bit
            words, counts = self._names.of_names.of(row)
            holds = met[np.repeat(of, counts), words >> 3] << (words & 7).astype(np.uint8) & 128
            whole = np.minimum.reduceat(holds, np.cumsum(counts) - counts) > 0 if len(holds) else holds > 0
            yield of[whole], row[whole]


class _Kept:
    """What is kept of the words asked for last: names as bits, in a slot each.

    Attributes:
        room: for how many words there is room.
        shared: names that have all families of a word, bits (slots, rows); slot 0 is for no word, and has all.
        common: those, and names that have a word of a near vector.
        met: words of names that have a counterpart in a word, bits (slots, words); slot 0 has none.
    """

    def __init__(self, names: NameWords, rows: int) -> None:
        self._names, self._rows = names, rows
        self._open = ~names.are(Is.ABNORMALITY | Is.RESTRICTING)
        row_bytes, word_bytes = _bytes(rows), _bytes(len(names))
        self.room = max(_FEWEST, _ROOM // (2 * row_bytes + word_bytes))
        self._slots: OrderedDict[str, int] = OrderedDict()
        # Memory is only taken when a slot is first filled.
        self.shared, self.common = np.zeros((2, self.room + 1, row_bytes), np.uint8)
        self.met = np.zeros((self.room + 1, word_bytes), np.uint8)
        self.shared[0] = self.common[0] = 255

    def forget(self) -> None:
        """Empty it."""
        self._slots.clear()

    def has(self, word: str) -> bool:
        """Whether a word is kept; if so, it is the last to go."""
        if word in self._slots:
            self._slots.move_to_end(word)
            return True
        return False

    def slots(self, phrases: Sequence[Sequence[str]]) -> Ints:
        """The slots of the words of phrases, 0 behind the last; (number of phrases, most words)."""
        slots = np.zeros((len(phrases), max(1, *map(len, phrases), 1)), np.int64)
        for i, words in enumerate(phrases):
            slots[i, : len(words)] = [self._slots[word] for word in words]
        return slots

    def add(self, term: Term, cosines: Vectors) -> None:
        """Keep a word, given its cosines with all words of names; the one asked for longest ago goes for it."""
        full = len(self._slots) == self.room
        slot = self._slots.popitem(last=False)[1] if full else len(self._slots) + 1
        self._slots[term.word] = slot
        holding = [self._names.holding(family) for family in term.families]
        shared = np.logical_and.reduce([self._having(words) for words in holding])
        open = np.flatnonzero(self._open & (cosines >= PHRASE_WORD - _MARGIN)) if _may_differ(term) else holding[0][:0]
        met = np.zeros(len(self._names), np.bool_)
        met[np.concatenate([*holding, open[cosines[open] >= NAME_WORD - _MARGIN]])] = True
        self.shared[slot] = _packed(shared)
        self.common[slot] = _packed(shared | self._having(open))
        self.met[slot] = _packed(met)

    def _having(self, words: Ints) -> Bools:
        """Which names have one of some words."""
        having = np.zeros(self._rows, np.bool_)
        having[self._names.names.of(words)[0]] = True
        return having


def _may_differ(term: Term) -> bool:
    """Whether a word may have a counterpart of no family of its own."""
    return not (is_abnormality(term) or is_restricting(term))


def _has_direction(phrase: Sequence[Term]) -> bool:
    return any(is_direction(term) for term in phrase)


def _compared(phrase: Sequence[Term]) -> Sequence[Term]:
    """The words that are compared whatever the name (see ``span_words.comparable``)."""
    return [term for term in phrase if not is_measured(term)] if _has_direction(phrase) else phrase


def _bytes(bits: int) -> int:
    """Bytes for so many bits, in stretches of 64."""
    return (bits + 63) // 64 * 8


def _packed(flags: Bools) -> Bits:
    """Flags as bits, in stretches of 64."""
    packed = np.zeros(_bytes(len(flags)), np.uint8)
    packed[: (len(flags) + 7) // 8] = np.packbits(flags)
    return packed
