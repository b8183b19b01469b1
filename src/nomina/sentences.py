"""Where sentences begin, in abstracts and in clinical notes. Pure functions, no model.

A full stop ends a sentence unless it belongs to an abbreviation ("Dr.", "e.g.", "Fig. 3") or a lower-case letter
follows something that may be one ("E. coli"). A line break ends a sentence before a blank line, a list item or a
heading, and behind a line too short to have been wrapped, unless that line ends in a colon or the next line goes on in
lower case.
"""

from __future__ import annotations

import re

_TITLES = frozenset("dr drs mr mrs ms prof st vs e.g i.e eg ie cf esp viz resp".split())
_BEFORE_NUMBERS = frozenset("fig figs no nos ca approx al vol pp".split())
_SHORTEST_PLAIN_WORD = 4  # a full stop behind a shorter word, before a lower-case letter, marks an abbreviation
_SHORTEST_WRAPPED_LINE = 50

_POSSIBLE = re.compile(r"[.!?][\"'”’)\]]*\s+|\n\s*")
_LAST_WORD = re.compile(r"[^\W_][\w.]*$")
_OPENING = re.compile(r"[\"'“‘(\[]*([^\W_])")
_LIST_ITEM = re.compile(r"[-*•‣–>]\s|\(?\d{1,2}[.)]\s|[^\n:.,]{1,40}:(?:\s|$)")


def starts(text: str, begin: int = 0, end: int | None = None) -> list[int]:
    """Offsets in ``text[begin:end]`` at which a further sentence begins (``begin`` itself is not listed)."""
    stop = len(text) if end is None else end
    return [gap.end() for gap in _POSSIBLE.finditer(text, begin, stop) if _ends(text, gap)]


def _ends(text: str, gap: re.Match[str]) -> bool:
    mark, lines = text[gap.start()], gap.group().count("\n")
    if lines > 1 or mark in "!?":
        return True
    return _stop_ends(text, gap, lines > 0) if mark == "." else _line_ends(text, gap)


def _stop_ends(text: str, gap: re.Match[str], at_line_end: bool) -> bool:
    found = _LAST_WORD.search(text, max(0, gap.start() - 12), gap.start())
    word = found.group().lower() if found else ""
    opening = _OPENING.match(text, gap.end())
    following = opening.group(1) if opening else ""
    if word in _TITLES or (word in _BEFORE_NUMBERS and following.isdigit()):
        return False
    if following.islower() and not at_line_end:
        return word.isalpha() and len(word) >= _SHORTEST_PLAIN_WORD
    return True


def _line_ends(text: str, gap: re.Match[str]) -> bool:
    if _LIST_ITEM.match(text, gap.end()):
        return True
    if text[gap.end() : gap.end() + 1].islower() or text[max(0, gap.start() - 3) : gap.start()].rstrip().endswith(":"):
        return False
    return gap.start() - text.rfind("\n", 0, gap.start()) <= _SHORTEST_WRAPPED_LINE
