"""Definitions of abbreviations in a text: ``long (SHORT)``, ``SHORT (long)``, ``(long, SHORT)``.

After Schwartz and Hearst (2003), "A simple algorithm for identifying abbreviation definitions in biomedical text": a
short form in brackets is aligned, right to left, with the words before it. Their greedy alignment takes the first
letters that fit; here every alignment within one sentence has a cost, and the cheapest wins if it is cheap enough. A
letter of the short form at the start of a word is free; letters inside a word, words left out and digits left over
cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from nomina.sentences import starts
from nomina.text import token_keys
from nomina.types import Span

_IN_PREFIX = 0.15  # a further letter of the short form that goes on with the word's beginning ("Fru" in "fructose")
_INSIDE = 0.5  # a further letter found later in a word whose first letter is used ("P" and "D" in "propanediol")
_INSIDE_ONLY = 1.0  # a letter inside a word whose first letter is not used
_LEFT_OUT = 1.0  # a word without a letter in the short form
_LEFT_OUT_SMALL = 0.3  # the same for numbers and single letters: "1,2-" of a chemical name
_LEFT_OUT_STOP = 0.1
_DIGIT = 0.8  # a digit of the short form without a partner ("3" of "T3")
_SHORTENED_PLURAL = 0.05
_NEVER = float("inf")
_EXACT = 0.25  # the limit where nothing but stop words may be left out

_MOST_LETTERS = 14
_LONGEST_SHORT = 25
_LONGEST_LOWER_CASE = 5  # a longer lower-case word in brackets is a word
_LONGEST_LONG = 250
_STRIDE = 32  # most windows are given up within so many characters of the bracket
_REACH = 40  # how far before a bracket a long form may begin: so many characters,
_REACH_PER_LETTER = 22  # and so many for each letter of the short form

_STOP_WORDS = frozenset("a an the of and or in on for to by with from at as is s via vs per its".split())
_NEVER_FIRST = frozenset("a an the of and or".split())
_NOT_SHORT = frozenset("i.e. e.g. ie eg see ii iii and or vs the fig figs no yes not".split())
_NUMBER_WORDS = {
    "1": ("one", "mono", "first", "uni", "single"),
    "2": ("two", "di", "bi", "second", "double"),
    "3": ("three", "tri", "third"),
    "4": ("four", "tetra", "quad", "fourth"),
    "5": ("five", "penta", "fifth"),
    "6": ("six", "hexa", "sixth"),
}

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_HARD_STOP = re.compile(r"[;:]\s|--")
_MAY_STOP = re.compile(r"[.!?;:\n-]")
_PART = re.compile(r"[,;:]\s+|;|\s=\s*|=")
_LEAD_IN = re.compile(r"(?:(?:also|hereafter|abbreviated|known|called|termed|designated|as|or|i\.e\.,?|the)\s+)+")
_SHORT = re.compile(r"(?=.*[^\W\d_])[^\W_][^\s;,=<>%]*(?: [^\s;,=<>%]+){0,2}")
_MEASURE = re.compile(r"\d[\d.]*(?:[ -]\d| )")
_WORD_BEFORE = re.compile(r"(?<!\S)\S+\s$")
_EDGES = " \t\r\n\"'“”‘’,"


class Definition(NamedTuple):
    """A short form and what it stands for; spans are offsets in the text, which holds exactly these strings there."""

    short: str
    long: str
    short_span: Span
    long_span: Span


class _Short(NamedTuple):
    """A possible short form; ``letters`` as they are compared."""

    span: Span
    written: str
    letters: str


@lru_cache(maxsize=512)  # detection and look-up ask for the same text, one after the other
def definitions(text: str) -> tuple[Definition, ...]:
    """Every definition in the text, in the order of the short forms; a short form defined twice is there twice.

    Time is linear in the length of the text, whatever its brackets look like.

    >>> [d[:2] for d in definitions("Acute kidney injury (AKI) and CKD (chronic kidney disease) were seen.")]
    [('AKI', 'Acute kidney injury'), ('CKD', 'chronic kidney disease')]
    """
    if "(" not in text and "[" not in text:
        return ()
    found = []
    for opening, closing, floor in _brackets(text):
        if 1 < closing - opening <= _LONGEST_LONG:
            definition = _define(text, opening, closing, floor)
            if definition is not None:
                found.append(definition)
    return tuple(sorted(found, key=lambda definition: definition.short_span))


def expander(text: str) -> Callable[[str], str]:
    """What puts long forms in place of the short forms that a text defines; of two definitions the first counts."""
    long: dict[str, str] = {}
    for definition in definitions(text):
        long.setdefault(definition.short, definition.long)
    return expanding(long)


def expanding(long: Mapping[str, str]) -> Callable[[str], str]:
    """What puts long forms, which are given by short form, in place of the short ones where these are whole words."""
    if not long:
        return str
    shorts = "|".join(map(re.escape, sorted(long, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\w)(?:{shorts})(?!\w)")
    return lambda part: pattern.sub(lambda found: long[found.group()], part)


def _brackets(text: str) -> list[tuple[int, int, int]]:
    """(opening, closing, floor) of bracket pairs; no long form before the opening one may reach behind the floor.

    The floor is the last bracket that is still open or that stands free, "(n = 3)" but not "poly(A)".
    """
    pairs, unclosed, floor = [], [], 0
    for at in sorted([*_find_all(text, "("), *_find_all(text, ")"), *_find_all(text, "["), *_find_all(text, "]")]):
        if text[at] in "([":
            unclosed.append((at, floor))
            floor = at + 1
        elif unclosed:
            opening, before = unclosed.pop()
            pairs.append((opening, at, before))
            stands_free = opening == 0 or text[opening - 1].isspace()
            floor = at + 1 if stands_free and not text[at + 1 : at + 2].isalnum() else before
    return pairs


def _find_all(text: str, character: str) -> list[int]:
    # many times faster than a regular expression: most of a text holds no bracket
    places, at = [], text.find(character)
    while at >= 0:
        places.append(at)
        at = text.find(character, at + 1)
    return places


def _define(text: str, opening: int, closing: int, floor: int) -> Definition | None:
    """The definition made by one pair of brackets, if any."""
    inside = _strip(text, opening + 1, closing)
    short, parts = _short(text, inside), [inside]
    if not short:
        parts = _parts(text, *inside)
        lead = _LEAD_IN.match(text, *parts[0])
        short = _short(text, (lead.end(), parts[0][1]) if lead else parts[0])
    if short:
        exact_only = text[short.span[1] : inside[1]].lstrip().startswith("=")
        if long := _before(text, short, opening, floor, exact_only):
            return _definition(text, short, long)
    if len(parts) > 1 and (both := _whole(text, parts[-1], parts[0]) or _whole(text, parts[0], parts[-1])):
        return both
    word = _WORD_BEFORE.search(text, max(floor, opening - _LONGEST_SHORT - 1), opening)
    if not word:
        return None
    before = _strip(text, *word.span())
    return _whole(text, before, parts[0]) or _whole(text, before, inside)


def _definition(text: str, short: _Short, long: Span) -> Definition:
    return Definition(short.written, text[slice(*long)], short.span, long)


def _strip(text: str, start: int, end: int) -> Span:
    """The span without spaces, quotes and commas at its edges."""
    inner = text[start:end].lstrip(_EDGES)
    start = end - len(inner)
    return start, start + len(inner.rstrip(_EDGES))


def _parts(text: str, start: int, end: int) -> list[Span]:
    """What stands between commas, semicolons, colons and equals signs."""
    parts, begin = [], start
    for gap in _PART.finditer(text, start, end):
        parts.append(_strip(text, begin, gap.start()))
        begin = gap.end()
    return [*parts, _strip(text, begin, end)]


def _short(text: str, span: Span) -> _Short | None:
    """The string as a short form if it looks like one: few words, a letter, no measure, no plain word or phrase."""
    if not 0 < span[1] - span[0] <= _LONGEST_SHORT:
        return None
    written = text[slice(*span)]
    if not _SHORT.fullmatch(written) or written in _NOT_SHORT or _MEASURE.match(written):
        return None
    if written.islower():
        plain = not 1 < len(written) <= _LONGEST_LOWER_CASE if written.isalpha() else " " in written
    else:
        plain = " " in written and not any(c.isupper() or c.isdigit() for c in written)
    letters = _letters(written)
    return None if plain or not 0 < len(letters) <= _MOST_LETTERS else _Short(span, written, letters)


def _before(text: str, short: _Short, opening: int, floor: int, exact_only: bool) -> Span | None:
    """The long form that ends where the bracket opens."""
    if text[opening - 1 : opening].isalnum() and (len(short.letters) < 2 or short.written.islower()):
        return None
    begin = opening - _REACH - _REACH_PER_LETTER * len(short.letters)
    begin = floor if begin <= floor else text.find(" ", begin, opening) + 1 or opening
    limit = _EXACT if exact_only else _limit(short.letters)
    long = _long(text, short, begin, opening, limit)
    while long and (stops := _stops(text, *long)):
        long = _long(text, short, stops[-1], opening, limit)
    return long


def _stops(text: str, begin: int, end: int) -> list[int]:
    """Where a new sentence or clause begins within the span: no long form goes across."""
    if not _MAY_STOP.search(text, begin, end):
        return []
    clauses = [stop.end() for stop in _HARD_STOP.finditer(text, begin, end)]
    return sorted(clauses + [start for start in starts(text, begin, end) if start < end])


def _whole(text: str, short_span: Span, long: Span) -> Definition | None:
    """The definition of one span by another, if the short form is made of the whole of the long one."""
    if not _may_share_initial(text[short_span[0] : short_span[0] + 1], text[long[0] : long[0] + 1]):
        return None
    short = _short(text, short_span)
    if not short or len(short.letters) < 2:
        return None
    found = _long(text, short, *long, 0.0 if short.written.islower() else min(0.3 * len(short.letters), 1.5))
    return _definition(text, short, long) if found == long and not _stops(text, *long) else None


def _may_share_initial(one: str, other: str) -> bool:
    """False where two characters cannot be the same letter: a cheap test that spares most alignments."""
    plain = one.isascii() and one.isalpha() and other.isascii() and other.isalpha()
    return not plain or one.lower() == other.lower()


def _limit(letters: str) -> float:
    """The cost up to which an alignment is believed: the more letters, the more."""
    n_letters = sum(map(str.isalpha, letters))
    believed = (0.0, 0.0, 1.0)[n_letters] if n_letters < 3 else min(0.5 + 0.5 * n_letters, 2.6)
    return believed if n_letters == len(letters) else believed + _DIGIT


def _letters(raw: str) -> str:
    """Letters and digits as they are compared: lower case, no accents, Greek spelt out."""
    return "".join("".join(token_keys(piece)) for piece in _PIECE.findall(raw))


def _long(text: str, short: _Short, begin: int, end: int, limit: float) -> Span | None:
    """The best long form in ``text[begin:end]`` that reaches to ``end``, if its cost is within the limit."""
    best = _align(short.letters, _pieces(text, begin, end), limit)
    if short.written.endswith("s") and len(short.letters) > 2 and short.written[-2].isupper():
        cost, start = _align(short.letters[:-1], _pieces(text, begin, end), limit)
        best = min(best, (cost + _SHORTENED_PLURAL, start))
    cost, start = best
    if cost == _NEVER:
        return None
    while start > begin and not text[start - 1].isspace() and text[start - 1] != "/":
        start -= 1
    span = _strip(text, start, end)
    long = text[slice(*span)]
    if len(long) <= len(short.written) or short.written.lower() in long.lower().split():
        return None
    return span


def _pieces(text: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    """(start, letters) of the runs of letters and runs of digits, last first."""
    while begin < end:
        cut = max(begin, text.rfind(" ", begin, max(begin, end - _STRIDE)) + 1)
        window = text[cut:end]
        letters = str.lower if window.isascii() else _letters
        for piece in reversed(list(_PIECE.finditer(window))):
            yield cut + piece.start(), letters(piece.group())
        end = cut


def _align(letters: str, pieces: Iterable[tuple[int, str]], limit: float) -> tuple[float, int]:
    """(cost, start) of the cheapest alignment; an infinite cost where none is within the limit.

    ``costs[i]`` is the least cost at which the pieces seen so far leave the first i letters to be placed.
    """
    costs: dict[int, float] = {}
    _keep(costs, letters, len(letters), 0.0, limit)
    best = (_NEVER, 0)
    for start, piece in pieces:
        if not piece:
            continue
        costs, done = _place(letters, piece, costs, limit)
        if done <= limit and done < best[0] and piece not in _NEVER_FIRST:
            best, limit = (done, start), done
        if not costs:
            break
    return best


def _place(letters: str, piece: str, costs: dict[int, float], limit: float) -> tuple[dict[int, float], float]:
    """One step of the alignment: what is left to place after this piece, and the cost of being done with it."""
    after: dict[int, float] = {}
    done = _NEVER
    leave_out = _cost_of_leaving_out(piece)
    for left, cost in costs.items():
        if cost + leave_out <= limit:
            _keep(after, letters, left, cost + leave_out, limit)
        first = letters.rfind(piece[0], 0, left)
        while first > 0:
            _keep(after, letters, first, cost + _cost_of_taking(letters[first:left], piece), limit)
            first = letters.rfind(piece[0], 0, first)
        if first == 0:
            done = min(done, cost + _cost_of_taking(letters[:left], piece))
        last = letters[left - 1]
        if left > 1 and last in piece:
            _keep(after, letters, left - 1, cost + _INSIDE_ONLY, limit)
        elif last in _NUMBER_WORDS and piece.startswith(_NUMBER_WORDS[last]):
            _keep(after, letters, left - 1, cost, limit)
            done = min(done, cost) if left == 1 else done
    return after, done


def _keep(costs: dict[int, float], letters: str, left: int, cost: float, limit: float) -> None:
    """Note a state of the alignment if it is worth it; a digit next in line may also go without a partner."""
    if left and cost <= limit and cost < costs.get(left, _NEVER):
        costs[left] = cost
        if left > 1 and letters[left - 1].isdigit():
            _keep(costs, letters, left - 1, cost + _DIGIT, limit)


def _cost_of_leaving_out(piece: str) -> float:
    if piece in _STOP_WORDS:
        return _LEFT_OUT_STOP
    return _LEFT_OUT_SMALL if len(piece) == 1 or piece.isdigit() else _LEFT_OUT


def _cost_of_taking(part: str, piece: str) -> float:
    """What it costs to find a part of the short form, in order, in a piece that begins with the same letter."""
    if piece.startswith(part):
        return _IN_PREFIX * (len(part) - 1)
    at = 1
    for letter in part[1:]:
        at = piece.find(letter, at) + 1
        if not at:
            return _NEVER
    return _INSIDE * (len(part) - 1)
