"""Shuffled n-grams of words: what stays together, what an order depends on."""

import pytest

from nomina.evaluation.probes import shuffled

TEXT = "severe acute respiratory distress syndrome"


def orders(n):
    return {shuffled(TEXT, n, seed) for seed in range(200)}


def test_trigrams_stay_together():
    # Two n-grams, the second one shorter: two orders.
    assert orders(3) == {TEXT, "distress syndrome severe acute respiratory"}


def test_bigrams_stay_together():
    a, b, c = "severe acute", "respiratory distress", "syndrome"
    assert orders(2) == {" ".join(o) for o in [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]}


def test_single_words_take_any_order():
    assert len(orders(1)) > 90  # of 120, in 200 draws
    assert all(sorted(order.split()) == sorted(TEXT.split()) for order in orders(1))


@pytest.mark.parametrize(("text", "n"), [("", 1), ("fever", 1), ("heart attack", 2), ("heart attack", 3)])
def test_nothing_to_shuffle(text, n):
    assert {shuffled(text, n, seed) for seed in range(20)} == {text}


def test_an_order_depends_on_text_n_and_seed_alone():
    first = shuffled(TEXT, 1, "name")
    assert first == shuffled(TEXT, 1, "name")
    # The same on every machine and in every process: Python's own hash of a text is not.
    assert shuffled("a b c d e f", 1, 0) == "a b d f e c"
    assert shuffled(TEXT, 1, "mention") != first
