"""Figures of a cascade on development mentions: what is right, how probable, from where on it abstains."""

import numpy as np
import pytest
from cascade_cases import NAMES, PARTS, document, documents

from nomina.errors import UsageError
from nomina.linkers.fitted_cascade.parts import PartOptions
from nomina.training.cascade.fit import Judged, dev_of, figures, fitted, threshold_of


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def dev(kb):
    return dev_of(documents(), kb)


def test_development_mentions_are_those_with_gold(kb, dev):
    assert (len(dev.queries), dev.groups[:5], dev.gold[0]) == (64, ["A0"] * 4 + ["B0"], {"A:heart"})
    with pytest.raises(UsageError, match="1 development mentions with gold are too few"):
        dev_of([document("x", ("heart",), ("A:heart",))], kb)


def test_a_kb_that_lacks_all_gold_is_refused(make_kb):
    with pytest.raises(UsageError, match="has the gold of no development mention"):
        dev_of(documents(), make_kb({"X:1": ("something else",)}))


def test_the_parts_together_are_right_where_one_of_them_is(kb, dev):
    linker, facts, judged = fitted(kb, PARTS, dev, sure=0.9)
    # A quarter of the mentions is of a concept that the KB lacks: never right.
    assert round(float(judged.right.mean()), 4) == facts["accuracy"] <= 0.75
    names = np.array([query.mention.text in ("heart failure", "skin tumour") for query in dev.queries])
    assert judged.right[names].all()
    alone = [part["right_if_last"] for part in facts["parts"]]
    assert [part["part"] for part in facts["parts"]] == ["dictionary", "tfidf", "embedding"]
    assert facts["accuracy"] >= max(alone) - 0.05
    assert facts["parts"][0]["reached"] == 64
    for part, behind in zip(facts["parts"], facts["parts"][1:], strict=False):
        assert behind["reached"] == part["reached"] - part["done"]
    assert [part.options.fingerprint != "" for part in linker.parts] == [False, False, True]


def test_the_same_mentions_give_the_same_weights(kb, dev):
    one, other = (fitted(kb, PARTS[:2], dev)[0] for _ in range(2))
    assert one.stages == other.stages


def test_a_wanted_precision_is_met_on_what_is_answered(kb, dev):
    linker, facts, judged = fitted(kb, PARTS, dev, precision=0.9)
    answered = judged.probability >= linker.abstain
    assert judged.right[answered].mean() >= 0.9
    assert (facts["coverage"], facts["abstain"]) == (round(answered.mean(), 4), linker.abstain)


def test_the_threshold_is_the_lowest_that_reaches_the_precision():
    judged = Judged(
        np.array([0.9, 0.8, 0.8, 0.6, 0.5, 0.0]), np.array([1, 1, 0, 1, 0, 0], np.bool_), np.ones(6, np.int64)
    )
    # From 0.9 on 1 of 1 is right, from 0.8 on 2 of 3, from 0.6 on 3 of 4, from 0.5 on 3 of 5.
    assert threshold_of(judged, 1.0) == 0.9
    assert threshold_of(judged, 0.75) == 0.6
    assert threshold_of(judged, 0.7) == 0.6
    assert threshold_of(judged, 0.6) == 0.5
    with pytest.raises(UsageError, match=r"no threshold reaches a precision of 0\.9"):
        threshold_of(Judged(judged.probability, np.zeros(6, np.bool_), judged.asked), 0.9)


def test_figures_by_hand():
    judged = Judged(np.array([0.95, 0.75, 0.25, 0.0]), np.array([1, 0, 1, 0], np.bool_), np.ones(4, np.int64))
    found = figures(judged, 0.5)
    assert (found["accuracy"], found["coverage"], found["precision"]) == (0.5, 0.5, 0.5)
    assert found["brier"] == round((0.05**2 + 0.75**2 + 0.75**2) / 4, 4)
    assert found["ece"] == round((0.05 + 0.75 + 0.75) / 4, 4)
    assert figures(judged, 0.99)["precision"] is None


def test_what_cannot_be_is_refused(kb, dev):
    with pytest.raises(UsageError, match="sure must be above 0"):
        fitted(kb, PARTS, dev, sure=0.0)
    for precision in (0.0, 1.1, float("nan")):
        with pytest.raises(UsageError, match="precision must be above 0 and at most 1"):
            fitted(kb, PARTS, dev, precision=precision)
    with pytest.raises(UsageError, match="in this order"):
        fitted(kb, [PartOptions("tfidf"), PartOptions("dictionary")], dev)
