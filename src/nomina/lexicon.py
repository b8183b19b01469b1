"""KB names and their variants as one sorted table of hashes, for detection and look-up alike.

Every KB name goes in twice: as the *sequence* of its inflected tokens ("ground glass opacity") and, where it has at
least two words that matter, as the *bag* of their families ("delay meconium passag"), whose order and stop words are
free. A hit in the table is a suspicion; ``Lexicon.lookup`` compares the forms themselves, says which rule holds, and
has the last word.

The table is three flat arrays (sorted hashes, their rows, a bit filter), made once per KB fingerprint in the cache
folder and memory-mapped by every process that opens it: 12 bytes an entry and 2 bytes for the filter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina.arrays import Arrays, cached, write
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Rule
from nomina.text import WORDS_KEPT, normalise
from nomina.variants import EMPTY_WORDS, PREFIXES, STOP_WORDS, TABLES, family, inflect, lay_forms, spelling

LEXICON_VERSION = f"2-{TABLES}"
"""Changes with the word lists; the number is raised when the rules over them or the form of the table change."""

_MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
_BAG = 0xD1B54A32D192ED03
_CHUNK = 1 << 18
FEWEST_BAG_WORDS = 2
"""Names of fewer words that matter are found by sequence only."""

_TRUST = {
    Rule.NORMALISED: 1.0,
    Rule.SPELLING: 0.98,
    Rule.INFLECTION: 0.95,
    Rule.ORDER: 0.9,
    Rule.DERIVATION: 0.85,
    Rule.LAY_TERM: 0.7,
}
_DERIVATION_RANGE = 0.15
_FILTER_BITS_AN_ENTRY = 16

_PREFIX = re.compile(rf"\b({'|'.join(PREFIXES)}) (?=[^\W\d_])")

_BEGINNINGS = frozenset(PREFIXES)
_ABSENCE = re.compile(r"\babsence (?!of\b)")  # "absence seizure" is a seizure, "absence of seizures" is none

Hashes = NDArray[np.uint64]


class Forms(NamedTuple):
    """What a look-up key is compared by, from the strictest to the loosest."""

    key: str
    spelt: str
    inflected: tuple[str, ...]
    words: tuple[str, ...]
    families: tuple[str, ...]
    apart: tuple[str, ...]


def forms(key: str) -> Forms:
    """The forms of a look-up key.

    ``words`` and ``families`` are sorted and without stop words. Beginnings that stand apart ("non small") are joined
    in all forms but ``apart``, the inflected tokens as the key has them.
    """
    tokens = key.split()
    if not _BEGINNINGS.isdisjoint(tokens):
        tokens = _PREFIX.sub(r"\1", key).split()
    inflected = tuple(part for token in tokens for part in inflect(token))
    apart = inflected
    if len(tokens) <= key.count(" "):
        apart = tuple(part for token in key.split() for part in inflect(token))
    words = tuple(sorted(token for token in inflected if token not in STOP_WORDS))
    return Forms(key, " ".join(map(spelling, tokens)), inflected, words, _families(words), apart)


def _families(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(family(word) for word in tokens if word not in STOP_WORDS and word not in EMPTY_WORDS))


def rule_between(mention: Forms, name: Forms) -> Rule | None:
    """The most trusted rule under which two keys are variants of each other; None where they are not."""
    if mention.key == name.key:
        return Rule.NORMALISED
    if mention.spelt == name.spelt:
        return Rule.SPELLING
    if mention.inflected == name.inflected:
        return Rule.INFLECTION
    if len(mention.families) >= FEWEST_BAG_WORDS and (_ABSENCE.search(mention.key) or not _ABSENCE.search(name.key)):
        if mention.words == name.words:
            return Rule.ORDER
        if mention.families == name.families:
            return Rule.DERIVATION
    return Rule.LAY_TERM if _is_lay(mention, name) else None


def _is_lay(mention: Forms, name: Forms) -> bool:
    """Whether the mention says a clinical term of the name in lay words, in any order where they are several."""
    ordered = len(mention.families) < FEWEST_BAG_WORDS
    return any(
        mention.inflected == lay or (not ordered and mention.families == _families(lay))
        for lay in lay_forms(name.inflected)
    )


def _trust(rule: Rule, mention: Forms, name: Forms) -> float:
    """The rule's trust; among derivations, less the more words differ."""
    if rule is not Rule.DERIVATION:
        return _TRUST[rule]
    same = len(set(mention.words) & set(name.words)) / max(len(mention.words), len(name.words))
    return _TRUST[rule] - _DERIVATION_RANGE * (1 - same)


@lru_cache(maxsize=WORDS_KEPT)
def token_hash(token: str) -> int:
    """64 bits of a token, the same on every machine."""
    return int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")


def sequence_hash(tokens: Iterable[str]) -> int:
    """Hash of tokens in order: h -> h * STEP + token, modulo 2**64 (so that windows can be hashed in numpy)."""
    value = 0
    for token in tokens:
        value = (value * STEP + token_hash(token)) & _MASK
    return value


