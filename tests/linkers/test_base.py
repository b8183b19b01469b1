"""From ranked names to concepts: homonyms, ties, filters, over-fetching, abstention; by a linker that does as told."""

from __future__ import annotations

import numpy as np
import pytest

from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import NO_ROW, Linker, Ranking, Rule
from nomina.types import Candidate, Document, Mention, Name, Prediction

Hit = tuple[str, float]


class Told(Linker):
    """Answers each mention with the (name, score) it was given, all by one rule, and notes how many were asked for."""

    default_threshold = 0.5

    def __init__(self, kb: KnowledgeBase, answers: dict[str, list[Hit]], rule: Rule = Rule.NORMALISED) -> None:
        super().__init__(kb)
        self.answers, self.rule = answers, rule
        self.asked: list[tuple[list[str], int]] = []

    def rank(self, queries, k, within=None) -> Ranking:
        self.asked.append(([query.mention.text for query in queries], k))
        ranking = Ranking.empty(len(queries), k)
        for i, query in enumerate(queries):
            hits = [(self.kb.row(name), score) for name, score in self.answers.get(query.mention.text, [])]
            allowed = [(row, score) for row, score in hits if within is None or within[row]][:k]
            ranking.rows[i, : len(allowed)] = [row for row, _ in allowed]
            ranking.scores[i, : len(allowed)] = [score for _, score in allowed]
            ranking.rules[i, : len(allowed)] = self.rule
        return ranking


def document(*mentions: str) -> Document:
    text = " ".join(mentions)
    places, at = [], 0
    for mention in mentions:
        places.append(Mention(((at, at + len(mention)),), mention))
        at += len(mention) + 1
    return Document("d", text, tuple(places))


def link(linker: Linker, mention: str, **options) -> Prediction:
    (prediction,) = linker.link([document(mention)], **options)
    return prediction


def ranks(prediction: Prediction) -> list[tuple[str, int]]:
    return [(candidate.entity_id, candidate.rank) for candidate in prediction.candidates]


def test_a_candidate_says_which_name_matched_how_well_and_why(make_kb) -> None:
    kb = make_kb({"A:1": ("Cardiac arrest", "heart stop"), "A:2": "Stop"})
    prediction = link(Told(kb, {"x": [("heart stop", 0.75), ("stop", 0.5)]}, Rule.ORDER), "x")
    assert prediction == Prediction(
        "d",
        Mention(((0, 1),), "x"),
        (
            Candidate("A:1", "Cardiac arrest", "heart stop", 0.75, 1, "order", 1),
            Candidate("A:2", "Stop", "Stop", 0.5, 2, "order", 2),
        ),
    )


@pytest.mark.parametrize(
    ("threshold", "abstained"), [(None, False), (0.6, False), (0.61, True), (0.0, False), (1.0, True)]
)
def test_under_the_threshold_a_prediction_abstains_and_keeps_what_came_nearest(make_kb, threshold, abstained) -> None:
    linker = Told(make_kb({"A:1": "heart"}), {"x": [("heart", 0.6)]})
    prediction = link(linker, "x", threshold=threshold)
    assert (prediction.abstained, ranks(prediction)) == (abstained, [("A:1", 1)])


def test_the_default_threshold_is_the_linkers_own(make_kb) -> None:
    linker = Told(make_kb({"A:1": "heart"}), {"low": [("heart", 0.49)], "high": [("heart", 0.5)]})
    assert [link(linker, mention).abstained for mention in ("low", "high")] == [True, False]


@pytest.mark.parametrize("score", [0.95, 0.9, 0.7, 0.97 * 0.8, 1 / 3])
def test_a_score_reaches_a_threshold_of_the_same_value(make_kb, score: float) -> None:
    linker = Told(make_kb({"A:1": "heart"}), {"x": [("heart", score)]})
    prediction = link(linker, "x", threshold=round(score, 6))
    assert not prediction.abstained
    assert prediction.candidates[0].score == round(score, 6)


def test_nothing_found_is_an_abstention_without_candidates(make_kb) -> None:
    prediction = link(Told(make_kb({"A:1": "heart"}), {}), "x", threshold=0.0)
    assert (prediction.abstained, prediction.candidates, prediction.ambiguous) == (True, (), False)


def test_the_owners_of_a_homonym_share_a_rank_in_the_order_of_the_kb(make_kb) -> None:
    kb = make_kb({"A:9": "MI", "A:3": "mi", "A:5": "M.I.", "A:1": "heart"})
    prediction = link(Told(kb, {"m i": [("mi", 1.0), ("heart", 0.4)]}), "m i")
    assert ranks(prediction) == [("A:9", 1), ("A:3", 1), ("A:1", 3)]
    assert prediction.ambiguous
    again = [link(Told(kb, {"m i": [("mi", 1.0), ("heart", 0.4)]}), "m i") for _ in range(3)]
    assert again == [prediction] * 3


