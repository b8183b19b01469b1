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


def test_without_development_mentions_it_is_the_default(run):
    code, output, err = run("--skip", "tfidf")
    assert (code, err) == (0, "")
    assert json.loads((output / "calibration.json").read_text(encoding="utf-8"))["stages"] == []
    code, _, err = run()
    assert (code, err) == (
        2, "nomina: only dictionary and embedding go together without weights: name development mentions (--dev)\n"
    )  # fmt: skip


def test_what_cannot_be_is_refused(run, dev, tmp_path):
    code, _, err = run("--dev", dev, "--precision", 1.5)
    assert code == 2
    assert "no threshold reaches a precision of 1.5" in err
    code, _, err = run("--dev", dev, "--generator", tmp_path / "none")
    assert code == 2
    assert "no such folder" in err
    (tmp_path / "here").write_text("", encoding="utf-8")
    code, _, err = run("--dev", dev, name="here")
    assert code == 2
    assert "name another folder" in err
