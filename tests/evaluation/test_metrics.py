import numpy as np
import pytest
from evaluation_cases import candidate, item, mention
from hypothesis import given
from hypothesis import strategies as st

from nomina.evaluation import metrics
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import Item
from nomina.evaluation.outcome import outcome
from nomina.types import Prediction


def judged(*items):
    return outcome(items, IdMap(), "concept")


def scored(score, *, right=True, nil=False, abstained=False, probability=None, text="a"):
    """An item whose only candidate has this score (None: no candidate)."""
    of = mention(0, text)
    candidates = () if score is None else (candidate("A" if right else "B", 1, score=score),)
    made = Prediction("1", of, candidates, abstained=abstained, probability=probability)
    return Item("1", of, (made,), () if nil else (frozenset("A"),))


def test_accuracy_is_over_mentions_that_have_a_concept():
    found = judged(item(["A"], ["A"]), item(["A"], ["B", "A", "C", "D", "E"]), item([], ["A"]))
    assert metrics.at_ks(found.any, found) == {"1": 0.5, "5": 1.0}
    assert metrics.mean(metrics.first_hits(found, "any"), ~found.nil_gold) == 0.5


def test_a_k_that_no_prediction_reaches_is_not_reported():
    assert list(metrics.at_ks(judged(item(["A"], ["A"])).any, judged(item(["A"], ["A"])))) == ["1"]
    five = judged(item(["A"], ["A", "B", "C", "D", "E"]), item(["A"], ["A"]))
    assert list(metrics.at_ks(five.any, five)) == ["1", "5"]
    tied = judged(item(["A"], ["A", "B", "C D E F G H I J K L"]))  # rank 3 is the last: of the two best more are known
    assert list(metrics.at_ks(tied.any, tied)) == ["1"]
    missing = judged(item(["A"]))
    assert metrics.at_ks(missing.any, missing) == {"1": 0.0}


def test_answered_takes_abstentions_at_their_word():
    found = judged(
        item(["A"], ["A"]),
        item(["A"], ["A"], abstained=True),
        item(["A"], ["B"]),
        item([], ["A"], abstained=True),
        item([], ["A"]),
        item([], ["NIL"]),
        item([]),
    )
    assert metrics.answered(found, "any").tolist() == [1, 0, 0, 1, 0, 1, 0]
    assert metrics.mean(metrics.first_hits(found, "any"), ~found.nil_gold) == pytest.approx(2 / 3)


def test_rules_differ_in_ties():
    found = judged(item(["B"], ["A B"]))
    assert metrics.first_hits(found, "any").tolist() == [1.0]
    assert metrics.first_hits(found, "strict").tolist() == [0.0]


def test_distinct_pairs_count_once_with_the_mean_of_their_mentions():
    items = [
        item(["A"], ["A"], text="Fits"),
        item(["A"], ["B"], text="fits"),
        item(["A"], ["A"], text="fit"),
        item(["B"], ["A"], text="fits"),
        item([], ["A"], text="none"),
    ]
    found = judged(*items)
    hits, asked = metrics.first_hits(found, "any"), ~found.nil_gold
    assert metrics.pairs(items).tolist() == [0, 0, 1, 2, 3]
    assert metrics.distinct_accuracy(hits, items, asked) == pytest.approx((0.5 + 1 + 0) / 3)
    assert metrics.distinct_accuracy(hits, items, np.zeros(5, np.bool_)) == 0.0


def test_nil_precision_recall_and_f1():
    found = judged(
        item([], ["A"], abstained=True), item([], []), item([], ["A"]), item(["A"], []), item(["A"], ["A"]), item([])
    )
    nil = metrics.nil(found)
    assert (nil.gold, nil.predicted) == (4, 3)
    assert nil.precision == pytest.approx(2 / 3)
    assert nil.recall == pytest.approx(2 / 4)
    assert nil.f1 == pytest.approx(4 / 7)
    assert metrics.nil(judged(item(["A"], []))) is None
    never = metrics.nil(judged(item([], ["A"])))
    assert (never.predicted, never.precision, never.recall, never.f1) == (0, 0.0, 0.0, 0.0)


