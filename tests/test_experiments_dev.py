"""``dev_sets.py``, ``dev_figures.py``, ``dev_tables.py``: encoders on the development sets, compared and shown."""

import json
from types import SimpleNamespace

import pytest

CORPORA = ("ncbi", "bc5cdr-d", "bc5cdr-c", "aap-0")


def test_accuracy_is_of_each_set_and_their_mean(script):
    pytest.importorskip("torch")
    right = {f"{corpus}@1": [True] * n + [False] * (4 - n) for n, corpus in enumerate(CORPORA)}
    figures = script("dev_sets").accuracy(right | {"ncbi@5": [True, False, False]})
    assert figures == {"ncbi@1": 0, "bc5cdr-d@1": 25, "bc5cdr-c@1": 50, "aap-0@1": 75, "ncbi@5": 33.33, "dev": 37.5}


def test_sets_count_alike_and_equal_mentions_are_drawn_together(script):
    pytest.importorskip("torch")
    sets = script("dev_sets")
    few, many = [(("a",), frozenset({1}))] * 2, [((str(i),), frozenset({1})) for i in range(8)]
    dev = object.__new__(sets.DevSets)
    dev.sets = {corpus: sets.DevSet([], [], few if corpus == "ncbi" else many) for corpus in CORPORA}
    a = {f"{corpus}@1": [True] * (2 if corpus == "ncbi" else 8) for corpus in CORPORA}
    b = a | {"ncbi@1": [False, False], "aap-0@1": [True] * 4 + [False] * 4}
    facts = script("dev_figures").compared(a, b, dev)
    assert facts["mentions"]["difference"] == facts["texts"]["difference"] == (100 + 50) / 4
    assert facts["aap-0@1"] == {"only_a": 4, "only_b": 0, "p": pytest.approx(2 / 2**4)}
    assert facts["bc5cdr-d@1"] == {"only_a": 0, "only_b": 0, "p": 1.0}
    split = script("dev_figures").compared(a | {"ncbi@1": [True, False]}, b, dev)
    assert split["mentions"]["interval"] != split["texts"]["interval"]  # the two "a" are one text


def test_both_tables_show_what_the_results_hold(script, tmp_path):
    tables = script("dev_tables")
    assert list(tables.section(tmp_path)) == []
    figures = {f"{corpus}@1": 80.0 + n for n, corpus in enumerate(CORPORA)} | {"dev": 81.5}
    first = {"figures": dict.fromkeys([row.place[1] for row in tables.ROWS if row.file == "dev_four"], figures)}
    (tmp_path / "dev_four.json").write_text(json.dumps({"metrics": first}), encoding="utf-8")
    lines = list(tables.section(tmp_path))
    assert "| sapbert-mini | 80.0 | 81.0 | 82.0 | 83.0 | 81.5 | `dev_four.json` |" in lines
    assert not [line for line in lines if "dev_four_anew" in line]
    test = {"difference": 0.5, "interval": [-0.25, 1.0], "p": 0.123}
    pair = {"mentions": test, "texts": test} | {f"{c}@1": {"only_a": 3, "only_b": 1, "p": 0.625} for c in CORPORA}
    row = next(iter(tables.tests({"bert-light:sapbert-mini": pair})))
    assert row[2:] == ["+0.50 [-0.25, +1.00]", "0.12"] * 2 + ["3 / 1 (p 0.62)"] * 4 + ["stays"]
    pair["mentions"] = test | {"interval": [0.01, 1.0]}
    assert next(iter(tables.tests({"attention:default": pair})))[-1] == "replaced"


def test_every_row_of_the_committed_results_is_shown(script):
    tables, results = script("dev_tables"), script("common").RESULTS
    shown = [line for line in tables.section(results) if line.startswith("| ") and line.endswith("_four.json` |")]
    anew = [line for line in tables.section(results) if line.endswith("_anew.json` |")]
    assert len(shown) + len(anew) == sum(bool(row.file) for row in tables.ROWS)


def test_what_has_answered_is_not_asked_again(script, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    figures, asked = script("dev_figures"), []

    class Sets:
        def right(self, encoder):
            asked.append(encoder)
            return {"ncbi@1": [True, False]}

    monkeypatch.setattr(figures, "encoders", SimpleNamespace(load=lambda folder: folder.name))
    for name, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_bytes(weights)
        assert figures.answers(Sets(), tmp_path / name, tmp_path / "work") == {"ncbi@1": [True, False]}
    assert asked == ["a", "c"]
