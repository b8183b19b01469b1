"""Whether a mention is denied, only thought of, and whose it is: ConText's attributes, from tables and a small engine.

After Chapman et al. (2007), "ConText: an algorithm for identifying contextual features from clinical text", and Harkema
et al. (2009). A trigger phrase reaches over the mentions that follow it (``forward``; ``near``: in the same list item;
``person``: in the clause about a relative), precede it (``backward``), do either (``both``) or end where it begins
(``adjacent``), within its sentence and bracket and up to a phrase that ends its reach: ``stop``, and for what precedes
it ``stop_backward`` too. ``nothing`` are phrases that only look like triggers. Where several phrases begin at a word,
the longest wins. A minus that stands as a sign denies as well.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from nomina.context_tables import (
    ABSENT,
    AUXILIARIES,
    CONTRACTIONS,
    FAMILY,
    HYPOTHETICAL,
    IN_PASSING,
    NEGATION,
    PATIENTS,
    PREDICATES,
    SMALL_WORDS,
)
from nomina.sentences import starts
from nomina.types import Experiencer, Span

_VERBS = frozenset("is are was were".split())
_OPENERS = frozenset("in among of with despite although for at on during after unlike while whereas".split())

_CLAUSE_OPENERS = frozenset("the a an that this although complete total clinical apparent".split())

_LONGEST_SENTENCE = 1000
_SIGNS_REACH = 200
_REACHING = frozenset(("forward", "person", "near", "both", "backward", "adjacent"))
_STOPS = frozenset(("stop", "stop_backward"))
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[^\w\s]")
_FAMILY_HEADING = re.compile(
    r"^[ \t]*(?:family (?:history|hx)|fh|fhx|fmhx)[ \t]*:?[ \t]*\r?$\s*", re.IGNORECASE | re.MULTILINE
)
_SIGN_BEFORE = re.compile(r"\([-−–]\) ?$")
_SIGN_BEHIND = re.compile(r" ?\([-−–]\)(?![-−–\w])")
_SIGNS_LEAD = re.compile(r"(?:^|[\n,;:])[ \t]*\([-−–+]\)")
_SIGNED_ITEMS = re.compile(r"(?:^|[\s,;(])\+[^\W\d]|[,;] *[-−–][^\W\d]")
_SECTION_END = re.compile(r"\n[ \t]*\r?\n|\n[ \t]*[A-Z][\w /&]{1,40}:")


class Attributes(NamedTuple):
    """What the text says of a mention beside its name."""

    negated: bool = False
    experiencer: Experiencer = "patient"
    hypothetical: bool = False


class _Tokens(NamedTuple):
    """Words and single signs of a sentence, as they are compared, and their offsets."""

    words: list[str]
    spans: list[Span]


class _Cue(NamedTuple):
    """A phrase of a table found in a text: offsets, kind and the numbers of its tokens (first, behind the last)."""

    start: int
    end: int
    kind: str
    first: int
    behind: int


class _Table(NamedTuple):
    """A table made ready: the kind of each phrase, the longest phrase a word can begin, the words that betray one.

    ``passing``: what holds no phrase, in its groups.
    """

    kinds: dict[str, str]
    longest: dict[str, int]
    signals: frozenset[str]
    passing: re.Pattern[str] | None = None


def attributes(text: str, spans: Sequence[Span]) -> list[Attributes]:
    """Negation, experiencer and whether it is only thought of, of each mention, in the order of the spans.

    Args:
        text: The text the offsets refer to.
        spans: (start, end) of mentions, the envelope where a mention has several parts. A trigger that overlaps any
            of them is part of a name ("Absent speech") and counts for none.

    >>> [tuple(found) for found in attributes("No seizures. Her brother has ataxia.", [(3, 11), (29, 35)])]
    [(True, 'patient', False), (False, 'family', False)]
    >>> attributes("At risk of stroke.", [(11, 17)])
    [Attributes(negated=False, experiencer='patient', hypothetical=True)]
    """
    lowered = _lowered(text)
    words = frozenset(_WORD.findall(lowered)) if spans else frozenset()
    tables = (_negation(), _family(), _hypothetical())
    denied, relatives, feared = _reached_in(text, lowered, words, spans, tables)
    denied.update((start, end) for start, end in spans if _minus(text, start, end))
    if not _family().signals.isdisjoint(words):
        relatives.update(_in_family_section(text, spans))
    return [
        Attributes(span in denied, "family" if span in relatives else "patient", span in feared)
        for span in map(tuple, spans)
    ]


def _minus(text: str, start: int, end: int) -> bool:
    """Whether a minus denies the mention: "rash (-)", "(-) rash", "-rash, +cough"; no bullet, no hyphen in a word."""
    before = text[max(0, start - 1) : start]
    if before and before in "-−–":
        line = _line(text, start)
        return (start < 2 or text[start - 2] in " \t\n,;:(") and bool(_SIGNED_ITEMS.search(line))
    if _SIGN_BEHIND.match(text, end):
        return not _SIGNS_LEAD.search(_line(text, start))
    return bool(_SIGN_BEFORE.search(text[max(0, start - 4) : start]) and _SIGNS_LEAD.search(_line(text, start)))


def _line(text: str, at: int) -> str:
    """The line about a place, as far as signs there tell of each other."""
    begin = max(text.rfind("\n", max(0, at - _SIGNS_REACH), at) + 1, at - _SIGNS_REACH, 0)
    end = text.find("\n", at, at + _SIGNS_REACH)
    return text[begin : end if end >= 0 else at + _SIGNS_REACH]


def negation_triggers(text: str) -> list[Span]:
    """Offsets of the phrases that deny something, in order: words that belong to no mention, unless a name has them.

    >>> negation_triggers("She denies any seizures, and ataxia was not observed.")
    [(4, 14), (40, 52)]
    """
    lowered, table = _lowered(text), _negation()
    betrayals = _betrayals(lowered, _WORD.findall(lowered), table)
    found = []
    for begin, end in _sentences(_bounds(text), betrayals) if betrayals else ():
        tokens = _tokens(lowered, begin, end)
        for cue in _cues(tokens, (), table):
            if cue.kind in _REACHING:
                words = [i for i in range(cue.first, cue.behind) if tokens.words[i][0].isalnum()]
                found.append((tokens.spans[words[0]][0], tokens.spans[words[-1]][1]))
    return found


def says_absent(name: str) -> bool:
    """Whether a name says itself that something is not there, so that who denies a thing affirms the name.

    >>> says_absent("Absent tears"), says_absent("Ataxia")
    (True, False)
    """
    return not ABSENT.isdisjoint(_WORD.findall(_lowered(name)))


def _lowered(text: str) -> str:
    """Lower case, straight apostrophes, and every character still in its place."""
    lowered = text.lower().replace("’", "'")
    return lowered if len(lowered) == len(text) else "".join(c.lower()[0] for c in text).replace("’", "'")


def _betrayals(lowered: str, words: Iterable[str], table: _Table) -> list[int]:
    """Where the words stand without which no phrase of the table has an effect; ``words`` are those of the text."""
    places = []
    for word in table.signals.intersection(words):
        at = lowered.find(word)
        while at >= 0:
            if not lowered[at - 1 : at].isalpha() and not lowered[at + len(word) : at + len(word) + 1].isalpha():
                places.append(at)
            at = lowered.find(word, at + 1)
    return places


def _bounds(text: str) -> list[int]:
    """Where sentences begin, and the end of the text; an endless one is cut, for it is a table and no sentence."""
    bounds = [0]
    for start in [*starts(text), len(text)]:
        bounds += [*range(bounds[-1] + _LONGEST_SENTENCE, start, _LONGEST_SENTENCE), start]
    return bounds


def _sentences(bounds: list[int], places: Iterable[int]) -> list[Span]:
    """The sentences that hold a place, in order."""
    return [(bounds[i - 1], bounds[i]) for i in sorted({bisect_right(bounds, place) for place in places})]


def _reached_in(
    text: str, lowered: str, words: frozenset[str], spans: Sequence[Span], tables: Sequence[_Table]
) -> list[set[Span]]:
    """For each table, the mentions of a text that some trigger of it reaches."""
    reached: list[set[Span]] = [set() for _ in tables]
    betrayals = [_betrayals(lowered, words, table) for table in tables]
    if not any(betrayals):
        return reached
    bounds = _bounds(text)
    held: dict[int, list[Span]] = {}
    for start, end in spans:
        held.setdefault(bounds[bisect_right(bounds, start) - 1], []).append((start, end))
    read: dict[int, _Tokens] = {}
    for table, places, mentions in zip(tables, betrayals, reached, strict=True):
        for begin, end in _sentences(bounds, places):
            if begin in held:
                tokens = read[begin] = read.get(begin) or _tokens(lowered, begin, end)
                found = table.passing.finditer(lowered, begin, end) if table.passing else ()
                passing = [match.span(match.lastindex or 0) for match in found]
                mentions.update(_reached(tokens, held[begin], table, passing))
    return reached


def _tokens(lowered: str, begin: int, end: int) -> _Tokens:
    """The tokens of a sentence, closed by a full stop of no width in case it has none."""
    words = [CONTRACTIONS.get(word, word) for word in _TOKEN.findall(lowered, begin, end)]
    spans = [match.span() for match in _TOKEN.finditer(lowered, begin, end)]
    return _Tokens([*words, "."], [*spans, (end, end)])


def _in_family_section(text: str, spans: Iterable[Span]) -> list[Span]:
    """The mentions in the lines under a "Family history" heading that stands alone."""
    sections = [(0, 0)]
    heading = _FAMILY_HEADING.search(text)
    while heading:
        begin = heading.end()
        closing = _SECTION_END.search(text, begin - 1)
        sections.append((begin, closing.start() if closing else len(text)))
        heading = _FAMILY_HEADING.search(text, max(sections[-1]))
    return [span for span in spans if span[0] < sections[bisect_right(sections, (span[0], len(text))) - 1][1]]


def _cues(tokens: _Tokens, mentions: Sequence[Span], table: _Table) -> list[_Cue]:
    """The phrases of a table, left to right; none that overlaps a mention."""
    cues: list[_Cue] = []
    behind = 0
    for at in [at for at, word in enumerate(tokens.words) if word in table.longest]:
        if at >= behind and (cue := _cue(tokens, at, mentions, table)):
            cues.append(cue)
            behind = cue.behind
    return cues


def _cue(tokens: _Tokens, first: int, mentions: Sequence[Span], table: _Table) -> _Cue | None:
    """The longest phrase that begins at a token and leaves the mentions alone."""
    words, spans = tokens
    for behind in range(min(first + table.longest[words[first]], len(words)), first, -1):
        kind = table.kinds.get(" ".join(words[first:behind]))
        if kind:
            start, end = spans[first][0], spans[behind - 1][1]
            if all(end <= mention[0] or mention[1] <= start for mention in mentions):
                return _Cue(start, end, kind, first, behind)
    return None


def _reached(tokens: _Tokens, mentions: Sequence[Span], table: _Table, passing: Sequence[Span]) -> set[Span]:
    """The mentions of a sentence that some trigger of the table reaches."""
    cues = _cues(tokens, [*mentions, *passing], table)
    reached: set[Span] = set()
    for cue in cues:
        if cue.kind in ("forward", "person", "near", "both"):
            hung = _hung_clause_end(tokens, cue) if cue.kind == "person" else tokens.spans[-1][1]
            end = min(
                [hung, _clause_end(tokens, cue), *(s.start for s in cues if s.kind == "stop" and s.start >= cue.end)]
            )
            reached.update(mention for mention in mentions if cue.end <= mention[0] < end)
        if cue.kind in ("backward", "both"):
            begin = _reach_back(tokens, cues, cue)
            reached.update(mention for mention in mentions if begin <= mention[0] and mention[1] <= cue.start)
        if cue.kind == "adjacent":
            reached.update(mention for mention in mentions if 0 <= cue.start - mention[1] <= 1)
    return reached


def _clause_end(tokens: _Tokens, cue: _Cue) -> int:
    """Where the bracket about a trigger closes, or a clause begins with its own verb: "no fever and | ataxia was"."""
    words, spans = tokens
    first = cue.first
    while first and words[first - 1] in _CLAUSE_OPENERS:
        first -= 1
    verbs = 0 if first and words[first - 1] not in (",", ";", ":") else -1
    joint: int | None = None
    depth = 0
    for word, (start, _) in zip(words[cue.behind :], spans[cue.behind :], strict=True):
        depth += (word == "(") - (word == ")")
        if depth < 0:
            return start
        if word in (",", "and"):
            if cue.kind == "near":
                return start
            joint = start
        elif word in ("or", "nor"):
            joint = None
        elif word in _VERBS:
            verbs += 1
            if verbs > 0 and joint is not None:
                return joint
    return spans[-1][1]


def _hung_clause_end(tokens: _Tokens, cue: _Cue) -> int:
    """Where a clause about a relative that hangs on the patient ends: "a boy whose mother has epilepsy | has"."""
    words, spans = tokens
    verbs = _verbs_of_hung_clause(words, cue.first)
    if verbs is None:
        return spans[-1][1]
    joined = ("and", "or") if verbs else ()
    for at in range(cue.behind, len(words)):
        if words[at] in ("who", "which", "that"):
            verbs += 1
        elif words[at] in PREDICATES and words[at - 1] not in PREDICATES and words[at - 1] not in joined:
            if not verbs:
                return spans[at][0]
            verbs -= 1
    return spans[-1][1]


def _verbs_of_hung_clause(words: Sequence[str], first: int) -> int | None:
    """1 for "whose mother", 0 for "a boy of a diabetic mother", None where a relative begins a clause of its own."""
    for at in range(first - 1, max(0, first - 10) - 1, -1):
        if words[at] == "whose":
            return 1
        if words[at] in ("of", "to") and at and words[at - 1] in PATIENTS:
            return 0
        if words[at] in PREDICATES or words[at] in ",;:":
            return None
    return None


def _reach_back(tokens: _Tokens, cues: Sequence[_Cue], cue: _Cue) -> int:
    """How far back a trigger reaches: to the last stop, not counting its own auxiliaries, or an opening phrase."""
    words, spans = tokens
    first = cue.first
    while first and words[first - 1] in AUXILIARIES:
        first -= 1
    own = spans[first][0]
    begin = max([spans[0][0], *(stop.end for stop in cues if stop.kind in _STOPS and stop.end <= own)])
    if words[0] in _OPENERS and "," in words[:first]:
        begin = max(begin, spans[words.index(",")][1])
    return begin


@cache
def _negation() -> _Table:
    return _table(NEGATION)


@cache
def _family() -> _Table:
    return _table(FAMILY)._replace(passing=re.compile(IN_PASSING))


@cache
def _hypothetical() -> _Table:
    return _table(HYPOTHETICAL)


def _table(phrases: dict[str, tuple[str, ...]]) -> _Table:
    """A table with its choices written out; where two rows make the same phrase, the first kind holds."""
    kinds: dict[str, str] = {}
    longest: dict[str, int] = {}
    signals = set()
    for kind, rows in phrases.items():
        for words in (words for row in rows for words in _written_out(row)):
            kinds.setdefault(" ".join(words), kind)
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
            if not kind.startswith("stop") and kind != "nothing":
                signals.add(next(word for word in words if word[0].isalpha() and word not in SMALL_WORDS))
    signals.update(short for short, meant in CONTRACTIONS.items() if meant in signals)
    return _Table(kinds, longest, frozenset(signals))


def _written_out(row: str) -> list[list[str]]:
    choices = [[*word.rstrip("?").split("|"), *([""] if word.endswith("?") else [])] for word in row.split(" ")]
    return [[word for word in words if word] for words in product(*choices)]
