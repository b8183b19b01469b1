"""The made corpus of ``benchmarks/bulk.py``."""

import importlib
import json
from pathlib import Path

from nomina.types import Document


def test_documents_are_repeated_under_ids_of_their_own(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    script = importlib.import_module("bulk")
    source = [Document("1", "a"), Document("1", "b")]
    made = script.made(source, 5)
    folder = script.write(made, tmp_path / "in", 2, 5)
    lines = [(folder / name).read_text("utf-8").splitlines() for name in ("000.jsonl", "001.jsonl")]
    assert [len(own) for own in lines] == [2, 3]
    records = [json.loads(line) for own in lines for line in own]
    assert [record["text"] for record in records] == ["a", "b", "a", "b", "a"]
    assert [record["id"] for record in records] == [f"made-{number}" for number in range(5)]