def bag_hash(families: Iterable[str]) -> int:
    """Hash of families whatever their order: the sum of their mixed hashes, modulo 2**64."""
    return sum(mixed_hash(family) for family in families) & _MASK


def mixed_hash(family: str) -> int:
    """The summand of ``bag_hash``."""
    return (token_hash(family) ^ _BAG) * STEP & _MASK


class Match(NamedTuple):
    """A KB row that a text names, the rule under which it does, and how far that is to be trusted (0 to 1)."""

    row: int
    rule: Rule
    score: float


class Table(NamedTuple):
    """Sorted hashes (uint64), the row behind each (uint32), and a bit array (uint8) of the hashes' leading bits."""

    hashes: Hashes
    rows: NDArray[np.uint32]
    bits: NDArray[np.uint8]

    @classmethod
    def of(cls, keys: Iterable[str]) -> Table:
        """The table of look-up keys, read as a stream; their numbers are their rows.

        It takes 12 bytes an entry, and three times that while it is sorted.
        """
        parts, owners = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
        row = 0
        stream = iter(keys)
        while chunk := list(islice(stream, _CHUNK)):
            entries = [(value, row + i) for i, key in enumerate(chunk) for value in _name_entries(forms(key))]
            block = np.array(entries, np.uint64).reshape(-1, 2)
            parts.append(block[:, 0].copy())
            owners.append(block[:, 1].astype(np.uint32))
            row += len(chunk)
        hashes, rows = np.concatenate(parts), np.concatenate(owners)
        parts.clear()
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], rows[order], _bits_of(hashes))

    def suspects(self, hashes: Hashes) -> NDArray[np.intp]:
        """Places in ``hashes`` whose value is in the table."""
        shift = np.uint64(64 - (len(self.bits) * 8).bit_length() + 1)
        lead = hashes >> shift
        passed = np.flatnonzero(self.bits[lead >> np.uint64(3)] >> (7 - (lead & np.uint64(7))).astype(np.uint8) & 1)
        at = np.searchsorted(self.hashes, hashes[passed])
        at[at == len(self.hashes)] = 0
        found: NDArray[np.intp] = passed[self.hashes[at] == hashes[passed]]
        return found

    def rows_of(self, value: int) -> list[int]:
        """The rows stored under one hash, ascending."""
        wanted = np.uint64(value)
        first = int(self.hashes.searchsorted(wanted))
        last = first
        while last < len(self.hashes) and self.hashes[last] == wanted:
            last += 1
        rows: list[int] = self.rows[first:last].tolist()
        return rows


def _entries(form: Forms) -> list[int]:
    found = [sequence_hash(form.inflected)]
    if form.apart != form.inflected:
        found.append(sequence_hash(form.apart))
    if len(form.families) >= FEWEST_BAG_WORDS:
        found.append(bag_hash(form.families))
    return found


def _name_entries(form: Forms) -> list[int]:
    found = _entries(form)
    for lay in lay_forms(form.inflected):
        found.append(sequence_hash(lay))
        families = _families(lay)
        if len(families) >= FEWEST_BAG_WORDS:
            found.append(bag_hash(families))
    return found


def _bits_of(hashes: Hashes) -> NDArray[np.uint8]:
    size = 1 << max(10, (_FILTER_BITS_AN_ENTRY * len(hashes) - 1).bit_length())
    marked = np.zeros(size, np.bool_)
    marked[hashes >> np.uint64(64 - size.bit_length() + 1)] = True
    return np.packbits(marked)


class Lexicon:
    """The variants of a KB's names."""

    def __init__(self, kb: KnowledgeBase, table: Table) -> None:
        self.kb, self.table = kb, table
        self._found = lru_cache(maxsize=1 << 14)(self._find)

    @classmethod
    def open(cls, kb: KnowledgeBase) -> Lexicon:
        """The lexicon of a KB, its table made on first use and memory-mapped from then on.

        Raises:
            UsageError: the cache folder cannot be written to.
        """

        def make(path: Path) -> None:
            write(path, Table.of(kb.names))

        def whole(arrays: Arrays) -> bool:
            return len(arrays) == len(Table._fields) and len(arrays[0]) == len(arrays[1]) >= len(kb.names)

        return cls(kb, Table(*cached("lexicon", f"{kb.fingerprint}.{LEXICON_VERSION}.table", make, whole)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Lexicon.open, (self.kb,)

    def lookup(self, text: str) -> tuple[Match, ...]:
        """The KB names that ``text`` is a variant of, most trusted first, then by row."""
        return self._found(text)

    def _find(self, text: str) -> tuple[Match, ...]:
        mention = forms(normalise(text))
        found = []
        for row in {row for value in _entries(mention) for row in self.table.rows_of(value)} - self.kb.ownerless:
            key = self.kb.names[row]
            # Most mentions have the very key of a name: then there is no need of its forms.
            name = mention if key == mention.key else forms(key)
            rule = rule_between(mention, name)
            if rule is not None:
                found.append(Match(row, rule, _trust(rule, mention, name)))
        return tuple(sorted(found, key=lambda match: (-match.score, match.row)))
