"""Which stages are run, with which settings, and which are done."""

import pytest

from nomina.errors import RecipeError
from nomina.training.recipe import load
from nomina.training.stages import STAGED, Done, chosen, stages_of

ANGEL = ["names", "names-negatives", "corpus", "corpus-negatives"]


def test_angel_is_four_trainings_that_can_be_loaded():
    stages = stages_of("angel")
    assert [stage.name for stage in stages] == ANGEL
    recipes = [stage.load("base", 7) for stage in stages]
    assert [recipe.preference.loss for recipe in recipes] == ["none", "dpo", "none", "dpo"]
    assert [recipe.data.source for recipe in recipes] == ["names", "names", "corpus", "corpus"]
    assert {(recipe.encoder.kind, recipe.encoder.base, recipe.fit.seed) for recipe in recipes} == {
        ("generator", "base", 7)
    }
    assert (recipes[0].generation.similar, recipes[2].generation.top) == (True, 3)
    assert STAGED == ("angel",)


def test_other_recipes_have_no_stages(tmp_path):
    plain = tmp_path / "plain.toml"
    plain.write_text("[fit]\nepochs = 2\n", encoding="utf-8")
    assert [stages_of(str(name)) for name in ("sapbert", plain, "nothing", tmp_path)] == [[]] * 4


def test_a_file_can_have_stages(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        '[stages.one]\nrecipe = "sapbert"\n[stages.two]\nrecipe = "genbioel"\nset = ["fit.lr=1"]\n', "utf-8"
    )
    assert [tuple(stage) for stage in stages_of(str(path))] == [
        ("one", "sapbert", ()),
        ("two", "genbioel", ("fit.lr=1",)),
    ]
    path.write_text('[stages.one]\nrecipe = "sapbert"\nbase = "x"\n', "utf-8")
    with pytest.raises(RecipeError, match="the stage one needs recipe, and may have set"):
        stages_of(str(path))


def test_a_staged_recipe_without_stages_is_refused(tmp_path):
    path = tmp_path / "own.toml"
    for text in ("[stages]\n", "stages = 3\n"):
        path.write_text(text, "utf-8")
        with pytest.raises(RecipeError, match=r"own\.toml has no stage: write tables \[stages\.NAME\]"):
            stages_of(str(path))


def test_a_name_that_no_folder_can_have_and_settings_that_are_no_list_are_refused(tmp_path):
    path = tmp_path / "own.toml"
    for name in ("../../evil", "a/b", "", "a.b"):
        path.write_text(f'[stages."{name}"]\nrecipe = "sapbert"\n', "utf-8")
        with pytest.raises(RecipeError, match="is no name of a stage"):
            stages_of(str(path))
    for given in ('"generation.top=3"', "[3]"):
        path.write_text(f'[stages.one]\nrecipe = "genbioel"\nset = {given}\n', "utf-8")
        with pytest.raises(RecipeError, match="set of the stage one is a list of texts"):
            stages_of(str(path))


def test_what_is_set_of_preferences_for_all_leaves_positive_only_stages_as_they_are():
    stages = stages_of("angel")
    found = chosen(stages, (), ("preference.loss=simpo", "preference.beta=2", "fit.lr=1e-3"), corpus=True)
    recipes = [stage.load(None, None) for stage in found]
    assert [recipe.preference.loss for recipe in recipes] == ["none", "simpo", "none", "simpo"]
    assert [recipe.preference.beta for recipe in recipes] == [0, 2, 0, 2]
    assert [recipe.fit.lr for recipe in recipes] == [1e-3] * 4
    named = chosen(stages, (), ("corpus/preference.loss=cpo", "preference.top=7"), corpus=True)
    assert [stage.load(None, None).preference.loss for stage in named] == ["none", "dpo", "cpo", "dpo"]
    assert [stage.load(None, None).preference.top for stage in named] == [5, 7, 7, 7]
    control = chosen(stages, (), ("corpus-negatives/preference.loss=none",), corpus=True)
    assert [stage.load(None, None).preference.loss for stage in control] == ["none", "dpo", "none", "none"]
    with pytest.raises(RecipeError, match=r"the stage corpus learns no preferences: leave out preference\.beta=2, or"):
        chosen(stages, (), ("corpus/preference.beta=2",), corpus=True)
    positive = ("names-negatives", "corpus-negatives")
    with pytest.raises(RecipeError, match=r"no stage that runs learns preferences: .* NAME/preference\.loss=simpo"):
        chosen(stages, positive, ("preference.loss=simpo",), corpus=True)


def test_stages_are_left_out_and_set():
    stages = stages_of("angel")
    assert [stage.name for stage in chosen(stages, (), (), corpus=True)] == ANGEL
    assert [stage.name for stage in chosen(stages, (), (), corpus=False)] == ANGEL[:2]
    found = chosen(stages, ("names", "corpus"), ("fit.seed=3", "corpus-negatives/fit.lr=2e-6"), corpus=True)
    assert [stage.name for stage in found] == [ANGEL[1], ANGEL[3]]
    assert [stage.settings for stage in found] == [("fit.seed=3",), ("fit.seed=3", "fit.lr=2e-6")]
    assert found[1].load("base", None).fit.lr == 2e-6


def test_a_slash_in_a_value_is_no_stage():
    (found,) = chosen(stages_of("angel"), ANGEL[1:], ("encoder.base=a/b",), corpus=True)
    assert found.settings[-1] == "encoder.base=a/b"


def test_what_is_no_stage_and_no_stage_at_all_are_refused():
    stages = stages_of("angel")
    with pytest.raises(RecipeError, match=r"no stage 'name': the stages are names, names-negatives, corpus"):
        chosen(stages, ("name",), (), corpus=True)
    with pytest.raises(RecipeError, match="no stage 'x'"):
        chosen(stages, (), ("x/fit.lr=1",), corpus=True)
    with pytest.raises(RecipeError, match="no stage is left"):
        chosen(stages, ("names", "names-negatives"), (), corpus=False)


def test_what_is_done_counts_up_to_the_first_that_differs(tmp_path):
    path, one, two = tmp_path / "stages.json", load("genbioel"), load("angel-negatives")
    done = Done(path, {"kb": "1"})
    assert not done.has(0, one, tmp_path)
    done.add(one)
    done.add(two)
    again = Done(path, {"kb": "1"})
    assert again.has(0, one, tmp_path)
    assert again.has(1, two, tmp_path)
    assert not again.has(1, two, tmp_path / "gone")
    assert not again.has(1, two, tmp_path)
    changed = Done(path, {"kb": "1"})
    assert not changed.has(0, load("genbioel", {"fit.lr": 1.0}), tmp_path)
    assert not changed.has(1, two, tmp_path)
    assert not Done(path, {"kb": "2"}).has(0, one, tmp_path)
    done.forget()
    assert not path.exists()
    path.write_text("{", encoding="utf-8")
    assert not Done(path, {"kb": "1"}).has(0, one, tmp_path)
