"""Probabilities: their formula, the file beside an encoder, and how they are fitted."""

import importlib
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from linker_cases import ENCODER

from nomina.artifact import Artifact
from nomina.encoders.onnx import KIND
from nomina.errors import ArtifactError
from nomina.linkers.calibration import CALIBRATION, Calibration, features
from nomina.types import Candidate, Mention, Prediction

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def candidate(id, score, rank=1, rule="embedding"):
    return Candidate(id, id, id, score, rank, rule, 0)


def prediction(*candidates):
    ambiguous = len(candidates) > 1 and candidates[1].rank == 1
    return Prediction("d", Mention(((0, 1),), "x"), candidates, ambiguous)


@pytest.fixture
def model(tmp_path):
    shutil.copytree(ENCODER, tmp_path / "model")
    return Artifact.open(tmp_path / "model", KIND)


def test_features_are_nearness_and_lead_over_the_next_concept():
    found = features([candidate("A", 0.52), candidate("A", 0.4), candidate("B", 0.27)])
    assert found == pytest.approx((1.0, math.log(2), 0.5))
    assert features([candidate("A", 0.04)]) == pytest.approx((1.0, -math.log(0.98), 0.2))
    assert features([candidate("A", 1.0), candidate("B", 1.0)]) == pytest.approx((1.0, math.log(50), 0.0))


def test_probabilities_by_hand():
    calibration = Calibration((-1.0, 2.0, 4.0), {"order": 0.8})
    near = prediction(candidate("A", 0.52), candidate("B", 0.27, 2))
    assert calibration.probability(near) == pytest.approx(1 / (1 + math.exp(1 - 2 * math.log(2) - 2)))
    assert calibration.probability(prediction()) is None
    assert calibration.probability(prediction(candidate("A", 0.9, rule="order"))) == 0.8
    assert calibration.probability(prediction(candidate("A", 0.9, rule="tfidf"))) is None
    tie = (candidate("A", 0.9, rule="order"), candidate("B", 0.9, rule="order"), candidate("C", 0.1, 3, "order"))
    assert calibration.probability(prediction(*tie)) == 0.4


def test_extreme_weights_stay_between_0_and_1():
    for weight, expected in ((1e9, 1.0), (-1e9, 0.0)):
        found = Calibration((weight, 0.0, 0.0), {}).probability(prediction(candidate("A", 0.5)))
        assert found == pytest.approx(expected, abs=1e-12)


def test_it_lies_beside_the_encoder_and_leaves_its_fingerprint(model):
    assert Calibration.read(model) is None
    written = Calibration((0.5, 1.0, -2.0), {"exact": 0.9})
    written.write(model)
    again = Artifact.open(model.folder, KIND)
    assert Calibration.read(again) == written
    assert again.fingerprint == model.fingerprint


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"version": 2}, "is no calibration of version 1"),
        ({"model": "0" * 64}, "was fitted for another encoder"),
        ({"encoder": [1.0, 2.0]}, "is damaged"),
        ({"encoder": [1.0, 2.0, float("nan")]}, "is damaged"),
        ({"encoder": None}, "is damaged"),
        ({"rules": {"exact": 1.5}}, "is damaged"),
        ({"rules": [0.5]}, "is damaged"),
    ],
)
def test_what_is_wrong_is_said(model, changed, said):
    Calibration((0.5, 1.0, -2.0), {"exact": 0.9}).write(model)
    path = model.folder / CALIBRATION
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changed), encoding="utf-8")
    with pytest.raises(ArtifactError, match=f"{said}: remove it, or fit it again"):
        Calibration.read(model)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ArtifactError, match="cannot be read"):
        Calibration.read(model)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    return importlib.import_module("calibrate")


def test_the_fit_finds_the_weights_that_made_the_data(script):
    rng = np.random.default_rng(0)
    x = np.hstack([np.ones((20_000, 1)), rng.normal(size=(20_000, 2))])
    wanted = np.array([-0.5, 1.0, 2.0])
    y = (rng.random(len(x)) < script.logistic(x, wanted)).astype(float)
    assert script.fit(x, y, np.ones(len(x))) == pytest.approx(wanted, abs=0.08)
    doubled = script.fit(np.vstack([x, x]), np.concatenate([y, y]), np.full(2 * len(x), 0.5))
    assert doubled == pytest.approx(script.fit(x, y, np.ones(len(x))), abs=1e-6)


def test_figures_by_hand(script):
    p, y = np.array([0.9, 0.9, 0.1, 0.6]), np.array([1.0, 0.0, 0.0, 0.0])
    found = script.figures(p, y, np.array([1.0, 1.0, 1.0, 1.0]), np.array([False, False, False, True]))
    assert found["brier"] == pytest.approx((0.01 + 0.81 + 0.01 + 0.36) / 4)
    assert found["expected_calibration_error"] == pytest.approx((2 * 0.4 + 0.1 + 0.6) / 4)
    assert (found["answered"], found["precision_of_the_answered"]) == (pytest.approx(2 / 3), 0.5)
    assert (found["nil_answered"], found["accuracy_without_abstention"]) == (1.0, pytest.approx(1 / 3))
    assert sum(each["count"] for each in found["bins"]) == 4


def test_nil_weighs_its_share(script):
    cases = script.Cases()
    for nil in (False, False, False, True, True):
        cases.add([candidate("A", 0.5)], right=not nil, nil=nil)
    cases.add([], right=False, nil=True)
    _, right, weights, nil = cases.arrays(0.25)
    assert right.tolist() == [1, 1, 1, 0, 0]
    assert weights[nil].sum() / weights.sum() == pytest.approx(0.25)
    assert weights[~nil].tolist() == [1, 1, 1]


def test_shares_of_rules_by_hand(script, monkeypatch):
    monkeypatch.setattr(script, "FEWEST", 3)
    one, other = script.Cases(), script.Cases()
    one.rules.update({"exact": [True] * 7, "inflection": [True], "order": [False, True]})
    other.rules.update({"exact": [True], "normalised": [True, False], "order": [True], "lay term": [True]})
    mean = 13 / 15
    found = script.shares([one, other])
    assert found["exact"] == found["normalised"] == round((9 + 2 * mean) / 12, 4)
    assert found["order"] == round((2 + 2 * mean) / 5, 4)
    assert found["spelling"] == found["inflection"] == round((3 + 2 * mean) / 6, 4)  # 1 of 1, and order's 2 of 3
    assert found["lay term"] == found["derivation"] == round((3 + 2 * mean) / 6, 4)  # no rule behind has enough
    assert found["abbreviation"] == round(mean, 4)
