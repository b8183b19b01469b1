"""Stretches of a text that may name a concept in words that no KB name has: noun phrases, found without a tagger.

A phrase runs between words that carry no finding ("the", "showed", "patients"), crosses no mark, has at least two words
that matter, and the KB's names know its first and its last word and all but one of the others. What is proposed here is
judged by ``nomina.proposals``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays, cached, write
from nomina.enumerations import joined
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import LEXICON_VERSION, token_hash
from nomina.text import token_keys
from nomina.types import Span
from nomina.variants import STOP_WORDS, family, inflect, is_adjective

ABNORMALITY = "abnormality"
"""What a name says of an organ in general; stands for the vague nouns of a text."""

_MOST_WORDS = 7
_MOST_THAT_MATTER = 5
_FEWEST_THAT_MATTER = 2

_VAGUE = "manifestation sign symptom problem involvement dysfunction impairment disturbance complaint deficit"
_OPPOSITES = """
    increased decreased, high low, long short, large small, thick thin, wide narrow, upper lower, left right,
    proximal distal, anterior posterior, medial lateral, early delayed, absent supernumerary, hard soft, male female,
    increased low, high decreased, increase loss, stiff lax
"""
_OPPOSITE_PREFIXES = (("hyper", "hypo"), ("macro", "micro"), ("brady", "tachy"), ("poly", "oligo"))
_PREPOSITIONS = frozenset("of in with on at to for by from due".split())
_INSIDE = frozenset("of in the a an".split())
_EMPTY = frozenset(
    """
    a an the this that these those it its he she his her him they their them we our us i my you your who whom whose
    which what when where why how and or nor but if then than as so because while although though whereas since until
    unless whether both either neither each every any some no not none all another other others such same
    of in on at by for with without from to into onto upon within through throughout during after before between among
    against about over under above below across along around behind beyond near per via toward towards despite except
    including excluding concerning regarding due
    is are was were be been being am has have had having do does did done doing can could may might must shall should
    will would cannot
    very more most less least much many few several only also too just even still yet already again ever never often
    usually commonly frequently generally typically always sometimes here there now once twice thus hence therefore
    however moreover furthermore further respectively approximately about almost nearly particularly especially mainly
    mostly predominantly possibly probably likely apparently relatively highly
    found find finds show shows showed shown showing present presents presented presenting presence report reports
    reported reporting describe describes described suggest suggests suggested suggesting include includes included
    associated characterized known seen noted observed diagnosed examined revealed reveal reveals demonstrated
    demonstrate demonstrates identified identify developed develop develops developing caused causes causing cause
    affected affecting affect resulting result results resulted related based used using compared considered consist
    consists consisted consisting lead leads leading led become became becomes confirmed performed evaluate evaluated
    evaluation studied detect detected determine determined excluded underwent received treated exhibit exhibited
    exhibiting display displayed displaying involve involves involved involving require required requiring
    complained complaining resembling experienced suffered suffering
    one two three four five six seven eight nine ten first second third
    patient patients case cases subject subjects study studies family families member members child children boy
    girl man woman men women male female males females mother father parents son daughter brother sister sibling
    siblings proband individual individuals year years month months week weeks day days age old group groups review
    diagnosis history gene genes mutation mutations protein chromosome syndrome frequency risk type types kind kinds
    combination observation
    normal normally healthy unremarkable typical common rare different various specific distinct similar identical
    """.split()
)
"""Words that end a phrase: of grammar, of reports, of people, and those that say that nothing is wrong."""

_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")
_BREAK = re.compile(r"[.;:!?()\[\]{}\n,]")

Hashes = NDArray[np.uint64]


class Term(NamedTuple):
    """A word that matters, lower-case, and its families; a vague noun has the family of "abnormality"."""

    word: str
    families: tuple[str, ...]


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


class KnownWords:
    """Which words the names of a KB know, whatever their form.

    Sorted hashes of word families, made once per KB in the cache folder and memory-mapped.

    Args:
        kb: whose names count.

    Raises:
        UsageError: the cache folder cannot be written to.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        def make(path: Path) -> None:
            found = {part for key in kb.names for token in key.split() for part in families(token)}
            write(path, [np.sort(np.fromiter(map(token_hash, found), np.uint64, len(found)))])

        def whole(arrays: Arrays) -> bool:
            return len(arrays) == 1

        (self._hashes,) = cached("spans", f"{kb.fingerprint}.{LEXICON_VERSION}.words", make, whole)
        self.knows = lru_cache(maxsize=1 << 16)(self._knows)

    def _knows(self, word: str) -> bool:
        """Whether a lower-case word is known, by the last part of it."""
        parts = families(word)
        if not parts:
            return False
        value = np.uint64(token_hash(parts[-1]))
        place = int(np.searchsorted(self._hashes, value))
        return is_vague(word) or (place < len(self._hashes) and bool(self._hashes[place] == value))


