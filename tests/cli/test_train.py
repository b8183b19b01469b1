"""`nomina train`: recipes to models, errors, stopping and going on."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from encoder_cases import WORDS, save_bert
from link_cases import NOMINA, POSIX
from safetensors.numpy import load_file
from training_cases import NAMES, arguments, corpus

from nomina import encoders
from nomina.cli.main import main
from nomina.encoders.bert import BertEncoder
from nomina.errors import ArtifactError
from nomina.linkers.embedding import EmbeddingLinker
from nomina.types import Document, Mention

SMALL = ["--set", "encoder.width=12", "--set", "encoder.filters=4", "--set", "encoder.hidden=8"]
LAST = ["--set", "fit.keep=last"]


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("base"), len(WORDS) + 4, 32)


@pytest.fixture
def train(kb, base, tmp_path, capsys):
    """Run a short `nomina train` in this process, without an export: exit code, folder, stderr."""

    def run(recipe, *more, kb=kb, base=base, name="model", export="--no-export"):
        output = tmp_path / name
        code = main(arguments(recipe, kb.path, base, output, export, *more))
        out, err = capsys.readouterr()
        assert out == ""
        return code, output, err

    return run


def record(output):
    return json.loads((output / "train.json").read_text(encoding="utf-8"))


def test_names_of_a_kb_make_an_encoder(train, kb):
    code, output, err = train("sapbert", "--seed", 3)
    assert code == 0, err
    assert err.splitlines()[0].startswith("bert: 20,944 tunable parameters")
    assert "vectors of 24, pooling mean, length 25" in err
    assert "16 names, 15 pairs" in err
    assert "step 0: acc@1" in err
    assert "step 8: loss" in err
    facts = record(output)
    assert facts["recipe"]["fit"]["seed"] == 3
    assert (facts["steps"], facts["kb"]["name"], facts["data"]["kb"]) == (8, "made", kb.fingerprint)
    assert [entry["step"] for entry in facts["log"] if "loss" in entry] == [4, 8]
    measured = [facts["before"], *(entry for entry in facts["log"] if "acc@1" in entry)]
    assert facts["best"]["acc@1"] == max(entry["acc@1"] for entry in measured)
    assert set(facts["versions"]) == {"nomina", "python", "torch", "transformers", "device"}
    assert encoders.load(output).encode(["heart attack"]).shape == (1, 24)
    assert sorted(path.name for path in output.parent.iterdir()) == ["model"]


def test_the_same_command_gives_the_same_weights_and_another_seed_others(train):
    weights = {}
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        code, output, err = train("sapbert", *LAST, "--seed", seed, name=name)
        assert code == 0, err
        weights[name] = load_file(output / "model.safetensors")
    first = weights["one"]
    assert all((first[key] == weights["again"][key]).all() for key in first)
    assert any((first[key] != weights["other"][key]).any() for key in first)


def test_a_rate_far_too_high_leaves_the_weights_as_they_were(train, base, tmp_path):
    more = ["--dev", corpus(tmp_path), "--set", "fit.lr=3", "--set", "fit.warmup=0"]
    code, output, err = train("sapbert", *more)
    assert code == 0, err
    facts = record(output)
    assert facts["best"] == facts["before"]
    assert "no weights were better than those before training" in err
    assert "the model is as it was before training: " in err
    texts = ["heart attack", "cancer of the breast"]
    start, kept = BertEncoder(str(base), "mean", 25), encoders.load_trainable(output)
    assert (kept.encode(texts) == start.encode(texts)).all()


def test_a_corpus_fine_tunes_and_its_prefix_is_kept(train, tmp_path):
    path = corpus(tmp_path)
    code, output, err = train(
        "sapbert", "--corpus", path, "--dev", path, "--set", "data.pool=6", "--set", "fit.steps=40"
    )
    assert code == 0, err
    assert "4 distinct mentions to train on; 0 left out" in err
    facts = record(output)
    assert facts["recipe"]["objective"]["loss"] == "marginal"
    assert facts["best"]["acc@1"] == 100.0
    assert encoders.load(output).query_prefix == "? "


def test_biosyn_trains_on_a_corpus(train, tmp_path):
    path = corpus(tmp_path)
    biosyn = ["--set", "objective.loss=biosyn", "--set", "data.names=0", "--set", "data.pool=6"]
    code, output, err = train("sapbert", "--corpus", path, "--dev", path, *biosyn, "--set", "fit.steps=40")
    assert code == 0, err
    facts = record(output)
    assert (facts["recipe"]["objective"]["loss"], facts["best"]["acc@1"]) == ("biosyn", 100.0)
    assert "the learnt weight of the 3-gram cosine: " in err
    code, _, err = train("sapbert", "--corpus", path, *biosyn[:2], name="other")
    assert (code, "set data.names to 0" in err) == (2, True)


def test_a_rescnn_is_drawn_to_a_teacher_and_tuned_on_a_corpus(train, tmp_path):
    code, teacher, err = train("sapbert", name="teacher")
    assert code == 0, err
    code, first, err = train("rescnn", "--teacher", teacher, *SMALL, name="small")
    assert code == 0, err
    assert "vectors of 12, pooling attention, length 25, width 12, blocks 4, filters 4, hidden 8" in err
    assert "vectors of 51 texts by the teacher" in err
    path = corpus(tmp_path)
    code, tuned, err = train("rescnn", "--corpus", path, base=first, name="tuned")
    assert code == 0, err
    encoder = encoders.load(tuned)
    assert (encoder.kind, encoder.dim, encoder.pooling) == ("rescnn", 12, "attention")
    before, after = (load_file(folder / "model.safetensors") for folder in (first, tuned))
    assert (before["embeddings.weight"] == after["embeddings.weight"]).all()
    assert (before["projection.weight"] != after["projection.weight"]).any()
    code, _, err = train("sapbert", base=first, name="none")
    assert (code, "is a ResCNN, the recipe trains a model of kind bert" in err) == (2, True)


def test_a_file_is_a_recipe_too(train, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('[objective]\nloss = "infonce"\n[data]\nheld_out = 0\n', encoding="utf-8")
    code, output, err = train(path)
    assert code == 0, err
    assert (record(output)["recipe"]["objective"]["loss"], record(output)["best"]) == ("infonce", {})
    code, _, err = train(path, "--corpus", corpus(tmp_path), name="other")
    assert code == 2
    assert "takes no --corpus" in err


@pytest.mark.extras
def test_the_model_links_without_torch(train, kb, tmp_path):
    pytest.importorskip("onnxscript")
    path = corpus(tmp_path)
    more = ["--corpus", path, "--dev", path, "--set", "fit.steps=40"]
    code, output, err = train("sapbert", *more, "--weights", "float32", export="--export")
    assert code == 0, err
    assert record(output)["export"]["least"] > 0.9999
    linker = EmbeddingLinker(kb, output)
    assert type(linker.encoder).__name__ == "OnnxEncoder"
    assert linker.encoder.query_prefix == "? "
    text = "breast cancer"
    (prediction,) = linker.link([Document("d", text, (Mention(((0, len(text)),), text),))], k=1)
    assert prediction.candidates[0].entity_id == "T:4"
    trained = encoders.load_trainable(output)
    texts = ["heart attack", "? seizure of the breast"]
    cosines = (trained.encode(texts) * linker.encoder.encode(texts)).sum(axis=1)
    assert cosines == pytest.approx(np.ones(2), abs=1e-5)
    code, output, err = train("sapbert", "--weights", "float32", export="--export")
    assert (code, encoders.load(output).query_prefix) == (0, "")
    code, output, err = train("sapbert")
    assert (code, (output / "model.onnx").exists(), (output / "manifest.json").exists()) == (0, False, False)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--set", "fit.batchsize=3"], "no recipe has a key 'fit.batchsize'; did you mean 'fit.batch_size'?"),
        (["--set", "fit.lr=1e30", "--set", "fit.warmup=0"], "not finite after step"),
        (["--base", "no/where/here"], "no such folder: no/where/here; name the folder of an encoder"),
        (["--base", "nosuch/"], "no such folder: nosuch/; name the folder of an encoder"),
        (["--teacher", "nowhere"], "no such folder: nowhere; name the folder of an encoder"),
        (["--set", "encoder.base="], "no encoder to start from"),
        (["--kb", "nothing"], "no KB file 'nothing'"),
        (["--corpus", "gone.pubtator"], "gone.pubtator"),
    ],
)
def test_a_mistake_is_one_line(train, monkeypatch, tmp_path, more, why):
    monkeypatch.chdir(tmp_path)
    code, _, err = train("sapbert", *more)
    assert code == 2
    assert err.splitlines()[-1].startswith("nomina: ")
    assert why in err.splitlines()[-1]
    assert list(tmp_path.glob("model*")) == []


def test_a_small_kb_is_trained_on_in_batches_of_what_it_has(train):
    code, output, err = train("sapbert", "--set", "fit.batch_size=512")
    assert code == 0, err
    assert "fit.batch_size is 15 in place of 512, as there are 15 pairs; an epoch is one step" in err
    assert record(output)["steps"] == 8


def test_a_kb_whose_one_synonym_is_held_out(train, make_kb, tmp_path):
    kb = make_kb({"A": ("heart attack", "attack of the heart"), "B": "seizure"})
    code, _, err = train("sapbert", kb=kb)
    assert (code, list(tmp_path.glob("model*"))) == (2, [])
    assert "all synonyms are held out to measure accuracy by: set data.held_out to 0, or name a --dev" in err
    code, _, err = train("sapbert", "--set", "data.held_out=0", kb=kb)
    assert code == 0, err
    assert "fit.batch_size is 1 in place of 6" in err


def test_a_kb_without_synonyms_and_a_corpus_of_another_kb(train, make_kb, tmp_path):
    code, _, err = train("sapbert", kb=make_kb({"A": "a", "B": "b"}))
    assert code == 2
    assert "the KB made has no concept with two names of its own" in err
    code, _, err = train("sapbert", "--corpus", corpus(tmp_path), kb=make_kb({"A": ("a", "b")}), name="other")
    assert code == 2
    assert "no mention of the corpus has a concept of the KB" in err
    code, _, err = train("sapbert-corpus", name="third")
    assert (code, err) == (2, "nomina: sapbert-corpus fine-tunes on a corpus: name one with --corpus\n")


def test_a_development_corpus_of_another_kb(train, tmp_path):
    path = corpus(tmp_path)
    other = tmp_path / "other.pubtator"
    other.write_text(path.read_text(encoding="utf-8").replace("T:", "X:"), encoding="utf-8")
    code, output, err = train("sapbert", "--corpus", path, "--dev", other)
    assert (code, output.exists()) == (2, False)
    assert "nomina: the KB made has the gold of no mention of the development corpus: is it the corpus's own?" in err
    other.write_text(path.read_text(encoding="utf-8").replace("T:3", "X:3"), encoding="utf-8")
    code, _, err = train("sapbert", "--corpus", path, "--dev", other)
    assert code == 0, err
    assert "accuracy: the KB lacks gold of 1 of 4 development mentions, which count as wrong" in err


def test_an_earlier_model_stays_until_the_new_one_is_whole(train, monkeypatch):
    code, output, err = train("sapbert", *LAST, "--seed", 1)
    assert code == 0, err
    before = {path.name: path.read_bytes() for path in output.iterdir()}

    def fails(self, folder):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("nomina.encoders.base.TrainableEncoder.save", fails)
        assert train("sapbert", *LAST, "--seed", 2)[0] == 2
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    code, _, err = train("sapbert", *LAST, "--seed", 2)
    assert code == 0, err
    assert record(output)["recipe"]["fit"]["seed"] == 2
    assert (output / "model.safetensors").read_bytes() != before["model.safetensors"]


def test_what_is_no_model_is_not_replaced(train, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "diary.txt").write_text("dear", encoding="utf-8")
    code, output, err = train("sapbert")
    assert code == 2
    assert "is there and is no saved model" in err
    assert train("sapbert", "-o", ".")[0] == 2
    assert (output / "diary.txt").exists()


def test_torch_is_an_extra(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, err = train("sapbert")
    assert (code, err) == (2, 'nomina: nomina train needs an extra: python -m pip install "nomina[train]"\n')


def test_checkpoints_of_another_training_are_not_gone_on_with(train, tmp_path):
    folder = tmp_path / "model.checkpoints"
    folder.mkdir()
    (folder / "diary.txt").write_text("dear", encoding="utf-8")
    code, _, err = train("sapbert")
    assert (code, "is no folder of checkpoints" in err) == (2, True)
    (folder / "diary.txt").unlink()
    (folder / "training.json").write_text('{"fit": {"batch_size": 512}}', encoding="utf-8")
    (folder / "state.json").write_text("{}", encoding="utf-8")
    code, _, err = train("sapbert")
    assert code == 2
    assert "holds another training (fit.batch_size: 512, now 6)" in err
    code, _, err = train("sapbert", "--no-resume")
    assert code == 0, err


def waited_for(path, step, process=None):
    """Wait until a checkpoint of that step or a later one is there."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process is None or process.poll() is None, process.stderr.read()
        try:
            if (found := json.loads(path.read_text(encoding="utf-8"))["steps"]) >= step:
                return found
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    raise TimeoutError(f"no step {step}")


