"""Stretches of a text that may name a concept in words that no KB name has: noun phrases, found without a tagger.

A phrase runs between words that carry no finding ("the", "showed", "patients"), crosses no mark, has at least two words
that matter, and the KB's names know its first and its last word and all but one of the others. One that only names a
part of the body ("the lumbar spine") is left out. What is proposed here is judged by ``nomina.proposals``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nomina.enumerations import joined
from nomina.span_words import ABNORMALITY, PREPOSITIONS, KnownWords, Term, is_empty, is_vague, terms
from nomina.types import Span
from nomina.variants import inflect, is_adjective

_MOST_WORDS = 7
_MOST_THAT_MATTER = 5
_FEWEST_THAT_MATTER = 2

_INSIDE = frozenset("of in the a an".split())
_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")
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
    """The words of a text: places, lower-case forms, whether empty, whether known; what stands behind each.

    ``ends``: a mark; ``listed``: a comma only; ``glued``: a hyphen or slash without a space.
    """

    span: list[Span]
    lower: list[str]
    empty: list[bool]
    known: list[bool]
    ends: list[bool]
    listed: list[bool]
    glued: list[bool]


def propose(text: str, taken: Sequence[Span], known: KnownWords) -> list[Proposal]:
    """The phrases of a text that touch none of the spans ``taken``, in order of start, shorter first.

    Phrases overlap: one may begin inside another, as nobody knows which of the words before a noun belong to a name.
    """
    words = _cut(text, known)
    covered = np.zeros(len(text) + 1, np.bool_)
    for start, end in taken:
        covered[start:end] = True
    found = []
    for first in range(len(words.span)):
        for last in _ends(words, first):
            spans: list[tuple[Span, ...]] = [((words.span[first][0], words.span[last][1]),)]
            if last == first + 1:
                spans += [(words.span[item], words.span[last]) for item in _listed(words, first)]
            for each in spans:
                if any(covered[start:end].any() for start, end in each):
                    continue
                proposal = _proposal(text, each)
                if not all(known.is_part(term.word) for term in proposal.terms):
                    found.append(proposal)
    return sorted(found, key=lambda proposal: (proposal.spans[0][0], proposal.spans[-1][1]))


def _proposal(text: str, spans: tuple[Span, ...]) -> Proposal:
    phrase = joined(text, spans)
    return Proposal(spans, phrase, tuple(word.lower() for word in _WORD.findall(phrase)))


def _cut(text: str, known: KnownWords) -> _Words:
    matches = list(_WORD.finditer(text))
    span = [match.span() for match in matches]
    lower = [match.group().lower() for match in matches]
    behind = [text[a[1] : b[0]] for a, b in pairwise(span)]
    return _Words(
        span,
        lower,
        [is_empty(word) for word in lower],
        [known.knows(word) for word in lower],
        [_BREAK.search(gap) is not None for gap in behind] + [True],
        [gap.strip() == "," for gap in behind] + [False],
        [gap in ("-", "/") for gap in behind] + [False],
    )


def _ends(words: _Words, first: int) -> list[int]:
    """The last words of the phrases that begin with a word; a phrase ends where no known word that matters follows."""
    if words.empty[first] or not words.known[first] or (first and words.glued[first - 1]):
        return []
    found = []
    matter = unknown = 0
    for last in range(first, min(first + _MOST_WORDS, len(words.span))):
        if last > first and words.ends[last - 1]:
            break
        if words.empty[last]:
            if words.lower[last] not in _INSIDE:
                break
            continue
        matter += 1
        unknown += not words.known[last]
        if matter > _MOST_THAT_MATTER or unknown > 1:
            break
        goes_on = not words.ends[last] and not words.empty[last + 1] and words.known[last + 1]
        if matter >= _FEWEST_THAT_MATTER and words.known[last] and not words.glued[last] and not goes_on:
            found.append(last)
    return found


def _listed(words: _Words, first: int) -> list[int]:
    """Adjectives listed before a phrase of two words: "ocular" and "oral" before "and auditory signs"."""
    items: list[int] = []
    item = first - 2
    if first < 1 or words.lower[first - 1] not in ("and", "or"):
        return items
    while item >= 0 and (not words.ends[item] or words.listed[item]):
        if words.empty[item] or not words.known[item] or not is_adjective(inflect(words.lower[item])[0]):
            break
        items.append(item)
        item -= 1
        if item >= 0 and not words.listed[item]:
            break
    return items
