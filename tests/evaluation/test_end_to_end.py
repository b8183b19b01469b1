import pytest
from evaluation_cases import document, mention, predicted

from nomina.evaluation.end_to_end import end_to_end
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import pair
from nomina.types import Mention


def scored(documents, predictions):
    ids = IdMap()
    return end_to_end(pair(documents, predictions, ids, anywhere=True), ids)


def prf(score):
    return pytest.approx((score.precision, score.recall, score.f1))


def test_spans_and_ids_must_be_right():
    gold = document("1", mention(0, "aaaa", "A"), mention(10, "bbbb", "B"), mention(20, "cccc", "C"))
    made = [
        predicted("1", mention(0, "aaaa"), "A"),  # right
        predicted("1", mention(10, "bbbb"), "X"),  # the id is wrong
        predicted("1", mention(22, "cc"), "C"),  # part of the span
        predicted("1", mention(40, "d"), "A"),  # nothing is there
    ]
    found = scored([gold], made)
    assert prf(found.mention) == (1 / 4, 1 / 3, 2 / 7)
    assert prf(found.overlap) == (2 / 4, 2 / 3, 4 / 7)
    assert prf(found.document) == (2 / 3, 2 / 3, 2 / 3)  # A, X, C against A, B, C


def test_only_the_first_candidate_counts():
    gold = document("1", mention(0, "a", "A"))
    assert scored([gold], [predicted("1", mention(0, "a"), "B", "A")]).mention.f1 == 0.0
    assert scored([gold], [predicted("1", mention(0, "a"), "B A")]).mention.f1 == 0.0


def test_abstentions_and_empty_predictions_are_none():
    gold = document("1", mention(0, "a", "A"), mention(2, "b", "B"))
    made = [
        predicted("1", mention(0, "a"), "A"),
        predicted("1", mention(2, "b"), "B", abstained=True),
        predicted("1", mention(4, "c")),
        predicted("1", mention(6, "d"), "NIL"),
    ]
    assert prf(scored([gold], made).mention) == (1.0, 0.5, 2 / 3)


def test_a_prediction_where_no_concept_fits_is_a_false_one():
    gold = document("1", mention(0, "a", "A"), mention(2, "b", "-1"))
    found = scored([gold], [predicted("1", mention(0, "a"), "A"), predicted("1", mention(2, "b"), "B")])
    assert prf(found.mention) == (0.5, 1.0, 2 / 3)
    assert prf(found.document) == (0.5, 1.0, 2 / 3)


def test_pairs_are_one_to_one_and_those_of_the_same_spans_come_first():
    gold = document("1", mention(0, "aaaa", "A"), mention(2, "aaaa", "A"))
    made = [predicted("1", mention(2, "aaaa"), "A"), predicted("1", mention(3, "a"), "A")]
    found = scored([gold], made)
    assert prf(found.mention) == (0.5, 0.5, 0.5)
    assert prf(found.overlap) == (1.0, 1.0, 1.0)
    one = scored([document("1", mention(0, "aaaa", "A"))], made)
    assert prf(one.overlap) == (0.5, 1.0, 2 / 3)


def test_pieces_of_a_discontinuous_mention_overlap_where_they_share_a_character():
    gold = document("1", Mention(((0, 3), (10, 13)), "breast cancer", None, (("A",),)))
    between, on = predicted("1", mention(4, "and"), "A"), predicted("1", mention(10, "can"), "A")
    assert scored([gold], [between]).overlap.f1 == 0.0
    assert scored([gold], [on]).overlap.f1 == 1.0


def test_a_document_wants_every_part_once_and_any_id_of_a_part_will_do():
    gold = document("1", mention(0, "a", "A/B", "C"), mention(5, "b", "A/B"), mention(9, "c", "D"))
    made = [predicted("1", mention(0, "a"), "B"), predicted("1", mention(7, "x"), "B")]
    assert prf(scored([gold], made).document) == (1.0, 1 / 3, 0.5)
    both = [*made, predicted("1", mention(9, "c"), "A")]
    assert prf(scored([gold], both).document) == (0.5, 1 / 3, 0.4)  # A and B are one part of gold


def test_documents_are_counted_together():
    golds = [document("1", mention(0, "a", "A")), document("2", mention(0, "a", "A")), document("3")]
    made = [predicted("1", mention(0, "a"), "A"), predicted("3", mention(0, "a"), "A")]
    found = scored(golds, made)
    assert prf(found.mention) == (0.5, 0.5, 0.5)
    assert prf(found.document) == (0.5, 0.5, 0.5)


def test_one_prediction_that_answers_two_alike_is_one_prediction():
    of = mention(0, "a", "A")
    found = scored([document("1", of, mention(0, "a", "B"))], [predicted("1", of, "A")])
    assert prf(found.mention) == (1.0, 0.5, 2 / 3)


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_predictions_changes_nothing(turned):
    gold = document("1", mention(0, "a" * 10, "A"), mention(10, "b" * 10, "A"))
    made = [predicted("1", mention(5, "c" * 10), "A"), predicted("1", mention(0, "aaaa"), "A")]
    assert prf(scored([gold], made[::-1] if turned else made).overlap) == (1.0, 1.0, 1.0)
    either = document("1", Mention(((0, 1),), "a", None, (("A", "B"),)), mention(2, "b", "A"))
    said = [predicted("1", mention(0, "a"), "A"), predicted("1", mention(2, "b"), "B")]
    assert prf(scored([either], said[::-1] if turned else said).document) == (1.0, 1.0, 1.0)
