"""The embedding linker: what is encoded, when, and kept; the contract tests cover how it ranks."""

import itertools
import math
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nomina.artifact import Artifact
from nomina.encoders.base import Encoder
from nomina.encoders.onnx import KIND, OnnxEncoder
from nomina.errors import ArtifactError, UsageError
from nomina.files import home
from nomina.index import building
from nomina.kb.update import add
from nomina.linkers.base import NO_ROW, Rule
from nomina.linkers.calibration import Calibration
from nomina.linkers.embedding import EmbeddingLinker
from nomina.types import Document, Entity, Mention, Name, Query

FOLDER = Path(__file__).parents[1] / "data" / "tiny-encoder"
NAMES = {"C:1": ("Heart attack", "MI"), "C:2": "Seizure", "C:3": ("症候群", "!!"), "C:4": "Prader-Willi syndrome"}


class Counting(Encoder):
    """An encoder that remembers what it was given."""

    fingerprint = "0" * 64

    def __init__(self) -> None:
        self.encoder = OnnxEncoder(FOLDER, 1)
        self.dim, self.tokenizer = self.encoder.dim, self.encoder.tokenizer
        self.texts = []

    def encode(self, texts, batch_size=64):
        self.texts.extend(texts)
        return self.encoder.encode(texts, batch_size)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES)


def query(text, document=None):
    return Query(Document("d", document or text or " "), Mention(((0, max(1, len(text))),), text))


def files():
    return sorted(path.name for path in (home() / "embeddings").iterdir() if not path.name.endswith(".lock"))


def test_names_are_encoded_once_as_they_were_written(kb):
    first, second = Counting(), Counting()
    EmbeddingLinker(kb, first)
    assert first.texts == ["Heart attack", "MI", "Seizure", "症候群", "!!", "Prader-Willi syndrome"]
    linker = EmbeddingLinker(kb, second)
    assert second.texts == []
    linker.rank([query("seizures"), query("Seizures"), query("seizures")], 2)
    assert second.texts == ["seizures", "Seizures"]


def test_a_prefix_stands_before_mentions_only(kb):
    encoder = Counting()
    encoder.query_prefix = "short "
    linker = EmbeddingLinker(kb, encoder)
    assert "Seizure" in encoder.texts
    encoder.texts.clear()
    ranking = linker.rank([query("seizure"), query("漢字")], 1)
    assert encoder.texts == ["short seizure"]  # the prefix does not make a text known
    expected = encoder.encode(["short seizure"])[0] @ encoder.encode(["Seizure"])[0]
    assert (ranking.rows[0, 0], ranking.rows[1, 0]) == (kb.row("seizure"), NO_ROW)
    assert ranking.scores[0, 0] == pytest.approx(expected, abs=1e-5)


def test_scores_are_cosines_and_the_rule_is_embedding(kb):
    linker, encoder = EmbeddingLinker(kb, FOLDER), OnnxEncoder(FOLDER)
    ranking = linker.rank([query("seizure"), query("heart attach")], 6)
    vectors = encoder.encode([*kb.surfaces()])
    cosines = encoder.encode(["seizure", "heart attach"]) @ vectors.T
    assert ranking.rows[0, 0] == kb.row("seizure")
    assert ranking.scores[0, 0] == 1.0
    assert ranking.rows[1, 0] == kb.row("heart attack")
    for i in range(2):
        there = ranking.rows[i] != NO_ROW
        assert ranking.scores[i, there] == pytest.approx(cosines[i, ranking.rows[i, there]], abs=1e-5)
        assert (ranking.rules[i, there] == Rule.EMBEDDING).all()
    (prediction,) = linker.link([Document("d", "seizures", (Mention(((0, 8),), "seizures"),))], k=1)
    assert (prediction.candidates[0].entity_id, prediction.candidates[0].rule) == ("C:2", "embedding")


def asked(*texts):
    return [Document(str(i), text, (Mention(((0, len(text)),), text),)) for i, text in enumerate(texts)]


@pytest.fixture
def calibrated(tmp_path):
    """A function that gives the tiny encoder with weights of nearness and lead."""

    def make(*weights):
        folder = shutil.copytree(FOLDER, tmp_path / "model", dirs_exist_ok=True)
        Calibration(weights, {}).write(Artifact.open(folder, KIND))
        return folder

    return make


def test_without_a_calibration_only_a_threshold_makes_it_abstain(kb):
    linker = EmbeddingLinker(kb, FOLDER)
    assert linker.calibration is None
    (far,) = linker.link(asked("zebra"))
    assert (far.probability, far.abstained) == (None, False)
    (near,) = linker.link(asked("seizure"), threshold=0.9)
    (far,) = linker.link(asked("zebra"), threshold=0.9)
    assert (near.abstained, far.abstained) == (False, True)


