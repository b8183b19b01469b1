"""Recipes: what is shipped, what is refused, what the command line changes."""

import re

import pytest

from nomina.errors import RecipeError
from nomina.training.recipe import FOLDER, RECIPES, Recipe, differences, load, parsed, recipe_of


def test_every_shipped_recipe_is_named_and_loads():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(RECIPES)
    for name in RECIPES:
        recipe = load(name)
        kinds = {"sapbert": "bert", "rescnn": "rescnn", "genbioel": "generator", "angel": "generator"}
        assert recipe.encoder.kind == kinds[name.partition("-")[0]]
        assert recipe.data.source == ("corpus" if name.endswith("-corpus") else "names")
        assert bool(recipe.encoder.base) is not name.startswith("angel")  # which goes on from a generator


def test_sapbert_is_what_the_design_says():
    recipe = load("sapbert")
    assert (recipe.data.most_pairs, recipe.encoder.pooling, recipe.encoder.length) == (50, "mean", 25)
    assert (recipe.fit.batch_size, recipe.fit.lr, recipe.fit.warmup, recipe.fit.bf16) == (512, 2e-4, 200, True)
    loss = recipe.objective
    assert (loss.loss, loss.positive_scale, loss.negative_scale, loss.base, loss.margin) == ("ms", 1.0, 60.0, 0.5, 0.2)


def test_rescnn_is_what_the_paper_and_design_say():
    recipe = load("rescnn")
    assert (recipe.fit.lr, recipe.fit.weight_decay) == (1e-3, 0.0)
    loss = recipe.objective
    assert (loss.loss, loss.positive_scale, loss.negative_scale, loss.base) == ("ms", 2.0, 50.0, 0.5)
    assert recipe.data.hard > 0


def test_genbioel_is_what_the_paper_says_but_for_rate_and_batches():
    for name in ("genbioel", "genbioel-corpus"):
        recipe = load(name)
        assert (recipe.fit.clip, recipe.fit.weight_decay, recipe.generation.smoothing) == (0.1, 0.01, 0.1)
        assert recipe.generation.prompt
    assert (recipe.generation.target, recipe.generation.top, recipe.generation.names) == ("tfidf", 1, "all")


@pytest.mark.parametrize(
    ("override", "why"),
    [
        ("generation.layers=one", "generation.layers are numbers, as in '1 3 5', not 'one'"),
        ("generation.smoothing=2", "generation.smoothing is a share, from 0 to 1"),
        ("generation.target=longest", "generation.target is one of tfidf, encoder, sentence, shortest, random"),
        ("preference.folds=1", "preference.folds must be 0 or at least 2"),
        ("preference.fold_lr=0", "must be above 0"),
        ("fit.patience=-1", "fit.patience must be at least 0"),
        ("generation.target=sentence", "generation.target=sentence needs an encoder"),
        ("distil.teacher=aligned/", "a teacher is for encoders"),
        ("generation.others=0", "generation.others must be at least 1"),
    ],
)
def test_what_no_generator_can_be_is_refused(override, why):
    with pytest.raises(RecipeError, match=re.escape(why)):
        load("genbioel", parsed([override]))


def test_who_names_epochs_or_steps_gets_these():
    assert load("genbioel").fit.least_steps == load("genbioel", {"fit.steps": "9"}).fit.least_steps == 300
    assert load("genbioel", {"fit.epochs": "1"}).fit.least_steps == 0
    both = {"fit.epochs": "1", "fit.least_steps": "50"}
    assert load("genbioel", both).fit.least_steps == 50
    assert recipe_of({"fit": {"epochs": 3, "least_steps": 70}}).fit.least_steps == 70
    with pytest.raises(RecipeError, match=r"fit\.least_steps must be at least 0"):
        recipe_of({"fit": {"least_steps": -1}})


def test_the_command_line_is_read_as_the_type_of_the_key():
    recipe = load(
        "sapbert", parsed(["fit.batch_size=64", "fit.lr=1", "fit.bf16=off", "data.prefix=? ", "fit.keep=last"])
    )
    assert (recipe.fit.batch_size, recipe.fit.lr, recipe.fit.bf16) == (64, 1.0, False)
    assert type(recipe.fit.lr) is float
    assert (recipe.data.prefix, recipe.fit.keep) == ("? ", "last")
    assert recipe.fit.warmup == 200


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('[encoder]\nbase = "minilm"\n[fit]\nlr = 1\nsteps = 5\n', encoding="utf-8")
    assert load(path) == recipe_of({"encoder": {"base": "minilm"}, "fit": {"lr": 1.0, "steps": 5}})
    assert load(path).data == Recipe().data


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"fit": {"batchsize": 3}}, "no recipe has a key 'fit.batchsize'; did you mean 'fit.batch_size'?"),
        ({"fits": {"lr": 3}}, "no recipe has a key 'fits.lr'; did you mean 'fit.lr'?"),
        ({"zzz": 3}, "no recipe has a key 'zzz'"),
        ({"fit": {"lr": "quick"}}, "fit.lr must be a number, not 'quick'"),
        ({"fit": {"lr": float("nan")}}, "fit.lr must be a number, not nan"),
        ({"fit": {"lr": 0}}, "fit.lr must be above 0, not 0.0"),
        ({"fit": {"steps": 1.5}}, "fit.steps must be a whole number, not 1.5"),
        ({"fit": {"steps": True}}, "fit.steps must be a whole number, not True"),
        ({"fit": {"bf16": 1}}, "fit.bf16 must be true or false, not 1"),
        ({"fit": {"batch_size": 0}}, "fit.batch_size must be at least 1, not 0"),
        ({"data": {"hard": 1.5}}, "data.hard is a share, from 0 to 1, not 1.5"),
        ({"data": {"noise": 0.5}}, "set data.copies to 1 or more"),
        (
            {"objective": {"loss": "triplet"}},
            "objective.loss is one of ms, infonce, nca, marginal, biosyn, not 'triplet'",
        ),
        ({"objective": {"loss": "marginal"}}, "objective.loss is ms or infonce or nca where data.source is names"),
        ({"encoder": {"pooling": "max"}}, "encoder.pooling is cls or mean where encoder.kind is bert, not 'max'"),
        (
            {"data": {"source": "corpus", "names": 9}, "objective": {"loss": "biosyn"}},
            "names are no mentions where objective.loss is biosyn: set data.names to 0",
        ),
        ({"data": {"source": "corpus"}, "distil": {"teacher": "x"}}, "a teacher is for trainings on names"),
    ],
)
def test_what_does_not_fit_is_one_line(tables, why):
    with pytest.raises(RecipeError, match=re.escape(why)) as found:
        recipe_of(tables)
    assert "\n" not in str(found.value)


def test_files_that_are_no_recipes(tmp_path):
    with pytest.raises(RecipeError, match=r"no recipe 'sapbrt' .*did you mean 'sapbert'"):
        load("sapbrt")
    (tmp_path / "a.toml").write_text("[fit\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"a\.toml is no TOML"):
        load(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text("[fit]\nlrr = 1\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"b\.toml: no recipe has a key 'fit\.lrr'"):
        load(tmp_path / "b.toml")
    with pytest.raises(RecipeError, match=r"expected TABLE\.KEY=VALUE"):
        parsed(["fit.lr"])


def test_differences_name_the_key_and_both_values():
    one, other = load("sapbert").as_json(), load("sapbert", {"fit.lr": 1e-3}).as_json()
    assert differences(one, one) == []
    assert differences(one, other) == ["fit.lr: 0.0002, now 0.001"]
