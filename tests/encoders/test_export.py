"""Exported encoders against torch, on tiny random models; how weights are stored."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from encoder_cases import save_bert, tokenizer  # noqa: E402

from nomina import encoders  # noqa: E402
from nomina.encoders import compress  # noqa: E402
from nomina.encoders.bert import BertEncoder  # noqa: E402
from nomina.encoders.compress import import_onnx, quantised  # noqa: E402
from nomina.encoders.export import export  # noqa: E402
from nomina.encoders.onnx import MODEL, OnnxEncoder  # noqa: E402
from nomina.encoders.rescnn import ResCnn, ResCnnEncoder  # noqa: E402
from nomina.encoders.unrolled import UnrolledResCnn  # noqa: E402
from nomina.errors import ArtifactError, MissingExtra, UsageError  # noqa: E402
from nomina.linkers.embedding import fingerprint  # noqa: E402

TEXTS = ["heart attack", "", "short stature of the heart and breast cancer", "5 fu", "unheard word", "Seizure", "of"]
VOCABULARY = 400


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"), VOCABULARY, 200)


def rescnn(pooling):
    torch.manual_seed(1)
    embeddings = torch.randn(VOCABULARY, 24)
    return ResCnnEncoder(embeddings, tokenizer(), pooling, length=12, width=20, filters=60, hidden=70)


@pytest.fixture(params=["bert-cls", "bert-mean", "rescnn-max", "rescnn-attention"])
def encoder(request, bert_folder):
    kind, pooling = request.param.split("-")
    return BertEncoder(bert_folder, pooling, length=12) if kind == "bert" else rescnn(pooling)


@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_the_unrolled_network_is_the_network(pooling):
    network = rescnn(pooling).module.eval()
    torch.manual_seed(2)
    ids = torch.randint(0, VOCABULARY, (9, 11))
    mask = torch.arange(11) < torch.tensor([1, 2, 3, 5, 11, 11, 7, 4, 6]).unsqueeze(1)
    with torch.no_grad():
        assert torch.allclose(UnrolledResCnn(network)(ids, mask), network(ids, mask), atol=1e-6)
        other = torch.where(mask, ids, 5)
        assert torch.equal(UnrolledResCnn(network)(ids, mask), UnrolledResCnn(network)(other, mask))


@pytest.mark.parametrize("length", [1, 2])
def test_the_unrolled_network_on_the_shortest_texts(length):
    network = rescnn("max").module.eval()
    ids = torch.arange(2 * length).reshape(2, length)
    with torch.no_grad():
        found = UnrolledResCnn(network)(ids, ids >= 0)
        assert torch.allclose(found, network(ids, ids >= 0), atol=1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_the_exported_encoder_is_the_encoder(encoder, weights, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    encoder.module.train()
    encoder.query_prefix = "? "
    figures = export(encoder, tmp_path / "model", TEXTS, weights=weights)
    assert encoder.module.training
    exported = OnnxEncoder(tmp_path / "model", threads=1)
    assert exported.query_prefix == "? "
    expected, found = encoder.encode(TEXTS), exported.encode(TEXTS)
    cosines = (expected.astype(np.float64) * found).sum(axis=1)
    floor = 1 - 1e-5 if weights == "float32" else 0.9999
    assert cosines.min() >= floor - 1e-6
    assert figures["least"] == pytest.approx(cosines.min(), abs=1e-6)
    assert figures["bytes"] == (tmp_path / "model" / MODEL).stat().st_size
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert figures["int8"] <= (1 if weights == "int8" else 0)
    many = [*TEXTS[:1], *[TEXTS[2]] * 499]
    assert exported.encode(many)[0] == pytest.approx(found[0], abs=1e-6)
    assert exported.encode([]).shape == (0, encoder.dim)


@pytest.mark.extras
def test_float16_makes_the_file_half_as_large(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    encoder = rescnn("max")
    figures = export(encoder, tmp_path / "model", TEXTS, weights="float16")
    assert 0.99999 < figures["least"] <= 1
    numbers = sum(np.prod(weight.shape) for weight in UnrolledResCnn(encoder.module).state_dict().values())
    assert 2 * numbers < figures["bytes"] < 2.6 * numbers


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["bert", "rescnn"])
def test_int8_rows_make_the_file_small(kind, bert_folder, tmp_path):
    """The graph's weights are a quarter; nothing has been unpacked into the file."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    encoder = BertEncoder(bert_folder, "cls", length=12) if kind == "bert" else rescnn("max")
    whole = export(encoder, tmp_path / "whole", TEXTS, weights="float32")
    small = export(encoder, tmp_path / "small", TEXTS, weights="int8", floor=0.9)
    assert small["int8"] == 1
    numbers = sum(compress.large_weights(import_onnx().load(tmp_path / "whole" / MODEL)).values())
    assert 2.6 * numbers < whole["bytes"] - small["bytes"] < 3 * numbers


