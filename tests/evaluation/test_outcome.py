from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from evaluation_cases import candidate, item, mention, predicted, ranked
from hypothesis import given
from hypothesis import strategies as st

from nomina.evaluation import outcome as module
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import Item
from nomina.evaluation.outcome import KS, outcome
from nomina.types import Prediction

KS_OF_ORACLE = (1, 2, 3, 4)


def judged(*items, form="concept"):
    return outcome(items, IdMap(), form)


def at(hits, k):
    return hits[0, KS.index(k)]


# By hand


def test_a_right_first_candidate_is_right_under_every_rule():
    found = judged(item(["A"], ["A", "B"]))
    assert found.any.all()
    assert found.strict.all()
    assert found.expected.tolist() == [[1.0] * 4]
    assert found.reciprocal_rank.tolist() == [1.0]


def test_the_second_of_five_counts_from_k_5_on():
    found = judged(item(["A"], ["B", "A", "C", "D", "E"]))
    assert found.any.tolist() == found.strict.tolist() == [[False, True, True, True]]
    assert found.expected.tolist() == [[0.0, 1.0, 1.0, 1.0]]
    assert found.reciprocal_rank.tolist() == [0.5]
    assert found.first.tolist() == [2.0]


def test_a_tie_is_whole_for_any_cut_for_strict_and_a_lot_for_expected():
    found = judged(item(["C"], ["A B C", "D"]))
    assert at(found.any, 1)
    assert not at(found.strict, 1)
    assert at(found.expected, 1) == pytest.approx(1 / 3)
    assert at(found.strict, 5)
    assert found.reciprocal_rank.tolist() == [pytest.approx(1 / 3)]


def test_a_tie_that_the_cut_divides_is_hypergeometric():
    # three better ones, then six of which two are right; the five best hold two of the six
    found = judged(item(["X/Y"], ["A", "B", "C", "D X E F Y G"]))
    assert at(found.expected, 5) == pytest.approx(1 - (4 * 3) / (6 * 5))
    assert at(found.any, 5)
    assert at(found.strict, 5)
    assert not at(found.any, 1)
    assert at(found.expected, 10) == 1.0


def test_a_tie_beyond_the_cut_is_right_for_any_only():
    found = judged(item(["Y"], ["A", "B", "C", "D", "E F Y"]))
    assert at(found.any, 5)
    assert not at(found.strict, 5)
    assert at(found.expected, 5) == pytest.approx(1 / 3)


def test_any_id_of_a_part_will_do():
    assert judged(item(["A/B"], ["B"])).strict.all()


def test_one_prediction_for_two_parts_is_right_for_any_and_strict_only_with_both():
    found = judged(item(["A", "B"], ["B", "C", "A"]))
    assert at(found.any, 1)
    assert not at(found.strict, 1)
    assert at(found.expected, 1) == 0.0
    assert at(found.strict, 5)
    assert found.reciprocal_rank.tolist() == [pytest.approx(1 / 3)]


def test_every_part_prediction_of_a_composite_must_be_right():
    gold = ["A", "B"]
    assert judged(item(gold, ["A"], ["B"])).strict[0, 0]
    wrong = judged(item(gold, ["A"], ["C", "B"]))
    assert not wrong.any[0, 0]
    assert not wrong.strict[0, 0]
    assert wrong.any[0, 1]
    assert wrong.strict[0, 1]


def test_two_part_predictions_of_the_same_part_are_right_for_any_but_not_strict():
    found = judged(item(["A", "B"], ["A"], ["A"]))
    assert found.any.all()
    assert not found.strict.any()
    assert found.expected.tolist() == [[0.0] * 4]
    assert found.reciprocal_rank.tolist() == [0.0]


def test_ties_of_part_predictions_are_drawn_apart():
    found = judged(item(["A", "B"], ["A B"], ["B A"]))
    assert found.any[0, 0]
    assert found.strict[0, 0]  # A of the first, B of the second
    assert at(found.expected, 1) == pytest.approx(1 / 2)  # A and B, or B and A, of four ways


