"""GenBioEL's tables: trainings of a GPU and of a CPU together, and what pre-training is worth."""

import importlib
import json
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
PAPER = {"ncbi": [91.6, 95.6], "bc5cdr": [92.6, 95.3], "askapatient": [88.8, 95.6]}


def run(first: float, form: str = "clean ") -> dict[str, object]:
    figures = {f"{form}acc@1": first, f"{form}acc@5": first + 5}
    before = {"clean acc@1": 0.5, "clean acc@5": 1.5}
    return {"runs": [{"before": before, "best": {"clean acc@1": first, "clean acc@5": first + 5}, "test": figures}]}


def test_trainings_of_both_machines_are_compared(monkeypatch, tmp_path) -> None:
    monkeypatch.syspath_prepend(EXPERIMENTS)
    tables = importlib.import_module("genbioel_tables")
    papers = {
        "as-published-generative": [{"system": name, **PAPER} for name in tables.SYSTEMS],
        "genbioel-changes": dict.fromkeys(tables.CHANGES, 90.0),
        "genbioel-starts": {"BART": [6.2, 92.5, 4.1, 80.9]},
    }
    assert list(tables.section(tmp_path, papers)) == []
    gpu = {"pre-ncbi-0": run(88.0, "published "), "pre-ncbi-1": run(86.0, "published "), "none-bc5cdr-0": run(87.5)}
    made = {"generative_runs": gpu, "generative_runs_cpu": {"none-ncbi-0": run(60.5, "published ")}}
    for name, metrics in made.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"metrics": metrics}), encoding="utf-8")
    shared = {"names": ["A", "B"], "test": {"mentions": [60, 40], "lost": [2, 1]}}
    (tmp_path / "shared_names.json").write_text(json.dumps({"metrics": shared}), encoding="utf-8")
    lines = "\n".join(tables.section(tmp_path, papers)).splitlines()
    assert "| ours, fine-tuned, not pre-trained | 60.5 / 65.5 | 87.5 / 92.5 |  |" in lines
    assert "| ours, pre-trained, fine-tuned | 87.0 ± 1.4 / 92.0 |  |  |" in lines
    assert "Pre-training, points at 1, of the same seeds and folds: +27.5 (NCBI)." in lines  # of the same seed
    assert "| paper, BART | 6.2 | 92.5 | 4.1 | 80.9 |" in lines
    assert "| ours, a decoder copied from the encoder | 0.5 / 1.5 | 87.5 / 92.5 |  |  |" in lines
    assert '"A" and "B" are names of two concepts each in AskAPatient\'s labels.' in lines
    assert any("so that 3 of 100 test" in line for line in lines)


def test_a_training_that_two_files_have_is_an_error(monkeypatch, tmp_path) -> None:
    monkeypatch.syspath_prepend(EXPERIMENTS)
    tables = importlib.import_module("tables")
    for name, at in (("generative_runs", 1.0), ("generative_runs_2", 2.0)):
        text = json.dumps({"metrics": {"pre-ncbi-0": run(at)}})
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="recorded twice: pre-ncbi-0"):
        tables.trainings(tmp_path, "generative_runs")
    assert tables.trainings(tmp_path, "generative_runs", renewed=True) == {"pre-ncbi-0": run(2.0)}
