"""`nomina train angel` on a tiny BART: all stages, killed in the middle of each, with the remedies on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.extras

from generator_cases import save_bart  # noqa: E402
from training_cases import NAMES  # noqa: E402

import nomina  # noqa: E402
from nomina import generation  # noqa: E402
from nomina.cli.main import main  # noqa: E402

STAGES = ("names", "names-negatives", "corpus", "corpus-negatives")
TEXTS = [("breast cancer", "T:4"), ("seizure", "T:3"), ("heart attack", "T:1"), ("short stature", "T:2"), ("fu", "T:5")]
STEPS = 30


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bart(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Each mention twice, in documents of their own."""
    path = tmp_path_factory.mktemp("corpus") / "train.pubtator"
    parts = []
    for number, (text, id) in enumerate(TEXTS * 2):
        parts.append(f"{number}|t|a {text}\n{number}|a|\n{number}\t2\t{2 + len(text)}\t{text}\tDisease\t{id}\n")
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def command(kb, base, corpus, output, *more):
    settings = {
        "batch_size": 4,
        "steps": STEPS,
        "report_every": 4,
        "evaluate_every": 20,
        "save_every": 1,
        "lr": 1e-3,
        "keep": "last",
    }
    texts = [text for key, value in settings.items() for text in ("--set", f"fit.{key}={value}")]
    texts += ["--set", "corpus-negatives/preference.missing=synonym", "--device", "cpu", "--no-export"]
    paths = ["--kb", kb.path, "--base", base, "--corpus", corpus, "--dev", corpus, "-o", output]
    return [str(part) for part in ("train", "angel", *paths, *texts, *more)]


def folders(output):
    return [output.with_name(f"{output.name}.{stage}") for stage in STAGES[:-1]] + [output]


def record(output):
    return json.loads((output / "train.json").read_text(encoding="utf-8"))


def killed_in(stage: str, output: Path, arguments: list[str], home: str) -> str:
    """Start the command, kill it with SIGKILL when that stage has a checkpoint, and say what it wrote to stderr."""
    place = dict(zip(STAGES, folders(output), strict=True))[stage]
    state = place.with_name(f"{place.name}.checkpoints") / "state.json"
    environment = {**os.environ, "NOMINA_HOME": home, "PYTHONPATH": str(Path(nomina.__file__).parents[1])}
    program = [sys.executable, "-m", "nomina", *arguments]
    with subprocess.Popen(program, stderr=subprocess.PIPE, encoding="utf-8", env=environment) as process:
        while process.poll() is None and not (state.exists() and json.loads(state.read_text())["steps"] >= 2):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.stderr is not None
        return process.stderr.read()


@pytest.mark.slow
def test_killed_in_the_middle_of_every_stage_it_comes_to_the_same_models(kb, base, corpus, tmp_path, nomina_home):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main(command(kb, base, corpus, whole)) == 0
    for number, stage in enumerate(STAGES):
        err = killed_in(stage, parts, command(kb, base, corpus, parts), str(nomina_home))
        assert f"stage {stage} (" in err
        # The stage before was killed too, and has gone on from its checkpoint; those before that one are done.
        assert err.count("going on from step ") == min(number, 1)
        assert err.count(" is done: ") == max(number - 1, 0)
        assert not folders(parts)[number].exists()
    assert main(command(kb, base, corpus, parts)) == 0
    for one, other in zip(folders(whole), folders(parts), strict=True):
        assert generation.load(other).kind == "bart"
        assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
        assert (record(one)["before"], record(one)["best"]) == (record(other)["before"], record(other)["best"])
    assert not list(tmp_path.glob("*.checkpoints"))
    assert not list(tmp_path.glob("*.stages.json"))


def test_held_out_mentions_are_ranked_by_models_of_the_stage_before(kb, base, corpus, tmp_path, capsys):
    folds = ("--set", "corpus-negatives/preference.folds=2", "--set", "corpus-negatives/preference.fold_epochs=1")
    more = ("--set", "corpus-negatives/preference.seen=no", "--set", "corpus-negatives/preference.likelihood=0.1")
    assert main(command(kb, base, corpus, tmp_path / "model", *folds, *more)) == 0
    err = capsys.readouterr().err
    for fold in (1, 2):
        assert f"fold {fold} of 2: a model that has not seen " in err
    preference = record(tmp_path / "model")["recipe"]["preference"]
    assert preference["fold_base"] == str(tmp_path / "model.names-negatives")
    assert (preference["folds"], preference["seen"]) == (2, False)


def test_folds_need_a_model_that_has_not_seen_the_corpus(kb, base, corpus, tmp_path, capsys):
    skip = [text for stage in STAGES[:-1] for text in ("--skip", stage)]
    folds = ("--set", "corpus-negatives/preference.folds=2")
    assert main(command(kb, base, corpus, tmp_path / "model", *skip, *folds)) == 2
    assert "name the one that they begin as" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--corpus", "--dev"])
@pytest.mark.parametrize("content", [None, "", "1|t|a fu\n1|a|\n1\t2\t4\tfu\tDisease\tX:9\n"])
def test_a_corpus_that_teaches_nothing_is_noticed_before_any_training(
    kb, base, corpus, tmp_path, capsys, option, content
):
    path, output = tmp_path / "made.pubtator", tmp_path / "model"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(command(kb, base, corpus, output, option, path)) == 2
    err = capsys.readouterr().err
    assert err.startswith("nomina: ")
    assert "made.pubtator" in err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("model*"))


@pytest.mark.parametrize("text", ["preference.reference=nowhere", "corpus-negatives/preference.los=dpo"])
def test_a_stage_that_cannot_be_is_noticed_before_any_training(kb, base, corpus, tmp_path, capsys, text):
    assert main(command(kb, base, corpus, tmp_path / "model", "--set", text)) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("model*"))


def test_a_reference_that_is_none_is_noticed_before_names_are_ranked(kb, base, corpus, tmp_path, capsys):
    other = save_bart(tmp_path / "other")
    tokens = (other / "tokenizer.json").read_text(encoding="utf-8")
    (other / "tokenizer.json").write_text(tokens.replace("heart", "heard"), encoding="utf-8")
    for folder, said in ((tmp_path, "there is no generator in "), (other, "has other tokens than the model")):
        given = command(kb, base, corpus, tmp_path / "model", "--set", f"preference.reference={folder}")
        given = ["angel-negatives" if text == "angel" else text.replace("corpus-negatives/", "") for text in given]
        assert main(given) == 2
        err = capsys.readouterr().err
        assert said in err
        assert "ranking names" not in err


def test_a_second_round_compares_with_the_first_model(kb, base, corpus, tmp_path, capsys):
    staged = tmp_path / "rounds.toml"
    staged.write_text(
        '[stages.corpus]\nrecipe = "genbioel-corpus"\n[stages.first]\nrecipe = "angel-negatives-corpus"\n'
        '[stages.second]\nrecipe = "angel-negatives-corpus"\n',
        encoding="utf-8",
    )
    output = tmp_path / "model"
    given = command(kb, base, corpus, output, "--set", f"second/preference.reference={output}.corpus")
    given = [staged if text == "angel" else text.replace("corpus-negatives/", "") for text in given]
    assert main(list(map(str, given))) == 0, capsys.readouterr().err
    facts = record(output)["recipe"]
    assert facts["encoder"]["base"] == f"{output}.first"
    assert facts["preference"]["reference"] == f"{output}.corpus"
    assert record(Path(f"{output}.first"))["recipe"]["preference"]["reference"] == ""
