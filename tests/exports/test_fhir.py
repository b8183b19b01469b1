"""FHIR, also held against fhir.resources."""

import io
import json
from collections import Counter
from importlib import import_module

import pytest
from export_cases import candidate, prediction

from nomina.exports.fhir import codeable_concept, write
from nomina.types import Mention, Prediction

CODING = {
    "system": "http://human-phenotype-ontology.org",
    "code": "HP:0001250",
    "display": "Seizure",
    "userSelected": False,
}
LINE = {
    "resourceType": "Parameters",
    "parameter": [
        {"name": "document", "valueString": "n\u00e9"},
        {"name": "span", "part": [{"name": "start", "valueInteger": 0}, {"name": "end", "valueInteger": 4}]},
        {"name": "span", "part": [{"name": "start", "valueInteger": 9}, {"name": "end", "valueInteger": 12}]},
        {"name": "concept", "valueCodeableConcept": {"coding": [CODING], "text": "grand fit"}},
        {
            "name": "candidate",
            "part": [
                {"name": "concept", "valueCoding": CODING},
                {"name": "score", "valueDecimal": 0.95},
                {"name": "rule", "valueString": "inflection"},
            ],
        },
        {"name": "probability", "valueDecimal": 0.5},
        {"name": "ambiguous", "valueBoolean": False},
        {"name": "negated", "valueBoolean": True},
        {"name": "family", "valueBoolean": True},
        {"name": "hypothetical", "valueBoolean": False},
    ],
}


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb({"HP:0001250": "Seizure", "T:1": "Own"})


def test_a_resource_a_line_and_abstentions_left_out(kb):
    found = Prediction(
        "n\u00e9", Mention(((0, 4), (9, 12)), "grand fit"), (candidate("HP:0001250", score=0.95, rule="inflection"),),
        probability=0.5, negated=True, experiencer="family",
    )  # fmt: skip
    stream, dropped = io.StringIO(), Counter()
    write(
        [found, prediction("x", candidate("HP:0001250"), abstained=True), prediction("y")], stream, kb, dropped=dropped
    )
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [LINE]
    assert "n\u00e9" in stream.getvalue()
    assert dropped == {"abstained": 2}


def test_only_one_concept_is_coded(kb):
    best, other = candidate("HP:0001250"), candidate("T:1", "Own", rank=2)
    assert codeable_concept(prediction("fit", best, other), kb) == {"coding": [CODING], "text": "fit"}
    assert codeable_concept(prediction("fit", best, other, ambiguous=True), kb) == {"text": "fit"}
    assert codeable_concept(prediction("fit", best, abstained=True), kb) == {"text": "fit"}
    assert codeable_concept(prediction("fit"), kb) == {"text": "fit"}


def test_a_vocabulary_without_a_code_system(kb):
    coded = codeable_concept(prediction("x", candidate("T:1", "Own")), kb)
    assert coded == {"coding": [{"code": "T:1", "display": "Own", "userSelected": False}], "text": "x"}


@pytest.mark.extras
@pytest.mark.parametrize("module", ["fhir.resources.R4B.parameters", "fhir.resources.parameters"])
def test_another_reader_reads_the_same(module):
    pytest.importorskip("fhir.resources")
    resource = import_module(module).Parameters.model_validate(LINE)
    assert json.loads(resource.model_dump_json()) == LINE
