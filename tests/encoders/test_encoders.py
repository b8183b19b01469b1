"""Encoders on tiny random models: a text's vector depends on nothing but the text, and survives saving."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from encoder_cases import save_bert, tokenizer  # noqa: E402

from nomina import encoders  # noqa: E402
from nomina.encoders.bert import BertEncoder  # noqa: E402
from nomina.encoders.rescnn import ResCnn, ResCnnEncoder  # noqa: E402
from nomina.errors import ArtifactError, UsageError  # noqa: E402
from nomina.linkers.cascade import CascadeLinker  # noqa: E402
from nomina.types import Document, Mention, Query  # noqa: E402

TEXTS = ["heart attack", "", "short stature of the heart and breast cancer", "5 fu", "unheard word", "Seizure"]


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"), 16, 32)


@pytest.fixture(params=["bert-cls", "bert-mean", "rescnn-max", "rescnn-attention"])
def encoder(request, bert_folder):
    kind, pooling = request.param.split("-")
    if kind == "bert":
        return BertEncoder(bert_folder, pooling, length=12)
    torch.manual_seed(1)
    return ResCnnEncoder(torch.randn(16, 24), tokenizer(), pooling, length=12, width=20, filters=7, hidden=9)


def test_vectors_are_unit_rows_in_the_order_of_the_texts(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (6, encoder.dim)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(vector, abs=1e-6)


def test_padding_never_changes_a_vector(encoder):
    many = ["heart attack", *["short stature of the heart and breast cancer 5 fu"] * 499]
    alone, among = encoder.forward(many[:1])[0], encoder.forward(many)[0]
    assert torch.allclose(alone, among, atol=1e-6)


def test_different_texts_have_different_vectors(encoder):
    vectors = encoder.encode(["heart attack", "attack heart", "seizure"])
    assert abs(vectors[0] - vectors[2]).max() > 1e-3
    assert abs(vectors[0] - vectors[1]).max() > 1e-5


def test_nothing_to_encode(encoder):
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_a_text_is_cut_off_at_the_length(encoder):
    assert max(map(len, encoder.tokenise(["heart " * 50]))) == 12


def test_gradients_reach_the_tuned_weights_only(encoder):
    encoder.forward(TEXTS).sum().backward()
    for name, parameter in encoder.module.named_parameters():
        assert (parameter.grad is not None) == parameter.requires_grad, name


@pytest.mark.parametrize("half", [False, True])
def test_saved_and_loaded(encoder, half, tmp_path):
    encoder.query_prefix = "? " if half else ""
    encoder.save(tmp_path / "saved", half=half)
    again = encoders.load(tmp_path / "saved")
    assert type(again) is type(encoder)
    assert again.query_prefix == encoder.query_prefix
    assert again.options() == encoder.options()
    cosines = (again.encode(TEXTS) * encoder.encode(TEXTS)).sum(axis=1)
    assert cosines.min() > 1 - (1e-4 if half else 1e-6)


def test_a_saved_encoder_is_the_second_step_of_a_cascade(encoder, make_kb, tmp_path):
    encoder.save(tmp_path / "saved")
    kb = make_kb({"C:1": "Heart attack", "C:2": "Short stature"})
    linker = CascadeLinker(kb, tmp_path / "saved")
    assert type(linker.embedding.encoder) is type(encoder)
    asked = [Query(Document("d", text), Mention(((0, len(text)),), text)) for text in ("heart attacks", "the heart")]
    ranking = linker.rank(asked, 2)
    assert ranking.rows[0, 0] == kb.row("heart attack")
    found = dict(zip(ranking.rows[1].tolist(), ranking.scores[1].tolist(), strict=True))
    cosine = float(encoder.encode(["the heart"])[0] @ encoder.encode(["Heart attack"])[0])
    assert found[kb.row("heart attack")] == pytest.approx(cosine, abs=1e-4)
    again = CascadeLinker.from_state(kb, linker.state())
    assert np.array_equal(again.rank(asked, 2).rows, ranking.rows)


def test_the_paper_size_has_its_count_of_parameters():
    count = {}
    for pooling in ("max", "attention"):
        module = ResCnn(torch.randn(5, 768), pooling)
        count[pooling] = sum(p.numel() for p in module.parameters() if p.requires_grad)
    assert count == {"max": 1_742_120, "attention": 1_808_169}


def test_the_length_one_convolution_of_zeros_is_no_leak():
    module = ResCnn(torch.randn(16, 8), "max", width=6, filters=3, hidden=4).eval()
    ids, mask = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[True, True, False, False]])
    other = torch.tensor([[4, 5, 9, 10]])
    assert torch.equal(module(ids, mask), module(other, mask))


def test_a_folder_without_a_saved_encoder_is_one_line(tmp_path):
    with pytest.raises(ArtifactError, match=r"holds no encoder \(neither manifest\.json nor encoder\.json\): name a"):
        encoders.load(tmp_path)
    with pytest.raises(ArtifactError, match=r"^no such folder: .*gone; name the folder of an encoder$"):
        encoders.load(tmp_path / "gone")
    (tmp_path / "encoder.json").write_text('{"kind": "lstm"}', encoding="utf-8")
    with pytest.raises(ArtifactError, match="no encoder is called 'lstm'"):
        encoders.load(tmp_path)
    with pytest.raises(ArtifactError, match=r"encoder\.json is a file: name the folder of an encoder"):
        encoders.load(tmp_path / "encoder.json")
    with pytest.raises(ArtifactError, match="no encoder of Hugging Face"):
        BertEncoder(tmp_path)


def test_a_model_of_hugging_face_is_told_apart_from_an_encoder(bert_folder):
    with pytest.raises(ArtifactError, match=r"holds a model of Hugging Face, .* `nomina train --base`"):
        encoders.load(bert_folder)


def test_half_a_surrogate_pair_is_encoded_as_the_replacement_character(bert_folder):
    encoder = BertEncoder(bert_folder)
    halves, whole = (encoder.encode([f"heart {c} attack", f"{c}"]) for c in ("\udc00", "\ufffd"))
    assert (halves == whole).all()


def test_an_unknown_pooling_is_refused(bert_folder):
    with pytest.raises(UsageError, match="'median' is not one of cls, mean"):
        BertEncoder(bert_folder, "median")
    with pytest.raises(UsageError, match="'cls' is not one of max, attention"):
        ResCnnEncoder(torch.randn(16, 4), tokenizer(), "cls")
