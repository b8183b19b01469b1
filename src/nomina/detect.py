"""Mentions of KB names in raw text: windows of tokens are hashed, many documents at once, and looked up.

Offsets are those of the original text. A window never crosses the end of a sentence, an item of a list or a blank line;
one whose words may stand in another order (``Rule.ORDER``, ``Rule.DERIVATION``) crosses no other mark either and skips
at most three stop words. What a window's hash suggests, ``Lexicon.lookup`` on the very text confirms.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from nomina.abbreviations import Definition, definitions
from nomina.enumerations import joined, shared_names
from nomina.errors import UsageError
from nomina.lexicon import STEP, Lexicon, Match, forms
from nomina.span_words import GRAMMAR, is_empty
from nomina.text import normalise
from nomina.types import Document, Mention, Span
from nomina.units import END, WORD, Units, Vocabulary, complete, content_follows

Overlaps = Literal["longest", "all"]

_LONGEST_SEQUENCE = 14
_LONGEST_BAG = 8
_MOST_SKIPPED = 3
_SHORTEST = 3
_LONGEST_ACRONYM = 6
_BATCH_CHARACTERS = 200_000
_BATCH_DOCUMENTS = 256
_NESTED = 16  # mentions that begin at or before a place and may still reach over it
_JOINT = re.compile(r"\s+(?:and|or)\s+|\s*/\s*", re.IGNORECASE)
_MARK = re.compile(r"[,()\[\]{}/;:]")

Windows = NDArray[np.int64]
"""Rows of (text, start, end), shape (n, 3)."""


class Found(NamedTuple):
    """A part of a text that names KB rows; two spans where it shares a word in an enumeration."""

    spans: tuple[Span, ...]
    matches: tuple[Match, ...]

    @property
    def start(self) -> int:
        """Offset of the first character."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.spans[-1][1]


