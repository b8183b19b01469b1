"""Which name a mention is to be written as: similarity, length, chance, sets of names."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from nomina.errors import RecipeError
from nomina.generation.prompt import Parts, Prompt
from nomina.training.names import Concepts
from nomina.training.targets import MentionExamples, TargetOptions, name_set, targets_of

TEXTS = ["Heart failure", "cardiac failure", "CHF", "weak heart", "failure of the heart", "Stroke"]
CONCEPTS = Concepts(TEXTS, ["H", "S", "none"], np.array([0, 0, 0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 4, 5, 2]))
H, S = np.array([0]), np.array([1])


def chosen(mention, gold=H, concepts=CONCEPTS, **options):
    return targets_of([mention], [gold], concepts, TargetOptions(**options))[0].tolist()


@pytest.mark.parametrize(
    ("mention", "best"), [("heart failures", 0), ("cardiac-failure", 1), ("the weak heart", 3), ("chf", 2)]
)
def test_the_most_similar_name_of_the_concept_is_the_target(mention, best):
    assert chosen(mention) == [best]


def test_names_of_other_concepts_are_no_targets():
    assert chosen("heart failure", S) == [5]
    assert chosen("chf", np.array([0, 1]), top=9) == [2, *chosen("chf", np.array([0, 1]), top=9)[1:]]
    assert sorted(chosen("chf", np.array([0, 1]), top=9)) == [0, 1, 2, 3, 4, 5]


def test_several_targets_are_the_most_similar_ones_in_order():
    assert chosen("failure of hearts", top=3)[0] == 4
    assert len(chosen("failure of hearts", top=3)) == 3
    assert chosen("stroke", S, top=3) == [5, 2]


def test_of_a_tie_the_first_of_the_kb_is_taken():
    assert chosen("zzz", top=5) == [0, 1, 2, 3, 4]


def test_the_shortest_name_whatever_the_mention():
    assert chosen("heart failure", target="shortest", top=3) == [2]


def test_a_random_name_is_drawn_for_each_mention_from_the_seed():
    mentions, gold = ["heart failure"] * 50, [H] * 50
    one, same, other = (
        [rows.tolist() for rows in targets_of(mentions, gold, CONCEPTS, TargetOptions("random", seed=seed))]
        for seed in (0, 0, 1)
    )
    assert one == same != other
    assert {row for (row,) in one} == {0, 1, 2, 3, 4}


def test_a_mention_whose_concepts_have_no_name_is_refused():
    with pytest.raises(RecipeError, match="have no name"):
        chosen("heart", np.array([2]))


def test_sets_of_names():
    assert name_set(CONCEPTS, "all") is CONCEPTS
    shortest = name_set(CONCEPTS, "shortest")
    assert (shortest.concept.tolist(), shortest.row.tolist()) == ([0, 1], [2, 2])
    drawn = [name_set(CONCEPTS, "random", seed) for seed in range(30)]
    assert all(found.concept.tolist() == [0, 1] for found in drawn)
    assert {found.row[0] for found in drawn} == {0, 1, 2, 3, 4}
    assert {found.row[1] for found in drawn} == {5, 2}
    assert name_set(CONCEPTS, "random", 3).row.tolist() == drawn[3].row.tolist()


def test_a_target_is_of_the_set_of_names():
    assert chosen("weak heart", concepts=name_set(CONCEPTS, "shortest")) == [2]


def prompt():
    words = "[UNK] <s> </s> ST ET is heart failure weak of the cardiac chf stroke".split()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return Prompt(tokenizer, ("ST", "ET"), start=(2,), frame=((1,), (2,)))


def test_an_example_is_the_source_the_prompt_and_one_of_the_targets():
    made = prompt()
    prompted = made.of_parts([Parts("the", "weak heart", ""), Parts("", "stroke", "of")])
    targets = [np.array([3, 0]), np.array([5])]
    examples = MentionExamples(prompted, targets, TEXTS, made)
    assert examples.count == 2
    seen = set()
    for epoch in range(20):
        drawn = examples.drawn(epoch)(np.array([1, 0]))
        source, prefix, target = (examples.pieces.table(part, 0)[0].tolist() for part in drawn)
        assert [row for row in source[1] if row] == prompted[0].source
        assert [row for row in prefix[1] if row] == prompted[0].prefix
        assert [made.tokenizer.id_to_token(i) for i in target[0] if i] == ["stroke"]
        seen.add(" ".join(made.tokenizer.id_to_token(i) for i in target[1]))
    assert seen == {"weak heart", "heart failure"}
    assert (examples.drawn(7)(np.arange(2)).target == examples.drawn(7)(np.arange(2)).target).all()


def test_no_mention_is_refused():
    with pytest.raises(RecipeError, match="no mention"):
        MentionExamples([], [], TEXTS, prompt())