def test_a_calibration_beside_the_encoder_gives_probabilities_and_abstentions(kb, calibrated):
    """The probability is 1 / (1 + exp(-logit)), here with the logit 4 sqrt(lead) - 1."""
    linker = EmbeddingLinker(kb, calibrated(-1.0, 0.0, 4.0))
    texts = ("seizure", "heart attach", "zebra")
    plain = list(EmbeddingLinker(kb, FOLDER).link(asked(*texts), k=2))
    found = list(linker.link(asked(*texts), k=2))
    assert [p.candidates for p in found] == [p.candidates for p in plain]
    leads = [p.candidates[0].score - p.candidates[1].score for p in plain]
    expected = [1 / (1 + math.exp(1 - 4 * math.sqrt(lead))) for lead in leads]
    assert [p.probability for p in found] == pytest.approx(expected)
    assert [p.abstained for p in found] == [probability < 0.5 for probability in expected]
    assert {p.abstained for p in found} == {True, False}
    for level in ("concept", "name"):
        one, many = (list(linker.link(asked(*texts), k=k, level=level)) for k in (1, 5))
        assert [p.probability for p in one] == [p.probability for p in many]
        assert [[c.rank for c in p.candidates] for p in one] == [[1]] * 3


def test_a_threshold_of_the_callers_is_the_only_one(kb, calibrated):
    linker = EmbeddingLinker(kb, calibrated(-20.0, 0.0, 0.0))
    found = {t: [p.abstained for p in linker.link(asked("seizure"), threshold=t)] for t in (None, 0.0, 0.9)}
    assert found == {None: [True], 0.0: [False], 0.9: [False]}
    again = pickle.loads(pickle.dumps(linker))
    assert [p.abstained for p in again.link(asked("seizure"))] == [True]


def test_texts_without_a_known_token_are_near_nothing(kb):
    """All of them look the same to an encoder, so that any of them would have the cosine 1."""
    linker = EmbeddingLinker(kb, FOLDER)
    ranking = linker.rank([query("漢字"), query("?!"), query(""), query("seizure")], 6)
    assert (ranking.rows[:3] == NO_ROW).all()
    unknown = {kb.row("症候群"), kb.row("!!")} - {None}
    assert unknown
    assert not unknown & set(ranking.rows[3].tolist())


def test_an_abbreviation_that_the_text_defines_is_encoded_in_full(kb):
    text = "Prader-Willi syndrom (PWS) is rare. PWS"
    encoder = Counting()
    linker = EmbeddingLinker(kb, encoder)
    encoder.texts.clear()
    ranking = linker.rank([query("PWS", text), query("PWS")], 1)
    assert encoder.texts == ["Prader-Willi syndrom", "PWS"]
    assert ranking.rows[0, 0] == kb.row("prader willi syndrome")


def test_progress_is_told(kb, monkeypatch):
    monkeypatch.setattr(building, "_PART", 4)
    told = []
    EmbeddingLinker(kb, FOLDER, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 6), (4, 6), (6, 6)]
    EmbeddingLinker(kb, FOLDER, progress=lambda done, total: told.append((done, total)))
    assert len(told) == 3


def test_a_build_that_was_ended_goes_on_where_it_stood(kb, monkeypatch):
    monkeypatch.setattr(building, "_PART", 2)

    class Ended(Counting):
        def encode(self, texts, batch_size=64):
            if len(self.texts) == 4:
                raise KeyboardInterrupt
            return super().encode(texts, batch_size)

    with pytest.raises(KeyboardInterrupt):
        EmbeddingLinker(kb, Ended())
    encoder = Counting()
    again = EmbeddingLinker(kb, encoder)
    assert encoder.texts == [*kb.surfaces()][4:]
    assert len(files()) == 1
    whole = EmbeddingLinker(kb, FOLDER)
    asked = [query("seizure"), query("heart")]
    assert all(np.array_equal(a, b) for a, b in zip(again.rank(asked, 5), whole.rank(asked, 5), strict=True))


