"""Phrases of a text: where they begin and end, which words count, what is asked for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.enumerations import joined
from nomina.span_words import KnownWords
from nomina.spans import Proposal, propose

NAMES = {
    "A:1": ("Abnormality of the skin", "Cutaneous abnormality"),
    "A:2": "Abnormality of the auditory nerve",
    "A:3": ("Hypoplasia of the thumbs", "Small thumb"),
    "A:4": "Ocular motor apraxia",
    "A:5": "Nasal ulcer",
}


@pytest.fixture(scope="module")
def known(make_kb) -> KnownWords:
    return KnownWords(make_kb(NAMES))


def found(known: KnownWords, text: str, *taken: str) -> list[str]:
    spans = [(text.index(part), text.index(part) + len(part)) for part in taken]
    return [proposal.text for proposal in propose(text, spans, known)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The patient had a normal thumb.", []),  # one word that matters
        ("She has hypoplastic thumbs.", ["hypoplastic thumbs"]),  # forms of known words
        ("hypoplasia of the left thumb", ["hypoplasia of the left thumb"]),  # one unknown word inside
        ("hypoplasia of my dear old thumb", []),  # "my" ends a phrase
        ("small, ulcers", []),  # a comma does
        ("small (ulcers)", []),
        ("skin. Ulcers", []),
        ("marvellous skin ulcers", ["skin ulcers"]),  # an unknown word neither begins nor ends one
        ("skin ulcers improved", ["skin ulcers"]),
        ("small skin ulcers", ["small skin ulcers", "skin ulcers"]),  # any beginning, the last end only
        ("skin-like ulcers", ["skin-like ulcers"]),
        ("nail-skin ulcers", []),  # none begins behind a hyphen
        ("cutaneous signs", ["cutaneous signs"]),  # a vague noun is known without a name
        ("SKIN ULCER", ["SKIN ULCER"]),
        ("The skin of the auditory nerve was examined.", []),  # parts of the body, and nothing that ails them
    ],
)
def test_where_phrases_begin_and_end(known: KnownWords, text: str, expected: list[str]) -> None:
    assert found(known, text) == expected


def test_what_touches_a_mention_is_left_out(known: KnownWords) -> None:
    text = "small skin ulcers and hypoplastic thumbs"
    assert found(known, text, "ulcers") == ["hypoplastic thumbs"]
    assert found(known, text, "small") == ["skin ulcers", "hypoplastic thumbs"]


def test_an_enumeration_shares_its_last_word(known: KnownWords) -> None:
    text = "ocular, nasal, and auditory signs"
    proposals = propose(text, [], known)
    assert [(p.spans, p.text) for p in proposals] == [
        (((0, 6), (28, 33)), "ocular signs"),
        (((8, 13), (28, 33)), "nasal signs"),
        (((19, 33),), "auditory signs"),
    ]
    assert found(known, "thumb and auditory signs") == ["auditory signs"]  # a noun lists nothing
    assert found(known, text, "nasal") == ["ocular signs", "auditory signs"]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("skin ulcers", ("skin ulcers",)),
        ("cutaneous signs", ("cutaneous signs", "cutaneous abnormality")),
        ("Involvement of the skin", ("Involvement of the skin", "abnormality of the skin")),
        ("ulcers with skin involvement", ("ulcers with skin involvement",)),  # the head is "ulcers"
    ],
)
def test_a_vague_head_is_asked_as_abnormality_too(text: str, queries: tuple[str, ...]) -> None:
    assert Proposal(((0, len(text)),), text, tuple(text.lower().split())).queries == queries


WORDS = st.lists(st.sampled_from("small skin ulcers, of the (nasal) and auditory signs. thumb-like ﬁ é \n ".split(" ")))


@given(WORDS, st.integers(0, 40), st.integers(1, 9))
def test_spans_are_of_the_text_and_off_what_is_taken(known: KnownWords, words: list[str], at: int, size: int) -> None:
    text = " ".join(words)
    taken = (at, at + size)
    for proposal in propose(text, [taken], known):
        assert proposal.text == joined(text, proposal.spans)
        for start, end in proposal.spans:
            assert 0 <= start < end <= len(text)
            assert end <= taken[0] or taken[1] <= start
            assert text[start].isalnum()
            assert text[end - 1].isalnum()
