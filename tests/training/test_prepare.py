"""Out of a recipe: a teacher's vectors, batches and options of the loop, whose checkpoints are whose."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from encoder_cases import WORDS, save_bert  # noqa: E402
from training_cases import NAMES  # noqa: E402

from nomina import encoders  # noqa: E402
from nomina.encoders.bert import BertEncoder  # noqa: E402
from nomina.errors import ArtifactError, RecipeError  # noqa: E402
from nomina.training.align import DistilledAlignment  # noqa: E402
from nomina.training.names import Concepts  # noqa: E402
from nomina.training.prepare import Task, encoder_of, prepare  # noqa: E402
from nomina.training.recipe import recipe_of  # noqa: E402
from nomina.training.run import claim, fit_options, layout  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("base"), len(WORDS) + 4, 32)


@pytest.fixture(scope="module")
def teacher(base, tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher")
    BertEncoder(base, "mean").save(folder)
    return folder


@pytest.fixture
def task(make_kb, tmp_path):
    kb = make_kb(NAMES)
    return Task(kb, Concepts.of(kb), None, None, tmp_path)


def recipe(base, teacher="", **encoder):
    tables = {"encoder": {"base": str(base), **encoder}, "data": {"held_out": 0}, "fit": {"batch_size": 3}}
    return recipe_of({**tables, "distil": {"teacher": str(teacher)}})


def prepared(wanted, task):
    said = []
    encoder = encoder_of(wanted, CPU)
    objective, dev = prepare(wanted, encoder, task, said.append)
    assert dev is None
    return objective, encoder, said


def test_a_teacher_of_the_same_width_gives_its_own_vectors(base, teacher, task):
    objective, _, said = prepared(recipe(base, teacher), task)
    assert isinstance(objective, DistilledAlignment)
    assert objective.targets.dtype == torch.float16
    expected = encoders.load(teacher).encode(task.concepts.texts)
    assert np.abs(objective.targets.float().numpy() - expected).max() < 1e-3
    assert said == ["17 names, 18 pairs", "vectors of 17 texts by the teacher"]
    again, _, said = prepared(recipe(base, teacher), task)
    assert torch.equal(again.targets, objective.targets)
    assert said == ["17 names, 18 pairs"]
    (path,) = task.cache.glob("teacher-*.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    again, _, said = prepared(recipe(base, teacher), task)
    assert torch.equal(again.targets, objective.targets)
    assert (said[1:], path.read_bytes()) == (["vectors of 17 texts by the teacher"], whole)


def test_a_wider_teacher_is_cut_to_its_principal_directions(base, teacher, task):
    small = {"kind": "rescnn", "pooling": "max", "width": 8, "filters": 4, "hidden": 6}
    objective, encoder, _ = prepared(recipe(base, teacher, **small), task)
    assert objective.targets.shape == (17, 8)
    assert torch.allclose(objective.targets.float().norm(dim=1), torch.ones(17), atol=1e-3)
    assert layout(encoder) == "vectors of 8, pooling max, length 25, width 8, blocks 4, filters 4, hidden 6"
    wide = {**small, "width": 32}
    with pytest.raises(RecipeError, match="the teacher's vectors have 24 numbers, the encoder's 32"):
        prepared(recipe(base, teacher, **wide), task)


def test_a_saved_base_of_either_kind(base, teacher, tmp_path):
    small = {"kind": "rescnn", "pooling": "max", "width": 8, "filters": 4, "hidden": 6}
    first = encoder_of(recipe(teacher, **small), CPU)
    first.save(tmp_path / "small")
    again = encoder_of(recipe(tmp_path / "small", kind="rescnn", pooling="attention", width=16), CPU)
    assert (again.dim, again.pooling) == (8, "max")
    assert (again.encode(["heart attack"]) == first.encode(["heart attack"])).all()
    fresh = [encoder_of(recipe(base, **small), CPU).encode(["heart attack"]) for _ in range(2)]
    assert (fresh[0] == fresh[1]).all()


def test_how_long_the_loop_runs(base, task, tmp_path):
    objective, _, _ = prepared(recipe(base), task)
    assert objective.steps == 18 // 3
    tables = {"encoder": {"base": str(base)}, "fit": {"epochs": 2.5, "warmup": 9, "minutes": 2}}
    options = fit_options(recipe_of(tables), objective, tmp_path)
    assert (options.steps, options.warmup, options.seconds) == (15, 7, 120.0)
    assert (options.evaluate_every, options.save_every) == (6, 6)
    for evaluations, steps in ((2, 3), (4, 2), (5, 2), (6, 1), (100, 1)):
        tables["fit"] = {"epochs": 2.5, "evaluations": evaluations}
        options = fit_options(recipe_of(tables), objective, tmp_path)
        assert (options.evaluate_every, options.save_every) == (steps, 6)
    tables["fit"] = {"steps": 100, "warmup": 9, "evaluate_every": 7, "save_every": 8, "evaluations": 5}
    options = fit_options(recipe_of(tables), objective, tmp_path)
    assert (options.steps, options.warmup, options.seconds, options.bf16) == (100, 9, None, True)
    assert (options.evaluate_every, options.save_every) == (7, 8)
    tables["fit"] = {"epochs": 2.5, "least_steps": 40}
    options = fit_options(recipe_of(tables), objective, tmp_path)
    assert (options.steps, options.evaluate_every, options.save_every) == (40, 16, 16)
    tables["fit"]["least_steps"] = 12
    assert fit_options(recipe_of(tables), objective, tmp_path).steps == 15
    tables["fit"] = {"steps": 9, "least_steps": 40}
    assert fit_options(recipe_of(tables), objective, tmp_path).steps == 9


def test_a_folder_of_checkpoints_is_one_trainings(base, tmp_path):
    folder, mine = tmp_path / "m.checkpoints", recipe(base)
    assert claim(folder, mine, {"kb": "1"}) is False
    (folder / "state.json").write_text("{}", encoding="utf-8")
    assert claim(folder, mine, {"kb": "1"}) is True
    with pytest.raises(RecipeError, match=r"another training \(trained_on\.kb: '1', now '2'\)"):
        claim(folder, mine, {"kb": "2"})
    others = {"encoder": {"base": str(base)}, "data": {"held_out": 0}, "fit": {"batch_size": 3, "report_every": 7}}
    assert claim(folder, recipe_of(others), {"kb": "1"}) is True
    with pytest.raises(RecipeError, match=r"another training \(fit\.batch_size: 3, now 4\)"):
        claim(folder, recipe_of({**others, "fit": {"batch_size": 4}}), {"kb": "1"})
    with pytest.raises(RecipeError, match=r"another training \(data\.hard: 0\.0, now 0\.5\)"):
        claim(folder, recipe_of({**others, "data": {"held_out": 0, "hard": 0.5}}), {"kb": "1"})
    assert claim(folder, mine, {"kb": "2"}, resume=False) is False
    assert [path.name for path in folder.iterdir()] == ["training.json"]
    (folder / "teacher-1.safetensors").write_bytes(b"")
    assert claim(folder, mine, {"kb": "2"}) is False
    assert len(list(folder.iterdir())) == 2
    assert claim(folder, mine, {"kb": "3"}) is False
    assert [path.name for path in folder.iterdir()] == ["training.json"]
    (folder / "training.json").write_text("{", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"training\.json is damaged: begin anew with --no-resume"):
        claim(folder, mine, {"kb": "2"})
