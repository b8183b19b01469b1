"""Ids in one field, documents that come again, mentions held against their text."""

from collections import Counter
from pathlib import Path

import pytest

from nomina.corpora.common import Seen, Separators, column_text, one_line, text_at
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention


@pytest.mark.parametrize(
    ("field", "gold"),
    [
        ("", ()),
        ("  ", ()),
        ("D1", (("D1",),)),
        (" D1 ", (("D1",),)),
        ("-1", (("-1",),)),
        ("D1|D2", (("D1",), ("D2",))),
        ("D1+D2;D3,D4", (("D1",), ("D2",), ("D3",), ("D4",))),
        ("MESH:D1/OMIM:2|D3", (("MESH:D1", "OMIM:2"), ("D3",))),
    ],
)
def test_ids_are_split_at_parts_and_alternatives(field, gold):
    assert Separators("|+;,", "/").split(field, Counter()) == gold


def test_empty_ids_are_left_out_and_counted():
    dropped = Counter()
    assert Separators("|", "/").split("D1||/D2|", dropped) == (("D1",), ("D2",))
    assert dropped == {"empty ids": 3}
    assert Separators("|", "/").split("|", Counter()) == ()


def test_none_says_that_nothing_separates():
    assert Separators("none", "none").split("c|SUB|V|600", Counter()) == (("c|SUB|V|600",),)


def test_ids_are_joined_with_the_first_characters_or_refused():
    separators = Separators("|+", "/")
    assert separators.join((("D1", "D2"), ("D3",))) == "D1/D2|D3"
    assert separators.join(()) == ""
    for gold in ((("D1+",),), (("a/b",),), ((" a",),), (("",),), ((),), (("a\tb",),), (("a\nb",),)):
        with pytest.raises(ValueError, match=r"cannot stand in one field with parts=\|\+, alternatives=/"):
            separators.join(gold)
    with pytest.raises(ValueError, match="alternatives=none: choose others"):
        Separators("|", "").join((("D1", "D2"),))


@pytest.mark.parametrize(("parts", "alternatives"), [("a", ""), ("| ", ""), ("|", "1"), ("|+", "+")])
def test_separators_that_cannot_be(parts, alternatives):
    with pytest.raises(UsageError, match=r"the option (parts|alternatives) takes|cannot stand between parts and"):
        Separators(parts, alternatives)


def test_a_document_comes_once():
    dropped, faults = Counter(), []
    seen = Seen(Path("a"), faults.append, dropped)
    first = Document("1", "ataxia", (Mention(((0, 6),), "ataxia"),))
    assert seen.is_new(first, 1)
    assert seen.is_new(Document("2", "ataxia"), 2)
    assert not seen.is_new(Document("1", "ataxia", (Mention(((0, 6),), "ataxia"),)), 3)
    assert dropped == {"repeated documents": 1, "repeated mentions": 1}
    assert not seen.is_new(Document("1", "ataxia"), 4)
    assert [str(fault) for fault in faults] == [
        "a:4: another document with the id '1': ids must differ to tell documents apart"
    ]
    assert not seen.is_new(first, 5)


def test_two_documents_of_one_id_are_an_error_in_a_strict_reading():
    seen = Seen(Path("a"), None, Counter())
    seen.is_new(Document("1", "ataxia"), 1)
    with pytest.raises(FormatError, match="a:2: another document with the id '1'"):
        seen.is_new(Document("1", "Ataxia"), 2)


TEXT = "breast and\tovarian  cancer|tumour"


@pytest.mark.parametrize(
    ("spans", "given", "own"),
    [
        (((0, 6),), "breast", "breast"),
        (((0, 18),), "breast and ovarian", "breast and\tovarian"),
        (((11, 26),), "ovarian cancer ", "ovarian  cancer"),
        (((0, 6), (20, 26)), "breast cancer", "breast cancer"),
        (((0, 6), (20, 26)), "breast and ovarian cancer", "breast and ovarian cancer"),
        (((20, 33),), "tumour", "tumour"),
    ],
)
def test_a_mention_has_its_text_as_given_or_as_it_stands(spans, given, own):
    assert text_at(spans, TEXT, given) == own


@pytest.mark.parametrize(
    ("spans", "given", "why"),
    [
        (((0, 6),), "Breast", "the mention 'Breast' is not what stands at 0-6, 'breast'"),
        (((1, 7),), "breast", "is not what stands at 1-7, 'reast '"),
        (((0, 6), (20, 26)), "breast tumour", "is not what stands at 0-6;20-26, 'breast cancer'"),
        (((20, 33),), "", "is not what stands at"),
        (((27, 99),), "tumour", r"the span 27-99 ends behind the text \(33 characters\)"),
    ],
)
def test_a_mention_that_does_not_stand_there(spans, given, why):
    with pytest.raises(ValueError, match=why):
        text_at(spans, TEXT, given)


def test_a_text_of_its_own_is_counted():
    dropped = Counter()
    assert column_text(Mention(((0, 18),), "breast and\tovarian"), TEXT, dropped) == "breast and ovarian"
    assert column_text(Mention(((20, 33),), "tumour"), TEXT, dropped) == "tumour"
    assert not dropped
    assert column_text(Mention(((0, 6),), "mamma"), TEXT, dropped) == "breast"
    assert column_text(Mention(((0, 6), (11, 18)), "breast\tovarian"), TEXT, dropped) == "breast ovarian"
    assert dropped == {"mention texts": 2}


def test_line_breaks_and_control_characters_become_spaces():
    dropped = Counter()
    assert one_line("a\r\nb\x00c\td\x85", dropped) == "a  b c\td\x85"
    assert dropped == {"line breaks": 2, "control characters": 1}
