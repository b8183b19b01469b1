"""Mentions of a corpus: gold as concepts, long forms, composites, counts."""

import numpy as np
import pytest

from nomina.training.mentions import Item, distinct, items
from nomina.types import Document, Mention

NAMES = {"MESH:D1": "Breast Neoplasms", "MESH:D2": "Ovarian Neoplasms", "MESH:D3|MESH:D4": "Both", "MESH:D5": "Ataxia"}
IDS = list(NAMES)


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


def document(text, *mentions):
    found = [Mention(((start, start + len(part)),), part, None, gold) for start, part, gold in mentions]
    return Document("d", text, tuple(found))


def test_gold_becomes_concepts_in_whatever_way_it_is_written(kb):
    given = document("breast cancer, ataxia", (0, "breast cancer", (("D1",),)), (15, "ataxia", (("MESH:D5|MESH:D2",),)))
    assert items([given], kb, IDS) == [
        Item(("breast cancer",), (frozenset({0}),)),
        Item(("ataxia",), (frozenset({1, 3}),)),
    ]


def test_ids_that_the_kb_joins_are_one_concept(kb):
    (item,) = items([document("x y", (0, "x", (("D4",),)))], kb, IDS)
    assert item.gold == (frozenset({2}),)


def test_nil_is_left_out_and_what_the_kb_lacks_stays_empty(kb):
    given = document("a b c", (0, "a", (("-1",),)), (2, "b", ()), (4, "c", (("D99",),)))
    assert items([given], kb, IDS) == [Item(("c",), (frozenset(),))]


def test_an_abbreviation_is_its_long_form(kb):
    text = "Familial ataxia (FA) is rare. FA again."
    given = document(text, (17, "FA", (("D5",),)), (30, "FA", (("D5",),)))
    assert [item.texts for item in items([given], kb, IDS)] == [("Familial ataxia",)] * 2


def test_parts_at_one_place_are_one_item(kb):
    gold = (("D1",), ("D2",))
    spans = ((0, 25),)
    parts = (Mention(spans, "breast cancer", None, gold), Mention(spans, "ovarian cancer", None, gold))
    (item,) = items([Document("d", "breast and ovarian cancer", parts)], kb, IDS)
    assert item == Item(("breast cancer", "ovarian cancer"), (frozenset({0}), frozenset({1})))


def one(text, *concepts):
    return Item((text,), (frozenset(concepts),))


def test_each_text_comes_once_with_its_most_frequent_gold():
    found = [one("a", 1), one("a", 2), one("b", 3, 1), one("a", 2), one("c"), one("d", 9)]
    found += [Item(("e", "f"), (frozenset({1}), frozenset({2}))), Item(("a",), (frozenset({1}), frozenset({2})))]
    texts, gold, counts, left_out = distinct(found, np.array([1, 2, 3]))
    assert texts == ["a", "b"]
    assert [concepts.tolist() for concepts in gold] == [[2], [1, 3]]
    assert counts.tolist() == [3, 1]
    assert left_out == 4
