"""``experiments/cascade.py``: a cascade against its parts, on made mentions."""

import importlib
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
from cascade_cases import ENCODER, NAMES, PARTS, documents

from nomina.training.cascade.fit import dev_of

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments")
    return importlib.import_module("cascade")


def test_it_is_compared_with_each_part_and_the_default(script, make_kb):
    kb = make_kb(NAMES)
    dev = dev_of(documents(), kb)
    found = script.compared(kb, dev, PARTS, Namespace(sure=0.9, encoder=str(ENCODER), speed=True))
    assert list(found["against"]) == ["dictionary", "tfidf", "embedding", "default", "all parts for every mention"]
    for part, own in zip(found["parts"], list(found["against"].values())[:1], strict=False):
        assert own["accuracy"] == pytest.approx(100 * part["right_if_last"], abs=0.01)
    for own in found["against"].values():
        assert own["difference"] == pytest.approx(100 * found["accuracy"] - own["accuracy"], abs=0.02)
    assert found["mentions_a_second"] > 0


def test_of_the_default_the_first_concept_counts(script, make_kb):
    kb = make_kb(NAMES)
    dev = dev_of(documents(), kb)
    right = script.right_of(script.CascadeLinker(kb, ENCODER), dev)
    names = [query.mention.text in {name for several in NAMES.values() for name in several} for query in dev.queries]
    assert right[names].all()
    assert not right[3::4].any()  # the KB lacks their concept


def test_mentions_of_one_type(script):
    (first, *_) = documents()
    mixed = replace(
        first, mentions=tuple(replace(m, type=kind) for m, kind in zip(first.mentions, "ABAB", strict=True))
    )
    (kept,) = script.of_type(iter([mixed]), "B")
    assert kept.mentions == (mixed.mentions[1], mixed.mentions[3])
    assert list(script.of_type(iter([mixed]), None)) == [mixed]