class Detector:
    """Finds the mentions of a lexicon's names.

    Args:
        lexicon: the names.
        overlaps: ``longest`` keeps the longest of overlapping mentions; ``all`` keeps those inside a longer one too
        where
            the longer one implies them (their concept is an ``is_a`` ancestor of its concept, or the KB says nothing of
            its ancestors): "colitis" in "ulcerative colitis", but not "retinitis" in "retinitis pigmentosa".
        rows: which rows may be found, one value a row; all where it is None.
        abbreviations: whether short forms that a text defines are found wherever they stand in it.

    Raises:
        UsageError: another value of ``overlaps``.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        overlaps: Overlaps = "longest",
        rows: NDArray[np.bool_] | None = None,
        abbreviations: bool = True,
    ) -> None:
        if overlaps not in get_args(Overlaps):
            raise UsageError(f"overlaps must be one of {', '.join(get_args(Overlaps))}, not {overlaps!r}")
        self.lexicon, self.overlaps, self.rows, self.abbreviations = lexicon, overlaps, rows, abbreviations
        self._vocabulary = Vocabulary()
        self._matches = lru_cache(maxsize=1 << 12)(self._named)
        self._parents = lru_cache(maxsize=1 << 16)(lexicon.kb.parents)
        self._ancestors = lru_cache(maxsize=1 << 16)(self._read_ancestors)

    def __reduce__(self) -> tuple[Any, ...]:
        return Detector, (self.lexicon, self.overlaps, self.rows, self.abbreviations)

    def mentions(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents with the mentions found in them, in order of their start, in place of any they had."""
        stream = iter(documents)
        while batch := by_size(stream):
            for document, found in zip(batch, self.find([d.text for d in batch]), strict=True):
                mentions = tuple(Mention(f.spans, joined(document.text, f.spans)) for f in found)
                yield replace(document, mentions=mentions)

    def find(self, texts: Sequence[str]) -> list[list[Found]]:
        """What is named in each text, in order of start, longer first."""
        units = self._vocabulary.cut(texts)
        found: list[list[Found]] = [[] for _ in texts]
        for index, start, end in self._spans(units):
            if matches := self._matches(texts[index][start:end]):
                found[index].append(Found(((start, end),), matches))
        found = [_split(text, f) for text, f in zip(texts, found, strict=True)]
        kept = [_longest(f) if self.overlaps == "longest" else self._implied(f) for f in found]
        self._share(units, texts, kept)
        for index, text in enumerate(texts):
            if self.abbreviations and (defined := definitions(text)):
                kept[index] = self._abbreviated(text, kept[index], defined)
        return [sorted(f, key=lambda item: (item.start, -item.end)) for f in kept]

    def _spans(self, units: Units) -> list[list[int]]:
        """Distinct windows (text, start, end) of both kinds."""
        none = np.empty((0, 3), np.int64)
        spans: list[list[int]] = np.unique(
            np.concatenate([none, *self._sequences(units), *self._bags(units)]), axis=0
        ).tolist()
        return spans

    def _share(self, units: Units, texts: Sequence[str], kept: list[list[Found]]) -> None:
        """Add the discontinuous names of enumerations whose contiguous partner stayed."""
        before: dict[int, list[Span]] = {}
        for name in shared_names(units, texts, self.lexicon):
            if name.text not in before:
                before[name.text] = sorted(f.spans[0] for f in kept[name.text])
            outer = before[name.text]
            matches = self._matches(joined(texts[name.text], name.spans))
            if matches and name.partner in outer and not _inside(name.listed, outer):
                kept[name.text].append(Found(name.spans, matches))

    def _abbreviated(self, text: str, found: list[Found], defined: Sequence[Definition]) -> list[Found]:
        """With the short forms that the text defines as a KB name, without those that it defines as another thing.

        Where the KB has only the short form, its long form is found too.
        """
        longs = {d.short: d.long for d in reversed(defined) if d.short not in GRAMMAR}
        places = {place: short for short in sorted(longs, key=len) for place in _whole_words(text, short)}
        found = [f for f in found if f.spans[0] not in places or self._fits(f.matches, longs[places[f.spans[0]]])]
        wanted = [(place, self._matches(longs[short])) for place, short in reversed(places.items())]
        for definition in defined:
            matches = self._matches(definition.short)
            if matches and self._fits(matches, definition.long):
                wanted.append((definition.long_span, matches))
        taken = np.zeros(len(text), np.bool_)
        for start, end in (span for f in found for span in f.spans):
            taken[start:end] = True
        for place, matches in wanted:
            if matches and not taken[slice(*place)].any():
                found.append(Found((place,), matches))
                taken[slice(*place)] = True
        return found

    def _fits(self, short: Sequence[Match], long: str) -> bool:
        """Whether a short form's own reading may be what its long form says.

        It may where half of the words are in a name of that concept, or where the concept has short names only.
        """
        words = set(forms(normalise(long)).families)
        kb = self.lexicon.kb
        for owner in kb.owners_of(short[0].row):
            names = [name.text for name in kb[owner.entity_id].names]
            known = [set(forms(normalise(name)).families) for name in names]
            if not any(" " in name for name in names) or any(2 * len(words & name) >= len(words) for name in known):
                return True
        return False

    def _named(self, text: str) -> tuple[Match, ...]:
        return tuple(match for match in self.lexicon.lookup(text) if self._admissible(text, match))

    def _admissible(self, text: str, match: Match) -> bool:
        """Whether a name may be detected in running text: an acronym only as it is written, no word of grammar.

        A name of two characters must be two capital letters; "S3" and "of" are no mentions. Nor is "was" where a
        KB has the name "WAS" in small letters.
        """
        if self.rows is not None and not self.rows[match.row]:
            return False
        surface = self.lexicon.kb.surface(match.row)
        if len(text) < _SHORTEST:
            return len(text) == _SHORTEST - 1 and text == surface and text.isalpha() and text.isupper()
        if not set(_MARK.findall(text)) <= set(_MARK.findall(surface)):
            return False
        as_written = text.removesuffix("s") == surface.removesuffix("s")
        if _is_common(text, surface):
            return _has_capitals(text) and (as_written or surface.islower())
        return as_written or len(surface) > _LONGEST_ACRONYM or not surface.isupper()

    def _sequences(self, units: Units) -> Iterator[Windows]:
        """Windows of adjacent words whose sequence is in the table.

        One across a mark ends a phrase: "hypotonia, neonatal" is none where "seizures" follow.
        """
        words = np.flatnonzero(units.kind == WORD)
        segment = np.cumsum(units.kind == END)[words]
        opens, closes = _edges(units, words)
        pause = np.cumsum(units.kind != WORD)[words]
        apart = ~content_follows(units, words)
        rolling = np.zeros(len(words) + 1, np.uint64)
        for n in range(1, min(_LONGEST_SEQUENCE, len(words)) + 1):
            rolling = rolling[:-1] * np.uint64(STEP) + units.sequence[words[n - 1 :]]
            last = len(words) - n + 1
            unbroken = (pause[:last] == pause[n - 1 :]) | apart[n - 1 :]
            fits = np.flatnonzero((segment[:last] == segment[n - 1 :]) & unbroken & opens[:last] & closes[n - 1 :])
            hits = fits[self.lexicon.table.suspects(rolling[fits])]
            yield _windows(units, words[hits], words[hits + n - 1])

    def _bags(self, units: Units) -> Iterator[Windows]:
        """Windows whose words that matter are in the table as a bag."""
        words = np.flatnonzero((units.kind == WORD) & ~units.stop)
        segment = np.cumsum(units.kind != WORD)[words]
        opens, closes = _edges(units, words)
        whole = complete(units, words)
        rolling = units.bag[words]
        for n in range(2, min(_LONGEST_BAG, len(words)) + 1):
            rolling = rolling[:-1] + units.bag[words[n - 1 :]]
            last = len(words) - n + 1
            near = (words[n - 1 :] - words[:last] < n + _MOST_SKIPPED) & whole[n - 1 :]
            fits = np.flatnonzero((segment[:last] == segment[n - 1 :]) & near & opens[:last] & closes[n - 1 :])
            hits = fits[self.lexicon.table.suspects(rolling[fits])]
            yield _windows(units, words[hits], words[hits + n - 1])

    def _implied(self, found: list[Found]) -> list[Found]:
        """Those that lie in no longer one, or whose concept an enclosing one implies."""
        kept: list[Found] = []
        around: list[Found] = []
        for inner in sorted(found, key=lambda f: (f.start, -f.end)):
            around = [outer for outer in around if outer.end > inner.start]
            outers = [outer for outer in around if outer.end >= inner.end]
            if not outers or any(self._implies(outer, inner) for outer in outers):
                kept.append(inner)
            around.append(inner)
        return kept

    def _implies(self, outer: Found, inner: Found) -> bool:
        specific = self.lexicon.kb.owners(outer.matches[0].row)[0]
        above = self._ancestors(specific)
        general = self.lexicon.kb.owners(inner.matches[0].row)
        return specific not in general and (not above or any(concept in above for concept in general))

    def _read_ancestors(self, concept: str) -> frozenset[str]:
        above: set[str] = set()
        todo = [concept]
        while todo:
            new = set(self._parents(todo.pop())) - above
            above |= new
            todo.extend(new)
        return frozenset(above)


