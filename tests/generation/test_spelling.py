"""How names are written in tokens."""

from __future__ import annotations

import numpy as np
import pytest
from trie_cases import byte_level, word_piece

from nomina.errors import UsageError
from nomina.generation.spelling import Spelling


def spelt(spelling: Spelling, *names: str) -> list[list[int]]:
    tokens, lengths = spelling.tokens(names)
    return [part.tolist() for part in np.split(tokens, np.cumsum(lengths)[:-1])]


def written(tokenizer, *tokens: str) -> list[int]:
    return [tokenizer.token_to_id(token) for token in tokens]


def test_names_end_with_the_end_token_and_have_no_other_special_one_no_padding_and_their_full_length() -> None:
    tokenizer = word_piece()
    names = ("Heart attacks", "lung", "cell cell cell cell cell")
    assert spelt(Spelling(tokenizer, "[SEP]"), *names) == [
        written(tokenizer, "heart", "attack", "##s", "[SEP]"),
        written(tokenizer, "lung", "[SEP]"),
        written(tokenizer, *["cell"] * 5, "[SEP]"),
    ]


def test_the_callers_tokenizer_keeps_its_settings() -> None:
    tokenizer = word_piece()
    before = tokenizer.encode("heart attack [SEP]").ids
    Spelling(tokenizer, "[SEP]").tokens(["heart"])
    assert tokenizer.encode("heart attack [SEP]").ids == before


def test_a_name_of_no_known_token_has_no_path_and_others_keep_the_unknown_one() -> None:
    tokenizer = word_piece()
    assert spelt(Spelling(tokenizer, "[SEP]"), "xyz", "heart xyz", "", "lung") == [
        [],
        written(tokenizer, "heart", "[UNK]", "[SEP]"),
        [],
        written(tokenizer, "lung", "[SEP]"),
    ]


def test_an_end_token_written_as_text_does_not_end_a_name() -> None:
    tokenizer = word_piece()
    assert spelt(Spelling(tokenizer, "[SEP]"), "a [SEP] b") == [written(tokenizer, *"a [ sep ] b [SEP]".split())]


def test_a_name_with_the_end_token_in_its_midst_has_no_path() -> None:
    assert spelt(Spelling(word_piece(), "of"), "heart of cell", "cell") == [
        [],
        written(word_piece(), "cell", "of"),
    ]


def test_bytes_as_tokens_with_a_space_before_and_in_lower_case() -> None:
    tokenizer = byte_level()
    spelling = Spelling(tokenizer, "</s>", before=" ", lower=True)
    assert spelt(spelling, "HeartA") == [[50_264, *written(tokenizer, "a", "</s>")]]
    assert spelt(Spelling(tokenizer, "</s>"), "HeartA") == [written(tokenizer, *"HeartA", "</s>")]
    assert spelling.width == 50_265
    assert spelling.tokens(["heart"])[0].dtype == np.uint16


def test_a_fingerprint_tells_spellings_apart_and_not_settings_of_the_same() -> None:
    other = word_piece()
    other.no_padding()
    made = [
        Spelling(word_piece(), "[SEP]"),
        Spelling(word_piece(), "[CLS]"),
        Spelling(word_piece(), "[SEP]", before=" "),
        Spelling(word_piece(), "[SEP]", lower=True),
        Spelling(byte_level(), "</s>"),
    ]
    assert len({spelling.fingerprint for spelling in made}) == len(made)
    assert Spelling(other, "[SEP]").fingerprint == made[0].fingerprint


def test_an_unknown_end_token_is_a_users_error() -> None:
    with pytest.raises(UsageError, match=r"no token '</s>': name the token that ends its texts"):
        Spelling(word_piece(), "</s>")
