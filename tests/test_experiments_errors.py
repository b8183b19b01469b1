"""``experiments/errors.py`` and ``make_errors.py``: what is wrong, what is drawn, and the page of it."""

import json
from pathlib import Path

import pytest

from nomina.evaluation.ids import IdMap
from nomina.types import Candidate, Document, Mention, Prediction

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"C1|9": ("heart attack", "mi"), "C2": "seizure", "C3": "mitral insufficiency"}


def case(script, mention, default, aligned, *, count=1, corpus="ncbi", kind="other", gold=("C1",)):
    """Answers are (name, right)."""
    made = script("errors").Case(corpus, mention, list(gold), ["heart attack"], count)
    for system, (name, right) in (("default", default), ("aligned", aligned)):
        made.answers[system] = {"right": right, "name": name, "preferred": name}
    made.kind = kind
    return made


def test_an_answer_is_right_where_every_part_hits_any_id_of_gold(script, make_kb):
    errors, ids = script("errors"), IdMap(make_kb(NAMES), splits=True)

    def predicted(id):
        candidate = Candidate(id, id.lower(), "a name", 0.5, 1, "embedding", 0)
        return Prediction("d", Mention(((0, 1),), "x"), (candidate,))

    gold = (frozenset({"9"}), frozenset({"C2"}))
    assert errors.answer((predicted("C1|9"),), gold, ids)["right"]
    assert errors.answer((predicted("C2"), predicted("C1|9")), gold, ids)["right"]
    found = errors.answer((predicted("C2"), predicted("C3")), gold, ids)
    assert (found["right"], found["id"], found["preferred"]) == (False, "C2 C3", "c2 | c3")
    unanswered = Prediction("d", Mention(((0, 1),), "x"))
    assert not errors.answer((predicted("C2"), unanswered), gold, ids)["right"]
    assert not errors.answer((), gold, ids)["right"]


def test_gold_is_called_by_the_names_of_the_kb(script, make_kb):
    names = script("errors").names_by_id(make_kb(NAMES))
    assert (names["9"], names["C1"], names["C1|9"]) == ("heart attack",) * 3
    gold = (frozenset({"C2", "unheard"}), frozenset({"9"}))
    assert script("errors").described(gold, names) == (["9", "C2", "unheard"], ["heart attack", "seizure"])


def test_totals_count_mentions_and_pairs(script):
    cases = [
        case(script, "mi", ("mi", True), ("MI", False), count=3),
        case(script, "fits", ("seizure", False), ("seizure", False)),
        case(script, "heart attack", ("heart attack", True), ("heart attack", True), count=4),
    ]
    found = script("errors").totals(cases)
    assert (found["mentions"], found["distinct"], found["distinct_wrong"]) == (8, 3, 2)
    assert found["equal_to_a_wrong_name"] == 3
    assert found["default"] == {"acc@1": 87.5, "distinct_wrong": 1}
    assert found["aligned"] == {"acc@1": 50.0, "distinct_wrong": 2}


def test_the_same_are_drawn_whatever_their_order(script):
    errors = script("errors")
    wrong = [case(script, f"mention {i}", ("x", False), ("x", False)) for i in range(80)]
    drawn = errors.drawn(wrong)
    assert [c.mention for c in drawn] == [c.mention for c in errors.drawn(wrong[::-1])]
    assert len({c.mention for c in drawn}) == errors.SAMPLE
    assert errors.drawn(wrong[:3]) == wrong[:3]


def test_every_error_needs_a_kind(script, tmp_path):
    errors = script("errors")
    result, kinds = tmp_path / "errors.json", tmp_path / "kinds.tsv"
    listed = [{"corpus": "ncbi", "mention": "mi", "gold": ["C1", "9"], "kind": None}]
    result.write_text(json.dumps({"errors": listed}), encoding="utf-8")
    kinds.write_text("corpus\tmention\tgold\tkind\nncbi\tmi\tC1 9\tabbreviation\n", encoding="utf-8")
    errors.sort(result, kinds)
    assert json.loads(result.read_text(encoding="utf-8"))["errors"][0]["kind"] == "abbreviation"
    kinds.write_text("corpus\tmention\tgold\tkind\tremedy\nncbi\tmi\tC1 9\tabbreviation\tthe text\n", encoding="utf-8")
    errors.sort(result, kinds)
    assert json.loads(result.read_text(encoding="utf-8"))["errors"][0]["remedy"] == "the text"
    kinds.write_text("corpus\tmention\tgold\tkind\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"no kind for \('ncbi', 'mi', 'C1 9'\)"):
        errors.sort(result, kinds)


def test_both_systems_answer_each_distinct_pair(script, make_kb, monkeypatch, tmp_path):
    errors, kb = script("errors"), make_kb(NAMES)
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path))
    mentions = [("mi", "9"), ("seizure", "C3"), ("mi", "9")]
    starts = (0, 3, 11)
    text = "mi seizure mi"
    gold = tuple(Mention(((s, s + len(m)),), m, gold=((id,),)) for s, (m, id) in zip(starts, mentions, strict=True))
    monkeypatch.setattr(errors, "read_corpus", lambda *_: [Document("d", text, gold)])

    class Shop:
        def __call__(self, name):
            return kb

        def file(self, *parts):
            return None

    folder = ROOT / "tests" / "data" / "tiny-encoder"
    first, second = errors.linked(Shop(), "ncbi", {"default": folder, "aligned": folder})
    assert (first.mention, first.count, first.gold, first.gold_names) == ("mi", 2, ["9"], ["heart attack"])
    assert (first.is_wrong, second.is_wrong) == (False, True)
    assert second.answers["default"]["name"] == second.answers["aligned"]["name"] == "seizure"
    assert second.gold_names == ["mitral insufficiency"]


def test_a_table_of_kinds(script):
    made = script("make_errors")
    errors = [
        case(script, "mi", ("mitral", False), ("heart attack", True), kind="abbreviation"),
        case(script, "a|b", ("c | d", False), ("e", False), count=5, corpus="bc5cdr-d", kind="composite"),
        case(script, "fits", ("fit", True), ("fat", False), count=2, kind="composite"),
    ]
    assert list(made.kinds([vars(each) for each in errors]))[2:] == [
        "| composite | 2 | 1 | 1 | 1 | 2 | 7 | a/b → c / d (heart attack); fits → fat (heart attack) |",
        "| abbreviation | 1 | 1 | 0 | 1 | 0 | 1 | mi → mitral (heart attack) |",
    ]


def test_the_page_is_that_of_the_results(script):
    made, common = script("make_errors"), script("common")
    text = made.PAGE.read_text(encoding="utf-8")
    assert text.count(" by experiments/make_errors.py -->") == 3
    assert made.page(text, common.RESULTS) == text
    kinds = {error["kind"] for error in made.read(common.RESULTS / "errors.json")["errors"]}
    told = text.lower()
    assert [kind for kind in kinds if f"**{kind}.**" not in told] == []