@pytest.fixture
def one_thread():
    """As in the processes that are stopped: sums over threads come in another order."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@POSIX
@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("recipe", ["rescnn", "sapbert"])
def test_stopped_and_killed_it_goes_on_to_the_same_weights(recipe, train, kb, base, tmp_path):
    more = ["--no-export", "--set", "fit.steps=300", "--set", "fit.evaluate_every=50", "--set", "fit.lr=0.001"]
    if recipe == "sapbert":
        more += ["--corpus", corpus(tmp_path), "--set", "fit.batch_size=2"]
    else:
        more += SMALL
    code, whole, err = train(recipe, *more)
    assert code == 0, err
    broken = tmp_path / "broken"
    command = [*NOMINA, *arguments(recipe, kb.path, base, broken, *more)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    checkpoints = tmp_path / "broken.checkpoints"
    step = 3
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
        with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env=environment) as process:
            waited_for(checkpoints / "state.json", step, process)
            process.send_signal(number)
            err = process.stderr.read()
        step = waited_for(checkpoints / "state.json", step)
        assert not broken.exists()
        if number != signal.SIGKILL:
            assert process.returncode == 130
            assert err.splitlines()[-1] == (
                f"nomina: stopped; the same command goes on behind step {step:,}, which is saved in {checkpoints}"
            )
        step += 5
    code, _, err = train(recipe, *more, name="broken")
    assert code == 0, err
    assert err.startswith(f"going on from step {step - 5}, see {checkpoints}")
    assert step < 300
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (whole, broken))
    assert all((ours[key] == theirs[key]).all() for key in ours)
    assert record(whole)["best"] == record(broken)["best"]
    assert not checkpoints.exists()


@POSIX
@pytest.mark.slow
def test_two_processes_share_a_training(kb, base, tmp_path):
    more = ["--no-export", "--set", "data.hard=0.5"]
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "nomina"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*run, *arguments("sapbert", kb.path, base, tmp_path / "model", *more)],
        capture_output=True, encoding="utf-8", env=environment, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("16 names, 15 pairs") == 1
    assert record(tmp_path / "model")["steps"] == 8
    assert encoders.load(tmp_path / "model").encode(["seizure"]).shape == (1, 24)


def test_a_damaged_model_is_told(train):
    code, output, err = train("sapbert")
    assert code == 0, err
    (output / "encoder.json").write_text("{", encoding="utf-8")
    with pytest.raises(ArtifactError, match="does not describe a saved encoder"):
        encoders.load(output)