def test_the_very_raw_name_breaks_the_tie_of_a_homonym(make_kb) -> None:
    kb = make_kb({"A:1": "Ferricytochrome c'", "A:2": ("Cytochrome", "Ferricytochrome c")})
    answers = {
        mention: [("ferricytochrome c", 1.0)]
        for mention in ("Ferricytochrome c", "Ferricytochrome c'", "FERRICYTOCHROME C")
    }
    linker = Told(kb, answers)
    by_mention = {mention: link(linker, mention) for mention in answers}
    assert [ranks(prediction) for prediction in by_mention.values()] == [
        [("A:2", 1), ("A:1", 2)],
        [("A:1", 1), ("A:2", 2)],
        [("A:1", 1), ("A:2", 1)],
    ]
    assert [prediction.ambiguous for prediction in by_mention.values()] == [False, False, True]
    first = by_mention["Ferricytochrome c"].candidates
    assert [(candidate.name, candidate.rule) for candidate in first] == [
        ("Ferricytochrome c", "exact"),
        ("Ferricytochrome c'", "normalised"),
    ]


def test_any_raw_name_of_an_owner_may_be_the_very_one(make_kb) -> None:
    kb = make_kb({"A:1": ("heart-attack", "Heart Attack", "heart attack")})
    linker = Told(kb, {"Heart Attack": [("heart attack", 1.0)]})
    (candidate,) = link(linker, "Heart Attack").candidates
    assert (candidate.name, candidate.preferred, candidate.rule) == ("Heart Attack", "heart-attack", "exact")


def test_scope_decides_between_equal_scores_and_never_between_others(make_kb) -> None:
    kb = make_kb(
        {
            "A:1": Name("fit", "related"),
            "A:2": Name("fit", "narrow"),
            "A:3": Name("fit", "broad"),
            "A:4": Name("fit", "exact"),
            "A:5": Name("fits", "related"),
        }
    )
    prediction = link(Told(kb, {"FIT": [("fits", 0.9), ("fit", 0.8)]}), "FIT")
    assert ranks(prediction) == [("A:5", 1), ("A:4", 2), ("A:2", 3), ("A:3", 4), ("A:1", 5)]
    assert not prediction.ambiguous


def test_a_concept_is_offered_once_by_its_best_name(make_kb) -> None:
    kb = make_kb({"A:1": ("heart attack", "MI", "infarct"), "A:2": "attack"})
    prediction = link(
        Told(kb, {"x": [("attack", 0.9), ("mi", 0.8), ("infarct", 0.8), ("heart attack", 0.7)]}), "x", k=2
    )
    assert [(c.entity_id, c.name, c.score, c.rank) for c in prediction.candidates] == [
        ("A:2", "attack", 0.9, 1),
        ("A:1", "MI", 0.8, 2),
    ]


def test_rows_are_ranked_deeper_until_k_concepts_are_found(make_kb) -> None:
    kb = make_kb({"A:1": [f"name {i}" for i in range(40)], "A:2": "other", "A:3": "third"})
    hits = [(f"name {i}", 1 - i / 100) for i in range(40)] + [("other", 0.5), ("third", 0.4)]
    linker = Told(kb, {"x": hits, "y": [("other", 0.9), ("third", 0.8), ("name 1", 0.7), ("name 2", 0.6)]})
    both = list(linker.link([document("y", "x")], k=2))
    assert [ranks(prediction) for prediction in both] == [[("A:2", 1), ("A:3", 2)], [("A:1", 1), ("A:2", 2)]]
    assert [mentions for mentions, _ in linker.asked] == [["y", "x"], ["x"], ["x"]]
    widths = [k for _, k in linker.asked]
    assert widths == sorted(widths)
    assert widths[0] < 40 < widths[-1]


def test_fewer_concepts_than_asked_for_end_the_search(make_kb) -> None:
    linker = Told(make_kb({"A:1": ("a", "b", "c"), "A:2": "d"}), {"x": [("a", 0.9), ("b", 0.8), ("d", 0.7)]})
    assert ranks(link(linker, "x", k=50)) == [("A:1", 1), ("A:2", 2)]
    assert len(linker.asked) == 1


