"""The normaliser: its steps, its keys, and that offsets are those of the original text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.text import Token, compose, fold, greek, normalise, token_keys, tokens, trim

NASTY = (
    "aAbZ019 .,-'()_+%\n\t"
    + "éÜøßİıŁæﬁﬀǆŉ"
    + "αβγδΩµɣɛςϐ"
    + "½²①Ⅳ™®©"
    + "\u0301\u0327\u0345"
    + "\u00ad\u200b\u200d\ufeff"
    + "–—‑’“”"
    + "한字𝛼𝐀😀"
)
TEXT = st.text(st.sampled_from(NASTY), max_size=30) | st.text(max_size=20)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Löfgren’s  Syndrome", "lofgren s syndrome"),
        ("Löfgren's syndrome", "lofgren s syndrome"),
        ("Albers-Schönberg disease", "albers schonberg disease"),
        ("albers scho\u0308nberg disease", "albers schonberg disease"),
        ("ibuprofen™", "ibuprofen"),
        ("ibuprofen®", "ibuprofen"),
        ("interferon-γ", "interferon gamma"),
        ("interferon-ɣ", "interferon gamma"),
        ("interferon-𝛾", "interferon gamma"),
        ("IFN-γ", "ifn gamma"),
        ("IFNγ", "ifn gamma"),
        ("β2-microglobulin", "beta 2 microglobulin"),
        ("αβγ T cell", "alpha beta gamma t cell"),
        (", tibialis anterior", "tibialis anterior"),
        ("Ground–glass opacities", "ground glass opacities"),
        ("ﬁbrosis", "fibrosis"),
        ("Straße", "strasse"),
        ("½ hour", "1 2 hour"),
        ("cm²", "cm2"),
        ("Ødegård's Œuvre, Łódź", "odegard s oeuvre lodz"),
        ("hyper\u00adtension", "hypertension"),
        ("zero\u200bwidth", "zerowidth"),
        ("5-FU", "5 fu"),
        ("snake_case", "snake case"),
        ("a\tb\n c", "a b c"),
    ],
)
def test_the_key_of(text: str, key: str) -> None:
    assert normalise(text) == key


def test_a_text_of_symbols_keeps_them_so_that_two_symbols_stay_two_keys() -> None:
    assert [normalise(text) for text in ("+", "++", " - ", "+ -", "™")] == ["+", "++", "-", "+ -", "tm"]
    assert normalise("") == normalise(" \n") == ""


def test_the_steps_one_by_one() -> None:
    assert compose("ﬁ²Ⅳß\u00ad\u200b") == "fi2ivss"
    assert greek("ifnγ") == "ifn gamma "
    assert greek("ɣ-ɛ") == " gamma - epsilon "
    assert fold("schönberg ø łđ æ ñ") == "schonberg o ld ae n"


def test_a_word_of_the_greek_language_stays() -> None:
    assert normalise("αβγδ") == "αβγδ"
    assert normalise("νοσος (disease)") == "νοσος disease".replace("ς", "σ")


def test_a_token_of_several_keys_gives_several_tokens_of_one_place() -> None:
    assert tokens("an IFNγ2, β") == [
        Token(0, 2, "an"),
        Token(3, 8, "ifn"),
        Token(3, 8, "gamma"),
        Token(3, 8, "2"),
        Token(10, 11, "beta"),
    ]


def test_offsets_count_what_normalising_drops_or_lengthens() -> None:
    text = "ﬁbro\u00adsis\u0301 of ½ Straße"
    assert [(text[t.start : t.end], t.key) for t in tokens(text)] == [
        ("ﬁbro\u00adsis\u0301", "fibrosis"),
        ("of", "of"),
        ("½", "1"),
        ("½", "2"),
        ("Straße", "strasse"),
    ]


@given(TEXT)
def test_tokens_are_in_order_and_each_is_the_key_of_its_place(text: str) -> None:
    found = tokens(text)
    places = list(dict.fromkeys((token.start, token.end) for token in found))
    bounds = [bound for place in places for bound in place]
    assert bounds == sorted(bounds)
    assert all(start < end for start, end in places)
    for start, end in places:
        keys = tuple(token.key for token in found if token.start == start)
        assert keys == token_keys(text[start:end])
        assert normalise(text[start:end]) == " ".join(keys)


@given(TEXT)
def test_a_key_is_its_tokens_joined(text: str) -> None:
    keys = [token.key for token in tokens(text)]
    assert all(key and not any(c.isspace() for c in key) for key in keys)
    if keys:
        assert normalise(text) == " ".join(keys)
    else:
        assert normalise(text) == " ".join(compose(text).split())


def is_ordinary(text: str) -> bool:
    """No accented Greek letter, and a letter or digit unless nothing in the text stands for one (as "℃" does)."""
    accented = any("α" <= c <= "ω" and c not in compose(text) for c in unicodedata.normalize("NFKD", compose(text)))
    ypogegrammeni = "\u0345" in text
    return not accented and not ypogegrammeni and bool(tokens(text) or not tokens(compose(text)))


@given(TEXT.filter(is_ordinary))
def test_the_key_of_a_key_is_the_key(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_the_key_of_a_key_is_the_key_for_every_letter_of_the_basic_plane() -> None:
    letters = [chr(c) for c in range(0x10000) if chr(c).isalnum() and is_ordinary(f"a{chr(c)}")]
    assert len(letters) > 40_000
    changed = [letter for letter in letters if (key := normalise(f"a{letter} b")) != normalise(key)]
    assert changed == []


@pytest.mark.parametrize(("text", "key", "again"), [("℃", "°c", "c"), ("⒜", "(a)", "a")])
def test_where_the_key_of_a_key_is_another(text: str, key: str, again: str) -> None:
    # Symbols that stand for letters, alone in a text.
    assert (normalise(text), normalise(key)) == (key, again)


@given(TEXT)
def test_case_and_composition_do_not_matter(text: str) -> None:
    for form in ("NFC", "NFD"):
        if all(ord(c) < 0x300 for c in text):
            assert normalise(unicodedata.normalize(form, text)) == normalise(text)
    if text.isascii():
        assert normalise(text.upper()) == normalise(text.lower()) == normalise(text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        (", tibialis anterior", "tibialis anterior"),
        (" (heart) ", "heart"),
        ("“β-thalassaemia”.", "β-thalassaemia"),
        ("a", "a"),
    ],
)
def test_trim_leaves_what_stands_between_the_edges(text: str, inner: str) -> None:
    start, end = trim(text, 0, len(text))
    assert text[start:end] == inner


def test_trim_of_marks_only_is_empty_and_stays_within_its_bounds() -> None:
    assert trim("x -- y", 2, 4) == (2, 2)
    assert trim("xx (heart) yy", 2, 11) == (4, 9)


@given(TEXT, st.data())
def test_trim_changes_no_key(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    inner = trim(text, start, end)
    assert start <= inner[0] <= inner[1] <= end
    if tokens(text[start:end]):
        assert normalise(text[slice(*inner)]) == normalise(text[start:end])
