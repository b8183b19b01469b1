"""The figures of the guide are those of the committed results."""

from __future__ import annotations

import importlib
import json
from copy import deepcopy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("serve_page")


@pytest.fixture
def facts(script):
    return json.loads(script.RESULT.read_text(encoding="utf-8"))


def test_the_page_is_that_of_the_results(script, facts) -> None:
    text = script.PAGE.read_text(encoding="utf-8")
    assert script.page(text, facts) == text, "run: python benchmarks/serve_page.py"
    assert text.count("| an abstract |") == 3


def test_each_figure_is_in_its_place(script, facts) -> None:
    """Distinct numbers in the place of those that were measured come out in the order of the table's head."""
    made = deepcopy(facts)
    python, service = made["python"]["mention"], made["service"]
    for number, how in enumerate(("each", "in groups"), 1):
        python[how]["texts of 8 clients"]["requests_a_second"] = 1000.0 * number
    for number, place in enumerate(("1 worker", "2 workers"), 3):
        service[place]["mention"]["8 clients"]["requests_a_second"] = 1000.0 * number
    service["1 worker"]["mention"]["8 clients"] |= {
        "p50_ms": 5.4,
        "p99_ms": 6.6,
        "client_cpu_seconds": 0.5,
        "seconds": 2.0,
    }
    assert "| a mention | 8 | 1,000 | 2,000 | 3,000 | 4,000 | 5 / 7 | 25% |" in list(script.rows(made))
    made["load_average_before"] = [0.1, 0.0, 0.0]
    assert ", idle else;" in script.figures(made)
    made["load_average_before"] = [3.0, 0.0, 0.0]
    assert "busy with other work (load 3 before)" in script.figures(made)
