import gzip
import io
import json
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.errors import FormatError
from nomina.output import as_record, read_predictions, write_jsonl, write_tsv
from nomina.types import Candidate, Mention, Prediction

SEIZURE = Candidate("HP:0001250", "Seizure", "Seizures", 0.9499999880790710, 1, "inflection", 3694)
EPILEPSY = Candidate("X:1", "Falling\tsickness", "fits", 0.5, 2, "tfidf", 7)
PREDICTIONS = [
    Prediction("a.txt", Mention(((0, 8),), "seizures"), (SEIZURE, EPILEPSY), negated=True, hypothetical=True),
    Prediction(
        "a.txt",
        Mention(((10, 16), (29, 35)), "breast\n cancer", "Disease", (("D1", "D2"), ("D3",))),
        (),
        abstained=True,
        experiencer="family",
    ),
    Prediction("γ", Mention(((0, 1),), "γ"), (SEIZURE,), ambiguous=True, probability=0.12345678),
]

JSONL = (
    '{"document_id": "a.txt", "mention": {"spans": [[0, 8]], "text": "seizures", "type": null, "gold": []},'
    ' "candidates": [{"entity_id": "HP:0001250", "preferred": "Seizure", "name": "Seizures", "score": 0.95, "rank": 1,'
    ' "rule": "inflection", "row": 3694}, {"entity_id": "X:1", "preferred": "Falling\\tsickness", "name": "fits",'
    ' "score": 0.5, "rank": 2, "rule": "tfidf", "row": 7}], "ambiguous": false, "abstained": false,'
    ' "probability": null, "negated": true, "experiencer": "patient", "hypothetical": true}\n'
    '{"document_id": "a.txt", "mention": {"spans": [[10, 16], [29, 35]], "text": "breast\\n cancer", "type": "Disease",'
    ' "gold": [["D1", "D2"], ["D3"]]}, "candidates": [], "ambiguous": false, "abstained": true, "probability": null,'
    ' "negated": false, "experiencer": "family", "hypothetical": false}\n'
    '{"document_id": "γ", "mention": {"spans": [[0, 1]], "text": "γ", "type": null, "gold": []}, "candidates":'
    ' [{"entity_id": "HP:0001250", "preferred": "Seizure", "name": "Seizures", "score": 0.95, "rank": 1, "rule":'
    ' "inflection", "row": 3694}], "ambiguous": true, "abstained": false, "probability": 0.123457, "negated": false,'
    ' "experiencer": "patient", "hypothetical": false}\n'
)

COLUMNS = (
    "document_id start end spans mention rank entity_id preferred name rule score"
    " ambiguous abstained negated experiencer hypothetical probability"
)
ROWS = """\
a.txt 0 8 0-8 seizures 1 HP:0001250 Seizure Seizures inflection 0.950000 false false true patient true ∅
a.txt 0 8 0-8 seizures 2 X:1 Falling~sickness fits tfidf 0.500000 false false true patient true ∅
a.txt 10 35 10-16;29-35 breast~cancer       false true false family false ∅
γ 0 1 0-1 γ 1 HP:0001250 Seizure Seizures inflection 0.950000 true false false patient false 0.123457
"""
TSV = f"{COLUMNS}\n{ROWS}".replace(" ", "\t").replace("~", " ").replace("∅", "")


def written(write, predictions) -> str:
    stream = io.StringIO()
    write(predictions, stream)
    return stream.getvalue()


def test_jsonl_to_the_letter():
    assert written(write_jsonl, PREDICTIONS) == JSONL


def test_tsv_to_the_letter():
    assert written(write_tsv, PREDICTIONS) == TSV


def test_no_predictions():
    assert written(write_jsonl, []) == ""
    assert written(write_tsv, []) == TSV.partition("\n")[0] + "\n"


def test_a_record_has_every_field_of_the_dataclasses():
    record = as_record(PREDICTIONS[0])
    assert list(record) == [field.name for field in fields(Prediction)]
    assert list(record["mention"]) == [field.name for field in fields(Mention)]
    assert list(record["candidates"][0]) == [field.name for field in fields(Candidate)]


SHARES = st.integers(0, 10**6).map(lambda millionths: millionths / 10**6)
TEXTS = st.text(st.characters(codec="utf-8"))
CANDIDATES = st.builds(
    Candidate, TEXTS, TEXTS, TEXTS, SHARES | st.just(-1.5), st.integers(1, 99), TEXTS, st.integers(0, 2**40)
)
MENTIONS = st.builds(
    Mention,
    st.lists(st.integers(0, 10**9), min_size=2, max_size=6, unique=True).map(
        lambda places: tuple(zip(sorted(places)[::2], sorted(places)[1::2], strict=False))
    ),
    TEXTS,
    st.none() | TEXTS,
    st.lists(st.lists(TEXTS).map(tuple)).map(tuple),
)
MADE = st.builds(
    Prediction,
    TEXTS,
    MENTIONS,
    st.lists(CANDIDATES, max_size=3).map(tuple),
    st.booleans(),
    st.booleans(),
    st.none() | SHARES,
    st.booleans(),
    st.sampled_from(["patient", "family"]),
)


@given(st.lists(MADE, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, predictions):
    path = tmp_path_factory.mktemp("out") / "p.jsonl"
    path.write_text(written(write_jsonl, predictions), encoding="utf-8", newline="\n")
    assert list(read_predictions(path)) == predictions


def test_packed_predictions_are_read_and_blank_lines_are_not(tmp_path):
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(("\n" + JSONL + "\n").encode()))
    assert [(p.document_id, p.mention.text) for p in read_predictions(str(path))] == [
        ("a.txt", "seizures"),
        ("a.txt", "breast\n cancer"),
        ("γ", "γ"),
    ]


def changed(**change: object) -> dict[str, object]:
    return {**json.loads(JSONL.partition("\n")[0]), **change}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON (EOF while parsing an object at column 1)"),
        (changed(offset=1), "unknown field 'offset'; a line has: document_id, mention, candidates, "),
        (changed(candidates=[{}]), "the field 'candidates.0.entity_id' is missing"),
        (changed(candidates=[{"id": "x"}]), "unknown field 'candidates.0.id'"),
        (changed(negated="no"), "negated: Input should be a valid boolean"),
        (changed(experiencer="mother"), "experiencer: Input should be 'patient' or 'family'"),
        (changed(probability=1.5), "probability 1.5 is not between 0 and 1"),
        (changed(mention={"spans": [[3, 1]], "text": "x"}), "mention: spans must be non-empty, sorted and apart"),
        ({"id": "1", "text": "fever"}, "unknown field 'id'; a line has: document_id, "),
        ({"document_id": "1"}, "the field 'mention' is missing"),
    ],
)
def test_a_line_that_is_no_prediction_is_refused_with_its_place(tmp_path, line, said):
    path = tmp_path / "p.jsonl"
    text = line if isinstance(line, str) else json.dumps(line)
    path.write_text(f"{JSONL.partition(chr(10))[0]}\n{text}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}:2: {said}')}"):
        list(read_predictions(path))


def test_predictions_come_one_by_one(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(JSONL + "{\n", encoding="utf-8")
    stream = read_predictions(path)
    assert next(stream).mention.text == "seizures"
    with pytest.raises(FormatError, match=r"p.jsonl:4: not JSON"):
        list(stream)


def test_a_score_that_is_no_number_is_refused_with_its_line(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(JSONL.replace('"score": 0.5', '"score": NaN'), encoding="utf-8")
    with pytest.raises(FormatError, match=r"p.jsonl:1: "):
        list(read_predictions(path))
