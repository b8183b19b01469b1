"""Phenopackets. The expected packet was read by phenopackets 2.0.2 (protobuf) and came back unchanged."""

import io
import json
from collections import Counter
from datetime import datetime

import pytest
from export_cases import candidate, prediction

from nomina._version import __version__
from nomina.errors import UsageError
from nomina.exports.phenopacket import check, features, write

SEIZURE, SHORT = {"id": "HP:0001250", "label": "Seizure"}, {"id": "HP:0004322", "label": "Short stature"}
PACKET = {
    "id": "note 1",
    "subject": {"id": "note 1"},
    "phenotypicFeatures": [{"type": SEIZURE, "excluded": True}, {"type": SHORT}],
    "metaData": {
        "created": "2026-01-31T11:00:00Z",
        "createdBy": "me",
        "resources": [
            {
                "id": "hp",
                "name": "Human Phenotype Ontology",
                "url": "http://purl.obolibrary.org/obo/hp.owl",
                "version": "unknown",
                "namespacePrefix": "HP",
                "iriPrefix": "http://purl.obolibrary.org/obo/HP_",
            }
        ],
        "phenopacketSchemaVersion": "2.0",
    },
}


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb({"HP:0001250": "Seizure", "HP:0004322": "Short stature"})


def seizure(**said):
    return prediction("fit", candidate("HP:0001250"), **said)


def short(**said):
    return prediction("short", candidate("HP:0004322", "Short stature"), **said)


def packets(predictions, kb, **options):
    stream = io.StringIO()
    write(predictions, stream, kb, **options)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_packet_a_document(kb):
    linked = [seizure(document="note 1", negated=True), short(document="note 1"), short(document="2", abstained=True)]
    first, second = packets(linked, kb, created="2026-01-31T12:00:00+01:00", created_by="me")
    assert first == PACKET
    assert (second["id"], second["phenotypicFeatures"]) == ("2", [])


def test_what_is_not_said_of_the_patient_is_left_out_and_counted():
    dropped = Counter()
    left_out = [
        seizure(experiencer="family"), seizure(hypothetical=True), seizure(ambiguous=True), seizure(abstained=True),
        prediction("x"),
    ]  # fmt: skip
    assert features([*left_out, short()], dropped) == [{"type": SHORT}]
    assert dropped == {"family": 1, "hypothetical": 1, "ambiguous": 1, "abstained": 2}


@pytest.mark.parametrize(
    ("order", "excluded", "contradictions"),
    [([False, False], False, 0), ([True, True], True, 0), ([True, False], False, 1), ([False, True], False, 1)],
)
def test_a_term_comes_once_and_what_is_there_is_there(order, excluded, contradictions):
    dropped = Counter()
    found = features([seizure(negated=negated) for negated in order], dropped)
    assert found == [{"type": SEIZURE, "excluded": True} if excluded else {"type": SEIZURE}]
    assert dropped["denied and affirmed"] == contradictions


def test_other_ids_than_those_of_hpo_are_refused(make_kb):
    with pytest.raises(UsageError, match="features are HPO terms, but the KB made has 'MONDO:2': use --kb hpo"):
        check(make_kb({"HP:1": "a", "MONDO:2": "b"}))


def test_now_and_by_nomina_if_nothing_else_is_said(kb):
    (packet,) = packets([seizure()], kb)
    assert packet["metaData"]["createdBy"] == f"nomina {__version__}"
    age = datetime.now().astimezone() - datetime.fromisoformat(packet["metaData"]["created"])
    assert 0 <= age.total_seconds() < 60


@pytest.mark.parametrize("created", ["yesterday", "2026-01-31", "2026-01-31T12:00:00"])
def test_a_moment_that_is_none(kb, created):
    with pytest.raises(UsageError, match="the option created is a moment such as"):
        packets([], kb, created=created)
