"""Many texts cut into units (words, numbers, breaks) at once, as flat arrays that windows can be hashed over.

Cutting agrees with ``text.tokens`` followed by ``variants.inflect``: the words of a text, in order, are the inflected
tokens that ``lexicon.forms`` makes of it. Offsets are those of the original text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.lexicon import mixed_hash, token_hash
from nomina.text import token_keys
from nomina.types import Span
from nomina.variants import COORDINATORS, EMPTY_WORDS, PREFIXES, STOP_WORDS, family, inflect, is_adjective

_MARKS = "\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff"
_WORD = rf"[^\W\d_]+(?:[{_MARKS}]+[^\W\d_]*)*"
_PIECE = re.compile(
    # words joined by hyphens, or a number; with the space behind it, which saves a piece, or where a line is wrapped
    rf"(?:{_WORD}(?:[-‐‑]{_WORD})*|\d+)(?: (?![-–—]\s)|\r?\n(?=[a-z]))?"
    r"|[.!?;:]\s|\n\s*(?:\n|[-*•–]|\d+[.)])"  # the end of a sentence or an item
    r"|\s[-–—]\s|.",  # a pause inside a sentence; anything else, so that the lengths of the pieces add up to the text's
    re.DOTALL,
)
_PART = re.compile(rf"(?:(?:{'|'.join(PREFIXES)})[-‐‑])*[^-‐‑]+", re.IGNORECASE)
_HYPHEN = re.compile("[-‐‑]")
_BORDER = "\n\n"
_PAUSES = frozenset('()[]{}/"“”=&%_<>|\n') | {" - ", " – ", " — "}
_MOST_PIECES = 1 << 15  # of the abstracts of some 5,000 documents; full soon, as memory is not to go on growing

WORD, END, PAUSE, COMMA = 0, 1, 2, 3
"""Kinds of unit: a word; the end of a sentence, list item or text; another mark inside a sentence; a comma among
those."""


class Units(NamedTuple):
    """The units of several texts in a row, each text closed by an ``END``. All arrays have the same length.

    ``text`` is the index of the text; ``start`` and ``end`` are offsets in it; ``sequence`` and ``bag`` are what a word
    adds to the hashes of ``lexicon`` (0 for all else); ``stop`` marks words that bags leave out, ``joins`` "and" and
    "or", ``adjective`` what looks like one.
    """

    text: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[np.uint8]
    sequence: NDArray[np.uint64]
    bag: NDArray[np.uint64]
    stop: NDArray[np.bool_]
    joins: NDArray[np.bool_]
    adjective: NDArray[np.bool_]


def content_follows(units: Units, last: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a word that matters, and is no "and" or "or", stands right behind each of these words."""
    after = last + 1
    follows: NDArray[np.bool_] = (units.kind[after] == WORD) & ~units.stop[after] & ~units.joins[after]
    return follows


