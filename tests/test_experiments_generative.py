"""``generative_report.py``, ``checkpoint_generator.py``: who may write what, what is counted, what is told."""

import json
import lzma
from argparse import Namespace
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from generator_cases import save_base

from nomina import generation

NAMES = {
    "heart attack": "C1",
    "seizure": "C2|9",
    "breast cancer": "C3",
    "cancer": " C3",
    "short stature": "C4",
    "of the heart": "C1",
}
MENTIONS = [
    ("train", "attack", "C1"),
    ("train", "seizure", "C2"),
    ("train", "cancer of the heart", "C2"),
    ("test", "attack", "C1"),
    ("test", "attack", "C1"),
    ("test", "cancer of the heart", "C3+C1"),
    ("test", "cancer of the heart", "C3"),
]


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "aap.txt.xz", ((ids, name) for name, ids in NAMES.items()))
    write(tmp_path / "contexts.tsv.xz", (("aap-0", split, "", text, "", ids) for split, text, ids in MENTIONS))
    return tmp_path


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    generation.begin(save_base(tmp_path / "base"), (0, 1)).save(folder)
    return folder


def write(path, lines):
    path.write_bytes(lzma.compress("".join("\t".join(line) + "\n" for line in lines).encode()))


def asked(script, data, model, split="test"):
    answers = script("generative_answers")
    return answers.Asking(answers.Task("aap-0", "clean", model), split, data, data / "work")


def test_candidates_alone_may_be_written(script, data, model):
    evaluation = script("generative_eval")
    dictionary = evaluation.Dictionary.read(data, "aap-0")
    judge = evaluation.Judge(generation.load(model), dictionary, ())
    prompt = evaluation.Prompt.of(judge.generator, context=False)
    texts = [evaluation.Parts("", text, "") for text in ("attack", "cancer of the heart", "seizure")]
    every = [rows[0] for rows in judge.best(prompt, texts[:1], 8, 2)[0]]
    assert sorted(every) == list(range(len(NAMES)))
    offered = [np.array(rows, np.int64) for rows in ([5, 2, 0], [1], [])]
    found = judge.best(prompt, texts, 8, 2, offered)
    assert found == [[[row] for row in every if row in (5, 2, 0)], [[1]], []]


def test_answers_are_kept_and_asked_for_again_with_other_weights(script, data, model, monkeypatch):
    asking = asked(script, data, model)
    first = asking.full()
    assert list(first) == ["attack", "cancer of the heart"]
    assert all(len(names) == 5 for names in first.values())
    assert {tuple(each.ids) for each in first["attack"]} <= {("C1",), ("9", "C2"), ("C3",), (" C3",), ("C4",)}
    monkeypatch.setattr(script("generative_answers"), "Judge", None)
    assert asked(script, data, model).full() == first
    generation.begin(data / "base", (1, 0)).save(model)
    with pytest.raises(TypeError):
        asked(script, data, model).full()


def test_candidates_are_rows_of_the_dictionary(script, data, model, monkeypatch):
    answers, asking = script("generative_answers"), asked(script, data, model)
    rows = np.array([[asking.kb.row("of the heart"), -1], [asking.kb.row("seizure"), asking.kb.row("cancer")]])
    near = namedtuple("near", "rows")
    linker = namedtuple("linker", "nearest")(lambda texts, many: near(rows[:, :many]))
    monkeypatch.setattr(answers, "EmbeddingLinker", lambda kb, encoder: linker)
    assert [own.tolist() for own in asking.candidates(2)] == [[5], [1, 3]]
    assert asking.offered(1) == {
        "attack": [("of the heart", ["C1"])],
        "cancer of the heart": [("seizure", ["9", "C2"])],
    }
    assert [[each.name for each in own] for own in asking.among(1).values()] == [["of the heart"], ["seizure"]]
    figures = script("generative_report").among(asking, 1)
    assert (figures["acc@1"], figures["acc@5"], figures["offered"]) == (50.0, 50.0, 50.0)


