"""The plain values: what they refuse, and what they tell."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from pydantic import TypeAdapter, ValidationError

from nomina import types
from nomina.types import PREFERRED, Candidate, Document, Entity, Mention, Name, Prediction, Query, Retired, Section

CANDIDATE = Candidate("A:1", "Heart", "cor", 0.98, 1, "spelling", 7)
VALUES = [
    Name("cor", "narrow", "layperson", "talk"),
    Entity("A:1", (Name("Heart"),), "It beats", ("organ",), ("A:0",), ("X:1",), ("A:9",)),
    Retired("A:9", ("A:1",)),
    Mention(((0, 5),), "heart", "organ", (("A:1", "A:2"), ("A:3",))),
    Section(0, 5, "title"),
    Document("d", "heart", (Mention(((0, 5),), "heart"),), (Section(0, 5, "title"),)),
    CANDIDATE,
    Prediction("d", Mention(((0, 5),), "heart"), (CANDIDATE,), True, False, 0.5, True, "family"),
]
every_value = pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)


def test_every_dataclass_of_the_module_is_tried_here() -> None:
    made = {value for value in vars(types).values() if is_dataclass(value)}
    assert made == {type(value) for value in VALUES}


@every_value
def test_is_frozen_slotted_and_hashable(value: object) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(value)[0].name, "x")  # type: ignore[arg-type]
    assert not hasattr(value, "__dict__")
    assert len({value, value}) == 1


@every_value
def test_pydantic_takes_it_as_it_is_and_refuses_other_fields(value: object) -> None:
    adapter = TypeAdapter(type(value))
    as_json = adapter.dump_json(value)
    assert adapter.validate_json(as_json) == value
    with pytest.raises(ValidationError, match="colour"):
        adapter.validate_python({**adapter.dump_python(value), "colour": "red"})


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_name_without_a_visible_character_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a name must not be empty"):
        Name(text)


def test_an_unknown_scope_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"scope 'wide' is not one of exact, narrow, broad, related"):
        Name("heart", "wide")  # type: ignore[arg-type]


@pytest.mark.parametrize("id", ["", " A:1", "A:1\n"])
def test_an_id_with_outer_spaces_or_none_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="non-empty and without outer spaces"):
        Entity(id)


def test_the_name_of_an_entity_is_the_preferred_then_the_first_then_the_id() -> None:
    assert Entity("A:1", (Name("cor"), Name("Heart", kind=PREFERRED))).name == "Heart"
    assert Entity("A:1", (Name("cor"), Name("Heart"))).name == "cor"
    assert Entity("A:1").name == "A:1"


@pytest.mark.parametrize("spans", [((2, 2),), ((3, 1),), ((-1, 2),), ((4, 6), (0, 2)), ((0, 4), (3, 6))])
def test_spans_that_are_empty_reversed_unsorted_or_overlapping_are_refused(spans: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="spans must be non-empty, sorted and apart"):
        Mention(spans, "x")


def test_a_mention_without_a_span_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one span"):
        Mention((), "x")


def test_start_and_end_of_a_mention_are_its_envelope() -> None:
    mention = Mention(((3, 9), (9, 10), (21, 27)), "breast cancer")
    assert (mention.start, mention.end) == (3, 27)


def test_a_mention_may_end_with_the_text_but_not_behind_it() -> None:
    mention = Mention(((0, 5),), "heart")
    assert Document("d", "heart", (mention,)).mentions == (mention,)
    with pytest.raises(ValueError, match=r"document 'd': span 0-5 ends behind the text \(4 characters\)"):
        Document("d", "hear", (mention,))


def test_a_section_lies_in_its_text() -> None:
    with pytest.raises(ValueError, match="section 0-5 ends behind the text"):
        Document("d", "hear", sections=(Section(0, 5, "title"),))
    with pytest.raises(ValueError, match="must not end before it starts"):
        Section(3, 2, "title")


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_lies_between_0_and_1(probability: float) -> None:
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        Prediction("d", Mention(((0, 1),), "x"), probability=probability)


def test_a_query_is_a_document_and_one_mention() -> None:
    mention = Mention(((0, 1),), "x")
    document, asked = Query(Document("d", "x", (mention,)), mention)
    assert (document.id, asked) == ("d", mention)


@pytest.mark.parametrize("character", ["\0", "\n", "\r", "\x1b", "\x7f", "\ud800"])
def test_what_is_no_text_is_refused_wherever_it_stands(character: str) -> None:
    text = f"a{character}b"
    makers: list[Callable[[], object]] = [
        lambda: Name(text),
        lambda: Name("a", kind=text),
        lambda: Name("a", source=text),
        lambda: Entity(text),
        *(
            lambda field=field: Entity("A:1", **{field: (text,)})
            for field in ("types", "parents", "xrefs", "retired_ids")
        ),
        lambda: Retired(text),
        lambda: Retired("A:1", (text,)),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=rf"must not hold the character U\+{ord(character):04X}, as ") as caught:
            make()
        assert str(caught.value).isprintable()
    if character in "\n\r":
        assert Entity("A:1", definition=text).definition == text
    else:
        with pytest.raises(ValueError, match="a definition must not hold"):
            Entity("A:1", definition=text)


def test_what_is_not_printed_but_text_is_taken() -> None:
    for text in ("soft\xadhyphen", "no\xa0break", "zero\u200dwidth", "wide\u3000space", "a\tb", "private \ue000"):
        assert Name(text, kind=text, source=text).text == text
        assert Entity("A:1", types=(text,), definition=text).types == (text,)
    with pytest.raises(ValueError, match="an id must not hold a tab"):
        Retired("A\t1")
