"""The default linker: who answers what, how likely it is, when the encoder is opened; contract tests cover ranks."""

import json
import math
import multiprocessing
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from linker_cases import ENCODER, needs_shipped
from word_encoder import WordEncoder

import nomina
from nomina import encoders
from nomina.artifact import Artifact
from nomina.encoders.onnx import KIND, OnnxEncoder
from nomina.errors import ArtifactError, UsageError
from nomina.linkers.base import NO_ROW, Rule
from nomina.linkers.calibration import Calibration
from nomina.linkers.cascade import CONTRARY, NARROWER, CascadeLinker
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.embedding import EmbeddingLinker
from nomina.types import Document, Mention, Query

NAMES = {
    "C:1": ("Heart attack", "fit"),
    "C:2": ("Seizure", "fit"),
    "C:3": "Prader-Willi syndrome",
    "C:4": "Short stature",
}
SURE, UNSURE = (20.0, 0.0, 0.0), (-20.0, 0.0, 0.0)
RULES = {rule: 0.9 for rule in ("exact", "normalised", "inflection", "abbreviation")}


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(NAMES, types={"C:4": ["sign"]})


@pytest.fixture
def model(tmp_path):
    """A function that gives the tiny encoder with a calibration."""

    def make(weights, rules=RULES):
        folder = Path(shutil.copytree(ENCODER, tmp_path / "model", dirs_exist_ok=True))
        Calibration(weights, rules).write(Artifact.open(folder, KIND))
        return folder

    return make


def queries(*texts):
    return [Query(Document("d", text), Mention(((0, len(text)),), text)) for text in texts]


def documents(*texts):
    return [Document(str(i), text, (Mention(((0, len(text)),), text),)) for i, text in enumerate(texts)]


def test_the_dictionary_answers_what_it_knows_and_the_encoder_the_rest(kb):
    asked = queries("seizures", "heart attach", "SHORT STATURE", "漢字")
    linker = CascadeLinker(kb, ENCODER)
    ranking = linker.rank(asked, 4)
    own, near = DictionaryLinker(kb).rank(asked, 4), EmbeddingLinker(kb, ENCODER).rank(asked, 4)
    for i, expected in enumerate([own, near, own, near]):
        assert ranking.rows[i].tolist() == expected.rows[i].tolist()
        assert ranking.scores[i].tolist() == expected.scores[i].tolist()
    labels = [Rule(rule).label for rule in ranking.rules[:, 0].tolist()]
    assert labels[:3] == ["inflection", "embedding", "normalised"]
    assert (ranking.rows[0, 1:] == NO_ROW).all()  # a hit is not filled up
    assert (ranking.rows[3] == NO_ROW).all()
    assert ranking.rows[1, 0] == kb.row("heart attack")


def test_a_name_that_is_narrower_than_the_mention_is_put_lower(make_kb):
    kb = make_kb({"C:1": "Late systolic murmur", "C:2": "Systolic heart murmur", "C:3": "Severe late murmur"})
    linker = CascadeLinker(kb, WordEncoder({"murmur murmurr": 0.9}), index="float32")
    row = {id: kb.row(kb[id].name.lower()) for id in kb}
    asked, said = queries("systolic murmurr", "systolic murmurr, late and severe")
    near = linker.embedding.rank([asked], 3)
    assert near.rows[0].tolist() == [row["C:1"], row["C:2"], row["C:3"]]  # two words of three each, one of three
    cosines = [1.9 / 6**0.5, 1.9 / 6**0.5, 0.9 / 6**0.5]
    assert near.scores[0].tolist() == pytest.approx(cosines)
    ranking = linker.rank([asked], 3)
    assert ranking.rows[0].tolist() == [row["C:2"], row["C:1"], row["C:3"]]
    lower = [cosines[1], cosines[0] - NARROWER, cosines[2] - 2 * NARROWER]
    assert ranking.scores[0].tolist() == pytest.approx(lower)
    assert linker.rank([asked], 1).rows.tolist() == [[row["C:2"]]]
    for own, other in zip(linker.rank([said], 3), linker.embedding.rank([said], 3), strict=True):
        assert own.tolist() == other.tolist()


def test_what_is_known_and_filtered_out_is_not_given_to_the_encoder(kb):
    signs = kb.subset(types=["sign"])
    linker = CascadeLinker(kb, ENCODER)
    known, unknown = linker.link(documents("seizure", "shert stature"), within=signs)
    assert (known.candidates, known.abstained) == ((), True)
    assert [candidate.entity_id for candidate in unknown.candidates] == ["C:4"]


