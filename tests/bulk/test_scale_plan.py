"""What all of PubMed costs: the table of the page is that of the script, and the script reckons right."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLAN = """
date = 2026-01-31
abstracts = 1_000
file = 100
nodes = [1, 4]
currency = "EUR"
[[node]]
name = "small"
figures = "cpu.json"
workers = 2
efficiency = 0.5
price = 3.0
[[node]]
name = "large"
figures = "gpu.json"
workers = 4
efficiency = 1.0
price = 10.0
"""
CPU = {
    "commit": "abc",
    "machine": {"cores": 2, "cpu": "A processor"},
    "figures": {"workers_2": {"documents_a_second": 1.0}, "start_seconds": 100.0},
}
GPU = {
    "commit": "def",
    "machine": {"gpu": "A card, 1.0, 10"},
    "options": {"workers": 4},
    "encoder": {"folder": "of-a-folder"},
    "runs": {
        "start_seconds": 10.0,
        "texts": {"documents_a_worker_second": 8.0, "gpu": {"mean_percent": 2.4}},
        "mentions": {"documents_a_worker_second": 2.0, "gpu": {"mean_percent": 71.0}},
    },
}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("scale_plan")


def test_the_page_is_up_to_date(script):
    text = script.PAGE.read_text(encoding="utf-8")
    assert all(text.count(mark) == 1 for mark in script.MARKS)
    made = script.page(text, script.PLAN, script.RESULTS)
    assert text == made, "docs/scale.md is of other figures: python benchmarks/scale_plan.py"


def test_rounds_of_whole_files_are_reckoned(script, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "cpu.json").write_text(json.dumps(CPU), encoding="utf-8")
    lines = list(script.table(tmp_path / "plan.toml", tmp_path))
    # 10 files; 0.5 a second and worker, of which half is kept: 400 s a file. Two workers: 5 rounds and the start,
    # 2,100 s; eight of them: 2 rounds, 900 s on each of four nodes.
    assert lines[2] == "| small | texts, HPO, default linker | 0 a second | 0.6 h, 2 EUR | 0.2 h, 3 EUR |"
    assert lines[3] == "| large | not measured yet (`gpu.json`) |  |  |  |"
    rate = script.rates_of(tmp_path / "cpu.json")[0]
    asked = {"abstracts": 1000, "file": 100}
    found = script.cost(rate, {"workers": 2, "efficiency": 0.5, "price": 3.0}, asked, 4)
    assert found == pytest.approx((900 / 3600, 4 * 900 / 3600, 12 * 900 / 3600))
    assert "small: for example 3.00 EUR, reckoned at 50% of the measured speed of a worker" in lines[-2]
    assert lines[-1] == "Measured: `cpu.json`: 2 workers on 2 cores, A processor, at abc."


@pytest.mark.parametrize(("said", "name"), [("", "of-a-folder"), ('encoder = "small-one"\n', "small-one")])
def test_of_a_gpu_it_is_said_how_busy_it_was_and_which_encoder_by_the_plan(script, tmp_path, said, name):
    plan = PLAN.replace('figures = "gpu.json"\n', f'figures = "gpu.json"\n{said}')
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    (tmp_path / "gpu.json").write_text(json.dumps(GPU), encoding="utf-8")
    lines = list(script.table(tmp_path / "plan.toml", tmp_path))
    assert [line.split(" | ")[:3] for line in lines[3:5]] == [
        ["| large", "texts, MeSH's names", "8 a second"],
        ["| large", "texts with mentions, MeSH's names", "2 a second"],
    ]
    card = f"4 workers on A card, {name}, at def; the GPU was busy 2 and 71 % of the time"
    assert lines[-1] == f"Measured: `gpu.json`: {card}."


def test_other_prices_are_printed_and_the_page_stays(script, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.toml").write_text(PLAN, encoding="utf-8")
    before = script.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["scale_plan.py", "--prices", str(tmp_path / "mine.toml")])
    script.main()
    assert capsys.readouterr().out.startswith("| node | linked | a worker | 1 node | 4 nodes |\n")
    assert script.PAGE.read_text(encoding="utf-8") == before