def test_strata_are_those_of_the_dictionary_that_is_linked_to(script, data, model, monkeypatch):
    report, answers, asking = script("generative_report"), script("generative_answers"), asked(script, data, model)
    found = {text: [answers.Answer("x", ["C1"])] for text in asking.texts}
    monkeypatch.setattr(answers.Asking, "full", lambda self: found)
    strata = {(one["group"], one["name"]): one for one in report.by_stratum(asking)}
    counts = {name: one["count"] for (group, name), one in strata.items() if group == "genbioel"}
    assert counts == {
        "overall": 4,
        "single word": 2,
        "multi-word": 2,
        "unseen concept": 2,
        "not direct match": 4,
        "top 100 concepts": 3,
    }
    assert strata["genbioel", "overall"]["acc@1"] == 75.0
    assert strata["genbioel", "multi-word"]["acc@1"] == 50.0
    assert sum(one["count"] for (group, _), one in strata.items() if group == "similarity") == 4


def case(script, text, gold, written, train=()):
    evaluation, answers = script("generative_eval"), script("generative_answers")
    item = evaluation.Item(evaluation.Parts("", text, ""), frozenset(gold))
    taught = [evaluation.Item(evaluation.Parts("", text, ""), frozenset(ids)) for ids in train]
    return [item, item], {text: [answers.Answer(name, ids) for name, ids in written]}, taught


def test_cases_are_repeated_and_never_right(script, data):
    cases = script("generative_cases")
    dictionary = script("generative_eval").Dictionary.read(data, "aap-0")

    def why(*one):
        asked, answers, train = case(script, *one)
        found = cases.cases(asked, answers, train, dictionary)
        assert (found["mentions"], found["wrong"]) == (2, 2)
        return found["cases"][0]["why"], found["against"]["mentions"]

    wrong = [("short stature", ["C4"])]
    assert why("fits", ["C2"], wrong) == ([cases.OTHER], 0)
    assert why("fits", ["C2"], wrong, [["C1"], ["C3"]]) == ([cases.IN_TRAIN], 2)
    assert why("fits", ["C2"], wrong, [["C1"], ["C2"]]) == ([cases.OTHER], 0)
    assert why("Seizure", ["C1"], [*wrong, ("heart attack", ["C1"])]) == ([cases.ELSEWHERE, cases.SECOND], 0)
    asked, answers, _ = case(script, "seizure", ["C2"], [("seizure", ["C2", "9"])])
    found = cases.cases([*asked, *case(script, "seizure", ["C1"], wrong)[0]], answers, [], dictionary)
    assert found["wrong"] == 2
    assert [(one["gold"], one["why"]) for one in found["cases"]] == [(["C1"], [cases.IN_TEST, cases.ELSEWHERE])]


def test_a_case_tells_ids_names_and_numbers(script, data):
    dictionary = script("generative_eval").Dictionary.read(data, "aap-0")
    asked, answers, train = case(script, "fits", ["C2", "9"], [("short stature", ["C4"])], [["C1"], ["C3"], ["C1"]])
    other, _, _ = case(script, "fits", ["C3"], [])
    (told,) = script("generative_cases").cases([*asked, other[0]], answers, train, dictionary)["cases"]
    assert (told["count"], told["gold"]) == (2, ["9", "C2"])
    assert told["train"] == [{"ids": ["C1"], "count": 2}, {"ids": ["C3"], "count": 1}]
    assert told["answer"] == {"name": "short stature", "ids": ["C4"]}
    assert told["names"]["C4"] == "short stature"
    assert told["names"]["C1"] == "heart attack"


def test_the_best_model_on_all_corpora_is_chosen(script, monkeypatch):
    checkpoint, recorded = script("checkpoint_generator"), {}
    sets = {"a": (90.0, 80.0, 70.0, 60.0), "b": (70.0, 70.0, 85.0, 61.0)}
    names = ["ncbi clean", "ncbi published", "bc5cdr clean", "aap-0 clean"]
    found = {model: {name: {"acc@1": at} for name, at in zip(names, each, strict=True)} for model, each in sets.items()}
    monkeypatch.setattr(checkpoint, "figures", lambda arguments, model, split: found[model.name])
    monkeypatch.setattr(checkpoint, "record", lambda name, metrics, **_: recorded.update(metrics))
    checkpoint.choose(Namespace(models=Path("m"), of=["a", "b"]))
    assert (recorded["mean"], recorded["chosen"]) == ({"a": 71.67, "b": 72.0}, "b")


