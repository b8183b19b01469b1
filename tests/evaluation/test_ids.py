import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nomina.evaluation.ids import NIL_IDS, RULES, IdMap, is_nil
from nomina.kb.build import BuildOptions, build
from nomina.types import Entity, Name


@pytest.fixture(scope="module")
def bare(make_kb):
    """Ids without a prefix, one of them a row of BioSyn's."""
    return make_kb({"D003110": "colonic neoplasms", "C567755|613097": "tooth agenesis", "D1+D2": "both"})


@pytest.fixture(scope="module")
def prefixed(make_kb):
    return make_kb({"MESH:D003110": "colonic neoplasms", "OMIM:100": "a", "MESH:100": "b", "HP:0000001": "c"})


@pytest.fixture(scope="module")
def renewed(tmp_path_factory):
    """D003110 with an id that was retired for it."""
    entity = Entity("D003110", (Name("colonic neoplasms"),), retired_ids=("D999", "OMIM:5"))
    return build(tmp_path_factory.mktemp("kb") / "renewed.kb", [entity], BuildOptions("renewed"))


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("D003110", "D003110"),
        (" D003110 ", "D003110"),
        ("MESH:D003110", "D003110"),
        ("mesh:D003110", "D003110"),
        ("MSH:D003110", "D003110"),
        ("OMIM:613097", "613097"),  # has a place in the joined id
        ("613097", "613097"),
        ("HP:D003110", "HP:D003110"),  # no prefix that an id can be without
        ("OMIM:7", "7"),  # unknown, but compared without its prefix
        ("D777", "D777"),
    ],
)
def test_ids_as_a_kb_without_prefixes_has_them(bare, id, expected):
    assert IdMap(bare)(id) == expected


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("MESH:D003110", "MESH:D003110"),
        ("mesh:D003110", "MESH:D003110"),
        ("D003110", "MESH:D003110"),
        ("100", "100"),  # of MeSH or of OMIM? nobody can say
        ("MIM:100", "OMIM:100"),
        ("hp:0000001", "HP:0000001"),
        ("0000001", "HP:0000001"),
    ],
)
def test_ids_as_a_kb_with_prefixes_has_them(prefixed, id, expected):
    assert IdMap(prefixed)(id) == expected


@pytest.mark.parametrize("id", ["D999", "MESH:D999", "OMIM:5", "mim:5"])
def test_a_retired_id_is_the_one_in_its_place(renewed, id):
    assert IdMap(renewed)(id) == "D003110"


@pytest.mark.parametrize(
    ("id", "expected"), [("MESH:D003110", "D003110"), ("D003110", "D003110"), ("HP:1", "HP:1"), ("X:D1", "X:D1")]
)
def test_without_a_kb_only_a_well_known_prefix_goes(id, expected):
    assert IdMap()(id) == expected


def test_gold_and_prediction_that_differ_by_prefix_meet_in_every_kb(bare, prefixed):
    for ids in (IdMap(bare), IdMap(prefixed), IdMap()):
        (part,) = ids.gold((("MESH:D003110",),))
        assert part & ids.candidate("D003110")


def test_nil_is_no_part_of_gold():
    ids = IdMap()
    assert ids.gold(()) == ids.gold((("-1",),)) == ids.gold((("CUI-less", " nil "),)) == ids.gold((("",),)) == ()
    assert ids.gold((("-1", "A"), ("NIL",))) == (frozenset("A"),)


def test_every_nil_id_is_nil_in_any_case():
    assert all(is_nil(id) and is_nil(id.lower()) and is_nil(f" {id} ") for id in NIL_IDS)
    assert not is_nil("D003110")


def test_gold_ids_are_split_only_where_the_protocol_says_so():
    joined = (("A|B+C",),)
    assert IdMap(splits=True).gold(joined) == (frozenset("ABC"),)
    assert IdMap().gold(joined) == (frozenset(["A|B+C"]),)


def test_the_ids_of_a_prediction_are_always_split_and_their_whole_is_kept():
    assert IdMap().candidate("A|B+C") == {"A", "B", "C", "A|B+C"}
    assert IdMap().candidate("-1") == frozenset()
    assert IdMap().gold((("A|B+C",),))[0] & IdMap().candidate("A|B+C")


def test_coverage_counts_parts_by_the_most_direct_rule(bare):
    golds = [
        (("D003110",),),
        (("MESH:D003110", "D003110"),),
        (("OMIM:613097",), ("D777",)),
        (("D777", "D778"),),
        (("-1",),),
        (),
    ]
    found = IdMap(bare).coverage(golds)
    assert found.by_rule == {"itself": 2, "unknown": 2, "prefix removed": 1}
    assert found.in_kb == pytest.approx(3 / 5)
    assert found.warning is None


def test_coverage_under_one_half_is_warned_of(bare):
    found = IdMap(bare).coverage([(("D003110",),), (("X:1",),), (("X:2",),)])
    assert found.warning == "only 33.3% of the gold ids are in the KB made: is it the corpus's own?"
    assert IdMap(bare).coverage([(("D003110",),), (("X:1",),)]).warning is None


def test_there_is_no_coverage_without_a_kb_or_without_gold(bare):
    assert IdMap().coverage([(("D003110",),)]) is None
    assert IdMap(bare).coverage([(), (("-1",),)]) is None


def test_what_the_kb_has(bare):
    ids = IdMap(bare)
    assert "MESH:D003110" in ids
    assert "C567755|613097" in ids
    assert "D777" not in ids


@given(st.sampled_from(["MESH", "mesh", "Omim", "UMLS", "SNOMEDCT_US"]), st.text(min_size=1, max_size=12))
def test_a_well_known_prefix_says_nothing_more_than_the_code(prefix, code):
    assume(code.strip() and ":" not in code)
    assert IdMap()(f"{prefix}:{code}") == IdMap()(code) == code.strip()


def test_rules_are_told_from_the_most_direct_on():
    assert RULES[0] == "itself"
    assert RULES[-1] == "unknown"
