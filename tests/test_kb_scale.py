"""The made knowledge bases of the benchmarks, and the recorded counts of the real ones."""

from __future__ import annotations

import importlib
import json
from itertools import islice, product
from pathlib import Path

import pytest

from nomina.kb.build import build
from nomina.kb.catalogue import catalogue
from nomina.text import normalise
from nomina.types import Entity, Name

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def script(monkeypatch):
    for folder in ("benchmarks", "experiments"):
        monkeypatch.syspath_prepend(ROOT / folder)
    return importlib.import_module


@pytest.fixture
def words(script, make_kb):
    parts = ("acute", "fatal"), ("renal", "liver", "heart"), ("failure", "disease, late onset", "necrosis")
    names = ["Carcinoma", *map(" ".join, product(*parts))]
    return script("synthetic_kb").words_of([make_kb({f"X:{i}": name for i, name in enumerate(names)})])


@pytest.fixture
def made_kb(tmp_path: Path):
    names = (Name("heart"), Name("Heart"), Name("cor")), (Name("HEART"),), (Name("liver"),)
    return build(tmp_path / "few.kb", [Entity(f"X:{i}", texts) for i, texts in enumerate(names)])


def test_made_concepts_are_as_many_as_asked_for_with_as_many_names(script, words) -> None:
    made = list(script("synthetic_kb").entities(words, concepts=2_000, names=3_900, seed=3))
    assert (len(made), sum(len(entity.names) for entity in made)) == (2_000, 3_900)
    assert min(len(entity.names) for entity in made) == 1
    assert made[0].parents == ()
    assert all(entity.parents[0] < entity.id for entity in made[1:])
    assert len({entity.id for entity in made}) == 2_000
    assert {type for entity in made for type in entity.types} == {f"T{number:03d}" for number in range(21)}
    texts = [name.text for entity in made for name in entity.names]
    assert all(normalise(text) for text in texts)
    assert 5 <= sum(not text.isascii() for text in texts) <= 100


@pytest.mark.parametrize("seed", [1, 2])
def test_as_many_names_are_shared_as_said(script, words, tmp_path: Path, seed: int) -> None:
    synthetic = script("synthetic_kb")
    kb = build(tmp_path / "made.kb", synthetic.entities(words, concepts=4_000, names=8_000, seed=seed))
    assert kb.manifest.counts.names >= 7_990
    assert synthetic.shared(kb) == pytest.approx(synthetic.SHARED, rel=0.5)


def test_the_share_of_shared_names_counts_those_of_several_concepts(script, made_kb) -> None:
    assert script("synthetic_kb").shared(made_kb) == 3 / 5


def test_the_same_seed_makes_the_same(script, words) -> None:
    synthetic = script("synthetic_kb")
    first, again, other = (list(islice(synthetic.entities(words, 100, 190, seed), 50)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_real_words_are_drawn_as_often_as_they_occur(words) -> None:
    assert words.words.count("renal") == 6
    assert sorted(set(words.lengths.tolist())) == [1, 3, 5]


def test_targets_are_bounds_of_the_measured_figures(script) -> None:
    scale = script("kb_scale")
    figures = {key.partition(".")[0]: {} for key in scale.TARGETS}
    for key, bound in scale.TARGETS.items():
        step, _, field = key.partition(".")
        figures[step][field] = bound
    assert {said.rpartition(" ")[2] for said in scale.verdicts(figures).values()} == {"met"}
    figures["build"]["seconds"] = 601
    figures["stream"]["names_per_second"] = 999_999
    missed = [key for key, said in scale.verdicts(figures).items() if said.endswith("missed")]
    assert missed == ["build.seconds", "stream.names_per_second"]


def test_some_steps_on_a_fresh_checkout(script, monkeypatch, tmp_path: Path, capsys) -> None:
    scale = script("kb_scale")
    monkeypatch.setattr(scale, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(scale, "run", lambda step, folder, size: {"seconds": 1.0, "peak_mb": 1.0, "file_mb": 1.0})

    def report(*arguments: str) -> dict:
        monkeypatch.setattr("sys.argv", ["kb_scale.py", *arguments])
        scale.main()
        return json.loads(capsys.readouterr().out)

    assert list(report("--size", "0.05", "--only", "build")["figures"]) == ["build"]
    small = report("--size", "0.05", "--only", "generate")
    assert (list(small["figures"]), small["targets"]) == (["generate", "build"], {})
    assert set(report("--only", "build")["targets"]) == {"build.seconds", "build.peak_mb", "build.file_mb"}
    for arguments, why in (
        (["--folder", str(tmp_path / "no")], "there is no folder"),
        (["--only", "open"], "--only open needs --only build too"),
    ):
        with pytest.raises(SystemExit):
            report(*arguments)
        assert why in capsys.readouterr().err


def test_the_counts_of_all_open_terminologies_are_recorded_and_as_expected(script) -> None:
    counts = script("kb_counts")
    recorded = json.loads(counts.RESULT.read_text(encoding="utf-8"))["kbs"]
    assert list(recorded) == list(catalogue())
    for name, expected in counts.EXPECTED.items():
        assert {field: recorded[name]["counts"][field] for field in expected} == expected
    for name, found in recorded.items():
        assert all(source["licence"] and source["title"] and source["release"] for source in found["sources"]), name