KILLED = """
import os, sys
from nomina.encoders.onnx import OnnxEncoder
from nomina.index import building
from nomina.kb.store import KnowledgeBase
from nomina.linkers.embedding import EmbeddingLinker

building._PART = 2
def killed(done, total):
    if done == 4:
        os.kill(os.getpid(), 9)
EmbeddingLinker(KnowledgeBase.open(sys.argv[1]), sys.argv[2], progress=killed)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_build_that_was_killed_goes_on_where_it_stood(kb, monkeypatch):
    done = subprocess.run([sys.executable, "-c", KILLED, str(kb.path), str(FOLDER)])
    assert done.returncode == -9
    monkeypatch.setattr(building, "_PART", 2)
    encoded = []
    encode = OnnxEncoder.encode
    monkeypatch.setattr(OnnxEncoder, "encode", lambda self, texts: (encoded.extend(texts), encode(self, texts))[1])
    linker = EmbeddingLinker(kb, FOLDER)
    assert encoded == [*kb.surfaces()][4:]
    assert linker.rank([query("seizure")], 1).rows[0, 0] == kb.row("seizure")
    assert len(files()) == 1


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_a_later_version_of_a_kb_encodes_only_its_tail(make_kb, tmp_path, kind):
    old = make_kb({"C:1": ("Heart attack", "MI"), "C:2": "Seizure"})
    first, second, third = Counting(), Counting(), Counting()
    EmbeddingLinker(old, first, index=kind)
    new = add(old, tmp_path / "new.kb", [Entity("C:9", (Name("Ataxia"), Name("Chorea")))]).kb
    assert old.fingerprint in new.lineage
    grown = EmbeddingLinker(new, second, index=kind)
    assert second.texts == ["Ataxia", "Chorea"]
    shutil.rmtree(home() / "embeddings")
    anew = EmbeddingLinker(new, third, index=kind)
    assert len(third.texts) == 5
    for one, other in zip(
        grown.rank([query("ataxia"), query("mi")], 5), anew.rank([query("ataxia"), query("mi")], 5), strict=True
    ):
        assert np.array_equal(one, other)


def test_a_damaged_older_version_is_not_used(make_kb, tmp_path):
    old = make_kb({"C:1": "Heart attack"})
    EmbeddingLinker(old, Counting())
    (path,) = (home() / "embeddings").glob("*.int8.*1")
    path.write_bytes(path.read_bytes()[:-7])
    new = add(old, tmp_path / "new.kb", [Entity("C:9", (Name("Ataxia"),))]).kb
    encoder = Counting()
    EmbeddingLinker(new, encoder)
    assert encoder.texts == ["Heart attack", "Ataxia"]


def test_another_encoder_has_vectors_of_its_own(kb):
    EmbeddingLinker(kb, FOLDER)
    other = Counting()
    EmbeddingLinker(kb, other)
    EmbeddingLinker(kb, other, index="float16")
    assert len(other.texts) == 12
    assert len(files()) == 3


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_every_index_answers_alike(kb, kind):
    ranking = EmbeddingLinker(kb, FOLDER, index=kind).rank([query("seizures"), query("heart attach")], 2)
    exact = EmbeddingLinker(kb, FOLDER, index="float32").rank([query("seizures"), query("heart attach")], 2)
    assert np.array_equal(ranking.rows, exact.rows)
    assert ranking.scores == pytest.approx(exact.scores, abs=1e-3)


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["faiss-flat", "faiss-hnsw", "faiss-ivfpq"])
def test_faiss_is_made_of_the_same_vectors(kb, kind):
    pytest.importorskip("faiss")
    encoder = Counting()
    EmbeddingLinker(kb, encoder)
    encoder.texts.clear()
    linker = EmbeddingLinker(kb, encoder, index=kind)
    assert encoder.texts == []
    exact = EmbeddingLinker(kb, encoder).rank([query("seizure")], 3)
    found = linker.rank([query("seizure")], 3)
    assert found.rows[0, 0] == exact.rows[0, 0]
    if kind != "faiss-ivfpq":
        assert found.scores[0] == pytest.approx(exact.scores[0], abs=1e-5)


def test_it_says_what_it_lacks(kb):
    with pytest.raises(UsageError, match="no index 'annoy'"):
        EmbeddingLinker(kb, FOLDER, index="annoy")
    with pytest.raises(ArtifactError, match="holds no encoder"):
        EmbeddingLinker(kb, kb.path.parent)

    class Bare(Counting):
        fingerprint = None

    with pytest.raises(UsageError, match="Bare has no fingerprint"):
        EmbeddingLinker(kb, Bare())
    with pytest.raises(UsageError, match="save it and name its folder"):
        pickle.dumps(EmbeddingLinker(kb, Counting()))


def test_another_encoder_in_the_folder_is_noticed(kb, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "encoder")
    pickled = pickle.dumps(EmbeddingLinker(kb, tmp_path / "encoder"))
    assert pickle.loads(pickled).rank([query("seizure")], 1).rows[0, 0] == kb.row("seizure")
    manifest = tmp_path / "encoder" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"length": 40', '"length": 39'), encoding="utf-8")
    with pytest.raises(ArtifactError, match="is another encoder than before: make the linker again"):
        pickle.loads(pickled)


def test_the_table_of_rules_ends_with_models():
    assert [rule.label for rule in itertools.islice(reversed(Rule), 3)] == ["generative", "embedding", "tfidf"]