@pytest.mark.parametrize("k", [1, 2, 3, 11, 12])
def test_a_tie_that_crosses_the_last_place_is_given_whole(make_kb, k: int) -> None:
    kb = make_kb({f"A:{i:02}": f"name {i}" for i in range(14)})
    hits = [("name 0", 0.9)] + [(f"name {i}", 0.8) for i in range(1, 12)] + [("name 12", 0.7), ("name 13", 0.7)]
    prediction = link(Told(kb, {"x": hits}), "x", k=k)
    tied = [(f"A:{i:02}", 2) for i in range(1, 12)]
    assert ranks(prediction) == [("A:00", 1), *(tied if k > 1 else [])]
    assert not prediction.ambiguous


def test_the_best_of_many_equal_names_is_found_though_it_is_ranked_last(make_kb) -> None:
    names: dict[str, object] = {f"A:{i}": Name(f"name {i}", "related") for i in range(20)}
    kb = make_kb({**names, "A:exact": "name 20", "A:very": Name("x", "related")})
    hits = [(f"name {i}", 0.8) for i in range(21)]
    assert ranks(link(Told(kb, {"y": hits}), "y", k=1)) == [("A:exact", 1)]
    assert ranks(link(Told(kb, {"x": [*hits, ("x", 0.8)]}), "x", k=1)) == [("A:very", 1)]


def test_the_filter_acts_before_the_best_are_chosen(make_kb) -> None:
    kb = make_kb(
        {"A:1": "one", "A:2": ("two", "shared"), "A:3": "three", "A:4": ("four", "shared")},
        parents={"A:3": ("A:1",), "A:4": ("A:3",)},
        types={"A:2": ("organ",), "A:4": ("organ", "other")},
    )
    linker = Told(kb, {"x": [("one", 0.9), ("two", 0.8), ("shared", 0.7), ("three", 0.6), ("four", 0.5)]})
    assert ranks(link(linker, "x", k=1, within=kb.subset(under=["A:3"]))) == [("A:4", 1)]
    assert ranks(link(linker, "x", k=2, within=kb.subset(under=["A:3"]))) == [("A:4", 1), ("A:3", 2)]
    assert ranks(link(linker, "x", k=5, within=kb.subset(types=["organ"]))) == [("A:2", 1), ("A:4", 2)]
    assert ranks(link(linker, "x", k=5, within=kb.subset(under=["A:3"], types=["organ"]))) == [("A:4", 1)]
    assert ranks(link(linker, "x", k=5)) == [("A:1", 1), ("A:2", 2), ("A:4", 3), ("A:3", 4)]


def test_predictions_come_in_order_one_a_mention_and_in_batches(make_kb) -> None:
    kb = make_kb({f"A:{i}": f"name {i}" for i in range(7)})
    linker = Told(kb, {f"m{i}": [(f"name {i % 7}", 1.0)] for i in range(1300)})
    documents = (
        Document(str(n), d.text, d.mentions)
        for n, d in enumerate(document(*(f"m{n * 13 + i}" for i in range(n % 27))) for n in range(100))
    )
    expected = [f"m{n * 13 + i}" for n in range(100) for i in range(n % 27)]
    predictions = list(linker.link(documents))
    assert [prediction.mention.text for prediction in predictions] == expected
    assert all(
        p.candidates[0].entity_id == f"A:{int(p.mention.text[1:]) % 7}"
        for p in predictions
        if int(p.mention.text[1:]) < 1300
    )
    assert len(linker.asked) > 1
    assert max(len(mentions) for mentions, _ in linker.asked) <= 512


def test_a_linker_says_how_many_mentions_are_worth_being_ranked_together(make_kb) -> None:
    linker = Told(make_kb({f"A:{i}": f"name {i}" for i in range(2000)}), {"m": [("name 3", 1.0)]})
    linker.together = 2048
    assert len(list(linker.link([document(*["m"] * 3000)], k=1))) == 3000
    assert [len(mentions) for mentions, _ in linker.asked] == [2048, 952]
    linker.asked.clear()
    assert len(list(linker.link([document(*["m"] * 400)], k=1000))) == 400
    assert (1 << 16) < max(len(mentions) * k for mentions, k in linker.asked) <= 4 << 15


@pytest.mark.parametrize("k", [4, 10, 10_000_000, 10**20])
def test_no_more_rows_are_asked_for_than_the_kb_has(make_kb, k: int) -> None:
    linker = Told(make_kb({"A:1": ("a", "b", "c"), "A:2": "d"}), {"x": [(name, 0.9) for name in "abcd"]})
    assert ranks(link(linker, "x", k=k)) == [("A:1", 1), ("A:2", 1)]
    assert linker.asked == [(["x"], 4)]


