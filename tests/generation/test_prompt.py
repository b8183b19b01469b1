"""What a generative linker reads: pieces in their order, the window, spaces, abbreviations."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from nomina.errors import UsageError
from nomina.generation.prompt import Parts, Prompt, padded, space_before
from nomina.types import Document, Mention, Query

WORDS = "[UNK] [CLS] [SEP] [M] start end is a of the heart failure hf patients with had severe chronic ( )".split()


def words(framed=True):
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if framed:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return tokenizer


def letters():
    """Byte-level BPE without merges: "Ġ" is the space before a word."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return tokenizer


def said(tokenizer, ids):
    return " ".join(map(tokenizer.id_to_token, ids))


def spelt(tokenizer, ids):
    return "".join(map(tokenizer.id_to_token, ids)).replace("Ġ", "_")


def asked(text, mention):
    start = text.index(mention)
    return Query(Document("d", text), Mention(((start, start + len(mention)),), mention))


MARKS = {"markers": ("start", "end")}


def test_the_source_is_left_mention_right_between_markers_and_the_prefix_is_the_prompt():
    prompt = Prompt(words(), start=(2,), **MARKS)
    ((source, prefix),) = prompt([asked("The patients had severe HEART failure with a", "HEART failure")])
    told = "[CLS] the patients had severe start heart failure end with a [SEP]"
    assert said(prompt.tokenizer, source) == told
    assert said(prompt.tokenizer, prefix) == "[SEP] heart failure is"


def test_without_context_and_prompt_only_the_mention_and_the_start_are_left():
    prompt = Prompt(words(), template="", start=(2, 1), context=False, **MARKS)
    ((source, prefix),) = prompt([asked("The patients had heart failure", "heart failure")])
    assert said(prompt.tokenizer, source) == "[CLS] start heart failure end [SEP]"
    assert prefix == [2, 1]


def test_a_template_may_have_words_before_the_mention():
    prompt = Prompt(words(framed=False), template="the {mention} is", **MARKS)
    ((source, prefix),) = prompt.of_parts([Parts("", "heart", "")])
    assert (said(prompt.tokenizer, source), said(prompt.tokenizer, prefix)) == ("start heart end", "the heart is")


def test_a_marker_that_is_a_token_is_that_token():
    prompt = Prompt(words(), markers=("[M]", "end"))
    assert prompt.opening == ([3], [3])
    assert prompt.closing == [WORDS.index("end")]


def test_abbreviations_are_written_out_around_the_mention_too():
    prompt = Prompt(words(), **MARKS)
    text = "Heart failure (HF) patients had severe HF of HF"
    query = Query(Document("d", text), Mention(((39, 41),), "HF"))
    left, mention, right = prompt.parts(query)
    assert left == "heart failure (heart failure) patients had severe"
    assert (mention, right) == ("heart failure", "of heart failure")


@pytest.mark.parametrize(
    ("window", "left", "right"),
    [(8, "had", "with"), (9, "a had", "with"), (7, "had", ""), (6, "", ""), (11, "of a had", "with of")],
)
def test_the_window_is_cut_around_the_whole_mention(window, left, right):
    prompt = Prompt(words(), window=window, **MARKS)
    ((source, _),) = prompt.of_parts([Parts("of a had", "heart failure", "with of the is")])
    inner = " ".join(part for part in ("[CLS]", left, "start heart failure end", right, "[SEP]") if part)
    assert said(prompt.tokenizer, source) == inner


def test_what_one_side_does_not_need_is_the_others():
    prompt = Prompt(words(), window=10, **MARKS)
    long, short = Parts("of a had severe with", "heart", ""), Parts("", "heart", "of a had severe with the")
    first, second = (said(prompt.tokenizer, source) for source, _ in prompt.of_parts([long, short]))
    assert first == "[CLS] of a had severe with start heart end [SEP]"
    assert second == "[CLS] start heart end of a had severe with [SEP]"


def test_a_mention_longer_than_the_window_is_cut_in_source_and_prefix():
    prompt = Prompt(words(), window=6, start=(1,), **MARKS)
    ((source, prefix),) = prompt.of_parts([Parts("a", "heart failure of the", "a")])
    assert said(prompt.tokenizer, source) == "[CLS] start heart failure end [SEP]"
    assert said(prompt.tokenizer, prefix) == "[CLS] heart failure is"


