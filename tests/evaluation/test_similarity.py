"""Cosines of chosen pairs: as the linker ranks them, and by a slow sum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.evaluation import similarity
from nomina.evaluation.similarity import cosines
from nomina.linkers.postings import build
from nomina.linkers.tfidf import search

NAMES = ["short stature", "small stature", "tall stature", "seizure", "febrile seizure", "q", "stature stature"]
keys = st.text(alphabet="ab c", min_size=1, max_size=8).filter(lambda text: bool(text.strip()))


def slow(names, one, other):
    grams = [[f" {text} "[i : i + 3] for i in range(len(text))] for text in (one, other)]
    rarity = {
        gram: math.log(1 + len(names) / max(1, sum(gram in f" {name} " for name in names)))
        for gram in {*grams[0], *grams[1]}
    }
    first, second = ({gram: found.count(gram) * rarity[gram] for gram in found} for found in grams)
    lengths = [math.sqrt(sum(weight * weight for weight in each.values())) for each in (first, second)]
    return sum(first[gram] * second.get(gram, 0.0) for gram in first) / (lengths[0] * lengths[1])


@given(st.lists(keys, min_size=1, max_size=6, unique=True), st.lists(keys, min_size=1, max_size=4, unique=True))
def test_a_pair_is_worth_the_slow_sum(names, mentions):
    texts = list(dict.fromkeys([*mentions, *names]))
    pairs = [(i, j) for i in range(len(texts)) for j in range(len(texts))]
    left, right = np.array(pairs).T
    expected = [slow(names, texts[i], texts[j]) for i, j in pairs]
    assert cosines(build(names), texts, left, right) == pytest.approx(expected, abs=2e-6)


def test_pairs_are_worth_what_the_linker_says():
    postings = build(NAMES)
    mention = "febrile statures"
    hits = next(search(postings, [mention], len(NAMES)))
    found = cosines(postings, [*NAMES, mention], np.full(len(NAMES), len(NAMES)), np.arange(len(NAMES)))
    assert found[hits.rows] == pytest.approx(hits.scores, abs=2e-6)
    assert np.count_nonzero(found) == len(hits.rows) > 3


def test_a_name_is_like_itself_and_like_nothing_that_shares_no_gram():
    assert cosines(build(NAMES), ["seizure", "q"], np.array([0, 1, 0]), np.array([0, 1, 1])).tolist() == [1.0, 1.0, 0.0]


def test_many_pairs_are_compared_a_part_at_a_time(monkeypatch):
    postings = build(NAMES)
    left, right = np.divmod(np.arange(49), 7)
    whole = cosines(postings, NAMES, left, right)
    monkeypatch.setattr(similarity, "_PAIRS", 5)
    assert cosines(postings, NAMES, left, right).tolist() == whole.tolist()


def test_no_pairs_and_no_texts():
    nothing = np.empty(0, np.int64)
    assert cosines(build(NAMES), [], nothing, nothing).shape == (0,)
    assert cosines(build(NAMES), ["q"], nothing, nothing).shape == (0,)
