"""The scripts under ``experiments``: what they share, and a published figure that has to hold."""

import importlib
import json
from pathlib import Path

import pytest

from nomina import _version

ROOT = Path(__file__).resolve().parents[1]
MED1250 = ROOT.parent / "shared" / "benchmarks" / "abbreviations" / "MED1250_labeled"


@pytest.fixture
def experiment(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments")
    return importlib.import_module


def test_a_record_says_what_it_takes_to_measure_again(experiment, monkeypatch, tmp_path):
    common = experiment("common")
    monkeypatch.setattr(common, "RESULTS", tmp_path / "results")
    line = [str(ROOT / "experiments" / "made_up.py"), "--shared", "x", "a=.work/models/raw", "y.work/z"]
    monkeypatch.setattr("sys.argv", line)
    path = common.record("made-up", {"f1": 0.5}, seed=7, corpus="α")
    facts = json.loads(path.read_text(encoding="utf-8"))
    assert path == tmp_path / "results" / "made-up.json"
    assert [entry.name for entry in path.parent.iterdir()] == ["made-up.json"]
    assert facts["metrics"] == {"f1": 0.5}
    assert (facts["seed"], facts["corpus"]) == (7, "α")
    assert facts["command"] == "python experiments/made_up.py --shared x a=MODELS/raw y.work/z"
    assert facts["versions"]["nomina"] == _version.__version__
    assert facts["hardware"].endswith("cores")


def test_a_script_that_draws_nothing_says_so(experiment, monkeypatch, tmp_path):
    common = experiment("common")
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    path = common.record("made-up", {"f1": 0.5})
    assert json.loads(path.read_text(encoding="utf-8"))["seed"] == "none drawn"


@pytest.mark.parametrize("path", sorted((ROOT / "experiments" / "results").glob("*.json")), ids=lambda path: path.stem)
def test_every_result_says_its_seed(path):
    assert json.loads(path.read_text(encoding="utf-8")).get("seed", 0) is not None


def test_a_missing_benchmark_is_one_line(experiment, tmp_path):
    with pytest.raises(SystemExit, match="--shared PATH"):
        experiment("common").benchmark(tmp_path, "abbreviations", "MED1250_labeled")


def test_med1250_is_read_without_the_annotators_remarks(experiment, tmp_path):
    lines = [
        "123456",
        "A title.",
        "//* remark",
        "Acute kidney injury (AKI).",
        "  AKI|Acute kidney injury",
        "",
        "78",
        "B.",
    ]
    made = tmp_path / "made"
    made.write_text("\n".join(lines), encoding="utf-8")
    first, second = experiment("abbreviations").read(made)
    assert first == ("A title.\nAcute kidney injury (AKI).", {("AKI", "Acute kidney injury")})
    assert second == ("B.", set())
    assert experiment("abbreviations").score([first])["f1"] == 1.0


@pytest.mark.slow
@pytest.mark.skipif(not MED1250.exists(), reason="needs ../shared/benchmarks/abbreviations")
def test_definitions_on_med1250(experiment):
    abbreviations = experiment("abbreviations")
    documents = abbreviations.read(MED1250)
    figures = abbreviations.score(documents)
    assert (figures["documents"], figures["gold"]) == (1252, 1203)
    assert figures["f1"] >= 0.9
    assert abbreviations.score(documents[1::2])["f1"] >= 0.89