def test_byte_level_pieces_have_the_space_before_them_but_for_the_first_one():
    prompt = Prompt(letters(), ("ST", "ET"), start=(1, 0))
    assert prompt.before == " "
    (beside, alone) = prompt.of_parts([Parts("an", "Ab c", "d"), Parts("", "ab", "")])
    assert spelt(prompt.tokenizer, beside.source) == "<s>an_ST_Ab_c_ET_d</s>"
    assert spelt(prompt.tokenizer, beside.prefix) == "</s><s>Ab_c_is"
    assert spelt(prompt.tokenizer, alone.source) == "<s>ST_ab_ET</s>"


def test_byte_level_pieces_are_the_tokens_of_the_whole_text():
    tokenizer = letters()
    prompt = Prompt(tokenizer, ("ST", "ET"))
    ((source, _),) = prompt.of_parts([Parts("in 2 men's", "x-ray", "(no)")])
    assert source == tokenizer.encode("in 2 men's ST x-ray ET (no)").ids


def test_a_special_token_in_a_text_is_text():
    prompt = Prompt(words(), **MARKS)
    ((source, _),) = prompt.of_parts([Parts("", "[SEP]", "")])
    assert source.count(2) == 1


def test_far_away_context_is_left_alone_and_words_stay_whole():
    prompt = Prompt(words(), window=6, **MARKS)
    left, _, right = prompt.parts(asked("the " * 40 + "heart" + " severe" * 40, "heart"))
    assert set(left.split()) == {"the"}
    assert set(right.split()) == {"severe"}
    assert len(left) <= 96
    assert len(right) <= 96


@pytest.mark.parametrize(
    ("space", "kept"),
    [("\n", True), ("\t", True), ("\u3000", True), ("  ", True), ("\r\n", True), ("", False)],
    ids=["line", "tab", "wide", "two", "break", "none"],
)
def test_far_away_context_is_cut_at_any_space_and_anywhere_where_there_is_none(space, kept):
    prompt = Prompt(words(), window=6, **MARKS)
    left, _, right = prompt.parts(asked(f"the{space}" * 40 + " heart " + f"{space}severe" * 40, "heart"))
    assert left.endswith("the")
    assert right.startswith("severe")
    assert (set(left.split()) == {"the"}) is kept
    assert (set(right.split()) == {"severe"}) is kept
    assert max(len(left), len(right)) <= 96


@given(st.lists(st.sampled_from(WORDS[4:]), max_size=12), st.integers(6, 20))
def test_no_source_is_longer_than_its_window(found, window):
    prompt = Prompt(words(), window=window, **MARKS)
    ((source, _),) = prompt.of_parts([Parts(" ".join(found[:5]), "heart failure", " ".join(found[5:]))])
    assert len(source) == min(window, 6 + len(found))


def test_padding_is_right_or_left():
    ids, mask = padded([[1, 2, 3], [4]], 9, to=4)
    assert ids.tolist() == [[1, 2, 3, 9], [4, 9, 9, 9]]
    assert mask.tolist() == [[True, True, True, False], [True, False, False, False]]
    ids, mask = padded([[1, 2], [4]], 9, left=True)
    assert (ids.tolist(), mask.tolist()) == ([[1, 2], [9, 4]], [[True, True], [False, True]])


def test_words_need_no_space_before_them():
    assert space_before(words()) == ""


def test_a_template_without_a_mention_or_a_window_without_room_is_refused():
    with pytest.raises(UsageError, match="must hold"):
        Prompt(words(), template="it is")
    with pytest.raises(UsageError, match="no room"):
        Prompt(words(), window=4, **MARKS)


@pytest.mark.parametrize(("bos", "head"), [(1, "[CLS] "), (None, "")])
def test_a_generators_prompt_is_what_its_manifest_says(bos, head):
    generator = SimpleNamespace(
        tokenizer=words(framed=False), markers=("[M]", "end"), prompt="{mention} is", start=(3,), longest=24,
        bos_id=bos, eos_id=2, context=True, window=128,
    )  # fmt: skip
    prompt = Prompt.of(generator, context=False)
    ((source, prefix),) = prompt([asked("severe heart failure", "heart failure")])
    assert said(prompt.tokenizer, source) == f"{head}[M] heart failure end [SEP]"
    assert said(prompt.tokenizer, prefix) == "[M] heart failure is"
    ((source, _),) = Prompt.of(generator).of_parts([Parts("the " * 30, "heart", "")])
    assert len(source) == 12
    generator.window = 10
    for window, longest in ((None, 10), (11, 11)):
        ((source, _),) = Prompt.of(generator, window=window).of_parts([Parts("the " * 30, "heart", "")])
        assert len(source) == longest
    generator.context = False
    ((source, _),) = Prompt.of(generator).of_parts([Parts("the", "heart", "")])
    assert said(prompt.tokenizer, source) == f"{head}[M] heart end [SEP]"
