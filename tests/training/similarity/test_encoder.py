"""Similarity by an encoder: one that nomina has exported, or a sentence encoder of Hugging Face."""

import numpy as np
import pytest
from linker_cases import ENCODER

from nomina import encoders
from nomina.errors import ArtifactError, RecipeError
from nomina.training import similarity
from nomina.training.names import Concepts
from nomina.training.similarity import SIMILARITIES, similarity_of
from nomina.training.similarity.encoder import EncoderSimilarity
from nomina.training.targets import TargetOptions, targets_of

NAMES = ["heart attack", "attack of the heart", "MI", "seizure", "the fit", "short stature"]
CONCEPTS = Concepts(NAMES, ["H", "S", "T"], np.array([0, 0, 0, 1, 1, 2]), np.arange(6))
MENTIONS = ["heart attacks", "seizures", "a fit", "heart attacks", "Short stature"]
GOLD = [np.array([0]), np.array([1]), np.array([0, 1]), np.array([0]), np.array([2])]


def oracle(encoder, mention, concepts, top):
    """One mention and one name at a time."""
    rows = [row for c in concepts for row in CONCEPTS.row[CONCEPTS.concept == c].tolist()]
    one = encoder.encode([encoder.query_prefix + mention])[0].astype(float)
    cosines = [round(float(sum(one * encoder.encode([NAMES[row]])[0].astype(float))), 6) for row in rows]
    return [rows[place] for _, place in sorted((-cosine, place) for place, cosine in enumerate(cosines))][:top]


@pytest.mark.parametrize("top", [1, 3, 5])
def test_the_targets_are_the_nearest_names_by_the_encoder(top):
    encoder = encoders.load(ENCODER)
    found = targets_of(MENTIONS, GOLD, CONCEPTS, TargetOptions("encoder", top, similarity=str(ENCODER)))
    assert [rows.tolist() for rows in found] == [
        oracle(encoder, mention, own.tolist(), top) for mention, own in zip(MENTIONS, GOLD, strict=True)
    ]
    assert [len(rows) for rows in found] == [min(top, many) for many in (3, 2, 5, 3, 1)]


class Axes:
    """Vectors by hand, and a mark before mentions."""

    query_prefix = "? "

    def __init__(self):
        self.asked = []

    def encode(self, texts, batch_size=256):
        self.asked += texts
        known = {"? m": [1, 0], "a": [0.6, 0.8], "b": [0.8, 0.6], "? n": [0, 1]}
        return np.array([known[text] for text in texts], np.float32)


def test_mentions_have_the_prefix_of_the_encoder_and_each_name_is_encoded_once():
    encoder = Axes()
    found = EncoderSimilarity(encoder)(["m", "n"], [["a", "b"], ["b", "a"]])
    assert np.allclose(found, [[0.6, 0.8], [0.6, 0.8]], atol=1e-7)
    assert encoder.asked == ["? m", "? n", "a", "b"]


@pytest.mark.extras
def test_a_sentence_encoder_of_hugging_face_is_pooled_over_its_tokens(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from encoder_cases import WORDS, save_bert

    from nomina.encoders.bert import BertEncoder

    folder = save_bert(tmp_path / "base", len(WORDS) + 4, 32)
    encoder = BertEncoder(folder, "mean")
    found = targets_of(MENTIONS, GOLD, CONCEPTS, TargetOptions("sentence", 3, similarity=str(folder)))
    assert [rows.tolist() for rows in found] == [
        oracle(encoder, mention, own.tolist(), 3) for mention, own in zip(MENTIONS, GOLD, strict=True)
    ]


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(RecipeError, match="take one of tfidf, encoder, sentence"):
        similarity_of("bm25", NAMES)
    for kind in ("encoder", "sentence"):
        with pytest.raises(RecipeError, match=r"name one as generation\.similarity"):
            similarity_of(kind, NAMES)
    with pytest.raises(ArtifactError, match="holds no encoder"):
        similarity_of("encoder", NAMES, str(tmp_path))


def test_each_similarity_is_a_file_of_its_own():
    assert {path.split(".")[-2] for path in SIMILARITIES.values()} == set(SIMILARITIES)
    assert similarity.__name__ == "nomina.training.similarity"