def test_nil_gold_is_never_right():
    found = judged(item([], ["A"]))
    assert found.nil_gold.tolist() == [True]
    assert not found.any.any()
    assert not found.strict.any()
    assert found.expected.max() == 0.0


def test_nothing_predicted_is_missing_and_wrong():
    found = judged(item(["A"]))
    assert found.missing.tolist() == [True]
    assert found.nil_predicted.tolist() == [False]
    assert not found.any.any()
    assert found.score.tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("made", "is_nil"),
    [
        (item(["A"], ["A"], abstained=True), True),
        (item(["A"], []), True),
        (item(["A"], ["-1", "A"]), True),
        (item(["A"], ["nil"]), True),
        (item(["A"], ["A", "-1"]), False),
        (item(["A", "B"], ["A"], ["NIL"]), False),
        (item(["A", "B"], ["NIL"], ["NIL"]), True),
    ],
)
def test_nil_is_predicted_by_abstaining_by_no_candidate_and_by_saying_so(made, is_nil):
    assert judged(made).nil_predicted.tolist() == [is_nil]


def test_candidates_of_an_abstention_still_rank():
    assert judged(item(["A"], ["A"], abstained=True)).any.all()


def test_a_nil_candidate_takes_a_place_and_hits_nothing():
    found = judged(item(["-1"], ["-1"]), item(["A"], ["-1", "A"]))
    assert not found.any[0].any()
    assert found.any[1].tolist() == [False, True, True, True]


def test_the_score_is_the_probability_else_that_of_the_first_candidate_of_the_worst_part():
    one, two = mention(0, "a", "A"), mention(0, "b", "A")
    sure = Prediction("1", one, (candidate("A", 1, score=0.9), candidate("B", 2, score=0.8)))
    less = Prediction("1", two, (candidate("A", 1, score=0.9),), probability=0.3)
    gold = (frozenset("A"),)
    found = judged(Item("1", one, (sure,), gold), Item("1", two, (less,), gold), Item("1", one, (sure, less), gold))
    assert found.score.tolist() == [0.9, 0.3, 0.3]


def test_a_concept_that_comes_again_counts_where_it_came_first():
    names = tuple(candidate(id, rank, row=rank) for rank, id in enumerate(["A", "A", "A", "A", "B", "C"], start=1))
    of = mention(0, "a", "C")
    items = [Item("1", of, (Prediction("1", of, names),), (frozenset("C"),))]
    as_concepts, as_names = judged(*items), judged(*items, form="name")
    assert as_concepts.first.tolist() == [3.0]
    assert as_concepts.depth == 3
    assert as_names.first.tolist() == [6.0]
    assert as_names.depth == 6
    assert not at(as_names.any, 5)
    assert at(as_names.any, 10)


def test_ranks_that_do_not_leave_room_for_a_tie_are_read_as_if_they_did():
    dense = (candidate("A", 1), candidate("B", 1), candidate("C", 2))
    of = mention(0, "a", "C")
    found = judged(Item("1", of, (Prediction("1", of, dense),), (frozenset("C"),)))
    assert found.first.tolist() == [3.0]


def test_owners_of_one_name_are_one_of_the_k_names():
    shared = (
        candidate("A", 1, row=7),
        candidate("B", 1, row=7),
        *(candidate("X", 1 + i, row=10 + i) for i in range(1, 4)),
        candidate("C", 5, row=20),
    )
    of = mention(0, "a", "C")
    found = judged(Item("1", of, (Prediction("1", of, shared),), (frozenset("C"),)), form="name")
    assert found.first.tolist() == [5.0]
    assert at(found.any, 5)
    assert at(found.strict, 5)


def test_one_row_at_several_ranks_is_several_names():
    listed = tuple(candidate("C" if rank == 6 else "X", rank, row=3) for rank in range(1, 7))
    of = mention(0, "a", "C")
    found = judged(Item("1", of, (Prediction("1", of, listed),), (frozenset("C"),)), form="name")
    assert found.first.tolist() == [6.0]
    assert not at(found.any, 5)


