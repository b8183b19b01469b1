"""`nomina train --corpus` on a review project: what is decided counts, by whom it is asked for."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from encoder_cases import WORDS, save_bert
from review_cases import NIL, decided, marked, rejected, save
from training_cases import NAMES, arguments, corpus

from nomina.cli.main import main
from nomina.cli.train_data import Given, read
from nomina.review.project import Project
from nomina.review.records import Added

TEXT = "breast cancer and seizure a heart attack, short stature"


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("base"), len(WORDS) + 4, 32)


@pytest.fixture
def team(tmp_path):
    """Anna: breast cancer and heart attack; Ben: seizure, no concept for short stature; both: another for attack."""
    path = tmp_path / "team.sqlite"
    with Project(path) as project:
        mentions = tuple(marked(*span) for span in ((0, 13), (18, 25), (28, 40), (42, 55), (0, 6)))
        project.add(Added("1", TEXT, mentions), "adder", save())
        project.add(Added("2", "fu", (marked(0, 2),)), "adder", save())
        project.change(1, 0, [decided("0-13", "T:4"), decided("28-40", "T:1")], "anna", save())
        project.change(1, 1, [decided("18-25", "T:3"), decided("42-55", "-1"), rejected("0-6")], "ben", save())
        project.change(1, 2, [decided("28-40", "T:2")], "ben", save())
    return path


def learnt(kb, told):
    data = read(str(kb.path), told, writes=False)
    ids = list(data.concepts.ids)
    return [(item.texts, [[ids[number] for number in sorted(part)] for part in item.gold]) for item in data.train]


def test_only_what_is_decided_is_learnt_and_the_latest_counts(kb, team) -> None:
    assert NIL == (("-1",),)
    assert learnt(kb, Given(team, None, None, (), ())) == [
        (("breast cancer",), [["T:4"]]),
        (("seizure",), [["T:3"]]),
        (("heart attack",), [["T:2"]]),
    ]
    assert learnt(kb, Given(team, None, None, (), ("anna",))) == [
        (("breast cancer",), [["T:4"]]),
        (("heart attack",), [["T:1"]]),
    ]


def test_an_encoder_is_fine_tuned_on_corrections(kb, base, team, tmp_path, capsys) -> None:
    more = ["--no-export", "--corpus", team, "--dev", corpus(tmp_path)]
    for name, annotators in (("all", []), ("anna", ["--annotator", "anna"])):
        assert main(arguments("sapbert", kb.path, base, tmp_path / name, *more, *annotators)) == 0, capsys.readouterr()
    capsys.readouterr()
    both = [json.loads((tmp_path / name / "train.json").read_text(encoding="utf-8")) for name in ("all", "anna")]
    assert both[0]["data"]["corpus"] != both[1]["data"]["corpus"]
    assert both[0]["data"]["dev"] == both[1]["data"]["dev"]
    assert both[0]["steps"] == 8


def test_annotators_that_are_not_there_and_a_corpus_without_any(kb, base, team, tmp_path, capsys) -> None:
    begin = ["--no-export", "--corpus"]
    assert main(arguments("sapbert", kb.path, base, tmp_path / "m", *begin, team, "--annotator", "cleo")) == 2
    assert "'cleo' has decided nothing in" in capsys.readouterr().err
    given = [*begin, corpus(tmp_path), "--annotator", "anna"]
    assert main(arguments("sapbert", kb.path, base, tmp_path / "m", *given)) == 2
    assert "--annotator is about a project" in capsys.readouterr().err
