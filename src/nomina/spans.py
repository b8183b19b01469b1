"""Stretches of a text that may name a concept in words that no KB name has: noun phrases, found without a tagger.

A phrase runs between words that carry no finding ("the", "showed", "patients"), crosses no mark, has at least two words
that matter, and the KB's names know its first and its last word and all but one of the others. One that only names a
part of the body ("the lumbar spine") is left out. What is proposed here is judged by ``nomina.proposals``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from nomina.enumerations import joined
from nomina.span_words import ABNORMALITY, PREPOSITIONS, KnownWords, Term, is_empty, is_vague, terms
from nomina.types import Span
from nomina.variants import inflect, is_adjective

_MOST_WORDS = 7
_MOST_THAT_MATTER = 5
_FEWEST_THAT_MATTER = 2

_INSIDE = frozenset("of in the a an".split())
_WORD = re.compile(r"([^\W_]+(?:['’][a-z]+)?)")
_OPEN, _LISTED, _GLUED, _ENDS = range(4)
"""What stands between two words: nothing of note, a comma only, a hyphen or slash without a space, another mark."""

_BREAK = re.compile(r"[.;:!?()\[\]{}\n,]")


class Proposal(NamedTuple):
    """A phrase: its spans (two where it shares its last word in an enumeration), its text, and its lower-case words."""

    spans: tuple[Span, ...]
    text: str
    words: tuple[str, ...]

    @property
    def terms(self) -> list[Term]:
        """Its words that matter."""
        return terms(self.words)

    @property
    def queries(self) -> tuple[str, ...]:
        """What to ask an encoder: the text; and, where its head is a vague noun, that with "abnormality" in its place.

        >>> Proposal(((0, 24),), "cutaneous manifestations", ("cutaneous", "manifestations")).queries
        ('cutaneous manifestations', 'cutaneous abnormality')
        """
        head = _head(self.words)
        if head is None or not is_vague(self.words[head]):
            return (self.text,)
        return self.text, " ".join((*self.words[:head], ABNORMALITY, *self.words[head + 1 :]))


def _head(words: Sequence[str]) -> int | None:
    """The place of the last word that matters before the first preposition: "involvement" of "the bone"."""
    head = None
    for place, word in enumerate(words):
        if word in PREPOSITIONS and head is not None:
            break
        if not is_empty(word):
            head = place
    return head


class _Words(NamedTuple):
    """The words of a text: lower-case forms, whether a phrase may begin or end with them, what stands behind each.

    ``places``: where each begins and where it ends, in turn. ``behind``: of ``_ENDS``, ``_LISTED`` and ``_GLUED``.
    """

    places: list[int]
    lower: list[str]
    carries: list[bool]
    behind: list[int]

    def span(self, place: int) -> Span:
        """Of one word."""
        return self.places[2 * place], self.places[2 * place + 1]


def propose(text: str, taken: Sequence[Span], known: KnownWords) -> list[Proposal]:
    """The phrases of a text that touch none of the spans ``taken``, in order of start, shorter first.

    Phrases overlap: one may begin inside another, as nobody knows which of the words before a noun belong to a name.
    """
    words = _cut(text, known)
    covered = bytearray(len(text))
    for start, end in taken:
        covered[start:end] = b"\1" * (end - start)
    found = []
    for first in _firsts(words):
        for last in _ends(words, first):
            start, end = words.places[2 * first], words.places[2 * last + 1]
            phrases: list[tuple[tuple[Span, ...], list[str]]] = [(((start, end),), words.lower[first : last + 1])]
            if last == first + 1:
                for item in _listed(words, first):
                    phrases.append(((words.span(item), words.span(last)), [words.lower[item], words.lower[last]]))
            for spans, inside in phrases:
                if any(covered.find(1, start, end) >= 0 for start, end in spans):
                    continue
                if not all(known.is_part(term.word) for term in terms(inside)):
                    found.append(Proposal(spans, joined(text, spans), tuple(inside)))
    return sorted(found, key=lambda proposal: (proposal.spans[0][0], proposal.spans[-1][1]))


def _cut(text: str, known: KnownWords) -> _Words:
    parts = _WORD.split(text)  # a word at each odd place, what stands between two at each even one
    lower = list(map(str.lower, parts[1::2]))
    behind = [*map(_gap, parts[2:-1:2]), _ENDS]
    return _Words(list(accumulate(map(len, parts))), lower, list(map(known.carries, lower)), behind)


@lru_cache(maxsize=1 << 12)
def _gap(between: str) -> int:
    """What stands between two words."""
    if between in ("-", "/"):
        return _GLUED
    if between.strip() == ",":
        return _LISTED
    return _ENDS if _BREAK.search(between) else _OPEN


def _firsts(words: _Words) -> list[int]:
    """The words that a phrase may begin with."""
    before = [_ENDS, *words.behind]
    return [place for place, carries in enumerate(words.carries) if carries and before[place] != _GLUED]


def _ends(words: _Words, first: int) -> list[int]:
    """The last words of the phrases that begin with a word; a phrase ends where no known word that matters follows."""
    found = []
    matter = unknown = 0
    for place in range(first, min(first + _MOST_WORDS, len(words.lower))):
        behind = words.behind[place]
        if words.carries[place]:
            matter += 1
            goes_on = behind == _GLUED or (behind == _OPEN and words.carries[place + 1])
            if _FEWEST_THAT_MATTER <= matter <= _MOST_THAT_MATTER and not goes_on:
                found.append(place)
        elif not is_empty(words.lower[place]):
            matter += 1
            unknown += 1
        elif words.lower[place] not in _INSIDE:
            break
        if matter >= _MOST_THAT_MATTER or unknown > 1 or behind in (_ENDS, _LISTED):
            break
    return found


def _listed(words: _Words, first: int) -> list[int]:
    """Adjectives listed before a phrase of two words: "ocular" and "oral" before "and auditory signs"."""
    items: list[int] = []
    item = first - 2
    if first < 1 or words.lower[first - 1] not in ("and", "or"):
        return items
    while item >= 0 and words.behind[item] != _ENDS:
        if not words.carries[item] or not is_adjective(inflect(words.lower[item])[0]):
            break
        items.append(item)
        item -= 1
        if item >= 0 and words.behind[item] != _LISTED:
            break
    return items
