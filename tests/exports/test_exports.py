"""The table of export formats, and predictions as documents of a corpus."""

import io
from collections import Counter

import pytest
from export_cases import candidate, prediction

from nomina.errors import UsageError
from nomina.exports import EXPORTS, Passing, annotated, exporter
from nomina.types import Document, Mention


def test_every_format_is_found_and_writes(make_kb):
    kb = make_kb({"HP:1": "a"})
    for format in EXPORTS:
        stream = io.StringIO()
        exporter(format, kb)([prediction("a", candidate("HP:1"))], stream)
        assert "HP:1" in stream.getvalue()


def test_what_cannot_be_is_said_before_there_are_predictions(make_kb):
    kb = make_kb({"T:1": "a"})
    with pytest.raises(UsageError, match="no export format 'xml'; there are: sssom, fhir, phenopacket"):
        exporter("xml", kb)
    with pytest.raises(UsageError, match="the format fhir has no option license"):
        exporter("fhir", kb, {"license": "x:y"})
    with pytest.raises(UsageError, match="HPO terms"):
        exporter("phenopacket", kb)
    with pytest.raises(UsageError, match="the option date is a day"):
        exporter("sssom", kb, {"date": "now"})


def test_documents_get_the_mentions_that_were_linked():
    texts = [Document(id, "fit, short") for id in "abcd"]
    texts[2] = Document("c", "fit", (Mention(((0, 3),), "fit", gold=(("OLD:1",),)),))
    linked = [
        prediction("fit", candidate("X:1"), candidate("X:2"), candidate("X:3", rank=3), document="b", negated=True),
        prediction("short", candidate("X:4"), document="b", start=5, abstained=True),
        prediction("fit", candidate("X:1"), document="c", experiencer="family", hypothetical=True),
    ]
    dropped, passing = Counter(), Passing(texts)
    assert list(passing) == texts
    assert list(annotated(passing, linked, dropped)) == [
        texts[0],
        Document("b", "fit, short", (Mention(((0, 3),), "fit", gold=(("X:1", "X:2"),)), Mention(((5, 10),), "short"))),
        Document("c", "fit", (Mention(((0, 3),), "fit", gold=(("X:1",),)),)),
        texts[3],
    ]
    assert +dropped == {"negated": 1, "family": 1, "hypothetical": 1}


def test_ties_can_be_left_out():
    tied = prediction("fit", candidate("X:1"), candidate("X:2"), document="a")
    dropped, passing = Counter(), Passing([Document("a", "fit")])
    (document,) = annotated(passing, (tied for _ in passing), dropped, ties=False)
    assert document == Document("a", "fit", (Mention(((0, 3),), "fit"),))
    assert +dropped == {"ambiguous": 1}
