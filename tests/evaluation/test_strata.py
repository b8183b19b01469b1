"""Which mentions are in which stratum: each rule on mentions made for it, partitions on made-up ones."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomina.evaluation.match import Item
from nomina.evaluation.strata import NOT_IN_KB, strata
from nomina.types import Document, Mention

CONCEPTS = {
    "C:1": ["Short stature", "Small stature"],
    "C:2": ["Myocardial infarction", "MI", "Heart attack"],
    "C:3": ["Mitral insufficiency", "MI"],
    "C:4": ["Seizure"],
    "C:5|O:5": ["Breast cancer", "Malignant tumour of the breast"],
}


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(CONCEPTS)


def item(text, *gold, document="d", spans=None, type=None):
    mention = Mention(spans or ((0, len(text)),), text, type)
    return Item(document, mention, (), tuple(frozenset(part.split("/")) for part in gold))


def members(found, group=None):
    """{name: places of the items}."""
    return {s.name: np.flatnonzero(s.mask).tolist() for s in found if group in (None, s.group)}


def test_the_seven_of_genbioel(kb):
    train = [item("Heart attack", "C:2"), item("fits", "C:4"), item("Fits", "C:4"), item("short", "C:1")]
    items = [
        item("heart-attack", "C:2"),  # seen, a name
        item("coronary", "C:2"),  # its concept is seen
        item("mitral insufficiency", "C:3"),  # its concept is not, a name
        item("fits", "C:1"),  # a seen mention of another concept
        item("nothing"),  # NIL
    ]
    assert members(strata(items, kb, train), "genbioel") == {
        "overall": [0, 1, 2, 3, 4],
        "single word": [0, 1, 3, 4],
        "multi-word": [2],
        "unseen mention": [1, 2, 4],
        "unseen concept": [2],
        "not direct match": [1, 3],
        "top 100 concepts": [0, 1, 3],
    }


def test_only_the_hundred_most_frequent_concepts_are_top():
    train = [item("x", f"D:{i:03}") for i in range(150) for _ in range(150 - i)]
    items = [item("x", "D:000"), item("x", "D:099"), item("x", "D:100"), item("x", "D:100", "D:003")]
    assert members(strata(items, train=train))["top 100 concepts"] == [0, 1, 3]


def test_of_concepts_as_frequent_the_first_ids_are_top():
    train = [item("x", f"D:{i:03}") for i in reversed(range(150))]
    assert members(strata([item("x", "D:099"), item("x", "D:100")], train=train))["top 100 concepts"] == [0]


def test_every_part_of_a_composite_has_to_be_seen():
    train = [item("a", "C:1"), item("b", "C:2/C:9")]
    items = [item("a and b", "C:1", "C:9"), item("a and c", "C:1", "C:3"), item("c", "C:3", "C:4")]
    assert members(strata(items, train=train))["unseen concept"] == [1, 2]


def test_seen_and_unseen_are_a_partition_of_what_has_a_concept():
    train = [item("Fits", "C:4"), item("MI", "C:2")]
    items = [item("fits", "C:4"), item("fits", "C:1"), item("seizures", "C:4"), item("MI", "C:2"), item("fits")]
    assert members(strata(items, train=train), "seen") == {
        "seen mention": [0, 3],
        "seen concept, new mention": [2],
        "unseen concept": [1],
    }


def test_similarity_to_the_nearest_gold_name(kb):
    items = [
        item("small STATURE", "C:1"),
        item("statures", "C:1"),
        item("xyz", "C:1"),
        item("short stature", "C:1/C:4"),
        item("stature", "C:404"),
        item("stature"),
        item("small stature|xyz", "C:1", "C:4"),  # the part that is least alike counts
    ]
    found = members(strata(items, kb), "similarity")
    assert found.pop(NOT_IN_KB) == [4]
    assert found.pop("0.0-0.2") == [2, 6]
    assert found.pop("0.8-1.0") == [0, 3]
    (between,) = found.values()
    assert between == [1]


def test_ids_that_the_kb_joins_with_others_are_known(kb):
    found = strata([item("breast cancer", "O:5"), item("breast tumour", "C:5")], kb)
    assert members(found)["not direct match"] == [1]
    assert NOT_IN_KB not in members(found)
    assert members(found, "similarity")["0.8-1.0"] == [0]


def test_names_of_rows_that_join_an_id_with_others_are_gold_names_too(make_kb):
    rows = make_kb({"D1": "ataxia telangiectasia", "D1|208900": "louis bar syndrome", "X1+D1": "at"})
    found = strata([item(text, "D1") for text in ("ataxia telangiectasia", "Louis-Bar syndrome", "AT", "ataxia")], rows)
    assert members(found)["not direct match"] == [3]


def test_a_homonym_is_the_mention_or_the_nearest_gold_name(kb):
    items = [item("MI", "C:1"), item("mis", "C:3"), item("heart attack", "C:2"), item("MI"), item("q", "C:404")]
    assert members(strata(items, kb), "name") == {"homonym": [0, 1, 3]}


def test_abbreviations_by_the_text_or_by_their_shape():
    documents = [Document("d", "Fragile skin disease (fsd) and others."), Document("e", "no brackets")]
    texts = [
        "fsd",
        "AKI",
        "5FU",
        "IL-2",
        "mRNA",
        "T3",
        "MIs",
        "Seizure",
        "seizure",
        "A",
        "12",
        "HEADACHES",
        "a b",
        "HIV I",
    ]
    items = [*(item(text) for text in texts), item("fsd", document="e"), item("fsd", document="f")]
    assert members(strata(items, documents=documents))["abbreviation"] == [0, 1, 2, 3, 4, 5, 6]
    assert members(strata(items))["abbreviation"] == [1, 2, 3, 4, 5, 6]


def test_composite_discontinuous_length_and_type():
    items = [
        item("breast and ovarian cancer", "C:1", "C:2", type="Disease"),
        item("breast cancer|ovarian cancer", "C:1/C:2", type="Disease"),
        item("breast  cancer", "C:1", spans=((0, 6), (19, 25)), type="Chemical"),
        item("one two three four five six"),
        item("five"),
    ]
    found = members(strata(items))
    assert found["composite"] == [0, 1]
    assert found["discontinuous"] == [2]
    assert {name: found[name] for name in found if "word" in name and name[0].isdigit()} == {
        "1 word": [4],
        "2 words": [2],
        "4 words": [0, 1],
        "5 words or more": [3],
    }
    assert (found["Chemical"], found["Disease"]) == ([2], [0, 1])


def test_what_needs_kb_or_train_is_left_out_without(kb):
    items = [item("MI", "C:2")]
    names = {s.name for s in strata(items)}
    assert names == {"overall", "single word", "abbreviation", "1 word"}
    assert {s.name for s in strata(items, kb)} - names == {"0.8-1.0", "homonym"}
    assert {s.name for s in strata(items, train=[])} - names == {"unseen mention", "unseen concept"}
    assert strata([], kb, []) == []


texts = st.sampled_from(
    ["MI", "short stature", "stature", "heart attacks", "q", "breast cancer", "fits|MI", "a b c d e f"]
)
golds = st.lists(st.sampled_from(["C:1", "C:2", "C:3/C:1", "O:5", "C:404"]), max_size=2)
mentions = st.lists(st.builds(lambda text, gold: item(text, *gold), texts, golds), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mentions, mentions)
def test_partitions_hold_every_mention_once(kb, items, train):
    found = strata(items, kb, train)
    with_concept = sum(bool(item.gold) for item in items)
    for group, size in (("seen", with_concept), ("similarity", with_concept), ("length", len(items))):
        masks = [s.mask for s in found if s.group == group]
        total = np.sum(masks, axis=0, dtype=int) if masks else np.zeros(len(items), int)
        assert total.sum() == size
        assert total.max(initial=0) <= 1
    assert all(s.mask.dtype == bool and s.mask.shape == (len(items),) and s.mask.any() for s in found)
    assert len({(s.group, s.name) for s in found}) == len(found)
