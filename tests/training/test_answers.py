"""Names as answers are paths of the trie, and what has no path is told."""

import numpy as np
import pytest
from trie_cases import byte_level, word_piece

from nomina.errors import RecipeError
from nomina.generation.layers import layered
from nomina.generation.prompt import Parts, Prompt
from nomina.generation.spelling import Spelling
from nomina.generation.trie import FlatTrie
from nomina.training.answers import answers, answers_of, writable
from nomina.training.kb_text import KbText, Named
from nomina.training.names import Concepts
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.pairs import Pairs
from nomina.training.targets import MentionExamples

NAMES = ["Heart  attack", "heart attack", "liver\u00a0failure", " lung", "Cell of liver", "B\tlung"]
UNKNOWN = "xyz"
TOKENIZERS = {"[SEP]": word_piece, "</s>": byte_level}


def prompt(end):
    tokenizer = TOKENIZERS[end]()
    number = tokenizer.token_to_id(end)
    return Prompt(tokenizer, start=(number,), frame=((), (number,)))


def trie_of(given, names):
    """The trie of a linker, given its prompt."""
    end = given.tokenizer.id_to_token(given.tail[0])
    tokens, lengths = Spelling(given.tokenizer, end, given.before, given.lower).tokens(names)
    return FlatTrie(layered(tokens, lengths[lengths > 0], np.flatnonzero(lengths)))


def rows(trie, given, tokens):
    """Of the names that end where the tokens of an answer and the end lead."""
    node = trie.follow([*tokens, given.tail[0]])
    return trie.rows_of(np.array([node]))[0].tolist() if node >= 0 else []


@pytest.mark.parametrize("end", TOKENIZERS)
def test_the_tokens_of_a_name_lead_to_it(end):
    given, names = prompt(end), [*NAMES, "[SEP]", "</s>", "i\u0307", "\u0130"]
    trie = trie_of(given, names)
    for row, tokens in enumerate(answers(given)(names)):
        assert not tokens or row in rows(trie, given, tokens)
    assert answers(given)([]) == []


def test_a_name_of_no_known_token_has_no_answer():
    assert answers(prompt("[SEP]"))([UNKNOWN, "lung", UNKNOWN])[::2] == [[], []]


@pytest.mark.parametrize("end", TOKENIZERS)
def test_pre_training_writes_what_the_trie_allows(end):
    given = prompt(end)
    names = [name for name in NAMES if name != "heart attack"]
    text = KbText([Named(names[:3]), Named(names[3:], "A liver")], given)
    trie = trie_of(given, names)
    assert text.count == len(names)
    table, lengths = text.pieces.table(text.drawn(0)(np.arange(text.count)).target, 0)
    written = [rows(trie, given, row[:length]) for row, length in zip(table.tolist(), lengths.tolist(), strict=True)]
    assert sorted(row for found in written for row in found) == list(range(len(names)))
    numbered = [text.pieces.table(text.names(np.array([i]))[:, None], 0)[0][0].tolist() for i in range(text.count)]
    assert [rows(trie, given, row) for row in numbered] == [[i] for i in range(len(names))]


@pytest.mark.parametrize("names", [NAMES[:2], NAMES[1::-1]])
def test_of_a_name_with_and_without_odd_spaces_the_plain_one_is_written(names):
    given = prompt("</s>")
    text = KbText([Named(names)], given)
    table, _ = text.pieces.table(text.names(np.arange(text.count))[:, None], 0)
    assert table.tolist() == answers(given)(["heart attack"])


def test_a_name_that_cannot_be_written_is_no_example_of_pre_training():
    given = prompt("[SEP]")
    text = KbText([Named([UNKNOWN, "lung"]), Named(["liver"]), Named([UNKNOWN])], given)
    table, _ = text.pieces.table(text.names(np.arange(text.count))[:, None], 0)
    assert table.tolist() == answers(given)(["lung", "liver"])
    with pytest.raises(RecipeError, match="nothing to learn from"):
        KbText([Named([UNKNOWN])], given)


@pytest.mark.parametrize("end", TOKENIZERS)
def test_fine_tuning_and_preferences_write_what_the_trie_allows(end):
    given, trie = prompt(end), trie_of(prompt(end), NAMES)
    prompted = given.of_parts([Parts("", "heart", "")] * len(NAMES))
    examples = MentionExamples(prompted, np.arange(len(NAMES))[:, None], NAMES, given)
    pairs = PairExamples.of_mentions(prompted, Pairs(*[np.arange(len(NAMES))] * 3), NAMES, given)
    for pieces, target in (
        (examples.pieces, examples.drawn(0)(np.arange(len(NAMES))).target),
        (pairs.pieces, pairs.chosen),
        (pairs.pieces, pairs.rejected),
    ):
        table, lengths = pieces.table(target, 0)
        for row, (tokens, length) in enumerate(zip(table.tolist(), lengths.tolist(), strict=True)):
            assert row in rows(trie, given, tokens[:length])


def test_names_that_cannot_be_written_are_left_out_of_concepts_and_refused_as_targets():
    texts = [UNKNOWN, "lung", "liver"]
    concepts = Concepts(texts, ["A", "B", "C"], np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2]))
    found = writable(concepts, prompt("[SEP]"))
    assert (found.concept.tolist(), found.row.tolist(), found.texts) == ([0, 2], [1, 2], texts)
    assert answers_of(texts, found.row, prompt("[SEP]")) == answers(prompt("[SEP]"))(texts[1:])
    with pytest.raises(RecipeError, match="the model has no token of a name that it is to write"):
        answers_of(texts, np.array([1, 0]), prompt("[SEP]"))