def test_fewer_mentions_are_ranked_together_the_more_rows_are_asked_for(make_kb) -> None:
    kb = make_kb({f"A:{i}": f"name {i}" for i in range(2000)})
    linker = Told(kb, {"m": [("name 3", 1.0)]})
    predictions = list(linker.link([document(*["m"] * 70)], k=1000))
    assert [ranks(prediction) for prediction in predictions] == [[("A:3", 1)]] * 70
    assert sum(len(mentions) for mentions, _ in linker.asked) == 70
    assert max(len(mentions) * k for mentions, k in linker.asked) <= 1 << 15


def test_nothing_to_link(make_kb) -> None:
    linker = Told(make_kb({"A:1": "heart"}), {})
    assert list(linker.link([])) == list(linker.link([Document("d", "heart"), Document("e", "")])) == []
    assert linker.asked == []


def test_an_empty_ranking() -> None:
    ranking = Ranking.empty(2, 3)
    assert ranking.rows.tolist() == [[NO_ROW] * 3] * 2
    assert np.isneginf(ranking.scores).all()
    assert (ranking.rows.dtype, ranking.scores.dtype, ranking.rules.dtype) == (np.int64, np.float32, np.uint8)


def test_rules_stand_in_order_of_trust_and_have_labels() -> None:
    variants = "exact normalised spelling inflection order derivation lay_term abbreviation".split()
    assert [rule.label.replace(" ", "_") for rule in sorted(Rule)][: len(variants)] == variants
    assert all(0 <= rule < 256 for rule in Rule)


# At the level of names


def test_names_are_offered_one_by_one_though_a_concept_comes_again(make_kb) -> None:
    kb = make_kb({"A:1": ("Cardiac arrest", "heart stop"), "A:2": "Stop"})
    linker = Told(kb, {"x": [("heart stop", 0.75), ("cardiac arrest", 0.7), ("stop", 0.5)]})
    prediction = link(linker, "x", level="name")
    assert ranks(prediction) == [("A:1", 1), ("A:1", 2), ("A:2", 3)]
    assert [c.name for c in prediction.candidates] == ["heart stop", "Cardiac arrest", "Stop"]
    assert not prediction.ambiguous


def test_all_owners_of_a_name_share_its_rank_the_very_raw_name_first(make_kb) -> None:
    kb = make_kb({"A:1": "ms", "A:2": ("MS", "sclerosis")})
    prediction = link(Told(kb, {"MS": [("ms", 1.0), ("sclerosis", 0.9)]}), "MS", level="name", k=2)
    assert ranks(prediction) == [("A:2", 1), ("A:1", 1), ("A:2", 2)]
    assert [c.rule for c in prediction.candidates] == ["exact", "normalised", "normalised"]
    assert prediction.ambiguous


def test_names_of_one_score_share_a_rank_and_a_tie_is_given_whole(make_kb) -> None:
    kb = make_kb({f"A:{i}": f"n{i}" for i in range(9)})
    hits = [("n8", 0.9), *((f"n{i}", 0.5) for i in range(7)), ("n7", 0.4)]
    linker = Told(kb, {"x": hits})
    assert ranks(link(linker, "x", level="name", k=3)) == [("A:8", 1), *((f"A:{i}", 2) for i in range(7))]
    assert [k for _, k in linker.asked] == [5, 9]
    assert ranks(link(linker, "x", level="name", k=1)) == [("A:8", 1)]


def test_k_names_are_no_more_concepts_than_names(make_kb) -> None:
    kb = make_kb({"A:1": ("a", "b", "c"), "A:2": "d"})
    hits = {"x": [("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.6)]}
    assert ranks(link(Told(kb, hits), "x", level="name", k=3)) == [("A:1", 1), ("A:1", 2), ("A:1", 3)]
    assert ranks(link(Told(kb, hits), "x", k=3)) == [("A:1", 1), ("A:2", 2)]


def test_filters_and_thresholds_hold_for_names_too(make_kb) -> None:
    kb = make_kb({"A:1": "ms", "A:2": ("ms", "sclerosis"), "A:3": "sclerosis"}, parents={"A:2": ["A:3"]})
    hits = {"x": [("ms", 0.6), ("sclerosis", 0.55)]}
    only = kb.subset(under=["A:2"])
    assert ranks(link(Told(kb, hits), "x", level="name", within=only)) == [("A:2", 1), ("A:2", 2)]
    assert not link(Told(kb, hits), "x", level="name").abstained
    assert link(Told(kb, hits), "x", level="name", threshold=0.7).abstained
    assert link(Told(kb, {}), "x", level="name").abstained
