"""``experiments/probing.py``: accuracy under probes, by hand."""

import importlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from nomina.encoders.base import Encoder
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import items_of
from nomina.evaluation.windowed import WindowedEncoder
from nomina.types import Document, Mention

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["heart attack", "seizure", "short stature"]
IDS = [frozenset({"C1"}), frozenset({"C2"}), frozenset({"C3", "C4"})]


class Directions(Encoder):
    """Each known text points where it is told; all others the way of "?"."""

    dim = 3

    def __init__(self, **told):
        self._told, self.asked = {text.replace("_", " "): place for text, place in told.items()}, []

    def encode(self, texts, batch_size=0):
        self.asked += texts
        return np.eye(3, dtype=np.float32)[[self._told.get(text, 2) for text in texts]]


@pytest.fixture
def probing(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments")
    return importlib.import_module("probing")


def task(probing, *mentions, names=NAMES):
    """Of (text, gold); a text with ``|`` is a composite: parts at one place."""
    documents = []
    for i, (text, gold) in enumerate(mentions):
        parts = tuple(Mention(((0, len(text)),), part, gold=((gold,),)) for part in text.split("|"))
        documents.append(Document(str(i), text, parts))
    return probing.Task(items_of(documents, IdMap(splits=True)), names, IDS)


def test_the_nearest_name_must_be_one_of_a_gold_id(probing):
    encoder = Directions(heart_attack=0, seizure=1, short_stature=2, mi=0, fits=1)
    made = task(probing, ("mi", "C1"), ("fits", "C1|C2"), ("fits", "C3"), ("unheard", "C4"))
    made.items += task(probing, ("heart attack|fits", "C1|C2"), ("mi|unheard", "C1|C2")).items
    assert probing.accuracy_of(made, probing.Vectors(encoder, 8), "none", "") == 66.67
    assert sorted(encoder.asked) == sorted([*NAMES, "fits", "mi", "unheard"])


def test_mentions_and_names_are_shuffled_apart(probing):
    encoder = Directions()
    text = "a b c d e f g h"
    made = task(probing, (text, "C1"), names=[text, *NAMES[1:]])
    probing.accuracy_of(made, probing.Vectors(encoder, 8), "shuffled bigrams", "? ")
    name, mention = encoder.asked[0], encoder.asked[-1].removeprefix("? ")
    assert name != mention
    for text in (name, mention):
        assert sorted(text.split()[::2]) == ["a", "c", "e", "g"]
        assert "short stature" in encoder.asked


def test_changes_are_means_over_corpora_in_percent(probing):
    accuracy = {"ncbi": {"none": 80.0, "window 3": 60.0}, "bc5cdr-d": {"none": 50.0, "window 3": 55.0}}
    assert probing.change(accuracy, "window 3") == -7.5


def test_windows_are_probed_on_bert_only(probing, tmp_path):
    from encoder_cases import save_bert

    from nomina.encoders.bert import BertEncoder
    from nomina.encoders.rescnn import ResCnnEncoder

    bert = BertEncoder(save_bert(tmp_path / "bert", 16, 32), "mean")
    assert isinstance(probing.probed(bert, "window 3"), WindowedEncoder)
    assert probing.probed(bert, "shuffled words") is bert
    ResCnnEncoder(bert.word_embeddings, bert.tokenizer, "max", 12).save(tmp_path / "rescnn")
    with pytest.raises(SystemExit, match="no BERT-type encoder"):
        probing.opened(str(tmp_path / "rescnn"), "cpu")
