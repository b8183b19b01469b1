"""Names that share a word in an enumeration: "breast and ovarian cancer", "hypopigmentation of skin or hair".

A reading counts only if both of its parts are KB names and the whole is none ("head and neck cancer" stays one).
Candidates are found by hash for all texts at once; ``Lexicon.lookup`` on the very words confirms them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.lexicon import Lexicon
from nomina.types import Span
from nomina.units import COMMA, END, PAUSE, WORD, Units, complete

_MOST_WORDS = 3  # of a part that is listed, and of what they share


class Shared(NamedTuple):
    """A discontinuous name: index of its text, its two spans, and the span of the name whose word it shares."""

    text: int
    spans: tuple[Span, Span]
    partner: Span


class _Words(NamedTuple):
    """The words that matter: unit number, sum of bag hashes before it, number of the stretch between pauses it is in.

    ``whole`` says whether a phrase may end with it.
    """

    unit: NDArray[np.intp]
    before: NDArray[np.uint64]
    stretch: NDArray[np.int64]
    whole: NDArray[np.bool_]


def shared_names(units: Units, texts: Sequence[str], lexicon: Lexicon) -> list[Shared]:
    """The discontinuous names in all enumerations of the texts."""
    words = _words(units)
    joins = np.flatnonzero(units.joins[words.unit])
    found: dict[tuple[int, tuple[Span, Span]], Shared] = {}
    for head_first in (False, True):
        for near in range(1, _MOST_WORDS + 1):
            for far in range(1, _MOST_WORDS + 1):
                for head in range(1, _MOST_WORDS + 1):
                    for window in _windows(words, joins, lexicon, head_first, near, far, head):
                        for name in _confirmed(units, words, texts, lexicon, head_first, window):
                            found[name.text, name.spans] = name
    return list(found.values())


def _words(units: Units) -> _Words:
    unit = np.flatnonzero((units.kind == WORD) & ~units.stop)
    whole = complete(units, unit)
    following = np.append(units.joins[1:], False)
    pause = (units.kind == END) | (units.kind == PAUSE) | ((units.kind == COMMA) & ~following)
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(units.bag[unit], dtype=np.uint64)])
    return _Words(unit, before, np.cumsum(pause)[unit], whole)


def _windows(
    words: _Words,
    joins: NDArray[np.intp],
    lexicon: Lexicon,
    head_first: bool,
    near: int,
    far: int,
    head: int,
) -> Iterator[tuple[int, int, int, int, int]]:
    """Places (first word, cut, "and", cut, behind the last word) whose listed part and shared part make a known bag.

    Head last: listed part of ``far`` words, "and", ``near`` words, shared part of ``head``. Head first: the mirror
    image.
    """
    if head_first:
        first, cut, other, last = joins - near - head, joins - near, joins + 1 + far, joins + 1 + far
    else:
        first, cut, other, last = joins - far, joins, joins + 1 + near, joins + 1 + near + head
    inside = (first >= 0) & (last <= len(words.unit))
    first, cut, middle, other, last = (part[inside] for part in (first, cut, joins, other, last))
    one = (words.stretch[first] == words.stretch[last - 1]) & words.whole[last - 1]
    first, cut, middle, other, last = (part[one] for part in (first, cut, middle, other, last))
    total = words.before
    if head_first:
        value = total[cut] - total[first] + total[last] - total[middle + 1]
    else:
        value = total[cut] - total[first] + total[last] - total[other]
    hits = lexicon.table.suspects(value)
    yield from zip(*(part[hits].tolist() for part in (first, cut, middle, other, last)), strict=True)


def _confirmed(
    units: Units,
    words: _Words,
    texts: Sequence[str],
    lexicon: Lexicon,
    head_first: bool,
    window: tuple[int, int, int, int, int],
) -> Iterator[Shared]:
    first, cut, middle, other, last = window
    index = int(units.text[words.unit[first]])
    text = texts[index]

    def span(a: int, b: int) -> Span:
        return int(units.start[words.unit[a]]), int(units.end[words.unit[b - 1]])

    if head_first:
        spans, partner = (span(first, cut), span(middle + 1, last)), span(first, middle)
    else:
        spans, partner = (span(first, cut), span(other, last)), span(middle + 1, last)
    whole = text[spans[0][0] : spans[1][1]]
    if not lexicon.lookup(joined(text, spans)) or not lexicon.lookup(text[slice(*partner)]) or lexicon.lookup(whole):
        return
    yield Shared(index, spans, partner)
    if not head_first:
        yield from _further(units, words, text, lexicon, Shared(index, spans, partner), first)


def _further(units: Units, words: _Words, text: str, lexicon: Lexicon, name: Shared, first: int) -> Iterator[Shared]:
    """More listed parts to the left, each behind a comma: "branchial, otic and renal anomalies"."""
    while first and units.kind[words.unit[first] - 1] == COMMA:
        for size in range(1, min(_MOST_WORDS, first) + 1):
            start = first - size
            span = int(units.start[words.unit[start]]), int(units.end[words.unit[first - 1]])
            spans = (span, name.spans[1])
            if words.stretch[start] == words.stretch[first - 1] and lexicon.lookup(joined(text, spans)):
                yield Shared(name.text, spans, name.partner)
                first = start
                break
        else:
            return


def joined(text: str, spans: Sequence[Span]) -> str:
    """The words of a discontinuous name, with one space between the parts."""
    return " ".join(text[start:end] for start, end in spans)
