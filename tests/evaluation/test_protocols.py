import pytest
from evaluation_cases import document, mention
from hypothesis import given
from hypothesis import strategies as st

from nomina.errors import UsageError
from nomina.evaluation.protocols import PROTOCOLS, prepare, protocol_of, rewritten
from nomina.types import Document, Mention

GENERATIVE = PROTOCOLS["as-published-generative"]
TEXT = "Myocardial infarction (MI) is common; an MI-like state and COLON CANCER are not."


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb({"C:1": "myocardial infarction", "C:2": "colon cancer", "C:3": "cancer"})


def at(text, *gold, start=None):
    start = TEXT.index(text) if start is None else start
    return mention(start, text, *gold)


def test_the_table_of_protocols():
    assert {p.name: (p.form, p.primary, p.splits_ids, p.generative) for p in PROTOCOLS.values()} == {
        "as-published": ("name", "any", True, False),
        "as-published-generative": ("name", "any", False, True),
        "clean-kb": ("concept", "any", True, False),
        "clean-raw": ("concept", "strict", False, False),
    }


def test_an_unknown_protocol_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="no protocol 'clean'; there are: as-published, as-published-generative, cl"):
        protocol_of("clean")


@pytest.mark.parametrize("name", ["as-published", "clean-kb", "clean-raw"])
def test_most_protocols_take_documents_as_they_are(name):
    documents = [document("1", mention(0, "A", "-1"), mention(0, "A b", "C:9"))]
    assert prepare(documents, PROTOCOLS[name]) == (documents, {})


def test_abbreviations_are_expanded_in_mentions_and_texts_lower_cased_at_their_places(kb):
    given = Document("1", TEXT, (at("MI", "C:1", start=23), at("MI-like state", "C:1"), at("COLON CANCER", "C:2")))
    (found,), dropped = prepare([given], GENERATIVE, kb)
    assert [m.text for m in found.mentions] == [
        "myocardial infarction",
        "myocardial infarction-like state",
        "colon cancer",
    ]
    assert [m.spans for m in found.mentions] == [m.spans for m in given.mentions]
    assert found.text == TEXT.lower()
    assert not dropped


def test_a_short_form_inside_a_word_stays(kb):
    text = "Myocardial infarction (MI): MIX and xMI."
    given = Document("1", text, (mention(28, "MIX", "C:1"), mention(36, "xMI", "C:1")))
    (found,), _ = prepare([given], GENERATIVE, kb)
    assert [m.text for m in found.mentions] == ["mix", "xmi"]


def test_what_overlaps_has_no_id_or_is_not_in_the_kb_is_dropped_and_counted(kb):
    given = document(
        "1",
        at("COLON CANCER", "C:2"),
        at("CANCER", "C:3"),
        at("MI", "-1", start=23),
        at("state"),
        at("common", "X:1"),
        at("Myocardial infarction", "X:1/C:1"),
        text=TEXT,
    )
    (found,), dropped = prepare([given], GENERATIVE, kb)
    assert [m.text for m in found.mentions] == ["myocardial infarction"]
    assert dropped == {"overlapping": 2, "without an id": 2, "not in the KB": 1}


def test_parts_of_a_composite_do_not_overlap(kb):
    gold = (("C:1",), ("C:2",))
    parts = tuple(Mention(((0, 9),), text, None, gold) for text in ("a", "b"))
    (found,), dropped = prepare([document("1", *parts)], GENERATIVE, kb)
    assert len(found.mentions) == 2
    assert not dropped


def test_mentions_that_touch_do_not_overlap(kb):
    (found,), _ = prepare([document("1", mention(0, "ab", "C:1"), mention(2, "cd", "C:2"))], GENERATIVE, kb)
    assert len(found.mentions) == 2


def test_the_generative_protocol_needs_a_kb():
    with pytest.raises(UsageError, match="drops mentions whose id is not in the KB: name it with --kb"):
        prepare([], GENERATIVE)


def test_training_data_are_rewritten_and_nothing_is_dropped():
    given = Document("1", TEXT, (at("COLON CANCER", "X:9"), at("CANCER", "X:8"), at("MI", start=23)))
    found = rewritten(given, GENERATIVE)
    assert [m.text for m in found.mentions] == ["colon cancer", "cancer", "myocardial infarction"]
    assert rewritten(given, PROTOCOLS["clean-raw"]) is given


@given(st.text(max_size=30))
def test_lower_case_keeps_every_offset(text):
    found = rewritten(Document("1", text), GENERATIVE).text
    assert len(found) == len(text)
    assert all(b in (a, a.lower()) for a, b in zip(text, found, strict=True)) or found == text.lower()


def test_a_letter_whose_lower_case_is_longer_stays():
    assert rewritten(Document("1", "İSTANBUL"), GENERATIVE).text == "İstanbul"
