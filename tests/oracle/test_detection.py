"""Detection against brute force: every window of a text and every name of a small KB, by the documented rules.

A window is sanctioned by a name of the same words in the same order if no sentence ends in it; by a name of the same
words in another order (or of the same families) if it crosses no mark at all, begins and ends with a word that matters,
holds two to eight of those, skips at most three stop words, and does not part an adjective from its noun.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

from nomina.detect import Detector, Found, Overlaps
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import Forms, Lexicon, Table, forms, rule_between
from nomina.linkers.base import Rule
from nomina.text import normalise, tokens
from nomina.types import Span
from nomina.variants import COORDINATORS, EMPTY_WORDS, STOP_WORDS, inflect, is_adjective

VOCABULARIES = [
    words.split()
    for words in (
        "heart hearts cardiac disease opacity opacities stenosis stenotic 2 ii IFNγ L5 of in with and TOF",
        "heart cardiac disease diseases of the and",
        "heart 2 ii IFNγ L5 of in 5s AT1 at1",
        "tumour tumor tumours tumors of the morphology facial disease defect anomaly",
        "TOF tof AIDS aids AID of and x y",
    )
]
GRAMMAR = ("the", "with", "and")
PLAIN = [" "] * 12 + ["-"]
MARKS = [", ", " (", ") ", "/", " - ", "\n", ' "']
ENDS = [". ", "; ", "! ", "\n\n", "\n- ", "\n2) ", ": "]
SEEN = [Rule.NORMALISED, Rule.SPELLING, Rule.INFLECTION, Rule.ORDER, Rule.DERIVATION]


class Made(NamedTuple):
    """A text with the places of its words and the gap behind each; the last gap is the end."""

    text: str
    places: list[Span]
    gaps: list[str]


def made_text(chosen: random.Random, words: list[str]) -> Made:
    text, places, gaps = chosen.choice(["", "(", "- "]), [], []
    for _ in range(chosen.randint(0, 12)):
        word = chosen.choice(words)
        word = chosen.choice([word, word, word, word.capitalize(), word.upper()])
        places.append((len(text), len(text) + len(word)))
        gaps.append(chosen.choice(PLAIN * 5 + MARKS * 2 + ENDS))
        text += word + gaps[-1]
    return Made(text, places, [*gaps[:-1], ". "])


def made_name(chosen: random.Random, words: list[str]) -> str:
    parts = chosen.choices(words, k=chosen.choice([1, 1, 2, 2, 2, 3, 3, 4]))
    gaps = [chosen.choice(PLAIN * 4 + [", ", "/", " ("]) for _ in parts]
    name = "".join(part + gap for part, gap in zip(parts, gaps, strict=True))[: -len(gaps[-1])]
    return chosen.choice([name, name.capitalize()])


def made_case(seed: int, make_kb) -> tuple[Lexicon, list[Made]]:
    chosen = random.Random(seed)
    words = VOCABULARIES[seed % len(VOCABULARIES)]
    ids = [f"A:{i}" for i in range(chosen.randint(1, 14))]
    names = {id: [made_name(chosen, words) for _ in range(chosen.choice([1, 1, 2]))] for id in ids}
    parents = {id: chosen.sample(ids[:i], min(i, chosen.choice([0, 1, 2]))) for i, id in enumerate(ids)}
    kb = make_kb(names, parents if chosen.random() < 0.7 else {})
    texts = [made_text(chosen, words) for _ in range(25)]
    return Lexicon(kb, Table.of(kb.names)), texts


def brute_force(lexicon: Lexicon, made: Made, overlaps: Overlaps) -> list[Found]:
    kb = lexicon.kb
    names = [forms(key) for key in kb.names]
    found = []
    for first in range(len(made.places)):
        for last in range(first, len(made.places)):
            start, end = made.places[first][0], made.places[last][1]
            window = forms(normalise(made.text[start:end]))
            if any(sanctioned(made, first, last, window, name) for name in names):
                rules = {
                    row: rule for row, name in enumerate(names) if (rule := rule_between(window, name)) is not None
                }
                matches = lexicon.lookup(made.text[start:end])
                assert {match.row: match.rule for match in matches} == rules
                admitted = tuple(m for m in matches if admissible(made.text[start:end], kb.surface(m.row)))
                if admitted:
                    found.append(Found(((start, end),), admitted))
    found = [whole for whole in found if not joined_of_two(made.text, whole, found)]
    kept = longest(found) if overlaps == "longest" else implied(kb, found)
    return sorted(kept, key=lambda f: (f.start, -f.end))


def words_of(made: Made, first: int, last: int) -> list[str]:
    text = made.text[made.places[first][0] : made.places[last][1]]
    return [word for token in tokens(text) for word in inflect(token.key)]


def sanctioned(made: Made, first: int, last: int, window: Forms, name: Forms) -> bool:
    gaps, words = made.gaps[first:last], words_of(made, first, last)
    if window.inflected == name.inflected:
        broken = not all(is_plain(made, place) for place in range(first, last))
        return len(words) <= 14 and not any(gap in ENDS for gap in gaps) and not (broken and noun_follows(made, last))
    idle = STOP_WORDS | EMPTY_WORDS
    matter = [word for word in words if word not in idle]
    if window.families != name.families or not all(is_plain(made, place) for place in range(first, last)):
        return False
    cut_off = is_adjective(words[-1]) and noun_follows(made, last)
    at_edges = words[0] not in idle and words[-1] not in idle
    return at_edges and not cut_off and 2 <= len(matter) <= 8 and len(words) - len(matter) <= 3


def is_plain(made: Made, place: int) -> bool:
    following = made.text[made.places[place][1] :].lstrip()[:1]
    wrapped = made.gaps[place] == "\n" and following.isascii() and following.islower()
    return made.gaps[place] in PLAIN or wrapped


def noun_follows(made: Made, last: int) -> bool:
    if last + 1 == len(made.places) or not is_plain(made, last):
        return False
    return words_of(made, last + 1, last + 1)[0] not in STOP_WORDS | EMPTY_WORDS | COORDINATORS


def admissible(text: str, surface: str) -> bool:
    marks, may_have = ({mark for mark in ",()[]{}/;:" if mark in one} for one in (text, surface))
    if len(text) < 3 or marks - may_have:
        return False
    if text.lower() in GRAMMAR:
        return text.isupper() and surface in (text, surface.lower())
    acronym = surface.isupper() and len(surface) <= 6
    return not acronym or text in (surface, f"{surface}s", surface.removesuffix("s"))


def joined_of_two(text: str, whole: Found, found: list[Found]) -> bool:
    return any(
        one.start == whole.start
        and other.end == whole.end
        and one.end < other.start
        and text[one.end : other.start].strip().casefold() in ("and", "or", "/")
        for one in found
        for other in found
    )


def longest(found: list[Found]) -> list[Found]:
    kept: list[Found] = []
    for one in sorted(found, key=lambda f: (-(f.end - f.start), f.start)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return kept


def implied(kb: KnowledgeBase, found: list[Found]) -> list[Found]:
    def implies(outer: Found, inner: Found) -> bool:
        concept = kb.owners(outer.matches[0].row)[0]
        above = {other for other in kb if other != concept and concept in kb.descendants(other)}
        inside = set(kb.owners(inner.matches[0].row))
        return concept not in inside and (not above or bool(above & inside))

    def around(inner: Found) -> list[Found]:
        return [f for f in found if f is not inner and f.start <= inner.start and inner.end <= f.end]

    return [f for f in found if not (outers := around(f)) or any(implies(outer, f) for outer in outers)]


def test_the_detector_finds_what_brute_force_finds(make_kb) -> None:
    seen: Counter[object] = Counter()
    for seed in range(75):
        lexicon, texts = made_case(seed, make_kb)
        for overlaps in ("longest", "all"):
            detector = Detector(lexicon, overlaps, abbreviations=False)
            for made, found in zip(texts, detector.find([made.text for made in texts]), strict=True):
                contiguous = [f for f in found if len(f.spans) == 1]
                assert contiguous == brute_force(lexicon, made, overlaps), (seed, overlaps, made.text)
                seen[overlaps] += len(contiguous)
                seen.update(match.rule for f in contiguous for match in f.matches)
    assert all(seen[rule] >= 50 for rule in SEEN), seen
    assert seen["all"] > seen["longest"] + 50