@pytest.mark.extras
def test_what_int8_harms_stays_float16(tmp_path):
    """One number a thousand times the rest of its row leaves the rest no steps."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    encoder = rescnn("attention")
    with torch.no_grad():
        for block in encoder.module.blocks:
            block.feed_forward[2].weight[:, 3] *= 1000
    figures = export(encoder, tmp_path / "model", TEXTS)
    assert 0 < figures["int8"] < 1
    assert figures["least"] >= 0.9999
    with pytest.raises(ArtifactError, match=r"too far from torch's \(cosine 0\.\d+, at least 1\.5 is wanted\)"):
        export(encoder, tmp_path / "model", TEXTS, floor=1.5)
    assert OnnxEncoder(tmp_path / "model").dim == 20


@pytest.mark.extras
def test_the_file_says_nothing_of_the_machine(bert_folder, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    export(BertEncoder(bert_folder, "mean", length=12), tmp_path / "model", TEXTS, weights="float32")
    data = (tmp_path / "model" / MODEL).read_bytes()
    assert b".py" not in data
    assert b"torch.fx" not in data


def test_rows_are_whole_numbers_of_steps():
    small, scale = quantised(np.array([[127, -50.4, 0], [0, 0, 0]], np.float32), 0)
    assert small.tolist() == [[127, -50, 0], [0, 0, 0]]
    assert scale.tolist() == [[1], [1]]
    small, scale = quantised(np.array([[2.54, -1], [1.27, 4]], np.float32), 1)
    assert small.tolist() == [[127, -32], [64, 127]]
    assert scale.ravel() == pytest.approx([0.02, 4 / 127])


def test_what_cannot_be_exported_is_one_line(tmp_path, monkeypatch):
    encoder = rescnn("max")
    with pytest.raises(UsageError, match="weights 'int4' is not one of float32, float16, int8"):
        export(encoder, tmp_path / "model", TEXTS, weights="int4")
    with pytest.raises(UsageError, match="the sample has none"):
        export(encoder, tmp_path / "model", [])
    monkeypatch.setitem(__import__("sys").modules, "onnxscript", None)
    with pytest.raises(MissingExtra, match=r'an export to ONNX needs an extra: .*"nomina\[train\]"'):
        export(encoder, tmp_path / "model", TEXTS)
    assert not (tmp_path / "model").exists()


def test_a_trainable_encoder_can_link_too(tmp_path):
    encoder = rescnn("max")
    encoder.save(tmp_path / "saved")
    again = encoders.load(tmp_path / "saved")
    assert type(again) is ResCnnEncoder
    assert fingerprint(again) == fingerprint(encoders.load(tmp_path / "saved"))
    with torch.no_grad():
        again.module.projection.bias[0] += 1
    assert fingerprint(again) != fingerprint(encoder)
    assert isinstance(encoder.module, ResCnn)