def by_size(stream: Iterator[Document], times: int = 1) -> list[Document]:
    """The next documents, together a good load for numpy and no more: some 200,000 characters, 256 documents.

    Args:
        stream: where they come from.
        times: as much as that, for a linker that ranks many mentions together.
    """
    batch: list[Document] = []
    size = 0
    for document in stream:
        batch.append(document)
        size += len(document.text)
        if size >= times * _BATCH_CHARACTERS or len(batch) == times * _BATCH_DOCUMENTS:
            break
    return batch


def _inside(span: Span, ordered: Sequence[Span]) -> bool:
    """Whether a span lies in one of others, which are sorted: what is part of a name is no part of an enumeration."""
    place = bisect_left(ordered, (span[0] + 1, 0))
    return any(start <= span[0] and span[1] <= end for start, end in ordered[max(0, place - _NESTED) : place])


def _is_common(text: str, surface: str) -> bool:
    """Whether a word is one of grammar or, where the name is written with capitals, of reports: "child" of "chILD"."""
    word = text.lower()
    return word in GRAMMAR or (_has_capitals(surface) and is_empty(word))


def _has_capitals(word: str) -> bool:
    """Whether a word has capitals behind its first letter."""
    return word[1:] != word[1:].lower()


def _whole_words(text: str, word: str) -> Iterator[Span]:
    """Where a string stands in a text with no letter or digit next to it."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            yield start, end
        start = text.find(word, end)


def _edges(units: Units, words: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which words open and which close a token: a window may not cut "5fu" or "AT1" in two."""
    glued = np.zeros(len(units.kind) + 1, np.bool_)
    both_words = (units.kind[1:] == WORD) & (units.kind[:-1] == WORD)
    glued[1:-1] = both_words & (units.start[1:] <= units.end[:-1])
    return ~glued[words], ~glued[words + 1]


def _windows(units: Units, first: NDArray[np.intp], last: NDArray[np.intp]) -> Windows:
    return np.stack([units.text[first], units.start[first], units.end[last]], axis=1)


def _split(text: str, found: list[Found]) -> list[Found]:
    """Without the names that join two others found there: "nausea and vomiting" is nausea, and vomiting."""
    spans = {f.spans[0] for f in found}

    def joins_two(whole: Found) -> bool:
        joints = _JOINT.finditer(text, whole.start, whole.end)
        return any({(whole.start, j.start()), (j.end(), whole.end)} <= spans for j in joints)

    return [f for f in found if not joins_two(f)]


def _longest(found: list[Found]) -> list[Found]:
    """Those that overlap no longer one; of two equally long ones the first stays."""
    kept: list[Found] = []
    for candidate in sorted(found, key=lambda f: (f.start - f.end, f.start)):
        place = bisect_left(kept, candidate.start, key=lambda f: f.start)
        before = place == 0 or kept[place - 1].end <= candidate.start
        if before and (place == len(kept) or candidate.end <= kept[place].start):
            kept.insert(place, candidate)
    return kept
