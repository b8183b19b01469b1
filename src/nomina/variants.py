"""Other ways to write a token: spelling, inflection, numerals, derivation.

Each function takes a token key (``text.tokens``) to the representative of its class, so that two tokens are variants of
each other if and only if their representatives are equal. A wrong representative is harmless by itself ("diabetes" ->
"diabete"): both sides of a comparison go the same way. What must not happen is two concepts falling together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

from nomina import variant_tables as tables
from nomina.text import WORDS_KEPT


def _pairs(table: str) -> dict[str, str]:
    """Representative by variant; none stands for the empty string."""
    return {variant: " ".join(rest) for variant, *rest in (entry.split() for entry in table.split(","))}


_LISTS = [table for name, table in sorted(vars(tables).items()) if name.isupper()]
TABLES = blake2b("\n".join(_LISTS).encode(), digest_size=4).hexdigest()
"""A digest of the word lists: what was made with them is made anew when one changes."""

COORDINATORS = frozenset(("and", "or"))
STOP_WORDS = frozenset(tables.STOP_WORDS.split())
PREFIXES = tuple(tables.PREFIXES.split())

EMPTY_WORDS = frozenset(("morphology",))
"""Words of systematic names ("Abnormal clavicle morphology") that texts leave out; they belong to no family."""

_SPELLING = _pairs(tables.SPELLING)
_AMERICAN = {british.strip("^$"): american for british, american in _SPELLING.items()}
_BRITISH = re.compile("|".join(sorted(_SPELLING, key=lambda form: -len(form.strip("^$")))))
_PLURALS = _pairs(tables.PLURALS)
_NUMERALS = _pairs(tables.NUMERALS)
_ENDINGS = _pairs(tables.ENDINGS)
_LONGEST_ENDING = max(map(len, _ENDINGS))
_UNDERIVED = frozenset(tables.UNDERIVED.split())
_TAIL = max(map(len, (*_ENDINGS, *_UNDERIVED))) + 1
"""Letters at a word's end that say what is stripped next: more than the longest underived word has."""

_ADJECTIVES = frozenset(tables.ADJECTIVES.split())
_ADJECTIVE_ENDINGS = ("al", "ar", "ic", "ous", "ary", "ive", "less", "ed")
_PARTS = re.compile(r"\d+|[^\W\d_]+")

_SHORTEST_PLURAL = 4
_IN_ES = ("sses", "xes", "ches", "shes", "zes", "uses", "ises")
_IN_S = ("aches", "eezes", "auses", "ouses", "uises", "aises")
_SHORTEST_STEM = 4


@lru_cache(maxsize=WORDS_KEPT)
def spelling(token: str) -> str:
    """The American spelling of a token where the table has its British one.

    >>> spelling("haemorrhage"), spelling("anaemic"), spelling("aerobic")
    ('hemorrhage', 'anemic', 'aerobic')
    """
    return _BRITISH.sub(lambda match: _AMERICAN[match.group()], token)


@lru_cache(maxsize=WORDS_KEPT)
def singular(token: str) -> str:
    """The singular of a plural, English or Latin, by table and a few endings.

    >>> singular("opacities"), singular("vertebrae"), singular("biopsies"), singular("stenosis")
    ('opacity', 'vertebra', 'biopsy', 'stenosis')
    """
    if token in _PLURALS:
        return _PLURALS[token]
    if token.endswith("ae") and len(token) > _SHORTEST_PLURAL:
        return token[:-1]
    if token.endswith("omata"):
        return token[:-2]
    if len(token) < _SHORTEST_PLURAL or not token.endswith("s") or token.endswith(("ss", "us", "is")):
        return token
    if token.endswith("ies"):
        return token[:-3] + "y"
    if token.endswith(("oses", "yses")):
        return token[:-2] + "is"
    if token.endswith(_IN_ES) and not token.endswith(_IN_S):
        return token[:-2]
    return token[:-1]


def is_adjective(token: str) -> bool:
    """Whether an inflected token looks like an adjective, so that the noun it belongs to is still to come."""
    return token in _ADJECTIVES or (len(token) > _SHORTEST_STEM and token.endswith(_ADJECTIVE_ENDINGS))


def numeral(token: str) -> str:
    """The arabic form of a small roman numeral."""
    return _NUMERALS.get(token, token)


@lru_cache(maxsize=WORDS_KEPT)
def inflect(token: str) -> tuple[str, ...]:
    """The representative of a token up to spelling, number and numerals; "5fu" falls apart in "5" and "fu"."""
    return tuple(numeral(singular(spelling(part))) for part in _PARTS.findall(token)) or (token,)


@lru_cache(maxsize=WORDS_KEPT)
def stem(token: str) -> str:
    """What an inflected token shares with its relatives in other word classes.

    >>> stem("stenotic") == stem("stenosis"), stem("hypoplastic") == stem("hypoplasia")
    (True, True)
    """
    letters = list(token)
    while ending := _ending(letters):
        letters[-len(ending) :] = _ENDINGS[ending]
    return "".join(letters)


def _ending(letters: list[str]) -> str:
    """The longest ending that derivation strips from a word; "" where there is none, or it would leave too little."""
    tail = "".join(letters[-_TAIL:])
    if tail in _UNDERIVED:
        return ""
    for size in range(min(_LONGEST_ENDING, len(letters)), 0, -1):
        ending = tail[-size:]
        if ending in _ENDINGS and len(letters) - size + len(_ENDINGS[ending]) >= _SHORTEST_STEM:
            return ending
    return ""


_RELATIVES = {word: tuple(group.split()) for group in tables.FAMILIES.split(",") for word in group.split()}
_FAMILIES = {stem(word): stem(group.split()[0]) for group in tables.FAMILIES.split(",") for word in group.split()}


@lru_cache(maxsize=WORDS_KEPT)
def family(token: str) -> str:
    """The family of an inflected token: its stem, organs and their adjectives together, common findings together.

    >>> family("renal") == family("kidney"), family("anomaly") == family("abnormality")
    (True, True)
    """
    root = stem(token)
    return _FAMILIES.get(root, root)


def relatives(word: str) -> tuple[str, ...]:
    """The other words of a lower-case word's family, as the table spells them.

    >>> relatives("kidney"), relatives("stone")
    (('renal',), ())
    """
    return tuple(other for other in _RELATIVES.get(word, ()) if other != word)


Tokens = tuple[str, ...]


def _lay_terms() -> dict[str, list[tuple[Tokens, list[Tokens]]]]:
    """By the first token of a clinical term: its inflected tokens, and those of what others say."""
    found: dict[str, list[tuple[Tokens, list[Tokens]]]] = {}
    for entry in tables.LAY_TERMS.split(","):
        clinical, lay = entry.split(":")
        term = _inflected(clinical)
        found.setdefault(term[0], []).append((term, [_inflected(phrase) for phrase in lay.split(";")]))
    return found


def _inflected(phrase: str) -> Tokens:
    return tuple(part for token in phrase.split() for part in inflect(token))


_LAY_TERMS = _lay_terms()


def lay_forms(inflected: Tokens) -> Iterator[Tokens]:
    """The inflected tokens of a name with a clinical term of it in the words of others.

    >>> list(lay_forms(("severe", "pruritus")))
    [('severe', 'itching'), ('severe', 'itchiness'), ('severe', 'itchy', 'skin')]
    """
    for place, token in enumerate(inflected):
        for term, phrases in _LAY_TERMS.get(token, ()):
            behind = place + len(term)
            if inflected[place:behind] == term:
                yield from (inflected[:place] + phrase + inflected[behind:] for phrase in phrases)
