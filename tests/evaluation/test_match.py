import pytest
from evaluation_cases import candidate, document, mention, predicted

from nomina.errors import UsageError
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import items_of, pair
from nomina.types import Mention, Prediction


def paired(documents, predictions, **options):
    return pair(documents, predictions, IdMap(), **options)


def answers(documents, predictions, **options):
    """The first candidate of each prediction of each item."""
    items = paired(documents, predictions, **options).items
    return [tuple(p.candidates[0].entity_id for p in item.predictions) for item in items]


def test_items_are_in_the_order_of_the_corpus_whatever_the_order_of_predictions():
    a, b, c = mention(0, "a", "A"), mention(5, "b", "B"), mention(0, "c", "C")
    documents = [document("2", a, b), document("1", c)]
    made = [predicted("1", c, "C"), predicted("2", b, "B"), predicted("2", a, "A")]
    found = paired(documents, made)
    assert [(i.document_id, i.mention.text, i.gold) for i in found.items] == [
        ("2", "a", (frozenset("A"),)),
        ("2", "b", (frozenset("B"),)),
        ("1", "c", (frozenset("C"),)),
    ]
    assert [i.predictions[0].candidates[0].entity_id for i in found.items] == ["A", "B", "C"]
    assert found.elsewhere == []


def test_the_text_of_a_prediction_does_not_matter_where_one_mention_stands():
    of = mention(0, "Fits", "A")
    assert answers([document("1", of)], [predicted("1", mention(0, "fits"), "A")]) == [("A",)]


def test_a_mention_without_prediction_has_none():
    a, b = mention(0, "a", "A"), mention(5, "b", "B")
    assert answers([document("1", a, b)], [predicted("1", b, "B")]) == [(), ("B",)]


def composite(*texts, gold=("A", "B")):
    """Parts of a composite: one place, one gold, different texts."""
    parts = tuple((id,) for id in gold)
    return [Mention(((0, 9),), text, None, parts) for text in texts]


def test_parts_of_a_composite_are_one_item():
    parts = composite("ovarian cancer", "breast cancer")
    made = [predicted("1", parts[1], "B"), predicted("1", parts[0], "A")]
    (item,) = paired([document("1", *parts)], made).items
    assert item.mention.text == "ovarian cancer|breast cancer"
    assert item.mention.spans == ((0, 9),)
    assert [p.candidates[0].entity_id for p in item.predictions] == ["A", "B"]
    assert item.gold == (frozenset("A"), frozenset("B"))


def test_a_composite_of_which_a_part_has_no_prediction_has_none():
    parts = composite("a", "b")
    assert answers([document("1", *parts)], [predicted("1", parts[0], "A")]) == [()]


def test_one_mention_of_two_concepts_is_one_item_with_one_prediction():
    of = mention(0, "a and b", "A", "B")
    assert answers([document("1", of)], [predicted("1", of, "A")]) == [("A",)]


def test_the_same_mention_twice_is_two_items_that_one_prediction_answers():
    a = mention(0, "a", "A")
    assert answers([document("1", a, a)], [predicted("1", a, "A")]) == [("A",), ("A",)]
    assert answers([document("1", a, a)], [predicted("1", a, "A"), predicted("1", a, "B")]) == [("A",), ("B",)]


def test_one_text_of_two_meanings_is_two_items():
    one, other = mention(0, "a", "A"), mention(0, "a", "B")
    found = paired([document("1", one, other)], [predicted("1", one, "A")]).items
    assert [item.gold for item in found] == [(frozenset("A"),), (frozenset("B"),)]
    assert len({item.predictions for item in found}) == 1


def test_mentions_of_one_place_are_answered_in_order_where_no_text_fits():
    parts = composite("A b", "C d")
    made = [predicted("1", Mention(((0, 9),), text), id) for text, id in (("x", "A"), ("y", "B"))]
    assert answers([document("1", *parts)], made) == [("A", "B")]


