"""``fine_tune.py``: a plan that was cut off goes on."""

import importlib
import json
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


@pytest.fixture
def tuning(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    monkeypatch.syspath_prepend(EXPERIMENTS)
    return importlib.import_module("fine_tune")


@pytest.mark.extras
def test_what_was_done_before_is_not_trained_again(tuning, monkeypatch, tmp_path):
    first, second, *_ = tuning.PLANS["smoke"]
    lines = json.dumps({"name": first.name, "kind": "bert"}) + "\n" + json.dumps({"name": second.name})[:9]
    (tmp_path / "runs.jsonl").write_text(lines, encoding="utf-8")
    asked, packed = [], {}
    monkeypatch.setattr(tuning, "work", lambda a, runs, until: asked.extend(runs) or [{"name": r.name} for r in runs])
    monkeypatch.setattr(tuning, "pack", lambda a, stage, folder, chosen, figures: packed.update(figures))
    line = ["--data", "x", "--out", str(tmp_path), "--work", str(tmp_path), "--plan", "smoke"]
    monkeypatch.setattr("sys.argv", ["fine_tune.py", *line, "--done", str(tmp_path / "runs.jsonl")])
    tuning.main()
    assert asked == tuning.PLANS["smoke"][1:]
    assert list(packed) == [run.name for run in tuning.PLANS["smoke"]]
    assert packed[first.name]["kind"] == "bert"


@pytest.mark.extras
def test_runs_are_read_from_both_files(tuning, tmp_path):
    record = {"name": "a", "kind": "bert"}
    (tmp_path / "runs.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    (tmp_path / "tune.json").write_text(json.dumps({"figures": {"a": record}}), encoding="utf-8")
    assert tuning.done(tmp_path / "runs.jsonl") == tuning.done(tmp_path / "tune.json") == {"a": record}