def complete(units: Units, last: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a phrase may end with each of these words: "abnormal facial" may not where "features" follows."""
    whole: NDArray[np.bool_] = ~(units.adjective[last] & content_follows(units, last))
    return whole


class Vocabulary:
    """Pieces of text seen so far, by number, with the units each is made of; starts anew when it has grown too large.

    A piece is mostly one unit; none where it is a space, several where it is a token of several keys ("IFNγ").
    """

    def __init__(self) -> None:
        self._numbers = _Numbers(self._learn)
        self._known: dict[str, tuple[int, int]] = {}
        self._pieces = _Columns(first=np.int64, count=np.int64, length=np.int64)
        self._units = _Columns(
            kind=np.uint8,
            first=np.int64,
            last=np.int64,
            sequence=np.uint64,
            bag=np.uint64,
            stop=np.bool_,
            joins=np.bool_,
            adjective=np.bool_,
        )

    def cut(self, texts: Sequence[str]) -> Units:
        """The units of the texts."""
        if len(self._numbers) > _MOST_PIECES:
            self.__init__()  # type: ignore[misc]
        pieces: list[str] = []
        sizes = []
        for text in texts:
            before = len(pieces)
            pieces += _PIECE.findall(text)
            pieces.append(_BORDER)
            sizes.append(len(pieces) - before)
        number = np.fromiter(map(self._numbers.__getitem__, pieces), np.int64, len(pieces))
        self._pieces.settle()
        self._units.settle()
        return self._laid_out(number, np.repeat(np.arange(len(texts)), sizes))

    def _laid_out(self, number: NDArray[np.int64], text: NDArray[np.int64]) -> Units:
        """The units of numbered pieces, with their places: ends are running sums of lengths, text by text."""
        length, count = self._pieces["length"][number], self._pieces["count"][number]
        end = np.cumsum(length)
        opening = np.flatnonzero(np.diff(text, prepend=-1))
        end -= (end - length)[opening][text]
        piece = np.repeat(np.arange(len(number)), count)
        within = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
        unit = self._pieces["first"][number[piece]] + within
        start = (end - length)[piece]
        columns = {name: self._units[name][unit] for name in Units._fields[3:]}
        return Units(text[piece], start + self._units["first"][unit], start + self._units["last"][unit], **columns)

    def _learn(self, piece: str) -> int:
        size = len(piece)
        if piece[0].isalnum():
            raw = piece.rstrip(" \r\n")
            return self._pieces.append(*self._words(raw.lower() if raw.isascii() else raw), size)
        if piece == ",":
            kind = COMMA
        elif piece in _PAUSES:
            kind = PAUSE
        elif len(piece) > 1:
            kind = END
        else:
            return self._pieces.append(0, 0, size)
        return self._pieces.append(self._units.append(kind, 0, size, 0, 0, False, False, False), 1, size)

    def _words(self, raw: str) -> tuple[int, int]:
        """The first unit and the number of units of words joined by hyphens."""
        known = self._known.get(raw)
        if known is None:
            first = self._units.size
            for part in _PART.finditer(raw) if "-" in raw or not raw.isascii() else (None,):
                span = part.span() if part else (0, len(raw))
                self._add(_HYPHEN.sub("", raw[slice(*span)]) if part else raw, span)
            known = self._known[raw] = first, self._units.size - first
        return known

    def _add(self, raw: str, span: Span) -> None:
        for key in token_keys(raw):
            for word in inflect(key):
                stop = word in STOP_WORDS or word in EMPTY_WORDS
                bag = 0 if stop else mixed_hash(family(word))
                joins, adjective = word in COORDINATORS, is_adjective(word)
                self._units.append(WORD, *span, token_hash(word), bag, stop, joins, adjective)


class _Numbers(dict[str, int]):
    """The number of each piece, learnt when it is first asked for."""

    def __init__(self, learn: Callable[[str], int]) -> None:
        self._learn = learn

    def __missing__(self, piece: str) -> int:
        number = self[piece] = self._learn(piece)
        return number


class _Columns:
    """Arrays of one length that grow together, with room behind: new ones for each batch would cut memory to pieces."""

    def __init__(self, **dtypes: type[np.generic]) -> None:
        self.size = 0
        self._rows: list[tuple[int | bool, ...]] = []
        self._arrays = {name: np.zeros(_MOST_PIECES, dtype) for name, dtype in dtypes.items()}

    def append(self, *values: int | bool) -> int:
        """Add a row; its number. It is in the arrays after ``settle``."""
        self._rows.append(values)
        self.size += 1
        return self.size - 1

    def settle(self) -> None:
        """Take the new rows into the arrays."""
        known = self.size - len(self._rows)
        for (name, array), column in zip(self._arrays.items(), zip(*self._rows, strict=True), strict=False):
            if len(array) < self.size:
                array = self._arrays[name] = np.concatenate([array, np.zeros(self.size, array.dtype)])
            array[known : self.size] = column
        self._rows.clear()

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]
