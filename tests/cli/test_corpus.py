"""``nomina corpus describe`` and ``convert``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nomina.cli.main import main
from nomina.corpora import read_corpus

CORPUS = """\
1|t|Breast and ovarian cancer.
1|a|Fits, no ataxia.
1\t0\t25\tBreast and ovarian cancer\tDisease\tT:1|T:2
1\t27\t31\tFits\tSymptom\tX:T:3
1\tCID\tT:1\tT:2

"""


@pytest.fixture
def nomina(tmp_path, monkeypatch, capsys):
    """Run `nomina corpus` in a folder with a small corpus: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pubtator").write_text(CORPUS, encoding="utf-8")

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["corpus", *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_describe_as_a_table(nomina, kb) -> None:
    code, out, err = nomina("describe", "a.pubtator", "--kb", kb.path, "--train", "a.pubtator")
    assert (code, err) == (0, "")
    rows = {line[:30].strip(): line[30:] for line in out.splitlines()}
    assert rows == {
        "documents": "1",
        "characters": "43",
        "mentions": "2",
        "distinct mentions": "2",
        "distinct (mention, gold)": "2",
        "repeated": "0",
        "composite": "1",
        "discontinuous": "0",
        "overlapping": "0",
        "without gold": "0",
        "without a concept (NIL)": "0",
        "distinct ids": "3",
        "in the KB": "2 (66.7%)",
        "gold in the KB": "66.7% (2 itself, 1 unknown)",
        "training mentions": "2",
        "seen mention": "2 (100.0%)",
        "same (mention, gold)": "2 (100.0%)",
        "types": "Disease 1, Symptom 1",
        "not read": "1 relations",
    }


def test_describe_as_json(nomina) -> None:
    code, out, _ = nomina("describe", "a.pubtator", "--json")
    found = json.loads(out)
    assert (code, found["mentions"], found["types"], found["seen"]) == (0, 2, {"Disease": 1, "Symptom": 1}, None)
    assert found["dropped"] == {"relations": 1}


def test_a_kb_of_other_ids_is_warned_of(nomina, make_kb) -> None:
    code, _, err = nomina("describe", "a.pubtator", "--kb", make_kb({"Y:1": ("a",)}).path)
    assert code == 0
    assert err.startswith("nomina: only 0.0% of the gold ids are in the KB")


def test_options_of_the_corpus_and_of_its_training_data(nomina, tmp_path: Path) -> None:
    pairs = {"train": [["x", "D1"], ["y", "D2"]], "test": [["x", "D1"]]}
    (tmp_path / "data.json").write_text(json.dumps(pairs), encoding="utf-8")
    given = ("describe", "data.json", "--train", "data.json", "--option", "split=test", "--json")
    assert json.loads(nomina(*given)[1])["seen"]["train_mentions"] == 1
    found = json.loads(nomina(*given, "--train-option", "split=train")[1])
    assert (found["mentions"], found["seen"]["train_mentions"], found["seen"]["pairs"]) == (1, 2, 1)


def test_a_corpus_without_a_document_is_said_to_be_none(nomina, tmp_path: Path) -> None:
    code, out, err = nomina("describe", "a.pubtator", "--format", "brat", "--train", "a.pubtator")
    assert (code, out.splitlines()[0].split()) == (0, ["documents", "0"])
    assert err == "nomina: a.pubtator holds no document: is it of that format?\n" * 2


def test_convert_writes_through_a_link(nomina, tmp_path: Path) -> None:
    (tmp_path / "b").symlink_to("c")
    (tmp_path / "c").write_text("old", encoding="utf-8")
    assert nomina("convert", "a.pubtator", "-o", "b", "--to", "jsonl")[0] == 0
    assert (tmp_path / "b").is_symlink()
    assert len(list(read_corpus(tmp_path / "c", "jsonl"))) == 1


def test_convert_that_fails_leaves_what_was_there(nomina, tmp_path: Path) -> None:
    (tmp_path / "a.pubtator").write_text(CORPUS + "2|t|x\n2\t0\t9\tx\tDisease\tT:1\n", encoding="utf-8")
    (tmp_path / "b").write_text("old", encoding="utf-8")
    code, _, err = nomina("convert", "a.pubtator", "-o", "b", "--to", "jsonl")
    assert (code, err) == (2, "nomina: a.pubtator:8: the span 0-9 ends behind the text (1 characters)\n")
    assert (tmp_path / "b").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pubtator", "b"]


def test_many_types_are_cut(nomina, tmp_path: Path) -> None:
    rows = "".join(f"1\t{i}\t{i + 1}\tx\tT{i}\tD1\n" for i in range(12))
    (tmp_path / "b").write_text(f"1|t|{'x' * 12}\n{rows}", encoding="utf-8")
    out = nomina("describe", "b")[1]
    assert out.splitlines()[-2].endswith("T8 1, T9 1 and 2 more")
    assert out.splitlines()[-1].endswith("nothing")


def test_convert_says_what_is_lost(nomina, tmp_path: Path) -> None:
    code, out, err = nomina("convert", "a.pubtator", "-o", "b", "--to", "brat")
    assert (code, out) == (0, "")
    assert err == "not read: 1 relations\nnot kept by brat: 2 sections\nb: 1 documents, 2 mentions\n"
    code, _, err = nomina("convert", "b", "-o", "c.jsonl", "--to", "jsonl")
    assert (code, err) == (0, "c.jsonl: 1 documents, 2 mentions\n")
    (first,), (second,) = read_corpus(tmp_path / "a.pubtator"), read_corpus(tmp_path / "c.jsonl")
    assert (second.text, second.mentions) == (first.text, first.mentions)


def test_convert_with_options_of_both_sides(nomina, tmp_path: Path) -> None:
    given = ("--to", "bioc_xml", "--from", "pubtator", "--option", "parts=none", "--option", "alternatives=|")
    assert nomina("convert", "a.pubtator", "-o", "b.xml", *given)[0] == 2
    assert not (tmp_path / "b.xml").exists()
    assert nomina("convert", "a.pubtator", "-o", "b.xml", *given, "--to-option", "alternatives=/")[0] == 0
    (document,) = read_corpus(tmp_path / "b.xml", options={"alternatives": "/"})
    assert [mention.gold for mention in document.mentions] == [(("T:1", "T:2"),), (("X:T:3",),)]


def test_lenient_reports_and_goes_on(nomina, tmp_path: Path) -> None:
    (tmp_path / "a.pubtator").write_text(CORPUS + "1\t0\t3\tWrong\tDisease\tT:1\n" * 7, encoding="utf-8")
    code, out, err = nomina("describe", "a.pubtator")
    assert (code, out) == (2, "")
    assert err.startswith("nomina: a.pubtator:7: the mention 'Wrong'")
    code, out, err = nomina("describe", "a.pubtator", "--lenient")
    assert (code, len(err.splitlines()), err.splitlines()[-1]) == (0, 6, "nomina: and 2 more faults")
    code, _, err = nomina("convert", "a.pubtator", "-o", "b.jsonl", "--to", "jsonl", "--lenient")
    assert (code, err.splitlines()[-1]) == (0, "b.jsonl: 1 documents, 2 mentions")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["describe", "no"], "no: cannot be read (No such file or directory)"),
        (["describe", "a.pubtator", "--format", "pdf"], "no corpus format 'pdf'; there are: pubtator, "),
        (
            ["describe", "a.pubtator", "--option", "level=x"],
            "the format pubtator has no option level; there are: parts, ",
        ),
        (["describe", "a.pubtator", "--train-option", "parts=+"], "--train-option needs --train"),
        (["describe", "a.pubtator", "--kb", "no.kb"], "no.kb (No such file or directory): build one with"),
        (["convert", "a.pubtator", "-o", "a.pubtator", "--to", "jsonl"], "a.pubtator is the corpus itself"),
        (
            ["convert", "a.pubtator", "-o", "b", "--to", "cometa"],
            "nomina reads cometa and does not write it; it writes: ",
        ),
        (
            ["convert", "a.pubtator", "-o", "-", "--to", "jsonl"],
            "cannot write -: a corpus is written to a file or folder",
        ),
        (
            ["convert", "a.pubtator", "-o", "/dev/null", "--to", "jsonl"],
            "cannot write /dev/null: a corpus is written to",
        ),
        (["convert", "no", "-o", "a.pubtator", "--to", "jsonl"], "no: cannot be read (No such file or directory)"),
        (["convert", "a.pubtator", "-o", "no/b", "--to", "jsonl"], "cannot write no/b (No such file or directory)"),
        (["convert", "a.pubtator", "-o", "b"], "Missing option '--to' (see nomina corpus convert --help)"),
    ],
)
def test_mistakes_are_one_line(nomina, arguments, why) -> None:
    code, out, err = nomina(*arguments)
    assert (code, out) == (2, "")
    assert why in err
    assert len(err.splitlines()) == 1
