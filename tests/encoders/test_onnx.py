"""The exported encoder in the bare install: a tiny untrained ResCNN over single letters."""

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from nomina.artifact import MANIFEST
from nomina.encoders.onnx import OnnxEncoder, cores, known
from nomina.errors import ArtifactError

FOLDER = Path(__file__).parents[1] / "data" / "tiny-encoder"
TEXTS = ["heart attack", "", "short stature of the heart and breast cancer", "a", "μ0?", "Seizure", " "]


@pytest.fixture(scope="module")
def encoder():
    return OnnxEncoder(FOLDER, threads=1)


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(FOLDER, tmp_path / "encoder")


def test_vectors_are_unit_rows_in_the_order_of_the_texts(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (7, encoder.dim) == (7, 24)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(7), abs=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(vector, abs=1e-6)


@pytest.mark.parametrize("batch_size", [1, 3, 64, 500])
def test_padding_never_changes_a_vector(encoder, batch_size):
    many = ["ma", *["short stature of the heart and cancer"] * 498, "ma"]
    alone, among = encoder.encode(["ma"]), encoder.encode(many, batch_size)
    assert np.abs(among[[0, 499]] - alone).max() < 1e-6


def test_a_large_list_is_encoded_in_chunks(encoder, monkeypatch):
    monkeypatch.setattr("nomina.encoders.onnx._CHUNK", 5)
    texts = [letter * (i % 7) for i, letter in enumerate("abcdefghijklmnopqrstuvw")]
    together = encoder.encode(texts)
    assert together == pytest.approx(np.concatenate([encoder.encode([text]) for text in texts]), abs=1e-6)


def test_threads_do_not_change_a_bit(encoder):
    texts = [letter * (i % 11) for i, letter in enumerate("abcdefghijklmnopqrstuvw" * 8)]
    assert np.array_equal(OnnxEncoder(FOLDER, threads=3).encode(texts, 4), encoder.encode(texts, 4))
    assert np.array_equal(OnnxEncoder(FOLDER).encode(texts, 4), encoder.encode(texts, 4))


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {1, 5, 6}, raising=False)
    assert cores() == 3
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert cores() == 1


def test_nothing_to_encode(encoder):
    assert encoder.encode([]).shape == (0, 24)


def test_case_does_not_count_and_order_does(encoder):
    vectors = encoder.encode(["Heart Attack", "heart attack", "attack heart"])
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-6)
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-4


def test_what_the_tokenizer_knows(encoder):
    assert known(encoder.tokenizer, TEXTS).tolist() == [True, False, True, True, False, True, False]
    assert known(encoder.tokenizer, []).shape == (0,)


@pytest.mark.parametrize(
    "model",
    [
        models.WordLevel({"<unk>": 0, "heart": 1}, unk_token="<unk>"),
        models.WordPiece({"heart": 0, "[unk]": 1}, unk_token="[unk]"),
        models.Unigram([("heart", -1.0), ("<unk>", -2.0)], unk_id=1),
    ],
)
def test_the_unknown_token_is_the_tokenizers_own(model):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    assert known(tokenizer, ["heart", "xyz", "xyz heart", ""]).tolist() == [True, False, True, False]


def test_a_tokenizer_may_have_no_unknown_token():
    tokenizer = Tokenizer(models.BPE({"a": 0, "[UNK]": 1}, []))
    assert known(tokenizer, ["a", "b"]).tolist() == [True, False]
    tokenizer = Tokenizer(models.Unigram([("a", -1.0), ("[UNK]", -2.0)]))
    assert known(tokenizer, ["a", ""]).tolist() == [True, False]


def test_a_text_is_cut_off_at_the_length(encoder):
    assert encoder.encode(["a" * 60])[0] == pytest.approx(encoder.encode(["a" * 40])[0], abs=1e-6)


def test_pickles_as_its_folder(encoder):
    again = pickle.loads(pickle.dumps(encoder))
    assert (again.folder, again.threads, again.fingerprint) == (FOLDER, 1, encoder.fingerprint)
    assert np.array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_neither_torch_nor_onnx_is_needed():
    program = f"""
import sys
sys.modules["torch"] = sys.modules["onnx"] = sys.modules["safetensors"] = None
from nomina.encoders.onnx import OnnxEncoder
from nomina.linkers import embedding
print(OnnxEncoder({str(FOLDER)!r}).encode(["a"]).shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "(1, 24)\n"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_one_line(copied, name):
    data = bytearray((copied / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copied / name).write_bytes(data)
    with pytest.raises(ArtifactError, match=rf"{name} is damaged"):
        OnnxEncoder(copied)


def change(folder, **options):
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["options"].update(options)
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": None}, "does not say its length"),
        ({"special_tokens": 1}, "does not say its special_tokens"),
        ({"query_prefix": 1}, "does not say its query_prefix"),
        ({"dim": 25}, "gives vectors of 24, not 25 numbers"),
    ],
)
def test_options_that_do_not_fit(copied, options, message):
    change(copied, **options)
    with pytest.raises(ArtifactError, match=message):
        OnnxEncoder(copied)


def test_a_model_of_another_make_is_one_line(tmp_path):
    from nomina.artifact import writing

    options = json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))["options"]
    with writing(tmp_path / "model", "onnx-encoder", options) as target:
        (target / "model.onnx").write_bytes(b"no model")
        shutil.copy(FOLDER / "tokenizer.json", target)
    with pytest.raises(ArtifactError, match=r"model\.onnx is no model that onnxruntime can run") as caught:
        OnnxEncoder(tmp_path / "model")
    assert "\n" not in str(caught.value)
