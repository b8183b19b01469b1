"""``angel_bins.py``: errors and margins by similarity, on a tiny generator."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytestmark = pytest.mark.extras

from angel_cases import write_corpus  # noqa: E402
from generator_cases import save_base  # noqa: E402

from nomina import generation  # noqa: E402
from nomina.generation.prompt import Parts  # noqa: E402

DEV = (("attack", "1"), ("attack", "1"), ("short stature", "2"), ("the heart", "1|4"), ("5 fu", "9"), ("fu", "3"))
DIFFERENT = 4
"""Each once, without the one whose concept has no name."""


@pytest.fixture
def data(tmp_path):
    return write_corpus(tmp_path / "data", (("dev", "left", text, "right", id) for text, id in DEV))


@pytest.fixture
def models(tmp_path):
    """Two generators that differ."""
    save_base(tmp_path / "base")
    for seed, name in enumerate(("one", "two")):
        torch.manual_seed(seed)
        generation.begin(tmp_path / "base", (0, 1)).save(tmp_path / name)
    return tmp_path / "one", tmp_path / "two"


def test_two_models_are_measured_and_printed(script, data, models, tmp_path, monkeypatch):
    monkeypatch.setattr(script("common"), "RESULTS", tmp_path / "results")
    bins = script("angel_bins")
    line = ["angel_bins.py", "--data", data, "--corpus", "aap-0", "--before", models[0], "--after", models[1]]
    monkeypatch.setattr("sys.argv", [str(part) for part in line])
    threads = torch.get_num_threads()
    bins.main()
    torch.set_num_threads(threads)
    result = json.loads((tmp_path / "results" / "angel_bins.json").read_text(encoding="utf-8"))
    found = result["metrics"]["aap-0"]
    assert found["mentions"] == DIFFERENT == sum(one["mentions"] for one in found["accuracy"])
    assert found["accuracy"][-1]["mentions"] == 1  # a name itself
    for one in found["accuracy"]:
        assert one["after"] - one["before"] == one["fixed"] - one["broken"]
    assert sum(one["pairs"] for one in found["margins"]) >= DIFFERENT
    lines = list(script("angel_bins_tables").section(tmp_path / "results"))
    assert sum(line.startswith(("| 0.", "| 0,")) for line in lines) == 15
    assert "AskAPatient, fold 0: 4 different" in lines[0]
    assert "`one`" in lines[0]
    assert list(script("angel_bins_tables").section(tmp_path / "nothing")) == []


def test_a_margin_is_that_of_the_best_right_name(script, data, models, monkeypatch):
    bins, bench = script("angel_bins"), script("generative_eval")
    dictionary = bench.Dictionary.read(data, "aap-0")
    item = bench.Item(Parts("", "short attack", ""), frozenset("2"))
    judges = {name: bench.Judge(generation.load(models[0]), dictionary, ()) for name in bins.MODELS}
    similar = bins.TfidfSimilarity(dictionary.texts)
    rows = dictionary.texts.index("short stature"), dictionary.texts.index("stature short")
    wrong = dictionary.texts.index("seizure")
    sums = bins.scores(judges["before"], [item], [[*rows, wrong]])[0]
    asked = bins.Asked([item], [list(rows)], np.zeros(1))
    found = bins.margins(asked, [[wrong]], judges, similar)
    expected = max(sums[:2]) - sums[2]
    assert found[0]["pairs"] == 1  # it has no 3-gram of the mention
    assert found[0]["before"] == found[0]["after"]
    assert found[0]["before"]["mean"] == pytest.approx(expected, abs=1e-3)
    assert found[0]["before"]["lost"] == (expected < 0)
    nothing = bins.margins(asked, [[]], judges, similar)
    assert [one["pairs"] for one in nothing] == [0] * 10


def test_wrong_names_are_those_of_either_model(script):
    bins, bench = script("angel_bins"), script("generative_eval")
    ids = ["1", "2", "3", "1", "2"]
    dictionary = bench.Dictionary([f"name {i}" for i in range(5)], [frozenset(id) for id in ids])
    item = bench.Item(Parts("", "m", ""), frozenset("1"))
    found = bins.wrong_of(dictionary, [item], [[[[0], [1], [2, 3]]], [[[4], [1]]]])
    assert found == [[1, 4]]  # a name tokenised like a right one is no wrong one
    assert bins.right(dictionary, item, [[2, 3], [1]])
    assert not bins.right(dictionary, item, [[1], [0]])
    assert not bins.right(dictionary, item, [])


def test_mentions_fixed_and_broken_by_bin(script):
    bins = script("angel_bins")
    first = {"before": np.array([True, False, False, True]), "after": np.array([False, True, False, True])}
    found = bins.accuracy(np.array([0.0, 0.1, 0.19, 1.0]), first)
    low = {"bin": "0.0-0.2", "mentions": 3, "before": 1, "after": 1, "fixed": 1, "broken": 1}
    assert found[0] == low
    assert found[-1] == {"bin": "0.8-1.0", "mentions": 1, "before": 1, "after": 1, "fixed": 0, "broken": 0}
    assert [one["mentions"] for one in found[1:-1]] == [0, 0, 0]