def test_the_encoder_is_opened_when_it_is_needed(kb, monkeypatch):
    opened = []
    start = OnnxEncoder.__init__
    monkeypatch.setattr(OnnxEncoder, "__init__", lambda self, *given: (opened.append(1), start(self, *given))[1])
    linker = nomina.load(ENCODER, kb)
    assert len(linker.link_text("She had a seizure and short stature.")) == 2
    assert linker.link_mentions(["fits", ""])[0].candidates
    pickle.loads(pickle.dumps(linker))
    assert opened == []
    linker.link_mentions(["heart attach"])
    linker.link_mentions(["shert stature"])
    assert opened == [1]


def test_without_a_calibration_there_is_no_probability_and_a_floor_of_cosines(kb):
    linker = CascadeLinker(kb, ENCODER)
    predictions = list(linker.link(documents("seizures", "Prader-Willi syndromes of hearts", "x q z"), k=1))
    assert [p.probability for p in predictions] == [None] * 3
    scores = [p.candidates[0].score for p in predictions[1:]]
    assert scores[0] > 0.8 > scores[1]
    assert [p.abstained for p in predictions] == [False, False, True]


def test_probability_decides_about_an_encoders_answer_and_not_about_the_dictionarys(kb, model):
    for weights, expected in ((SURE, False), (UNSURE, True)):
        linker = CascadeLinker(kb, model(weights, {"inflection": 0.25}))
        own, near = linker.link(documents("seizures", "heart attach"))
        assert (own.probability, own.abstained) == (0.25, False)
        assert near.probability == pytest.approx(1 / (1 + math.exp(-weights[0])))
        assert near.abstained is expected


def test_a_threshold_of_the_callers_is_a_floor_of_scores_and_the_only_one(kb, model):
    linker = CascadeLinker(kb, model(UNSURE))
    for threshold, expected in ((0.0, [False, False]), (0.98, [True, True]), (0.96, [True, False])):
        predictions = list(linker.link(documents("seizures", "heart attach"), threshold=threshold))
        assert [p.abstained for p in predictions] == expected
        assert predictions[1].probability < 0.5


def test_a_tie_of_the_dictionary_shares_its_probability(kb, model):
    (prediction,) = CascadeLinker(kb, model(SURE)).link(documents("fit"), k=1)
    assert [candidate.entity_id for candidate in prediction.candidates] == ["C:1", "C:2"]
    assert prediction.ambiguous
    assert prediction.probability == 0.45


@pytest.mark.parametrize("level", ["concept", "name"])
def test_probabilities_do_not_depend_on_k(kb, model, level):
    linker = CascadeLinker(kb, model((-1.0, 1.0, 2.0)))
    asked = documents("heart attach", "shert stature", "fits")
    wide, narrow = (list(linker.link(asked, k=k, level=level)) for k in (5, 1))
    assert [p.probability for p in narrow] == [p.probability for p in wide]
    assert all(0 < p.probability < 1 for p in wide)
    for one, other in zip(narrow, wide, strict=True):
        assert one.candidates == tuple(c for c in other.candidates if c.rank == 1)
        assert len(other.candidates) > len(one.candidates) or other.ambiguous


def test_a_name_that_says_the_opposite_is_put_lower(make_kb):
    kb = make_kb({"C:1": "Deafness in one ear", "C:2": "Deafness in ears", "C:3": "Deaf"})
    linker = CascadeLinker(kb, WordEncoder({"deafness deafnesss": 0.9}), index="float32")
    one, both = kb.row("deafness in one ear"), kb.row("deafness in ears")
    (asked,) = queries("deafnesss in both ear")
    cosines = dict(zip(*(part[0].tolist() for part in linker.embedding.rank([asked], 3)[:2]), strict=True))
    assert cosines[one] > cosines[both]
    found = dict(zip(*(part[0].tolist() for part in linker.rank([asked], 3)[:2]), strict=True))
    assert found[one] == pytest.approx(cosines[one] - CONTRARY)
    assert found[both] == pytest.approx(cosines[both])
    assert linker.rank([asked], 1).rows.tolist() == [[both]]


def test_many_bare_texts_are_scored_at_once(kb):
    linker = CascadeLinker(kb, ENCODER)
    ranking = linker.embedding.nearest(["heart attach", "", "heart attach", "seizur"], 2)
    assert ranking.rows[[0, 2, 3], 0].tolist() == [kb.row("heart attack")] * 2 + [kb.row("seizure")]
    assert (ranking.rows[1] == NO_ROW).all()
    assert np.array_equal(ranking.scores[0], ranking.scores[2])
    assert ranking.scores[3].tolist() == linker.embedding.rank(queries("seizur"), 2).scores[0].tolist()