def test_the_curve_of_risk_and_coverage_and_its_area():
    found = judged(scored(0.9), scored(0.8, right=False), scored(0.7), scored(0.6, nil=True))
    curve, area = metrics.risk_coverage(found, "any")
    assert curve == ((0.25, 0.0), (0.5, 0.5), (0.75, pytest.approx(1 / 3)), (1.0, 0.5))
    assert area == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_those_of_one_confidence_are_answered_together():
    found = judged(scored(0.5), scored(0.5, right=False), scored(0.9))
    curve, area = metrics.risk_coverage(found, "any")
    assert curve == ((pytest.approx(1 / 3), 0.0), (1.0, pytest.approx(1 / 3)))
    assert area == pytest.approx((0 + 0.5 / 2 + 1 / 3) / 3)


def test_nothing_to_answer_with_comes_last_and_is_right_only_for_nil():
    found = judged(scored(0.1), scored(None), scored(None, nil=True))
    curve, _ = metrics.risk_coverage(found, "any")
    assert curve == ((pytest.approx(1 / 3), 0.0), (1.0, pytest.approx(1 / 3)))


def test_a_curve_has_no_more_points_than_can_be_drawn():
    found = judged(*(scored(i / 1000) for i in range(1000)))
    curve, area = metrics.risk_coverage(found, "any")
    assert len(curve) == metrics.MOST_POINTS
    assert curve[0] == (0.001, 0.0)
    assert curve[-1] == (1.0, 0.0)
    assert area == 0.0
    assert metrics.risk_coverage(judged(), "any") == ((), None)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.4, None]), st.booleans(), st.booleans()), min_size=1))
def test_the_area_is_the_mean_risk_over_all_steps(made):
    """By a slow loop: each item of a group of one confidence adds the group's mean error."""
    items = [scored(score, right=right, nil=nil) for score, right, nil in made]
    wrong = [score is not None if nil else score is None or not right for score, right, nil in made]
    order = sorted({score for score, _, _ in made}, key=lambda score: -1 if score is None else score, reverse=True)
    errors, answered, risks, curve = 0.0, 0, [], []
    for here in order:
        group = [w for w, (score, _, _) in zip(wrong, made, strict=True) if score == here]
        for _ in group:
            errors += sum(group) / len(group)
            answered += 1
            risks.append(errors / answered)
        curve.append((answered / len(made), risks[-1]))
    found, area = metrics.risk_coverage(judged(*items), "any")
    assert np.allclose(found, curve)
    assert area == pytest.approx(sum(risks) / len(risks))


def test_reliability_by_bins():
    found = judged(
        scored(0.95), scored(1.0, right=False), scored(0.35), scored(0.31, nil=True), scored(None), scored(0.0)
    )
    assert [tuple(map(pytest.approx, each)) for each in metrics.reliability(found, "any")] == [
        (0.0, 1.0, 1),
        (0.33, 0.5, 2),
        (0.975, 0.5, 2),
    ]


def test_a_probability_is_the_confidence_where_there_is_one():
    found = judged(scored(-3.0, probability=0.25))
    assert metrics.reliability(found, "any") == ((0.25, 1.0, 1),)


@pytest.mark.parametrize("score", [-0.5, 1.5])
def test_scores_that_are_no_probabilities_have_no_reliability(score):
    assert metrics.reliability(judged(scored(score), scored(0.5)), "any") == ()
    assert metrics.reliability(judged(scored(None)), "any") == ()


def test_f1_is_the_harmonic_mean_and_nothing_of_nothing():
    assert metrics.harmonic(0.5, 1.0).f1 == pytest.approx(2 / 3)
    assert metrics.harmonic(0.0, 0.0).f1 == 0.0
    assert metrics.ratio(1, 0) == 0.0
    assert metrics.mean(np.array([])) == 0.0
