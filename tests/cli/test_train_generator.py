"""`nomina train genbioel`: a KB makes a model that writes names, a corpus fine-tunes it, and it links."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from ab3p_cases import save_ab3p
from encoder_cases import WORDS, save_bert
from training_cases import NAMES, arguments, corpus

from nomina import generation
from nomina.cli.main import main
from nomina.training import generative

TINY = ["--set", "generation.layers=1 0", "--set", "fit.lr=5e-3", "--set", "fit.warmup=2"]


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("base"), len(WORDS) + 5, 64)  # transformers adds [MASK]


@pytest.fixture
def train(kb, base, tmp_path, capsys):
    """Run a short training in this process: exit code, folder, stderr."""

    def run(*more, base=base, name="model", recipe="genbioel", export="--no-export"):
        output = tmp_path / name
        code = main(arguments(recipe, kb.path, base, output, export, *TINY, *more))
        _, err = capsys.readouterr()
        return code, output, err

    return run


def record(output):
    return json.loads((output / "train.json").read_text(encoding="utf-8"))


def test_a_kb_makes_a_generator_and_a_corpus_fine_tunes_it(train, tmp_path):
    path = corpus(tmp_path)
    code, output, err = train("--dev", path)
    assert code == 0, err
    assert err.splitlines()[0].startswith("shallow: ")
    assert "each a mention once in an epoch" in err
    facts = record(output)
    assert facts["recipe"]["encoder"]["kind"] == "generator"
    assert {"acc@1", "acc@5"} <= set(facts["before"])
    assert generation.load(output).kind == "shallow"
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, "model"}
    steps = ["--set", "fit.steps=60", "--set", "fit.evaluate_every=20"]
    code, tuned, err = train("--corpus", path, "--dev", path, *steps, base=output, name="tuned")
    assert code == 0, err
    assert "mentions to train on; 0 left out" in err
    facts = record(tuned)
    assert facts["recipe"]["data"]["source"] == "corpus"
    assert facts["best"]["acc@1"] == 100.0


def test_right_names_are_preferred_to_wrong_ones(train, tmp_path):
    code, writer, err = train("--set", "generation.similar=yes")
    assert code == 0, err
    code, aware, err = train("--set", "fit.steps=4", recipe="angel-negatives", base=writer, name="aware")
    assert code == 0, err
    assert "names of other concepts that look like one of" in err
    assert "pairs of a right and a wrong name" in err
    assert record(aware)["recipe"]["preference"]["loss"] == "dpo"
    path = corpus(tmp_path)
    more = ["--corpus", path, "--dev", path, "--set", "preference.missing=synonym", "--set", "fit.epochs=3"]
    for loss in ("dpo", "simpo"):
        chosen = [*more, "--set", f"preference.loss={loss}", "--set", "preference.beta=0"]
        code, tuned, err = train(*chosen, recipe="angel-negatives", base=aware, name=loss)
        assert code == 0, err
        assert "ranking names for" in err
        assert record(tuned)["recipe"]["data"]["source"] == "corpus"
        assert {"acc@1", "acc@5"} <= set(record(tuned)["before"])
    code, _, err = train("--set", "preference.loss=dpo", "--set", "generation.names=random", base=aware)
    assert (code, err) == (2, "nomina: preference.loss is for generators that write all names: set it to none\n")


def test_the_development_set_is_asked_five_times_in_an_epoch_of_pairs(train, tmp_path):
    path = corpus(tmp_path)
    epoch = {"fit.batch_size": 1, "fit.steps": 0, "fit.evaluate_every": 0, "preference.which": "all"}
    settings = [
        text
        for key, value in {**epoch, "preference.missing": "synonym"}.items()
        for text in ("--set", f"{key}={value}")
    ]
    code, output, err = train("--corpus", path, "--dev", path, *settings, recipe="angel-negatives")
    assert code == 0, err
    facts = record(output)
    steps = facts["steps"]
    measured = [entry["step"] for entry in facts["log"] if "acc@1" in entry]
    assert steps >= 10
    assert measured == [*range(-(-steps // 5), steps, -(-steps // 5)), steps]


def test_the_same_command_gives_the_same_weights(train):
    one, other = (train("--seed", 3, name=name) for name in ("one", "other"))
    assert (one[0], other[0]) == (0, 0)
    assert (one[1] / "model.safetensors").read_bytes() == (other[1] / "model.safetensors").read_bytes()


def test_without_a_prompt_the_saved_model_has_none(train):
    code, output, err = train("--set", "generation.prompt=off")
    assert code == 0, err
    assert generation.load(output).prompt == ""


def test_a_generator_keeps_whether_it_reads_context(train, tmp_path):
    path = corpus(tmp_path)
    code, output, err = train("--corpus", path, "--dev", path, "--set", "generation.context=no")
    assert code == 0, err
    assert not generation.load(output).context


def test_every_stage_reads_mentions_as_the_model_before_it_does(train, tmp_path):
    path = corpus(tmp_path)
    code, base, err = train("--set", "generation.bare=1", name="base")
    assert code == 0, err
    more = ["--corpus", path, "--dev", path, "--set", "corpus-negatives/preference.missing=synonym"]
    for name, settings, text in (("alone", [], 0), ("asked", ["--set", "corpus/generation.context=yes"], 2)):
        code, output, err = train(*more, *settings, recipe="angel", base=base, name=name)
        assert code == 0, err
        models = [tmp_path / f"{name}.{stage}" for stage in ("names", "names-negatives", "corpus")] + [output]
        assert [generation.load(model).context for model in models] == [False] * (4 - text) + [True] * text
        assert err.count("mentions are read without the text around, as ") == 4 - text
        assert record(output)["before"] == {**record(models[2])["best"], "step": 0}


def stopped(*_):
    raise KeyboardInterrupt


def test_what_is_inherited_is_the_same_in_a_training_that_goes_on(train, tmp_path, monkeypatch):
    path = corpus(tmp_path)
    code, base, err = train("--set", "generation.bare=1", name="base")
    assert code == 0, err
    more = ["--corpus", path, "--dev", path]
    _, whole, _ = train(*more, base=base, name="whole")
    with monkeypatch.context() as patched:
        patched.setattr(generative.Judge, "__call__", stopped)
        code, _, _ = train(*more, base=base, name="parts")
        assert code != 0
    code, parts, err = train(*more, base=base, name="parts")
    assert code == 0, err
    assert "going on from step 2" in err
    assert (whole / "generator.json").read_bytes() == (parts / "generator.json").read_bytes()
    assert (whole / "model.safetensors").read_bytes() == (parts / "model.safetensors").read_bytes()


@pytest.mark.parametrize(("bare", "reads"), [(1, False), (0.5, True)])
def test_a_generator_that_saw_mentions_alone_is_asked_with_these_alone(train, bare: float, reads: bool):
    code, output, err = train("--set", f"generation.bare={bare}")
    assert code == 0, err
    assert generation.load(output).context is reads


def test_one_name_a_concept(train, tmp_path):
    path = corpus(tmp_path)
    names = ["--set", "generation.names=shortest", "--set", "generation.target=shortest"]
    code, output, err = train("--corpus", path, "--dev", path, *names)
    assert code == 0, err
    assert "acc@1" in record(output)["before"]


def test_of_few_names_more_epochs_are_made_and_it_is_said(train):
    few = ["--set", "fit.steps=0", "--set", "fit.least_steps=40"]
    code, output, err = train(*few)
    assert code == 0, err
    assert "17 examples are few: 45 steps of 6 in place of 9 epochs of batches of 6; set fit.steps for other" in err
    assert record(output)["steps"] == 45
    code, output, err = train(*few[:2], "--set", "fit.epochs=2", name="other")
    assert code == 0, err
    assert "are few" not in err
    assert record(output)["steps"] == 4


def test_a_mention_is_taught_no_name_that_cannot_be_written(train, make_kb, tmp_path):
    kb = make_kb({"T:1": ("zzz zzz", "heart"), "T:2": "zzzz", "T:3": "seizure"})
    path = tmp_path / "zzz.pubtator"
    path.write_text("1|t|zzz and zzzz\n1|a|\n1\t0\t3\tzzz\tD\tT:1\n1\t8\t12\tzzzz\tD\tT:2\n\n", encoding="utf-8")
    code, _, err = train("--corpus", path, "--kb", kb.path)
    assert code == 0, err
    assert "1 mentions to train on; 1 left out (no name in the KB that can be written)\n" in err


def test_abbreviations_of_the_corpus_by_ab3p_or_by_nomina(train, tmp_path, monkeypatch):
    path = tmp_path / "short.pubtator"
    text = "heart attack = HA, as HA is"
    path.write_text(f"1|t|{text}\n1|a|\n1\t22\t24\tHA\tDisease\tT:1\n\n", encoding="utf-8")
    seen = []
    targets_of = generative.targets_of
    monkeypatch.setattr(generative, "targets_of", lambda texts, *rest: seen.append(texts) or targets_of(texts, *rest))
    code, output, err = train("--corpus", path)
    assert code == 0, err
    assert "abbreviations by the rules of nomina\n" in err
    assert (seen.pop(), record(output)["recipe"]["generation"]["ab3p"]) == (["ha"], "")
    program = save_ab3p(tmp_path / "ab3p")
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    code, output, err = train("--corpus", path, "--set", "generation.ab3p=identify_abbr", name="other")
    assert code == 0, err
    assert f"abbreviations by Ab3P ({program})\n" in err
    assert (seen.pop(), record(output)["recipe"]["generation"]["ab3p"]) == (["heart attack"], "identify_abbr")


def test_what_cannot_be_is_refused(train, make_kb, tmp_path):
    code, _, err = train(export="--export")
    assert (code, err) == (2, "nomina: a generator has no ONNX form: leave out --export\n")
    code, _, err = train(recipe="genbioel-corpus")
    assert (code, err) == (2, "nomina: genbioel-corpus fine-tunes on a corpus: name one with --corpus\n")
    code, _, err = train("--teacher", tmp_path)
    assert code == 2
    assert "a teacher is for encoders" in err
    code, _, err = train("--set", "generation.ab3p=no-such-program")
    assert code == 2
    assert err.startswith("nomina: there is no program no-such-program: ")
    code, _, err = train("--set", "generation.layers=9")
    assert code == 2
    assert err.count("\n") == 1


def test_angel_runs_its_stages_each_leaving_a_model(train, tmp_path, monkeypatch):
    path = corpus(tmp_path)
    more = ["--corpus", path, "--dev", path, "--set", "corpus-negatives/preference.missing=synonym"]
    code, output, err = train(*more, "--set", "corpus/fit.steps=30", recipe="angel")
    assert code == 0, err
    folders = ["model", "model.corpus", "model.names", "model.names-negatives"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [*folders, path.name]
    for name in folders:
        assert generation.load(tmp_path / name).kind == "shallow"
    assert [line for line in err.splitlines() if line.startswith("stage ")] == [
        "stage names (genbioel)",
        "stage names-negatives (angel-negatives)",
        "stage corpus (genbioel-corpus)",
        "stage corpus-negatives (angel-negatives-corpus)",
    ]
    recipe = record(output)["recipe"]
    assert recipe["encoder"]["base"] == str(tmp_path / "model.corpus")
    assert (recipe["preference"]["loss"], recipe["preference"]["missing"]) == ("dpo", "synonym")


def test_a_stopped_angel_goes_on_behind_the_stages_that_are_done(train, tmp_path):
    skip = ["--skip", "corpus", "--skip", "corpus-negatives"]
    code, _, err = train(*skip, "--set", "names-negatives/fit.lr=1e30", recipe="angel")
    assert code == 2
    assert "not finite" in err
    code, output, err = train(*skip, recipe="angel")
    assert code == 0, err
    assert f"stage names is done: {tmp_path / 'model.names'}" in err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model", "model.names"]
    assert record(output)["recipe"]["preference"]["loss"] == "dpo"
    code, _, err = train("--skip", "names", recipe="genbioel")
    assert (code, err) == (2, "nomina: genbioel has no stages: leave out --skip\n")