def test_another_encoder_in_the_folder_is_noticed_without_opening_it(kb, tmp_path):
    folder = Path(shutil.copytree(ENCODER, tmp_path / "encoder"))
    pickled = pickle.dumps(CascadeLinker(kb, folder))
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"length": 40', '"length": 39'), encoding="utf-8")
    with pytest.raises(ArtifactError, match="is another encoder than before: make the linker again"):
        pickle.loads(pickled)


def test_an_encoder_in_memory(kb):
    linker = CascadeLinker(kb, OnnxEncoder(ENCODER))
    assert linker.rank(queries("heart attach"), 1).rows[0, 0] == kb.row("heart attack")
    assert linker.calibration is None


def test_one_function_opens_every_folder(kb):
    encoder = encoders.load(ENCODER)
    assert isinstance(encoder, OnnxEncoder)
    assert encoders.is_exported(ENCODER)
    assert not encoders.is_exported(kb.path.parent)


def test_load_takes_the_folder_of_an_encoder(kb, tmp_path):
    linker = nomina.load(str(ENCODER), kb).linker
    assert isinstance(linker, CascadeLinker)
    assert linker.embedding.encoder.folder == ENCODER
    with pytest.raises(ArtifactError, match="holds no encoder"):
        nomina.load(tmp_path, kb)
    with pytest.raises(UsageError, match=r"no linker 'neural'; there are: cascade, .*, or the folder of an encoder$"):
        nomina.load("neural", kb)


def test_progress_is_told_once(make_kb):
    told = []
    linker = nomina.load(ENCODER, make_kb({"P:1": "Progress"}), progress=lambda done, total: told.append((done, total)))
    linker.link_mentions(["Progress"])
    assert told == []
    linker.link_mentions(["progres", "progrss"])
    assert told == [(0, 1), (1, 1)]


def encoded_by(kb, folder, barrier, counts):
    """Link in a process of its own; how many names it encoded."""
    told = []
    barrier.wait()
    linker = CascadeLinker(kb, folder, progress=lambda done, total: told.append(done))
    assert linker.rank(queries("names 17"), 1).rows[0, 0] != NO_ROW
    counts.put(max(told, default=0))


def test_two_processes_that_want_the_same_vectors_make_them_once(make_kb):
    made = make_kb({f"N:{i}": f"Heart seizure {i}" for i in range(300)})
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(2), context.Queue()
    processes = [context.Process(target=encoded_by, args=(made, ENCODER, barrier, counts)) for _ in range(2)]
    for process in processes:
        process.start()
    assert sorted(counts.get(timeout=60) for _ in processes) == [0, 300]
    for process in processes:
        process.join()
        assert process.exitcode == 0


def test_a_missing_encoder_is_one_line(kb, monkeypatch, tmp_path):
    monkeypatch.setattr(encoders, "__file__", str(tmp_path / "nomina" / "encoders" / "__init__.py"))
    with pytest.raises(ArtifactError, match=r"^the encoder that nomina comes with is missing \(.*\): install nomina"):
        nomina.load(kb=kb)
    assert nomina.load("dictionary", kb).link_text("a seizure")


# The encoder that nomina comes with


@needs_shipped
def test_the_default_is_the_cascade_with_the_shipped_encoder(kb):
    linker = nomina.load(kb=kb).linker
    assert isinstance(linker, CascadeLinker)
    assert linker.state()["encoder"] == str(encoders.shipped())
    assert nomina.load("embedding", kb).linker.encoder.folder == encoders.shipped()


@needs_shipped
def test_the_shipped_encoder_is_small_and_whole():
    folder = encoders.shipped()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 14e6
    vectors = OnnxEncoder(folder).encode(["heart attack", "", "myocardial infarction"])
    assert vectors[0] @ vectors[2] > 0.5
    calibration = folder / "calibration.json"
    if calibration.exists():
        assert Calibration.read(Artifact.open(folder, KIND)) is not None


@needs_shipped
def test_texts_of_dictionary_hits_load_no_model_runtime(kb):
    program = (
        f"import sys, nomina; found = nomina.load(kb={str(kb.path)!r}).link_text('Seizures, short stature.')\n"
        "import json\n"
        "print(json.dumps([len(found), sorted({'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules))]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [2, []]


@needs_shipped
def test_a_bare_mention_that_denies_itself_is_negated():
    denied, absent, plain = nomina.load().link_mentions(["no ataxia", "no hair on the scalp at all", "an ataxia"])
    assert denied.candidates[0].entity_id == "HP:0001251"
    assert denied.negated
    assert not absent.negated
    assert not plain.negated
