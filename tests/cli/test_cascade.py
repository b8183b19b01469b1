"""`nomina cascade`: linkers combined on a development corpus, and `nomina link` with what comes out."""

import json

import pytest
from cascade_cases import ENCODER, NAMES, documents

from nomina.cli.main import main
from nomina.corpora.jsonl import write
from nomina.linkers.fitted_cascade import is_cascade


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture
def dev(tmp_path):
    path = tmp_path / "dev.jsonl"
    write(documents(), path)
    return path


@pytest.fixture
def run(kb, tmp_path, capsys):
    """A run of the command with the made KB and the tiny encoder: exit code, folder, stderr."""

    def call(*more, name="all"):
        output = tmp_path / name
        code = main([str(part) for part in ("cascade", "--kb", kb.path, "--encoder", ENCODER, "-o", output, *more)])
        return code, output, capsys.readouterr().err

    return call


def test_a_cascade_is_fitted_and_links(run, dev, kb, capsys):
    code, output, err = run("--dev", dev, "--precision", 0.9, "--sure", 0.6)
    assert code == 0, err
    assert is_cascade(output)
    lines = err.splitlines()
    assert lines[0] == "dictionary: 64 of 64 mentions reach it"
    assert [line.split(":")[0] for line in lines[3:6]] == ["dictionary", "tfidf", "embedding"]
    assert lines[6].startswith("of 64 mentions ")
    assert lines[7].startswith("abstains under a probability of ")
    facts = json.loads((output / "calibration.json").read_text(encoding="utf-8"))["dev"]
    assert (facts["mentions"], facts["kb"]) == (64, kb.fingerprint)
    predictions = output.with_name("predictions.jsonl")
    options = ("--kb", kb.path, "--linker", output, "-o", predictions)
    assert main([str(part) for part in ("link", "--corpus", "jsonl", dev, *options)]) == 0
    found = [json.loads(line) for line in predictions.read_text(encoding="utf-8").splitlines()]
    assert len(found) == 64
    assert all(0 <= one["probability"] <= 1 for one in found if one["candidates"])
    page = output.with_name("report.json")
    assert main([str(part) for part in ("evaluate", predictions, "--gold", dev, "--kb", kb.path, "-o", page)]) == 0
    capsys.readouterr()
    (system,) = [one for one in json.loads(page.read_text(encoding="utf-8"))["systems"] if one["name"] == "predictions"]
    assert system["primary"]["value"] == pytest.approx(facts["accuracy"], abs=0.1)


def test_parts_can_be_left_out(run, dev):
    code, output, err = run("--dev", dev, "--skip", "tfidf", "--skip", "embedding")
    assert code == 0, err
    parts = json.loads((output / "manifest.json").read_text(encoding="utf-8"))["options"]["parts"]
    assert [part["part"] for part in parts] == ["dictionary"]


@pytest.fixture
def plain(tmp_path, capsys):
    """A run of the command without a KB: exit code, folder, stderr."""

    def call(*more):
        code = main([str(part) for part in ("cascade", "-o", tmp_path / "plain", *more)])
        return code, tmp_path / "plain", capsys.readouterr().err

    return call


def test_without_development_mentions_it_is_the_default(plain):
    code, output, err = plain("--encoder", ENCODER, "--skip", "tfidf")
    assert (code, err) == (0, "")
    assert json.loads((output / "calibration.json").read_text(encoding="utf-8"))["stages"] == []
    code, _, err = plain()
    assert (code, err) == (
        2, "nomina: only dictionary and embedding go together without weights: name development mentions (--dev)\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "option",
    [
        ("--kb", "nosuch"),
        ("--precision", 0.9),
        ("--sure", 7),
        ("--many", 64),
        ("--scored", 3),
        ("--beams", 2),
        ("--no-context",),
        ("--generator", "writer"),
        ("--format", "jsonl"),
        ("--option", "a=b"),
    ],
)
def test_without_development_mentions_what_has_no_effect_is_refused(plain, option):
    code, output, err = plain("--skip", "tfidf", *option)
    assert code == 2
    assert err.startswith(f"nomina: {option[0]} has no effect without development mentions")
    assert err.count("\n") == 1
    assert not output.exists()


def test_development_mentions_need_a_knowledge_base(plain, dev):
    code, _, err = plain("--dev", dev)
    assert (code, err) == (2, "nomina: name the knowledge base that --dev is annotated with, by --kb\n")


def test_an_encoder_that_is_none_is_noticed_at_once(plain, run, dev, tmp_path):
    (tmp_path / "none").mkdir()
    for code, output, err in (
        plain("--skip", "tfidf", "--encoder", tmp_path / "none"),
        run("--dev", dev, "--encoder", tmp_path / "none"),
        run("--dev", dev, "--skip", "tfidf", "--skip", "embedding", "--generator", tmp_path / "none"),
    ):
        assert code == 2
        assert err.startswith(f"nomina: {tmp_path / 'none'} holds no ")
        assert err.count("\n") == 1
        assert not output.exists()


def test_a_cascade_is_no_encoder(plain):
    assert plain("--skip", "tfidf", "--encoder", ENCODER)[0] == 0
    code, _, err = plain("--skip", "tfidf", "--encoder", plain("--skip", "tfidf")[1])
    assert code == 2
    assert "holds a model of kind 'cascade'" in err


def test_what_cannot_be_is_refused(run, dev, tmp_path):
    for option in ("--precision", "--sure"):
        for value in (1.5, 0, "nan"):
            code, _, err = run("--dev", dev, option, value)
            assert code == 2
            assert err.startswith(f"nomina: {option[2:]} must be above 0 and at most 1, not {float(value)}\n")
            assert err.count("\n") == 1
    code, _, err = run("--dev", dev, "--generator", tmp_path / "none")
    assert code == 2
    assert "no such folder" in err
    (tmp_path / "here").write_text("", encoding="utf-8")
    code, _, err = run("--dev", dev, name="here")
    assert code == 2
    assert "name another folder" in err
