"""KB-guided pre-training examples, read back as text and compared with the templates of table 10."""

import re

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from nomina.errors import RecipeError
from nomina.generation.prompt import Prompt
from nomina.kb.build import BuildOptions, build
from nomina.training.kb_text import TEMPLATES, KbText, Named, TextOptions, of_kb
from nomina.types import Entity, Name

FILLER = "is are the of as such same concept concepts to has refers indicate defined described definitions describe"
WORDS = ["[UNK]", "<s>", "</s>", "ST", "ET", ".", ",", *FILLER.split(), "define", "synonyms"]
NAMES = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "long", "words", "that", "say", "it"]
HEART = Named(["n0", "n1 n1", "n2", "n3"])
DEFINED = Named(["n4", "n5"], "Words that  say it")
PAIR, LONE = Named(["n4", "n5"]), Named(["n6"])


def prompt(**options):
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS + NAMES)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return Prompt(tokenizer, ("ST", "ET"), start=(2, 1), frame=((1,), (2,)), **options)


def spelt(made):
    """Byte-level: no token without its space."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(["<s>", "</s>", *alphabet])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return Prompt(tokenizer, ("ST", "ET"), start=(1, 0), frame=((0,), (1,)), **made)


def read(text, epoch=0, join=" "):
    """(source, prefix, target) of each example of an epoch, as tokens side by side."""
    drawn = text.drawn(epoch)(np.arange(text.count))
    told = []
    for part in drawn:
        table, lengths = text.pieces.table(part, 0)
        rows = [row[:length] for row, length in zip(table, lengths, strict=True)]
        told.append([join.join(map(text._prompt.tokenizer.id_to_token, row)) for row in rows])
    return list(zip(*told, strict=True))


def possible(case, mention, beside):
    marked = f"ST {mention} ET"
    return {"<s> " + t.replace(".", " .").format(a=marked, c=beside) + " </s>" for t in TEMPLATES[case]}


def test_a_definition_stands_beside_a_synonym_and_another_one_is_written():
    seen = set()
    for epoch in range(40):
        for source, prefix, target in read(KbText([DEFINED], prompt()), epoch):
            mention = prefix.removeprefix("</s> <s> ").removesuffix(" is")
            assert {mention, target} == {"n4", "n5"}
            assert source in possible(0, mention, "words that say it")
            seen.add(source)
    assert seen == possible(0, "n4", "words that say it") | possible(0, "n5", "words that say it")


def test_without_a_definition_the_other_synonyms_are_told():
    text, seen = KbText([HEART], prompt()), set()
    for epoch in range(60):
        for source, prefix, target in read(text, epoch):
            mention = prefix.removeprefix("</s> <s> ").removesuffix(" is")
            one, two = (name for name in HEART.names if name not in (mention, target))
            assert source in possible(1, mention, f"{one} , {two}") | possible(1, mention, f"{two} , {one}")
            seen.add(re.sub(r"n\d( n1)?", "n", source))
    assert len(seen) == len(TEMPLATES[1])


@pytest.mark.parametrize("concept", [PAIR, LONE])
def test_of_one_or_two_synonyms_the_mention_itself_is_told(concept):
    text, seen = KbText([concept], prompt()), set()
    for epoch in range(60):
        for source, prefix, target in read(text, epoch):
            mention = prefix.removeprefix("</s> <s> ").removesuffix(" is")
            assert {mention, target} == set(concept.names)
            assert source in possible(2, mention, mention)
            seen.add(source)
    assert len(seen) == len(TEMPLATES[2]) * len(concept.names)


def test_some_mentions_stand_alone():
    text = KbText([HEART, DEFINED, LONE], prompt(), TextOptions(bare=0.5))
    told = [(prefix[9:-3], source) for epoch in range(200) for source, prefix, _ in read(text, epoch)]
    alone = [source == f"<s> ST {mention} ET </s>" for mention, source in told]
    assert 0.45 < sum(alone) / len(alone) < 0.55
    case = {**dict.fromkeys(HEART.names, 1), **dict.fromkeys(DEFINED.names, 0), **dict.fromkeys(LONE.names, 2)}
    besides = {0: ["words that say it"], 1: [f"{a} , {b}" for a in HEART.names for b in HEART.names], 2: LONE.names}
    for (mention, source), bare in zip(told, alone, strict=True):
        templates = set().union(*(possible(case[mention], mention, beside) for beside in besides[case[mention]]))
        assert bare != (source in templates)


def test_an_epoch_has_each_name_as_mention_and_as_target_once():
    concepts = [HEART, DEFINED, LONE]
    text = KbText(concepts, prompt())
    told = read(text)
    names = sorted(name for concept in concepts for name in concept.names)
    assert text.count == 7
    assert sorted(target for _, _, target in told) == names
    assert sorted(prefix[9:-3] for _, prefix, _ in told) == names


def test_epochs_differ_and_come_again_and_numbers_may_be_asked_in_any_order():
    text = KbText([HEART, DEFINED], prompt())
    assert read(text, 1) == read(KbText([HEART, DEFINED], prompt()), 1)
    assert read(text, 1) != read(text, 2)
    assert read(text, 1) != read(KbText([HEART, DEFINED], prompt(), TextOptions(seed=1)), 1)
    whole, part = text.drawn(1)(np.arange(6)), text.drawn(1)(np.array([4, 2]))
    assert all((one[[4, 2]] == two).all() for one, two in zip(whole, part, strict=True))


def test_other_synonyms_are_as_many_as_fit():
    text = KbText([Named([f"n{i}" for i in range(7)])], prompt(), TextOptions(others=3))
    assert {source.count(",") for source, _, _ in read(text)} == {2}
    text = KbText([Named([f"n{i}" for i in range(7)])], prompt(), TextOptions(context=4))
    assert {source.count(",") for source, _, _ in read(text)} == {1}


def test_long_definitions_are_cut_and_long_names_left_out():
    options = TextOptions(longest=2, context=2)
    text = KbText([Named(["n0", "long words say"], "words that say"), Named(["that say it"])], prompt(), options)
    ((source, prefix, target),) = read(text)
    assert source in possible(0, "n0", "words that")
    assert (prefix, target) == ("</s> <s> n0 is", "n0")


def test_names_that_differ_in_case_are_one():
    assert KbText([Named(["N0", "n0", " n0"])], prompt()).count == 1


def test_without_a_prompt_the_decoder_only_starts():
    assert {prefix for _, prefix, _ in read(KbText([HEART], prompt(template="")))} == {"</s> <s>"}


def test_noisy_mentions_are_made_of_names_and_targets_are_not():
    names = ["long words that say it", "words say"]
    text = KbText([Named(names)], prompt(), TextOptions(noise=1.0, copies=3))
    told = [row for epoch in range(10) for row in read(text, epoch)]
    assert {target for _, _, target in told} == set(names)
    assert {prefix for _, prefix, _ in told} - {f"</s> <s> {name} is" for name in names}
    for source, prefix, _ in told:
        assert source.split(" ST ")[1].split(" ET ")[0] == prefix[9:-3]


@pytest.mark.parametrize("concept", [Named(["ab", "c d"], "e f"), Named(["ab", "c", "d e", "f"]), Named(["ab"])])
def test_byte_level_sources_are_the_tokens_of_the_whole_text(concept):
    text = KbText([concept], spelt({}))
    tokenizer = text._prompt.tokenizer
    for epoch in range(20):
        for source, prefix, target in read(text, epoch, join=""):
            plain = source.removeprefix("<s>").removesuffix("</s>").replace("Ġ", " ")
            assert not plain.startswith(" ")
            assert "".join(tokenizer.encode(plain).tokens) == source[3:-4]
            assert "  " not in plain
            assert " ST " in f" {plain} "
            assert re.fullmatch("</s><s>[^Ġ].*Ġis", prefix)
            assert target.startswith("Ġ")


def test_concepts_of_a_kb(tmp_path):
    entities = [Entity("A", (Name("One"), Name("two")), "What it is"), Entity("B", (Name("Three"),))]
    kb = build(tmp_path / "made.kb", entities, BuildOptions("made"))
    assert list(of_kb(kb)) == [Named(["One", "two"], "What it is"), Named(["Three"], "")]


def test_nothing_to_learn_from_is_said():
    with pytest.raises(RecipeError, match="nothing to learn from"):
        KbText([], prompt())
    with pytest.raises(RecipeError, match="nothing to learn from"):
        KbText([Named(["n0 n1"])], prompt(), TextOptions(longest=1))


def test_a_similar_target_is_always_the_same_and_never_beside_the_mention():
    concept = Named(["n0 n1", "n2", "n1 n0 n3", "n3 n2"])
    text, beside = KbText([concept], prompt(), TextOptions(similar=True)), set()
    for epoch in range(20):
        for source, prefix, target in read(text, epoch):
            mention = prefix.removeprefix("</s> <s> ").removesuffix(" is")
            assert target == {"n0 n1": "n1 n0 n3", "n2": "n3 n2", "n1 n0 n3": "n0 n1", "n3 n2": "n2"}[mention]
            one, two = (name for name in concept.names if name not in (mention, target))
            assert source in possible(1, mention, f"{one} , {two}") | possible(1, mention, f"{two} , {one}")
            beside.add((mention, source))
    assert len(beside) > 8


def test_of_a_lone_name_the_name_itself_is_written():
    text = KbText([LONE, PAIR], prompt(), TextOptions(similar=True))
    assert [target for _, _, target in read(text)] == [{"n4": "n5", "n5": "n4", "n6": "n6"}[m.split()[2]]
                                                       for _, m, _ in read(text)]  # fmt: skip


def test_the_example_of_a_name_is_found():
    text = KbText([HEART, LONE], prompt())
    for epoch in range(3):
        prefixes = [read(text, epoch)[place][1] for place in text.places(epoch).tolist()]
        assert prefixes == [f"</s> <s> {name} is" for name in ("n0", "n1 n1", "n2", "n3", "n6")]