def test_spans_must_be_the_same():
    of = Mention(((0, 3), (8, 12)), "bre cancer", None, (("A",),))
    whole = Mention(((0, 12),), "bre cancer")
    assert answers([document("1", of)], [predicted("1", of, "A")]) == [("A",)]
    with pytest.raises(UsageError, match="1 of 1 mentions"):
        paired([document("1", of)], [predicted("1", whole, "A")])


def test_predictions_of_another_corpus_are_refused_with_their_number():
    a = mention(0, "a", "A")
    made = [predicted("1", a, "A"), predicted("9", a, "A"), predicted("1", mention(4, "a"), "A")]
    with pytest.raises(UsageError) as caught:
        paired([document("1", a)], made, name="old.jsonl")
    assert str(caught.value) == (
        "old.jsonl is for another corpus: 2 of 3 mentions are not in the gold file, the first is document '9', mention"
        " 0-1; if mentions were found in raw text, use --end-to-end"
    )


def test_predictions_of_other_documents_are_not_advised_to_be_from_raw_text():
    a = mention(0, "a", "A")
    with pytest.raises(UsageError, match=r"the first is document '9', mention 0-1$"):
        paired([document("1", a)], [predicted("9", a, "A")])


def test_two_predictions_for_one_mention_are_refused():
    a = mention(3, "a", "A")
    with pytest.raises(UsageError) as caught:
        paired([document("1", a)], [predicted("1", a, "A"), predicted("1", a, "B")], name="x")
    assert str(caught.value) == (
        "x holds 2 predictions for document '1', mention 3-4, where the gold file has 1: keep one for each mention"
    )


def test_a_prediction_for_none_of_the_parts_of_a_composite_is_refused():
    parts = composite("a", "b")
    with pytest.raises(UsageError, match="the texts of the predictions for document '1', mention 0-9 are not those"):
        paired([document("1", *parts)], [predicted("1", Mention(((0, 9),), "a and b"), "A")])


@pytest.mark.parametrize("ranks", [(2, 1), (0, 1), (1, 3, 2)])
def test_candidates_out_of_order_are_refused(ranks):
    a = mention(0, "a", "A")
    made = Prediction("1", a, tuple(candidate(str(i), rank) for i, rank in enumerate(ranks)))
    with pytest.raises(UsageError, match="document '1', mention 0-1 are not in the order of ranks from 1 on"):
        paired([document("1", a)], [made])


def test_no_prediction_at_all_is_refused():
    with pytest.raises(UsageError, match="none holds no prediction for this corpus"):
        paired([document("1", mention(0, "a", "A"))], [], name="none")


def test_predictions_at_dropped_places_are_passed_over():
    a, b = mention(0, "a", "A"), mention(5, "b", "B")
    made = [predicted("1", a, "A"), predicted("1", b, "B")]
    assert answers([document("1", a)], made, dropped=[("1", b.spans)]) == [("A",)]


def test_predictions_may_stand_elsewhere_where_that_is_asked_for():
    a, b = mention(0, "a", "A"), mention(5, "b")
    found = paired([document("1", a)], [predicted("1", b, "B")], anywhere=True)
    assert found.items[0].predictions == ()
    assert [p.mention.text for p in found.elsewhere] == ["b"]


def test_predictions_of_other_documents_are_refused_even_then():
    a = mention(0, "a", "A")
    with pytest.raises(UsageError) as caught:
        paired([document("1", a)], [predicted("1", a, "A"), predicted("2", a, "A")], name="x", anywhere=True)
    assert str(caught.value) == (
        "x is for another corpus: 1 of 2 predictions are of documents that are not in the gold file;"
        " the first is of document '2'"
    )


def test_two_documents_of_one_id_share_what_was_predicted():
    a, b = mention(0, "a", "A"), mention(5, "b", "B")
    made = [predicted("1", a, "A"), predicted("1", b, "B")]
    assert answers([document("1", a), document("1", a, b)], made) == [("A",), ("A",), ("B",)]


def test_items_without_predictions():
    parts = composite("a", "b")
    found = items_of([document("1", *parts, mention(12, "c"))], IdMap())
    assert [(item.mention.text, item.predictions, len(item.gold)) for item in found] == [("a|b", (), 2), ("c", (), 0)]