@pytest.mark.parametrize("points", [0.2, 0.3])
def test_a_checkpoint_says_how_far_it_is_from_what_it_was_packed_from(script, tmp_path, monkeypatch, points):
    checkpoint, recorded = script("checkpoint_generator"), {}
    (tmp_path / "weights").write_bytes(b"1234")
    at = {tmp_path: 80.0, Path("whole"): 80.0 + points}
    monkeypatch.setattr(checkpoint, "figures", lambda arguments, model, split: {"ncbi clean": {"acc@1": at[model]}})
    monkeypatch.setattr(checkpoint, "record", lambda name, metrics, **_: recorded.update(metrics))
    checkpoint.check(Namespace(checkpoint=tmp_path, whole=Path("whole")))
    assert recorded["difference"] == {"ncbi clean": -points}
    assert recorded["within"] == (points <= 0.2)
    assert (recorded["checkpoint"], recorded["bytes"]) == (tmp_path.name, 4)
    assert json.dumps(recorded)


def test_a_checkpoint_is_only_compared_with_what_is_recorded_where_its_weights_are_not_at_hand(
    script, tmp_path, monkeypatch, capsys
):
    checkpoint = script("checkpoint_generator")
    measured = {"ncbi clean": {"acc@1": 80.0, "acc@5": 90.0}, "aap-0 clean": {"acc@1": 60.0, "acc@5": 70.0}}
    monkeypatch.setattr(checkpoint, "figures", lambda arguments, model, split: measured)
    monkeypatch.setattr(checkpoint, "RESULTS", tmp_path)
    before = {"dev": {"ncbi clean": {"acc@1": 80.1, "acc@5": 90.0}}, "difference": {}}
    path = tmp_path / "checkpoint_generator.json"
    path.write_text(json.dumps({"metrics": before}), encoding="utf-8")
    told = path.read_bytes()
    checkpoint.check(Namespace(checkpoint=tmp_path, whole=None))
    assert path.read_bytes() == told
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "ncbi clean, dev: 80.0 / 90.0, recorded 80.1 / 90.0",
        "aap-0 clean, dev: 60.0 / 70.0, not recorded",
    ]