@lru_cache(maxsize=1 << 16)
def families(word: str) -> tuple[str, ...]:
    """The families of a word's parts; none where it has no letter or digit."""
    return tuple(family(part) for key in token_keys(word) for part in inflect(key))


_VAGUE_FAMILIES = frozenset(part for word in _VAGUE.split() for part in families(word))
_ABNORMALITY = families(ABNORMALITY)
_PAIRS = [pair.split() for pair in _OPPOSITES.split(",")]
_OPPOSITE_FAMILIES = {families(a)[-1:] + families(b)[-1:] for x, y in _PAIRS for a, b in ((x, y), (y, x))}


def is_vague(word: str) -> bool:
    """Whether a noun says no more than that something is wrong: "signs", "manifestations"."""
    parts = families(word)
    return bool(parts) and parts[-1] in _VAGUE_FAMILIES


def is_abnormality(term: Term) -> bool:
    """Whether a word says "abnormal" in whatever form, which no other word stands for."""
    return term.families == _ABNORMALITY


@lru_cache(maxsize=1 << 16)
def are_opposites(one: str, other: str) -> bool:
    """Whether two lower-case words say the opposite of each other, however near their vectors are.

    >>> are_opposites("thinning", "thick"), are_opposites("hypertension", "hypotensive"), are_opposites("thin", "slim")
    (True, True, False)
    """
    if families(one)[-1:] + families(other)[-1:] in _OPPOSITE_FAMILIES:
        return True
    return any(
        (one.startswith(a) and other.startswith(b)) or (one.startswith(b) and other.startswith(a))
        for a, b in _OPPOSITE_PREFIXES
    )


def terms(words: Sequence[str]) -> list[Term]:
    """The words that matter, of a phrase or of a KB name."""
    found = []
    for word in words:
        parts = families(word)
        if parts and word not in STOP_WORDS and word not in _PREPOSITIONS:
            found.append(Term(word, _ABNORMALITY if is_vague(word) else parts))
    return found


def _head(words: Sequence[str]) -> int | None:
    """The place of the last word that matters before the first preposition: "involvement" of "the bone"."""
    head = None
    for place, word in enumerate(words):
        if word in _PREPOSITIONS and head is not None:
            break
        if not is_empty(word):
            head = place
    return head


@lru_cache(maxsize=1 << 16)
def is_empty(word: str) -> bool:
    """Whether a lower-case word carries no finding, so that a phrase neither begins nor ends with it."""
    return len(word) < _FEWEST_THAT_MATTER or word in _EMPTY or word in STOP_WORDS or word.isdigit()


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
                if not any(covered[start:end].any() for start, end in each):
                    phrase = joined(text, each)
                    found.append(Proposal(each, phrase, tuple(word.lower() for word in _WORD.findall(phrase))))
    return sorted(found, key=lambda proposal: (proposal.spans[0][0], proposal.spans[-1][1]))


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
