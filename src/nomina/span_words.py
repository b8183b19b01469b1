"""The words of phrases (see ``nomina.spans``): which carry a finding, which a KB knows, which are opposites."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays, cached, write
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import LEXICON_VERSION, token_hash
from nomina.text import WORDS_KEPT, token_keys
from nomina.variants import STOP_WORDS, family, inflect

ABNORMALITY = "abnormality"
"""What a name says of an organ in general; stands for the vague nouns of a text."""

_SHORTEST = 2
_SHORTEST_BASE = 5
_MIDDLE = "mid"
_VAGUE = "manifestation sign symptom problem involvement dysfunction impairment disturbance complaint deficit"
_OPPOSITES = """
    increased decreased, high low, long short, large small, thick thin, wide narrow, upper lower, left right,
    proximal distal, anterior posterior, medial lateral, early delayed, absent supernumerary, hard soft, male female,
    increased low, high decreased, increase loss, stiff lax, one both, unilateral bilateral,
    unilateral both, systolic diastolic
"""
_RESTRICTING = frozenset(
    """
    mild moderate severe profound acute subacute chronic transient persistent recurrent intermittent episodic paroxysmal
    periodic progressive nonprogressive stable deteriorating worsening improving congenital acquired neonatal infantile
    juvenile adult early late primary secondary familial hereditary idiopathic unilateral bilateral asymmetric symmetric
    left right focal multifocal diffuse generalized localized partial complete total isolated upper lower proximal
    distal anterior posterior medial lateral central peripheral mid
    """.split()
)
_UNSAID = frozenset("system tract".split())
_MEASURED = "level concentration circulating blood serum plasma cell"
_OPPOSITE_PREFIXES = (("hyper", "hypo"), ("macro", "micro"), ("brady", "tachy"), ("poly", "oligo"))
PREPOSITIONS = frozenset("of in with on at to for by from due".split())
GRAMMAR = frozenset(
    """
    a an the this that these those it its he she his her him they their them we our us i my you your who whom whose
    which what when where why how and or nor but if then than as so because while although though whereas since until
    unless whether both either neither each every any some no not none all another other others such same
    of in on at by for with without from to into onto upon within through throughout during after before between among
    against about over under above below across along around behind beyond near per via toward towards despite except
    including excluding concerning regarding due
    is are was were be been being am has have had having do does did done doing can could may might must shall should
    will would cannot
    """.split()
)
"""Words of grammar: in a running text they name nothing, though a KB has names that are written alike."""

_EMPTY = GRAMMAR.union(
    """
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

SPANS_VERSION = f"1-{LEXICON_VERSION}"
"""Changes with the word lists; the number is raised when what is kept of a KB's names changes."""

WORD_LISTS = blake2b(
    " ".join([_VAGUE, *sorted(_RESTRICTING), *sorted(_UNSAID), _MEASURED, *sorted(PREPOSITIONS)]).encode(),
    digest_size=4,
).hexdigest()
"""A digest of the lists that say what a word of a name is."""

_ABNORMALITY_OF = re.compile(r"abnormality of (.*)")
_ABNORMAL_MORPHOLOGY = re.compile(r"abnormal (.*) morphology")
Hashes = NDArray[np.uint64]


class Term(NamedTuple):
    """A word that matters, lower-case, and its families; a vague noun has the family of "abnormality"."""

    word: str
    families: tuple[str, ...]


class KnownWords:
    """Which words the names of a KB know, whatever their form, and which of them name a part of the body.

    Parts are the words of names that say no more than that something is abnormal: "Abnormality of the lumbar spine".
    Two arrays of sorted hashes of word families, made once per KB in the cache folder and memory-mapped.

    Args:
        kb: whose names count.

    Raises:
        UsageError: the cache folder cannot be written to.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        def make(path: Path) -> None:
            write(path, [_hashes(kb.names), _hashes(part for key in kb.names if (part := _part(key)))])

        def whole(arrays: Arrays) -> bool:
            return len(arrays) == 2

        self._every, self._parts = cached("spans", f"{kb.fingerprint}.{SPANS_VERSION}.words", make, whole)
        self.carries = lru_cache(maxsize=WORDS_KEPT)(self._carries)
        self.is_part = lru_cache(maxsize=WORDS_KEPT)(self._is_part)

    def _carries(self, word: str) -> bool:
        """Whether a phrase may begin or end with a lower-case word."""
        return not is_empty(word) and self.knows(word)

    def knows(self, word: str) -> bool:
        """Whether a lower-case word is known, by the last part of it."""
        found = families(word)
        return bool(found) and (is_vague(word) or _among(self._every, found[-1]))

    def _is_part(self, word: str) -> bool:
        """Whether a lower-case word names a part of the body, or where it is."""
        found = families(word)
        return bool(found) and not is_vague(word) and all(_among(self._parts, each) for each in found)


def _part(key: str) -> str:
    """What a look-up key calls abnormal and nothing else; empty where it says more, or less."""
    for pattern in (_ABNORMALITY_OF, _ABNORMAL_MORPHOLOGY):
        if match := pattern.fullmatch(key):
            return match.group(1)
    return ""


def _hashes(keys: Iterable[str]) -> Hashes:
    found = {family for key in keys for token in key.split() for family in families(token)}
    return np.sort(np.fromiter(map(token_hash, found), np.uint64, len(found)))


def _among(hashes: Hashes, family: str) -> bool:
    value = np.uint64(token_hash(family))
    place = int(np.searchsorted(hashes, value))
    return place < len(hashes) and bool(hashes[place] == value)


@lru_cache(maxsize=WORDS_KEPT)
def families(word: str) -> tuple[str, ...]:
    """The families of a word's parts; none where it has no letter or digit."""
    return tuple(family(part) for key in token_keys(word) for part in inflect(key))