def test_tables_of_the_report(script, tmp_path):
    tables = script("genbioel_report_tables")
    best, worst = {"acc@1": 90.04, "acc@5": 95.0}, {"acc@1": 0.0, "acc@5": 10.0}
    among = {**worst, "offered": 50.0, "only_full": 1200, "only_among": 3, "p": 0.0001}
    strata = [
        {"group": "genbioel", "name": "unseen concept", "count": 1234, **worst},
        {"group": "similarity", "name": "0.2-0.4", "count": 7, **best},
    ]
    split = {"mentions": 9, "full": best, "among": {"16": among, "64": {**among, "p": 0.0421}}}
    told = {
        "mention": "fits",
        "count": 2,
        "gold": ["1", "C2"],
        "train": [{"ids": ["C3"], "count": 4}, {"ids": ["C4"], "count": 1}],
        "answer": {"name": "cancer", "ids": ["C3"]},
        "names": {"1": "", "C2": "seizure", "C3": "cancer", "C4": ""},
        "why": [tables.IN_TRAIN, tables.SECOND],
    }
    cases = {"mentions": 960, "wrong": 88, "against": {"mentions": 12, "right": 1}, "cases": [told]}
    one = {"model": "ft", "encoder": "encoder", "chosen": 64, "dev": split, "test": {**split, "strata": strata}}
    papers = {"subpopulations": [{"system": "Theirs", "bc5cdr": [1, 2, 3, 4, 86.9, 6, 7]}]}
    every = {**split, "among": {}}
    alone = {**one, "dev": every, "chosen": None, "test": {**every, "strata": strata}}
    write_result(
        tmp_path / "generative_report.json",
        {"bc5cdr clean": alone, "ncbi published": {**one, "encoder": "mini", "cases": cases}},
    )
    write_result(tmp_path / "generative_report_bc5cdr.json", {"bc5cdr clean": one})  # what was asked later on
    lines = list(tables.section(tmp_path, papers))
    assert "| unseen concept | 86.9 | 1,234 | 0.0 / 10.0 | 1,234 | 0.0 / 10.0 |" in lines
    assert "| overall | 1 |  |  |  |  |" in lines
    assert "| 0.2-0.4 | 7 | 90.0 / 95.0 | 7 | 90.0 / 95.0 |" in lines
    assert (
        "| BC5CDR joint | dev | 90.0 / 95.0 | 16 by the embedded encoder | 50.0 | 0.0 / 10.0 | 1,200 / 3 | < 0.001 |"
        in lines
    )
    assert "| NCBI, published | test | 90.0 / 95.0 | **64** by mini | 50.0 | 0.0 / 10.0 | 1,200 / 3 | 0.042 |" in lines
    why = f"{tables.IN_TRAIN}; {tables.SECOND}"
    row = f"| fits | seizure 1 C2 (2) | cancer C3 (4); C4 (1) | cancer (C3) | {why} |"
    assert lines.count(row) == 1
    assert any("Of these, 2 (0.2 points) are 1 pairs" in line and "12 test mentions" in line for line in lines)


def test_tables_of_the_checkpoint(script, tmp_path):
    tables = script("genbioel_report_tables")
    assert list(tables.section(tmp_path, {})) == []
    at = {name: {"acc@1": 80.0, "acc@5": 90.0} for name in tables.NAMES}
    write_result(tmp_path / "checkpoint_choice.json", {"dev": {"ft": at}, "mean": {"ft": 80.0}, "chosen": "ft"})
    check = {"dev": at, "test": at, "checkpoint": "angel-mini", "bytes": 31_950_000, "within": False}
    check["difference"] = dict.fromkeys(tables.NAMES, -0.25)
    write_result(tmp_path / "checkpoint_generator.json", check)
    lines = list(tables.section(tmp_path, {}))
    assert "| ft |" + " 80.0 / 90.0 |" * 4 + " 80.00 |" in lines
    assert "| dev |" + " 80.0 / 90.0 (-0.25) |" * 4 in lines
    assert "| test |" + " 80.0 / 90.0 |" * 4 in lines
    assert any("/angel-mini`: 31.9 MB" in line and "further apart" in line for line in lines)


def write_result(path, metrics):
    path.write_text(json.dumps({"metrics": metrics}), encoding="utf-8")


def test_a_name_of_two_concepts_is_a_name_of_each_and_what_it_cost_is_counted(script, tmp_path) -> None:
    labels = [("1", "Neck pain"), ("2", "Cramp"), ("3", "Neck pain"), ("1", "Sore neck"), ("4", "Cramp")]
    write(tmp_path / "aap.txt.xz", labels)
    asked = [("test", "neck", "1"), ("test", "neck", "3"), ("test", "cramps", "2"), ("dev", "cramps", "4")]
    write(tmp_path / "contexts.tsv.xz", [("aap-0", split, "", text, "", ids) for split, text, ids in asked])
    dictionary = script("generative_eval").Dictionary.read(tmp_path, "aap-0")
    assert dictionary.texts == ["Neck pain", "Cramp", "Sore neck"]
    assert dictionary.ids == [{"1", "3"}, {"2", "4"}, {"1"}]
    assert script("shared_names").counts(tmp_path, folds=1) == {
        "names": ["Cramp"],
        "concepts": 1,
        "dev": {"mentions": [1], "lost": [0]},
        "test": {"mentions": [3], "lost": [1]},
    }