def test_an_id_that_joins_several_is_right_by_any_of_them():
    assert judged(item(["208900"], ["D001260|208900"])).strict.all()
    assert judged(item(["D2"], ["300400|D1+D2"])).strict.all()


def test_no_items_are_no_outcome():
    found = judged()
    assert found.any.shape == (0, len(KS))
    assert found.depth == 0


# By a slow loop over every order of the ties


def _blocks(candidates, form):
    """(rank, ids) of each block, by definition."""
    if form == "concept":
        best = {}
        for each in candidates:
            best.setdefault(each.entity_id, each.rank)
        ranks = sorted(set(best.values()))
        return [
            (1 + sum(rank < here for rank in best.values()), [id for id, rank in best.items() if rank == here])
            for here in ranks
        ]
    return [
        (
            1 + len({each.row for each in candidates if each.rank < here}),
            [each.entity_id for each in candidates if each.rank == here],
        )
        for here in sorted({each.rank for each in candidates})
    ]


def _best(blocks, k):
    return {id for rank, ids in blocks for place, id in enumerate(ids) if rank + place <= k}


def _strict(each_blocks, gold, k):
    tops = [_best(blocks, k) for blocks in each_blocks]
    together = set().union(*tops)
    return all(top & set().union(*gold) for top in tops) and all(part & together for part in gold)


def _orders(blocks):
    for order in product(*(permutations(ids) for _, ids in blocks)):
        yield [(rank, ids) for (rank, _), ids in zip(blocks, order, strict=True)]


def _oracle(one, form, k):
    if not one.gold or not one.predictions:
        return False, False, 0.0
    each = [_blocks(prediction.candidates, form) for prediction in one.predictions]
    union = set().union(*one.gold)
    is_any = all(any(rank <= k and union & set(ids) for rank, ids in blocks) for blocks in each)
    orders = [_strict(chosen, one.gold, k) for chosen in product(*(list(_orders(blocks)) for blocks in each))]
    return is_any, _strict(each, one.gold, k), float(Fraction(sum(orders), len(orders)))


ids = st.sampled_from("ABCDE")
candidates = st.lists(st.tuples(st.integers(1, 3), ids, st.integers(0, 3)), max_size=5).map(
    lambda found: tuple(candidate(id, rank, row=row) for rank, id, row in sorted(found, key=lambda each: each[0]))
)
golds = st.lists(st.frozensets(ids, min_size=1, max_size=2), max_size=3).map(tuple)


@st.composite
def items(draw):
    of = mention(0, "a")
    made = draw(st.lists(candidates, max_size=2))
    return Item("1", of, tuple(Prediction("1", of, each) for each in made), draw(golds))


@pytest.mark.parametrize("form", ["concept", "name"])
@given(st.lists(items(), min_size=1, max_size=4))
def test_equal_to_trying_every_order_of_the_ties(form, made):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "KS", KS_OF_ORACLE)
        found = outcome(made, IdMap(), form)
    for i, one in enumerate(made):
        for j, k in enumerate(KS_OF_ORACLE):
            is_any, is_strict, expected = _oracle(one, form, k)
            assert found.any[i, j] == is_any
            assert found.strict[i, j] == is_strict
            assert found.expected[i, j] == pytest.approx(expected)


@given(st.lists(items(), min_size=1, max_size=4))
def test_any_is_the_most_that_can_be_expected_and_more_candidates_never_hurt(made):
    found = outcome(made, IdMap(), "concept")
    assert (found.any >= found.expected - 1e-12).all()
    assert (found.any >= found.strict).all()
    for hits in (found.any, found.strict, found.expected):
        assert (np.diff(hits.astype(float), axis=1) >= -1e-12).all()


def test_made_predictions_have_the_ranks_they_are_written_with():
    assert [each.rank for each in ranked("A", "B C", "D")] == [1, 2, 2, 4]
    assert predicted("1", mention(0, "a"), "A").candidates[0].entity_id == "A"
