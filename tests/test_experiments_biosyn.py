"""``experiments/biosyn_predictions.py``: BioSyn's stored candidates score what BioSyn says of them."""

import importlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation_cases import document, mention

from nomina.corpora import read_corpus
from nomina.evaluation.report import evaluate
from nomina.output import read_predictions, write_jsonl
from nomina.types import Candidate

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT.parent / "shared" / "benchmarks"
STORED = BENCHMARKS / "reference-outputs" / "biosyn_preds_ncbi-disease.json"
TEST_SET = BENCHMARKS / "ncbi-disease" / "biosyn" / "processed_test"

needs_data = pytest.mark.skipif(not STORED.exists(), reason="the benchmark data are not beside the checkout")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments")
    return importlib.import_module("biosyn_predictions")


@pytest.fixture
def stored(script):
    queries = json.loads(STORED.read_text(encoding="utf-8"))
    documents = list(read_corpus(TEST_SET, "biosyn"))
    return queries, documents, list(script.predictions(queries["queries"], documents))


@needs_data
def test_biosyn_scores_what_its_authors_say(stored):
    queries, documents, made = stored
    report = evaluate(made, documents, protocol="as-published", name="BioSyn")
    assert (report.corpus.mentions, report.corpus.distinct_pairs, report.missing) == (960, 352, 0)
    figures = report.systems[0].metrics.any
    assert {k: round(100 * value, 2) for k, value in figures.items()} == {
        "1": 91.15,
        "5": 93.85,
        "10": 95.0,
        "20": 96.77,
    }
    assert figures == pytest.approx({k: queries[f"acc{k}"] for k in figures})
    assert report.errors_total == 85
    assert report.warnings == (
        "BioSyn predicts up to 17 ids joined in one, each of which may hit: name the KB with --kb",
    )


@needs_data
def test_fifty_broken_answers_are_fifty_fewer(stored):
    _, documents, made = stored
    before = evaluate(made, documents, protocol="as-published")
    wrong = {(e.document_id, e.start, e.end) for e in before.errors}
    where = [(p.document_id, p.mention.start, p.mention.end) for p in made]
    alone = Counter(where)  # a composite has several predictions, of which breaking any one is enough
    broken = {i for i, place in enumerate(where) if place not in wrong and alone[place] == 1}
    broken = set(sorted(broken)[::17][:50])
    assert len(broken) == 50
    changed = [
        replace(p, candidates=(replace(p.candidates[0], entity_id="X"), *p.candidates[1:])) if i in broken else p
        for i, p in enumerate(made)
    ]
    after = evaluate(changed, documents, protocol="as-published")
    assert round(960 * before.systems[0].primary.value) == 875
    assert round(960 * after.systems[0].primary.value) == 825
    assert after.errors_total == before.errors_total + 50


@needs_data
def test_they_are_written_as_predictions(stored, tmp_path):
    _, _, made = stored
    with open(tmp_path / "biosyn.jsonl", "w", encoding="utf-8") as stream:
        write_jsonl(made, stream)
    assert list(read_predictions(tmp_path / "biosyn.jsonl")) == made
    assert len(made) == 972  # 960 mentions, 8 of them in 20 parts


def query(*parts):
    """A stored query of (text, ids) with one candidate."""
    return {"mentions": [{"mention": t, "golden_cui": g, "candidates": [{"name": "n", "cui": "C"}]} for t, g in parts]}


def test_documents_are_found_in_the_order_of_the_queries(script):
    # taking "two", the longer one, first would leave no document for "c"
    one, two = document("one", mention(0, "a", "A")), document("two", mention(0, "a", "A"), mention(2, "b", "B"))
    three = document("three", mention(0, "b", "B"), mention(2, "c", "C"))
    queries = [query(("a", "A")), query(("b", " B")), query(("c", "C")), query(("a", "A"), ("b", "B"))]
    found = list(script.predictions(queries, [three, two, one]))
    assert [p.document_id for p in found] == ["one", "three", "three", "two", "two"]
    assert found[0].candidates == (Candidate("C", "n", "n", -1.0, 1, "biosyn", -1),)


def test_ids_are_compared_in_any_order(script):
    of = document("1", mention(0, "a b", "A", "B"))
    assert [p.document_id for p in script.predictions([query(("a b", "B|A"))], [of])] == ["1"]


@pytest.mark.parametrize(
    "queries", [[], [query(("b", "B"))], [query(("a", "B"))], [query(("a", "A")), query(("a", "A"))]]
)
def test_queries_of_other_documents_are_refused(script, queries):
    with pytest.raises(ValueError, match="stored mentions are not those of the 1 documents"):
        list(script.predictions(queries, [document("1", mention(0, "a", "A"))]))
