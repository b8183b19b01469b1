"""The one normaliser of KB names and mentions, and the tokens it is made of. Pure functions.

``normalise`` is defined through ``tokens``: a look-up key is the token keys joined by one space. So a key never loses
its place: every token knows the offsets in the *original* text, whatever the steps did to it.

The steps, in order (their version is part of a KB's fingerprint):

1. ``cut``      runs of letters, digits and combining marks are tokens; all else (punctuation, every kind of dash and
                quote, the marks ™ ® ©) is a boundary. Soft hyphens and zero-width characters vanish inside a token.
2. ``compose``  Unicode NFKC, then case folding ("ﬁ" -> "fi", "²" -> "2", "1½" -> "1 1 2", "ß" -> "ss").
3. ``fold``     accents go, for look-up only ("Schönberg" -> "schonberg", "ø" -> "o"); raw names are kept beside.
4. ``greek``    Greek letters (γ, ɣ, the mathematical ones) are spelt out as tokens of their own: "IFNγ" -> "ifn gamma".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

NORMALISER_VERSION = "1"

WORDS_KEPT = 1 << 14
"""Words that each cache of what is known of words holds: enough for the common ones, and full soon, so that memory does
not go on growing with the texts that are read."""

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron", "π": "pi", "ρ": "rho",
    "σ": "sigma", "ς": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
}  # fmt: skip
"""Greek letters as spelt out in look-up keys."""

_LOOKALIKES = str.maketrans({"ɑ": "α", "ꞵ": "β", "ɣ": "γ", "ẟ": "δ", "ɛ": "ε", "ꭓ": "χ"})
_INVISIBLE = dict.fromkeys([*map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), *range(0xD800, 0xE000)])
_TOKEN = re.compile(r"[^\W_]+(?:[\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff]+[^\W_]*)*")
_ASCII_TOKEN = re.compile("[a-z0-9]+")
_ASCII_MARKS = "".join(character for character in map(chr, range(128)) if not character.isalnum())
_FRACTION = re.compile("[¼-¾⅐-⅞]")
_GREEK_RUN = re.compile(r"[α-ω]+")
_WORD = re.compile(r"[^\W_]+")
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"})
_LONGEST_GREEK_FORMULA = 3  # "αβγ" is a formula; a longer run is a word of the Greek language and stays


class Token(NamedTuple):
    """A token: offsets in the original text and its look-up key (no spaces in it)."""

    start: int
    end: int
    key: str


def compose(raw: str) -> str:
    """Unicode NFKC and case folding; fractions apart from the number before them.

    Invisible characters are removed, and halves of surrogate pairs, which no name of a KB can hold.
    """
    return unicodedata.normalize("NFKC", _FRACTION.sub(r" \g<0>", raw.translate(_INVISIBLE))).casefold()


def greek(text: str) -> str:
    """Short runs of Greek letters spelt out, each with a space around it; look-alikes count as Greek."""
    return _GREEK_RUN.sub(_spell_out, text.translate(_LOOKALIKES))


def _spell_out(run: re.Match[str]) -> str:
    letters = run.group()
    if len(letters) > _LONGEST_GREEK_FORMULA:
        return letters
    return "".join(f" {GREEK[c]} " if c in GREEK else c for c in letters)


def fold(text: str) -> str:
    """Accents and strokes removed: letters as an English keyboard types them."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", plain.translate(_STROKES))


@lru_cache(maxsize=WORDS_KEPT)
def token_keys(raw: str) -> tuple[str, ...]:
    """The keys of one raw token: mostly one; several where a step splits it ("β2" -> "beta", "2"); at times none."""
    if raw.isascii():
        return (raw.lower(),)
    return tuple(_WORD.findall(greek(fold(compose(raw)))))


def tokens(text: str) -> list[Token]:
    """The tokens of a text in order. Several tokens share their offsets where one raw token has several keys."""
    found = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        for key in token_keys(match.group()):
            found.append(Token(start, end, key))
    return found


def normalise(text: str) -> str:
    """The look-up key of a name or a mention.

    A text without a letter or a digit ("+") keeps its characters, composed and with single spaces, so that two
    different symbols stay two keys.

    >>> normalise("Löfgren’s  Syndrome"), normalise("interferon-γ"), normalise("ibuprofen™")
    ('lofgren s syndrome', 'interferon gamma', 'ibuprofen')
    """
    # No step but case folding does anything to ASCII, of which most names are: several times as fast.
    if text.isascii():
        keys = _ASCII_TOKEN.findall(text.lower())
    else:
        keys = [key for raw in _TOKEN.findall(text) for key in token_keys(raw)]
    return " ".join(keys) if keys else " ".join(compose(text).split())


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The offsets without spaces and punctuation at the edges; ``(start, start)`` where nothing else is there."""
    part = text[start:end]
    if part.isascii():
        right = part.rstrip(_ASCII_MARKS)
        left = right.lstrip(_ASCII_MARKS)
        return (start + len(right) - len(left), start + len(right)) if left else (start, start)
    bounds = [match.span() for match in _TOKEN.finditer(text, start, end)]
    return (bounds[0][0], bounds[-1][1]) if bounds else (start, start)
