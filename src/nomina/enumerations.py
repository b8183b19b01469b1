"""Names that share a word in an enumeration: "breast and ovarian cancer", "hypopigmentation of skin or hair".

A reading counts only if both of its parts are KB names and the whole is none ("head and neck cancer" stays one).
Candidates are found by hash for all texts at once; ``Lexicon.lookup`` on the very words confirms them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.lexicon import Lexicon
from nomina.types import Span
from nomina.units import COMMA, END, PAUSE, WORD, Units, complete

_MOST_WORDS = 3  # of a part that is listed, and of what they share
_NEAR = 32  # names of one text that may cover each other lie so near in its list
_HYPHENS = frozenset("-‐‑")


class Shared(NamedTuple):
    """A discontinuous name: index of its text, its two spans, and the span of the name whose word it shares."""

    text: int
    spans: tuple[Span, Span]
    partner: Span

    @property
    def listed(self) -> Span:
        """The span that is not part of the partner."""
        return self.spans[1] if self.spans[0][0] >= self.partner[0] else self.spans[0]


class _Words(NamedTuple):
    """The words that matter: unit number, sum of bag hashes before it, number of the stretch between pauses it is in.

    ``whole`` says whether a phrase may end with it.
    """

    unit: NDArray[np.intp]
    before: NDArray[np.uint64]
    stretch: NDArray[np.int64]
    whole: NDArray[np.bool_]


class _Seams(NamedTuple):
    """Where listed parts meet: the word behind the left one, the first of the right one, the pauses between them."""

    behind: NDArray[np.intp]
    ahead: NDArray[np.intp]
    pauses: int


class _Window(NamedTuple):
    """Word numbers: the left part is ``first`` to ``cut``, the right one ``other`` to ``last``, behind the seam."""

    first: int
    cut: int
    behind: int
    ahead: int
    other: int
    last: int


def shared_names(units: Units, texts: Sequence[str], lexicon: Lexicon) -> list[Shared]:
    """The discontinuous names in all enumerations of the texts; none that another one covers."""
    words = _words(units)
    found: dict[tuple[int, tuple[Span, Span]], Shared] = {}
    for seams, head_first in _seams(units, words):
        for near, far, head in product(range(1, _MOST_WORDS + 1), repeat=3):
            for window in _windows(words, seams, lexicon, head_first, (near, far, head)):
                for name in _confirmed(units, words, texts, lexicon, head_first, window):
                    found[name.text, name.spans] = name
    by_text: dict[int, list[Shared]] = {}
    for name in found.values():
        by_text.setdefault(name.text, []).append(name)
    return [name for names in by_text.values() for name in _uncovered(names)]


def _seams(units: Units, words: _Words) -> Iterator[tuple[_Seams, bool]]:
    """What joins two parts: "and" and "or", with the shared part behind or before; a comma, with it behind."""
    joins = np.flatnonzero(units.joins[words.unit])
    yield _Seams(joins, joins + 1, 0), False
    yield _Seams(joins, joins + 1, 0), True
    unit = words.unit
    commas = np.flatnonzero((units.kind[unit[1:] - 1] == COMMA) & (unit[1:] == unit[:-1] + 2)) + 1
    yield _Seams(commas, commas, 1), False


def _uncovered(names: list[Shared]) -> list[Shared]:
    """Without those whose spans lie in the spans of another one: "delayed ... speech (development)"."""
    ordered = sorted(names, key=lambda name: name.spans)
    return [
        name
        for place, name in enumerate(ordered)
        if not any(
            _covers(other.spans, name.spans)
            for other in ordered[max(0, place - _NEAR) : place + _NEAR]
            if other is not name
        )
    ]


def _covers(one: tuple[Span, Span], other: tuple[Span, Span]) -> bool:
    return all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(one, other, strict=True))


def _words(units: Units) -> _Words:
    unit = np.flatnonzero((units.kind == WORD) & ~units.stop)
    whole = complete(units, unit)
    following = np.append(units.joins[1:], False)
    pause = (units.kind == END) | (units.kind == PAUSE) | ((units.kind == COMMA) & ~following)
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(units.bag[unit], dtype=np.uint64)])
    return _Words(unit, before, np.cumsum(pause)[unit], whole)


def _windows(
    words: _Words, seams: _Seams, lexicon: Lexicon, head_first: bool, sizes: tuple[int, int, int]
) -> Iterator[_Window]:
    """Windows whose listed part and shared part make a known bag.

    Head last: a listed part of ``far`` words, the seam, ``near`` words, the shared part of ``head``. Head first: the
    mirror image.
    """
    near, far, head = sizes
    behind, ahead = seams.behind, seams.ahead
    if head_first:
        first, cut, other, last = behind - near - head, behind - near, ahead, ahead + far
    else:
        first, cut, other, last = behind - far, behind, ahead + near, ahead + near + head
    places = np.stack([first, cut, behind, ahead, other, last])
    places = places[:, (first >= 0) & (last <= len(words.unit))]
    first, last = places[0], places[5]
    places = places[:, (words.stretch[first] + seams.pauses == words.stretch[last - 1]) & words.whole[last - 1]]
    first, cut, _, _, other, last = places
    total = words.before
    hits = lexicon.table.suspects(total[cut] - total[first] + total[last] - total[other])
    yield from map(_Window._make, places[:, hits].T.tolist())


def _confirmed(
    units: Units,
    words: _Words,
    texts: Sequence[str],
    lexicon: Lexicon,
    head_first: bool,
    window: _Window,
) -> Iterator[Shared]:
    index = int(units.text[words.unit[window.first]])
    text = texts[index]

    def span(a: int, b: int) -> Span:
        return int(units.start[words.unit[a]]), int(units.end[words.unit[b - 1]])

    spans = span(window.first, window.cut), span(window.other, window.last)
    partner = span(window.first, window.behind) if head_first else span(window.ahead, window.last)
    start, end = spans[0][0], spans[1][1]
    if text[start - 1 : start] in _HYPHENS or text[end : end + 1] in _HYPHENS:
        return
    listed = text[slice(*spans[0])]
    if window.behind == window.ahead and lexicon.lookup(listed):
        return  # "ataxia, muscle weakness" lists findings, not their parts
    if not lexicon.lookup(joined(text, spans)) or not lexicon.lookup(text[slice(*partner)]):
        return
    if lexicon.lookup(text[start:end]):
        return
    name = Shared(index, spans, partner)
    yield name
    if not head_first:
        yield from _further(units, words, text, lexicon, name, window.first)


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