_VAGUE_FAMILIES = frozenset(part for word in _VAGUE.split() for part in families(word))
_ABNORMALITY = families(ABNORMALITY)
_DIRECTIONS = frozenset(families("increased") + families("decreased"))
_MEASURED_FAMILIES = frozenset(part for word in _MEASURED.split() for part in families(word))
_PAIRS = [pair.split() for pair in _OPPOSITES.split(",")]
_OPPOSITE_FAMILIES = {families(a)[-1:] + families(b)[-1:] for x, y in _PAIRS for a, b in ((x, y), (y, x))}
_OPPOSITES_OF = {one: frozenset(b for a, b in _OPPOSITE_FAMILIES if a == one) for one, _ in _OPPOSITE_FAMILIES}


def denied(said: frozenset[str]) -> frozenset[str]:
    """The families of words that say the opposite of a family that is said, and are not said as well.

    >>> "one" in denied(frozenset({"deafness", "both", "ear"}))
    True
    """
    return frozenset().union(*(_OPPOSITES_OF.get(each, frozenset()) for each in said)) - said


def is_vague(word: str) -> bool:
    """Whether a noun says no more than that something is wrong: "signs", "manifestations"."""
    parts = families(word)
    return bool(parts) and parts[-1] in _VAGUE_FAMILIES


def is_restricting(term: Term) -> bool:
    """Whether a word narrows a finding down, so that no other word stands for it: "late", "severe", "bilateral"."""
    return term.word in _RESTRICTING


def narrowing(key: str) -> list[Term]:
    """The words of a look-up key that narrow a finding down."""
    return terms([word for word in key.split() if word in _RESTRICTING])


def is_unsaid(term: Term) -> bool:
    """Whether names have a word that texts leave out: "abnormality of the urinary system"."""
    return term.word in _UNSAID


def comparable(phrase: Sequence[Term], name: Sequence[Term]) -> tuple[Sequence[Term], Sequence[Term]]:
    """Words of a phrase and of a name to compare: without those of measuring, where both call it as high or as low.

    "Low blood sodium" is "Low blood sodium levels" and "Reduced serum sodium", whereas "blood sodium" is none of them.
    How often each says so counts too: "high density lipoprotein" is not "Increased high-density lipoprotein".
    """
    said = _directions(phrase)
    if not said or said != _directions(name):
        return phrase, name
    left, right = ([term for term in terms if not is_measured(term)] for terms in (phrase, name))
    return (left, right) if _directions(left).total() < len(left) else (phrase, name)


def _directions(terms: Sequence[Term]) -> Counter[str]:
    return Counter(part for term in terms for part in term.families if part in _DIRECTIONS)


def is_direction(term: Term) -> bool:
    """Whether a word calls something high or low."""
    return not _DIRECTIONS.isdisjoint(term.families)


def is_measured(term: Term) -> bool:
    """Whether a word is one of measuring: "level", "serum"."""
    return _MEASURED_FAMILIES.issuperset(term.families)


def eponyms(words: Sequence[str]) -> frozenset[str]:
    """The words of a look-up key that are people's names, by their genitive: "speed" of "speed s test"."""
    return frozenset(word for word, behind in pairwise(words) if behind == "s")


@lru_cache(maxsize=WORDS_KEPT)
def is_narrower(one: str, other: str) -> bool:
    """Whether a lower-case word is another one with something before it that narrows it down.

    >>> is_narrower("midsystolic", "systolic"), is_narrower("systolic", "midsystolic"), is_narrower("heart", "art")
    (True, False, False)
    """
    return len(other) >= _SHORTEST_BASE and len(one) > len(other) and one.endswith(other)


def is_abnormality(term: Term) -> bool:
    """Whether a word says "abnormal" in whatever form, which no other word stands for."""
    return term.families == _ABNORMALITY


def _bare(word: str) -> str:
    """A word without "mid"."""
    return word.removeprefix(_MIDDLE) or word


@lru_cache(maxsize=WORDS_KEPT)
def are_opposites(one: str, other: str) -> bool:
    """Whether two lower-case words say the opposite of each other, however near their vectors are.

    >>> are_opposites("thinning", "thick"), are_opposites("hypertension", "hypotensive"), are_opposites("thin", "slim")
    (True, True, False)
    """
    if families(_bare(one))[-1:] + families(_bare(other))[-1:] in _OPPOSITE_FAMILIES:
        return True
    return any(
        (one.startswith(a) and other.startswith(b)) or (one.startswith(b) and other.startswith(a))
        for a, b in _OPPOSITE_PREFIXES
    )


def terms(words: Sequence[str]) -> list[Term]:
    """The words that matter, of a phrase or of a KB name."""
    return [term for term in map(_term, words) if term]


@lru_cache(maxsize=WORDS_KEPT)
def _term(word: str) -> Term | None:
    parts = families(word)
    if not parts or word in STOP_WORDS or word in PREPOSITIONS:
        return None
    return Term(word, _ABNORMALITY if is_vague(word) else parts)


def is_empty(word: str) -> bool:
    """Whether a lower-case word carries no finding, so that a phrase neither begins nor ends with it."""
    return len(word) < _SHORTEST or word in _EMPTY or word in STOP_WORDS or word.isdigit()
