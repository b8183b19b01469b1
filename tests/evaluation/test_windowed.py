"""Attention cut to a window, held against attention written out with masks made by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from encoder_cases import save_bert  # noqa: E402

from nomina.encoders.bert import BertEncoder  # noqa: E402
from nomina.errors import UsageError  # noqa: E402
from nomina.evaluation.windowed import WindowedEncoder, window_mask  # noqa: E402
from nomina.linkers.embedding import fingerprint  # noqa: E402

TEXT = "heart attack of seizure"  # six tokens with [CLS] and [SEP]
NEAR = ["xx....", "xxx...", ".xxx..", "..xxx.", "...xxx", "....xx"]  # window 3: x sees
LAST = ["xxxxxx", *NEAR[1:]]
TEXTS = [TEXT, "seizure", "", "short stature of the heart and breast cancer"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"), 16, 32)


@pytest.fixture(params=["cls", "mean"])
def encoder(request, folder):
    return BertEncoder(folder, request.param, length=12)


def attended(layer, hidden, drawn):
    """A layer's output (tokens, width), each head and token by itself."""
    own, heads = layer.attention.self, 3
    query, key, value = (part(hidden).reshape(len(hidden), heads, -1) for part in (own.query, own.key, own.value))
    context = torch.zeros(len(hidden), heads, query.shape[-1])
    for head in range(heads):
        for i, row in enumerate(drawn):
            seen = [j for j, cell in enumerate(row) if cell == "x"]
            scores = torch.stack([query[i, head] @ key[j, head] for j in seen]) / np.sqrt(query.shape[-1])
            context[i, head] = sum(w * value[j, head] for w, j in zip(scores.softmax(0), seen, strict=True))
    between = layer.attention.output(context.reshape(len(hidden), -1), hidden)
    return layer.output(layer.intermediate(between), between)


def by_hand(encoder):
    bert = encoder.module.bert
    with torch.inference_mode():
        hidden = bert.embeddings(input_ids=torch.tensor(encoder.tokenise([TEXT])))[0]
        for layer, drawn in zip(bert.encoder.layer, (NEAR, LAST), strict=True):
            hidden = attended(layer, hidden, drawn)
        vector = hidden[0] if encoder.pooling == "cls" else hidden.mean(0)
        return (vector / vector.norm()).numpy()


def test_a_window_of_three_is_that_of_the_masks_by_hand(encoder):
    assert WindowedEncoder(encoder, 3).encode([TEXT])[0] == pytest.approx(by_hand(encoder), abs=1e-6)
    assert abs(encoder.encode([TEXT])[0] - by_hand(encoder)).max() > 1e-4


def test_padding_never_changes_a_vector(encoder):
    windowed = WindowedEncoder(encoder, 3)
    together = windowed.encode(TEXTS)
    assert np.isfinite(together).all()
    for text, vector in zip(TEXTS, together, strict=True):
        assert windowed.encode([text])[0] == pytest.approx(vector, abs=1e-6)


def test_a_window_over_the_whole_text_is_no_window(encoder):
    before = encoder.encode(TEXTS)
    assert WindowedEncoder(encoder, 23).encode(TEXTS) == pytest.approx(before, abs=1e-6)
    assert encoder.encode(TEXTS) == pytest.approx(before, abs=1e-6)


def test_the_mask_of_a_padded_batch():
    mask = torch.tensor([[True, True, True, True], [True, True, False, False]])
    seen = [
        "".join("x" if cell == 0 else "." for cell in row)
        for row in window_mask(mask, 3, cls=False)[:, 0].flatten(0, 1)
    ]
    assert seen == ["xx..", "xxx.", ".xxx", "..xx", "xx..", "xx..", ".xx.", "...x"]
    assert window_mask(mask, 3, cls=True)[:, 0, 0].tolist() == [[0, 0, 0, 0], [0, 0, -np.inf, -np.inf]]


def test_windows_have_a_middle_and_are_kept_nowhere(encoder):
    with pytest.raises(UsageError, match="odd number"):
        WindowedEncoder(encoder, 4)
    with pytest.raises(UsageError, match="no fingerprint"):
        fingerprint(WindowedEncoder(encoder, 3))


def test_what_is_no_bert_is_refused(folder):
    encoder = BertEncoder(folder, "mean")
    encoder.module.bert = torch.nn.Linear(2, 2)
    with pytest.raises(UsageError, match="Linear has no layers as BERT has"):
        WindowedEncoder(encoder, 3)
