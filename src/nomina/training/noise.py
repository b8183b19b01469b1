"""Other ways to write a name, made up: what an encoder has to see through. Pure functions of a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from nomina.training.noise_tables import BRITISH, QUALIFIERS
from nomina.variants import is_adjective, relatives, singular

_WORD = re.compile(r"[^\W_]+")
_COMMA = re.compile(r"^([^,]+), ([^,]+)$")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST_TYPO = 5
_AMERICAN = re.compile("|".join(BRITISH))
_VERBS = ("is", "are", "was", "were", "appear", "that are")
_SMALL_WORDS = frozenset("of the and with in to a an due by for on".split())


def typo(name: str, rng: random.Random) -> str:
    """One letter of a longer word dropped, doubled, swapped with the next or replaced."""
    words = [match.span() for match in _WORD.finditer(name) if len(match.group()) >= _SHORTEST_TYPO]
    if not words:
        return name
    start, end = rng.choice(words)
    i = rng.randrange(start + 1, end - 1)
    here, following = name[i], name[i + 1]
    changed = rng.choice((following + here, following, here + here + following, rng.choice(_LETTERS) + following))
    return name[:i] + changed + name[i + 2 :]


def plural(name: str, rng: random.Random) -> str:
    """The last word in the other number."""
    del rng
    words = list(_WORD.finditer(name))
    if not words or words[-1].end() != len(name) or not words[-1].group().isalpha():
        return name
    word = words[-1].group()
    one = singular(word.lower())
    if one != word.lower():
        other = one
    elif word.endswith("sis"):
        other = word[:-2] + "es"
    elif word.endswith("y") and word[-2:-1] not in "aeiou":
        other = word[:-1] + "ies"
    else:
        other = word + "s"
    return name[: words[-1].start()] + other


def order(name: str, rng: random.Random) -> str:
    """An inverted name set right ("Breast Cancer, Familial"), else one word moved, at times behind a comma."""
    inverted = _COMMA.match(name)
    if inverted:
        return f"{inverted[2]} {inverted[1]}"
    words = name.split()
    if len(words) < 2 or len(words) > 6:
        return name
    moved = words.pop(rng.randrange(len(words)))
    if rng.random() < 0.5:
        return " ".join(words) + ", " + moved
    words.insert(rng.randrange(len(words) + 1), moved)
    return " ".join(words)


def abbreviation(name: str, rng: random.Random) -> str:
    """The initials of a name of three to six words, or of all of its words but the last."""
    words = [word for word in _WORD.findall(name) if word.lower() not in _SMALL_WORDS]
    if not 3 <= len(words) <= 6 or not all(word[0].isalpha() for word in words):
        return name
    initials = "".join(word[0] for word in words)
    return initials.upper() if rng.random() < 0.3 else f"{initials[:-1].upper()} {words[-1]}"


def punctuation(name: str, rng: random.Random) -> str:
    """Every mark a space, as corpora and mentions are often prepared."""
    del rng
    return " ".join(_WORD.findall(name)) or name


def fewer_words(name: str, rng: random.Random) -> str:
    """Small words gone, or one word of a longer name dropped."""
    words = name.split()
    rest = [word for word in words if word.lower() not in _SMALL_WORDS]
    if len(rest) == len(words) and len(words) >= 4:
        del rest[rng.randrange(len(rest))]
    return " ".join(rest) or name


def british(name: str, rng: random.Random) -> str:
    """American spellings as they are written elsewhere ("hemorrhage": "haemorrhage")."""
    del rng
    return _AMERICAN.sub(lambda match: BRITISH[match.group()], name)


def relative(name: str, rng: random.Random) -> str:
    """One word replaced by another of its family ("kidney stones": "renal stones")."""
    found = [(match.span(), others) for match in _WORD.finditer(name) if (others := relatives(match.group().lower()))]
    if not found:
        return name
    (start, end), others = rng.choice(found)
    return name[:start] + rng.choice(others) + name[end:]


def qualified(name: str, rng: random.Random) -> str:
    """A word or two beside the name that say little ("marked ...", "history of ...", "... in childhood")."""
    before, after = QUALIFIERS
    if rng.random() < len(after) / (len(before) + len(after)):
        return f"{name} {rng.choice(after)}"
    return f"{rng.choice(before)} {name}"


def predicate(name: str, rng: random.Random) -> str:
    """The adjective of a short name behind its noun, as sentences have it ("short fingers": "fingers are short")."""
    first, _, rest = name.partition(" ")
    if not rest or len(rest.split()) > 3 or not is_adjective(first.lower()):
        return name
    return f"{rest} {rng.choice(_VERBS)} {first}" if rng.random() < 0.7 else f"{rest} {first}"


NOISE: dict[str, Callable[[str, random.Random], str]] = {
    "typo": typo,
    "plural": plural,
    "order": order,
    "abbreviation": abbreviation,
    "punctuation": punctuation,
    "fewer_words": fewer_words,
    "british": british,
    "relative": relative,
    "qualified": qualified,
    "predicate": predicate,
}


def noisy(name: str, rng: random.Random, weights: dict[str, float]) -> str:
    """A name after one kind of noise, its marks dropped half of the time; the name itself where nothing applies."""
    kind = rng.choices(list(weights), list(weights.values()))[0]
    changed = NOISE[kind](name, rng)
    return punctuation(changed, rng) if rng.random() < 0.5 else changed
