"""Pairs as tokens, read back as text."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from nomina.errors import RecipeError
from nomina.generation.prompt import Parts, Prompt
from nomina.training.kb_text import KbText, Named, TextOptions
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.pairs import Pairs

WORDS = (
    "[UNK] <s> </s> ST ET is n0 n1 n2 n3 n4 n5 n6 of the same as concept indicate refers to . , are synonyms".split()
)


def prompt():
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return Prompt(tokenizer, ("ST", "ET"), start=(2, 1), frame=((1,), (2,)))


def told(pairs):
    """Source, prefix, chosen, rejected of each pair."""
    found = []
    for part in (pairs.source, pairs.prefix, pairs.chosen, pairs.rejected):
        table, lengths = pairs.pieces.table(part, 0)
        found.append([" ".join(WORDS[t] for t in row[:n]) for row, n in zip(table, lengths.tolist(), strict=True)])
    return list(zip(*found, strict=True))


def test_pairs_of_mentions_are_names_behind_their_prompts():
    given, texts = prompt(), ["N0  n1", "n2", "n3"]
    prompted = given.of_parts([Parts("the", "n5", ""), Parts("", "n6 n4", "of")])
    found = PairExamples.of_mentions(prompted, Pairs(*np.array([[1, 0, 1], [0, 2, 2], [1, 0, 1]])), texts, given)
    one = ("<s> the ST n5 ET </s>", "</s> <s> n5 is")
    two = ("<s> ST n6 n4 ET of </s>", "</s> <s> n6 n4 is")
    assert told(found) == [(*two, "n0 n1", "n2"), (*one, "n3", "n0 n1"), (*two, "n3", "n2")]
    assert told(found.take(np.array([1]))) == [(*one, "n3", "n0 n1")]


def test_pairs_of_names_prefer_the_most_similar_synonym_to_near_names_of_other_concepts():
    given = prompt()
    concepts = [Named(["n0 n1", "n0 n2", "n5"]), Named(["n0 n1 n3", "n4 n0"]), Named(["n6"])]
    text = KbText(concepts, given, TextOptions(similar=True))
    found = told(PairExamples.of_names(text, text.similar.others(1)))
    names = {}
    for source, prefix, chosen, rejected in found:
        mention = prefix.removeprefix("</s> <s> ").removesuffix(" is")
        assert f"ST {mention} ET" in source
        names[mention] = chosen, rejected
    assert names == {
        "n0 n1": ("n0 n2", "n0 n1 n3"),
        "n0 n2": ("n0 n1", "n0 n1 n3"),
        "n0 n1 n3": ("n4 n0", "n0 n1"),
        "n4 n0": ("n0 n1 n3", "n0 n1"),
    }
    many = told(PairExamples.of_names(text, text.similar.others(3)))
    assert [pair[2:] for pair in many if "n0 n1 is" in pair[1]] == [("n0 n2", "n0 n1 n3"), ("n0 n2", "n4 n0")]


def test_without_pairs_there_is_nothing_to_learn():
    text = KbText([Named(["n0", "n1"])], prompt(), TextOptions(similar=True))
    with pytest.raises(RecipeError, match="no pair"):
        PairExamples.of_names(text, text.similar.others(1))
