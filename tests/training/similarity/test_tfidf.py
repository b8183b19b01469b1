"""The cosine of weighted character 3-grams, beside the same computed by hand."""

import math

import pytest

from nomina.training.similarity import similarity_of
from nomina.training.similarity.tfidf import TfidfSimilarity


def test_the_similarity_is_the_cosine_of_weighted_grams():
    # " ab", "ab " of "ab"; " ab", "abc", "bc " of "abc": two names; " ab" is in both.
    similar = TfidfSimilarity(["ab", "abc"]).cosine
    both, one = math.log(1 + 2 / 2), math.log(1 + 2 / 1)
    ab, abc = [both, one], [both, one, one]
    expected = both * both / math.sqrt(sum(x * x for x in ab) * sum(x * x for x in abc))
    assert similar("ab", "abc") == pytest.approx(expected)
    assert similar("ab", "ab") == pytest.approx(1.0)
    assert similar("ab", "xy") == 0.0


def test_a_gram_that_no_name_has_makes_a_mention_less_similar():
    similar = TfidfSimilarity(["ab", "abc"]).cosine
    both, one, none = math.log(2), math.log(3), math.log(3)
    # "abx": " ab", "abx", "bx ", two of which no name has.
    expected = both * both / math.sqrt((both**2 + one**2) * (both**2 + 2 * none**2))
    assert similar("abx", "ab") == pytest.approx(expected)


def test_of_mentions_and_their_names_it_is_the_cosine_of_look_up_keys():
    texts = ["Heart failure", "heart-attack", "Stroke"]
    cosine = TfidfSimilarity(["heart failure", "heart attack", "stroke"]).cosine
    found = similarity_of("tfidf", texts)(["HEART  attacks", "stroke"], [texts[:2], texts[2:]])
    assert [values.tolist() for values in found] == [
        [cosine("heart attacks", "heart failure"), cosine("heart attacks", "heart attack")],
        [pytest.approx(1.0)],
    ]
