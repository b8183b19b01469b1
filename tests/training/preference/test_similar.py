"""The nearest names of one's own concept and of others, against every name's cosine with every other."""

import random

import numpy as np
import pytest

from nomina.linkers.postings import build
from nomina.linkers.tfidf import search
from nomina.training.preference.similar import NameVectors, Similar

WORDS = "heart attack failure cardiac arrest short stature tall finger toe acute chronic mild disease".split()


def names(n, seed=0):
    """Distinct names by concept, and some that two concepts have."""
    rng, keys, concept = random.Random(seed), [], []
    for number in range(n):
        for name in {" ".join(rng.sample(WORDS, rng.randint(1, 4))) for _ in range(rng.randint(1, 4))}:
            keys.append(name)
            concept.append(number)
    return keys, np.array(concept)


def cosines(keys):
    """By the linker's own search, which is compared with an oracle elsewhere: name by name, (n, n)."""
    distinct = list(dict.fromkeys(keys))
    table = np.zeros((len(distinct), len(distinct)))
    for row, hits in zip(table, search(build(distinct), distinct, len(distinct)), strict=True):
        row[hits.rows] = hits.scores
    return {a: dict(zip(distinct, row.tolist(), strict=True)) for a, row in zip(distinct, table, strict=True)}


@pytest.mark.parametrize("k", [1, 3])
def test_others_are_the_most_similar_names_that_a_concept_does_not_have(k):
    keys, concept = names(60)
    scores, order = cosines(keys), list(dict.fromkeys(keys))
    found = Similar(keys, concept).others(k)
    assert found.shape == (len(keys), k)
    for entry, near in enumerate(found.tolist()):
        own = {keys[i] for i in np.flatnonzero(concept == concept[entry])}
        score = scores[keys[entry]]
        expected = [key for key in order if key not in own and score[key] > 0]
        expected.sort(key=lambda key: -score[key])
        assert [keys[i] for i in near if i >= 0] == expected[:k]
        assert all(keys.index(keys[i]) == i for i in near if i >= 0)


def test_synonyms_are_the_most_similar_names_of_a_concept():
    keys, concept = names(60, seed=1)
    scores = cosines(keys)
    for entry, near in enumerate(Similar(keys, concept).synonyms().tolist()):
        own = [i for i in np.flatnonzero(concept == concept[entry]).tolist() if i != entry]
        assert near == max(own, key=lambda i: scores[keys[entry]][keys[i]], default=entry)


def test_a_name_of_several_concepts_is_wrong_for_none_of_them():
    keys, concept = ["heart attack", "infarct", "infarct", "heart arrest", "zzz"], np.array([0, 0, 1, 1, 2])
    near = Similar(keys, concept).others(4)
    assert [keys[i] for i in near[0] if i >= 0] == ["heart arrest"]
    assert 1 not in near[2]
    assert [keys[i] for i in near[3] if i >= 0] == ["heart attack"]
    assert near[4].tolist() == [-1] * 4


def test_names_that_are_written_alike_stand_for_each_other_and_nothing_has_no_neighbour():
    near = Similar(["heart attack", "", "heart attack", "heart"], np.array([0, 0, 1, 2])).others(1)
    assert near[:, 0].tolist() == [3, -1, 3, 0]


def test_few_lists_find_most_of_what_all_lists_find():
    keys, concept = names(400, seed=2)
    similar = Similar(keys, concept)
    exact, few = similar.others(1, budget=None), similar.others(1, budget=60)
    assert np.mean(exact == few) > 0.5
    assert (few >= 0).sum() == (exact >= 0).sum()


def test_one_look_up_leaves_nothing_behind_for_the_next():
    keys, _ = names(60)
    keys = list(dict.fromkeys(keys))
    vectors, none = NameVectors(keys), np.zeros(0, np.int64)
    first = vectors.nearest(3, none, 5)
    for key in range(20):
        vectors.nearest(key, np.array([key]), 5)
    assert vectors.nearest(3, none, 5).tolist() == first.tolist()
    assert first[0] == 3


def test_it_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr("nomina.training.preference.similar._EVERY", 50)
    keys, concept = names(100)
    told = []
    Similar(keys, concept).others(progress=lambda done, of: told.append((done, of)))
    assert len(told) > 1
    assert np.diff([0, *(done for done, _ in told)]).min() >= 50
    assert {of for _, of in told} == {len(keys)}
