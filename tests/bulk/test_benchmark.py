"""The made corpora of ``benchmarks/bulk.py`` and ``benchmarks/synthetic_corpus.py``."""

import importlib
import json
import os
from itertools import islice
from pathlib import Path

import pytest

from nomina.types import Document

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TEXTS = (
    "A boy had fever. His mother was healthy. Cardiac signs were absent.",
    "Kidney disease was found. Renal failure followed in many patients.",
)
NAMES = ("Ataxia", "Seizure")


def test_documents_are_repeated_under_ids_of_their_own(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("bulk")
    source = [Document("1", "a"), Document("1", "b")]
    made = script.made(source, 5)
    folder = script.write(made, tmp_path / "in", 2, 5)
    lines = [(folder / name).read_text("utf-8").splitlines() for name in ("000.jsonl", "001.jsonl")]
    assert [len(own) for own in lines] == [2, 3]
    records = [json.loads(line) for own in lines for line in own]
    assert [record["text"] for record in records] == ["a", "b", "a", "b", "a"]
    assert [record["id"] for record in records] == [f"made-{number}" for number in range(5)]


def test_synthetic_documents_are_the_same_for_a_seed_and_go_on_being_new(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("synthetic_corpus")
    first, again, other = (list(script.made(TEXTS, NAMES, 400, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert list(islice(script.made(TEXTS, NAMES, 9_000, 1), 400)) == first, "more of them begin alike"
    assert [document.id for document in first] == [f"made-{number}" for number in range(400)]
    assert all(len(script.sentences(document.text)) >= 2 for document in first)
    words = [{word for document in half for word in document.text.split()} for half in (first[:200], first[200:])]
    assert len(words[1] - words[0]) > 30, "codes: in one of ten of some 600 sentences"
    assert any(name in document.text for document in first for name in NAMES)


def test_sentences_are_those_of_the_text(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("synthetic_corpus")
    assert script.sentences(TEXTS[1]) == ["Kidney disease was found.", "Renal failure followed in many patients."]
    assert script.sentences("") == [""]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_one_core_is_for_a_while(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("bulk")
    before = os.sched_getaffinity(0)
    with script.one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
