"""Cutting many texts into units: the words that ``text.tokens`` and ``variants.inflect`` make of them, and breaks."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina import units as module
from nomina.lexicon import forms, mixed_hash, token_hash
from nomina.text import normalise, tokens
from nomina.units import COMMA, END, PAUSE, WORD, Units, Vocabulary
from nomina.variants import STOP_WORDS, family, inflect

MARKS = "\u0301\u0327\u00ad\u200b"
NASTY = "aAbzZ019 .,;:!?'()[]{}/_+%\n\t" + "éÜøßİıæﬁﬀ" + "αβγΩµɣ" + "Ⅳ½²①™®" + MARKS + "—“”" + "한字"
TEXT = st.text(st.sampled_from(NASTY), max_size=25)


def words(text: str) -> list[str]:
    return [word for token in tokens(text) for word in inflect(token.key)]


def splits_a_number(text: str) -> bool:
    """Whether a mark or a sign such as "½" stands within a number: there, a unit ends and a token goes on."""
    return bool(re.search(rf"\d[{MARKS}]*[½²①]|[½²①][{MARKS}]*\d|\d[{MARKS}]+\d", text))


def shown(text: str) -> list[str]:
    """The units of a text: words as they stand there, and the kinds of the breaks."""
    units = Vocabulary().cut([text])
    names = {END: "<end>", PAUSE: "<pause>", COMMA: "<comma>"}
    places = zip(units.kind.tolist(), units.start.tolist(), units.end.tolist(), strict=True)
    return [names.get(kind) or text[start:end] for kind, start, end in places]


@given(TEXT)
def test_words_are_the_inflected_tokens_in_their_places(text: str) -> None:
    units = Vocabulary().cut([text])
    is_word = units.kind == WORD
    places = list(zip(units.start[is_word].tolist(), units.end[is_word].tolist(), strict=True))
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)
    hashes = units.sequence[is_word].tolist()
    for (start, end), value in zip(places, hashes, strict=True):
        assert value in map(token_hash, words(text[start:end]))
    if not splits_a_number(text):
        assert hashes == [token_hash(word) for word in words(text)]


def test_a_number_with_a_mark_in_it_is_two_units_of_one_token() -> None:
    assert words("10²") == ["102"]
    assert shown("10²") == ["10", "²", "<end>"]


@given(TEXT)
def test_columns_say_what_a_word_is(text: str) -> None:
    units = Vocabulary().cut([text])
    assert {len(column) for column in units} == {len(units.kind)}
    assert units.kind[-1] == END
    assert not units.text.any()
    for i in np.flatnonzero(units.kind != WORD):
        assert (units.sequence[i], units.bag[i], units.stop[i], units.joins[i]) == (0, 0, False, False)


def test_stop_words_and_coordinators() -> None:
    text = "loss of the skin or hair morphology and A"
    units = Vocabulary().cut([text])
    listed = words(text)
    assert units.sequence[:-1].tolist() == list(map(token_hash, listed))
    assert [word for word, stop in zip(listed, units.stop, strict=False) if stop] == ["of", "the", "morphology"]
    assert [word for word, joins in zip(listed, units.joins, strict=False) if joins] == ["or", "and"]
    bags = [0 if stop else mixed_hash(family(word)) for word, stop in zip(listed, units.stop, strict=False)]
    assert units.bag[:-1].tolist() == bags
    assert {"of", "the"} <= STOP_WORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "<end>"),
        ("heart", "heart <end>"),
        ("Heart attack. Pain", "Heart attack <end> Pain <end>"),
        ("pain! pain? pain", "pain <end> pain <end> pain <end>"),
        ("pain; fever: rash", "pain <end> fever <end> rash <end>"),
        ("pain.", "pain <end>"),
        ("pain 0.1 a:b", "pain 0 1 a b <end>"),
        ("pain, fever", "pain <comma> fever <end>"),
        (
            "pain (severe) [x] {y} a/b",
            "pain <pause> severe <pause> <pause> x <pause> <pause> y <pause> a <pause> b <end>",
        ),
        ('a "quoted" “word”', "a <pause> quoted <pause> <pause> word <pause> <end>"),
        ("pain - severe – very — much", "pain <pause> severe <pause> very <pause> much <end>"),
        ("pain\nfever", "pain fever <end>"),
        ("pain\r\nfever", "pain fever <end>"),
        ("pain\nFever", "pain <pause> Fever <end>"),
        ("pain = fever & rash", "pain <pause> fever <pause> rash <end>"),
        ("pain\n\nfever", "pain <end> fever <end>"),
        ("pain\n \nfever", "pain <end> fever <end>"),
        ("pain\r\n\r\nfever", "pain <end> fever <end>"),
        ("pain\n- fever\n* rash\n• cough", "pain <end> fever <end> rash <end> cough <end>"),
        ("pain\n2. fever\n 13) rash", "pain <end> fever <end> rash <end>"),
        ("pain's", "pain s <end>"),
        ("ground-glass", "ground glass <end>"),
        ("L5 5FU", "L 5 5 FU <end>"),
        ("IFNγ", "IFNγ IFNγ <end>"),
        ("pre-auricular", "pre-auricular <end>"),
        ("Non‑small‐cell", "Non‑small cell <end>"),
    ],
)
def test_words_and_breaks(text: str, expected: str) -> None:
    assert shown(text) == expected.split()


COMPOUNDS = st.lists(
    st.sampled_from("pre non hyper re ground glass cells tumour vertebrae".split()), min_size=1, max_size=4
)


@given(COMPOUNDS, st.sampled_from("-‐‑"))
def test_a_hyphenated_compound_is_cut_as_its_forms_are(parts: list[str], hyphen: str) -> None:
    text = hyphen.join(parts)
    units = Vocabulary().cut([text])
    assert units.sequence[:-1].tolist() == list(map(token_hash, forms(normalise(text)).inflected))
    assert (units.start[0], units.end[-2]) == (0, len(text))


def as_lists(units: Units, text: int) -> list[tuple[object, ...]]:
    return [row for row in zip(*(column.tolist() for column in units), strict=True) if row[0] == text]


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_a_text_in_a_batch_is_cut_as_it_is_alone(texts: list[str]) -> None:
    vocabulary = Vocabulary()
    vocabulary.cut(["seen before, heart", *texts[::-1]])
    together = vocabulary.cut(texts)
    assert sorted(set(together.text.tolist())) == list(range(len(texts)))
    for i, text in enumerate(texts):
        alone = as_lists(Vocabulary().cut([text]), 0)
        assert [row[1:] for row in as_lists(together, i)] == [row[1:] for row in alone]


def test_no_text_at_all() -> None:
    assert all(len(column) == 0 for column in Vocabulary().cut([]))


def test_a_vocabulary_that_has_grown_too_large_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PIECES", 3)
    vocabulary = Vocabulary()
    texts = ["heart attack of the IFNγ type, ground-glass", "pain. fever", "heart attack"]
    for _ in range(3):
        for text in texts:
            assert as_lists(vocabulary.cut([text]), 0) == as_lists(Vocabulary().cut([text]), 0)


def test_arrays_have_room_for_the_pieces_of_further_texts() -> None:
    vocabulary = Vocabulary()
    vocabulary.cut(["heart attack"])
    first = vocabulary._units["sequence"]
    vocabulary.cut(["ground-glass opacity of the lung"])
    assert vocabulary._units["sequence"] is first


def test_case_and_a_space_behind_do_not_matter() -> None:
    units = Vocabulary().cut(["Heart heart HEART heart"])
    assert len(set(units.sequence[:-1].tolist())) == 1
    assert units.end.tolist()[:-1] == [5, 11, 17, 23]
