"""Phrases judged by an encoder: which names they may be, how likely, which of them stay, what predictions say."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from pathlib import Path

import pytest
from linker_cases import ENCODER, needs_shipped
from word_encoder import WordEncoder

from nomina.artifact import Artifact
from nomina.detect import Detector
from nomina.encoders.onnx import KIND
from nomina.errors import ArtifactError, UsageError
from nomina.kb.store import KnowledgeBase
from nomina.linkers.cascade import CascadeLinker
from nomina.pipeline import Pipeline, load
from nomina.proposals import MODEL, PHENOTYPES, Judged, Rated, SpanLinker, SpanModel, select
from nomina.spans import Proposal, propose
from nomina.types import Document, Mention

NAMES = {
    "A:1": "Hearing abnormality",
    "A:2": "Short lower limbs",
    "A:3": ("Thin cortex", "Cortex thinning"),
    "A:4": "Skin abnormality",
    "A:5": "Lung cyst",
    "A:6": "Pale dry skin",
    "A:7": ("Auditory elbow", "Breathing elbow", "White elbow", "Thick elbow"),  # so that their first words are known
}
ALIKE = {"hearing auditory": 0.8, "skin cutaneous": 0.9, "thin thick": 0.9, "lung breathing": 0.55, "pale white": 0.45}
SURE = SpanModel((-5.0, 10.0, -1.0), 0.5)


@pytest.fixture(scope="module")
def kb(make_kb) -> KnowledgeBase:
    return make_kb(NAMES, types={"A:4": ["skin"], "A:1": ["ear"]})


def span_linker(kb: KnowledgeBase, model: SpanModel = SURE, **options: object) -> SpanLinker:
    return SpanLinker(CascadeLinker(kb, WordEncoder(ALIKE), index="float32"), model, **options)


def found(linker: SpanLinker, text: str) -> list[tuple[str, str]]:
    return [(p.mention.text, p.candidates[0].entity_id) for p in linker.link([Document("d", text)])[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auditory signs", [("auditory signs", "A:1")]),  # a counterpart, and a vague noun
        ("The lower limbs were examined.", []),  # nothing in the phrase says "short"
        ("short lower limbs", []),  # the dictionary's
        ("cutaneous signs", [("cutaneous signs", "A:4")]),
        ("thick cortex", []),  # the opposite, however near
        ("breathing cyst", [("breathing cyst", "A:5")]),
        ("lung cyst of the skin", []),  # what is more in the phrase has no counterpart
        ("white dry skin", []),  # 0.45 is too far for a word of a name
        ("lung skin", []),  # "skin" is no abnormality
        ("", []),
    ],
)
def test_each_word_needs_its_counterpart(kb: KnowledgeBase, text: str, expected: list[tuple[str, str]]) -> None:
    assert found(span_linker(kb), text) == expected


MURMURS = {
    "M:1": "Systolic heart murmur",
    "M:2": "Late systolic murmur",
    "M:3": "Midsystolic murmur",
    "M:4": "Speed's test",
    "M:5": "Severe skin rash",
    "M:6": "Abnormality of the urinary system",
    "M:7": "Simple liver cyst",
    "M:8": "Simple kidney cyst",
    "M:9": ("Abnormality of the heart", "Abnormality of the liver", "Abnormality of the kidney"),
    "M:10": ("Rapid pulse", "Marked pulse", "Systolic pulse", "Diastolic pulse"),
}
MURMURS_ALIKE = {
    "midsystolic systolic": 0.9,
    "speed rapid": 0.9,
    "severe marked": 0.9,
    "rash eruption": 0.9,
    "late diastolic": 0.9,
    "systolic diastolic": 0.9,
}


@pytest.fixture(scope="module")
def murmurs(make_kb) -> SpanLinker:
    kb = make_kb(MURMURS, parents={"M:2": ["M:1"], "M:3": ["M:1"]})
    return SpanLinker(CascadeLinker(kb, WordEncoder(MURMURS_ALIKE), index="float32"), SURE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # "late" and "mid" are not said; that a murmur is the heart's need not be, as "late systolic murmur" shows
        ("A systolic murmur.", [("systolic murmur", "M:1")]),
        ("A diastolic murmur.", []),  # the opposite of "systolic", with "mid" before it or not
        ("A rapid test.", []),  # nobody's name
        ("Marked skin rash.", []),  # "severe" is severe
        ("Urinary problems.", [("Urinary problems", "M:6")]),  # of the system is not said
        ("Simple cyst.", []),  # the liver's or the kidney's
    ],
)
def test_what_narrows_a_name_down_must_be_said(murmurs: SpanLinker, text: str, expected: list[tuple[str, str]]) -> None:
    assert found(murmurs, text) == expected


def test_an_organ_is_implied_only_where_a_narrower_name_goes_without(make_kb) -> None:
    names = {id: MURMURS[id] for id in ("M:1", "M:9", "M:10")}
    alone = make_kb(names)
    assert found(span_linker(alone), "A systolic murmur.") == []
    other = make_kb(names | {"M:2": MURMURS["M:2"]})
    assert found(span_linker(other), "A systolic murmur.") == []  # not under it
    under = make_kb(names | {"M:2": MURMURS["M:2"]}, parents={"M:2": ["M:1"]})
    assert found(span_linker(under), "A systolic murmur.") == [("systolic murmur", "M:1")]


def test_what_a_hit_is_made_of(kb: KnowledgeBase) -> None:
    linker = span_linker(kb)
    (proposal,) = propose("auditory signs", [], linker.known)
    (hits,) = linker.hits([proposal], 0.0)
    assert [hit.row for hit in hits] == [kb.row("hearing abnormality")]
    assert hits[0].cosine == pytest.approx((0.8 + 1) / 2, abs=1e-6)  # "auditory abnormality", two words each
    assert hits[0].missing == pytest.approx(0.2, abs=1e-6)
    assert linker.hits([proposal], 0.95) == [[]]
    assert linker.hits([], 0.0) == []


def test_the_probability_is_a_logistic_function() -> None:
    assert SURE.probability(0.9, 0.2) == pytest.approx(1 / (1 + math.exp(-(-5 + 9 - 0.2))))
    assert SURE.least_cosine() == pytest.approx(0.5)
    assert SURE.probability(SURE.least_cosine(), 0.0) == pytest.approx(SURE.threshold)


def test_a_prediction_says_why_and_how_likely(kb: KnowledgeBase) -> None:
    text = "She has auditory signs."
    ((prediction,),) = span_linker(kb).link([Document("note", text)])
    assert (prediction.document_id, prediction.mention) == ("note", Mention(((8, 22),), "auditory signs"))
    (candidate,) = prediction.candidates
    assert (candidate.name, candidate.rule, candidate.rank) == ("Hearing abnormality", "embedding", 1)
    assert candidate.score == 0.9  # the cosine, as everywhere under the rule
    assert prediction.probability == round(SURE.probability(0.9, 0.2), 6)
    assert not prediction.abstained
    ((doubted,),) = span_linker(kb).link([Document("note", text)], threshold=0.91)
    assert (doubted.abstained, doubted.candidates) == (True, prediction.candidates)
    for floor in (0.0, 0.9):
        assert span_linker(kb).link([Document("note", text)], threshold=floor) == [[prediction]]


def test_candidates_stand_by_probability_and_score_by_cosine(make_kb) -> None:
    names = {"A:1": "Hearing abnormality", "A:2": "Auric system abnormality", "A:3": ("Auditory elbow", "Auric elbow")}
    alike = {"auric hearing": 0.9}
    linker = SpanLinker(CascadeLinker(make_kb(names), WordEncoder(alike), index="float32"), SpanModel((0, 1, -9), 0.1))
    ((prediction,),) = linker.link([Document("d", "auric signs")])
    given = [(c.entity_id, c.rank, c.score) for c in prediction.candidates]
    near = 2 / math.sqrt(2 * 3)  # two words of three, "system" need not be said
    assert given == [("A:2", 1, pytest.approx(near, abs=1e-6)), ("A:1", 2, pytest.approx(0.95, abs=1e-6))]
    assert prediction.probability == pytest.approx(1 / (1 + math.exp(-near)), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("low blood sodium", [("low blood sodium", "Q:1")]),
        ("increased serum ammonia", [("increased serum ammonia", "Q:2")]),
        ("blood sodium", []),
        ("high blood sodium", []),
    ],
)
def test_words_of_measuring_need_not_be_said(make_kb, text: str, expected: list[tuple[str, str]]) -> None:
    kb = make_kb({"Q:1": "Low blood sodium level", "Q:2": "Increased plasma ammonia"})
    assert found(span_linker(kb, SpanModel((-4.0, 10.0, -1.0), 0.5)), text) == expected


def test_phrases_that_touch_a_mention_are_not_asked(kb: KnowledgeBase) -> None:
    linker = span_linker(kb)
    text = "auditory signs and cutaneous signs"
    document = Document("d", text, (Mention(((9, 14),), "signs"),))
    assert [p.mention.text for p in linker.link([document])[0]] == ["cutaneous signs"]
    assert [len(p) for p in linker.link([document, Document("e", text), Document("f", "")])] == [1, 2, 0]


def test_the_encoder_is_asked_for_nothing_where_there_is_no_phrase(kb: KnowledgeBase) -> None:
    linker = span_linker(kb)
    encoder = linker.linker.embedding.encoder
    encoder.texts.clear()
    assert linker.link([Document("d", "The patient was well.")]) == [[]]
    assert encoder.texts == []


def test_the_likeliest_of_overlapping_phrases_stays() -> None:
    def judged(probability: float, *spans: tuple[int, int]) -> Judged:
        return Judged(Proposal(spans, "", ()), (Rated(probability, 0.9, 0),))

    outer, inner, apart = judged(0.6, (0, 20)), judged(0.8, (5, 20)), judged(0.5, (20, 30))
    assert select([outer, inner, apart]) == [inner, apart]
    listed, last = judged(0.6, (0, 6), (22, 27)), judged(0.9, (12, 27))
    assert select([last, listed]) == [listed, last]  # they share "signs"
    assert select([]) == []


def test_filters_and_phenotypes(kb: KnowledgeBase, make_kb) -> None:
    text = "auditory signs and cutaneous signs"
    assert found(span_linker(kb, within=kb.subset(types=["ear"])), text) == [("auditory signs", "A:1")]
    tree = make_kb(
        {PHENOTYPES: "Ear abnormality", **{id: NAMES[id] for id in ("A:1", "A:4", "A:7")}},
        parents={"A:1": [PHENOTYPES]},
    )
    assert found(span_linker(tree), text + ", otic signs") == [("auditory signs", "A:1")]  # not the root, not A:4


def test_names_are_given_with_all_their_owners(make_kb) -> None:
    kb = make_kb({"A:1": NAMES["A:1"], "A:2": NAMES["A:1"], "A:3": NAMES["A:7"]})
    ((prediction,),) = span_linker(kb).link([Document("d", "auditory signs")])
    assert [(c.entity_id, c.rank) for c in prediction.candidates] == [("A:1", 1), ("A:2", 1)]
    assert prediction.ambiguous
    ((first,),) = span_linker(kb).link([Document("d", "auditory signs")], k=1, level="name")
    assert [c.entity_id for c in first.candidates] == ["A:1", "A:2"]


def test_a_pipeline_gives_mentions_and_phrases_in_order_and_context(kb: KnowledgeBase) -> None:
    spans = span_linker(kb)
    pipeline = Pipeline(spans.linker, Detector(spans.linker.dictionary.lexicon), spans=spans)
    text = "A lung cyst and thin cortex. No auditory signs. Her mother has cutaneous signs."
    given = Document("given", text, (Mention(((2, 11),), "lung cyst"),))
    predictions = list(pipeline.link([Document("a", text), given, Document("b", ""), Document("c", text)]))
    shown = [(p.document_id, p.mention.text, p.negated, p.experiencer, p.candidates[0].rule) for p in predictions]
    once = [
        ("lung cyst", False, "patient", "normalised"),
        ("thin cortex", False, "patient", "normalised"),
        ("auditory signs", True, "patient", "embedding"),
        ("cutaneous signs", False, "family", "embedding"),
    ]
    expected = [("a", *row) for row in once] + [("given", *once[0])] + [("c", *row) for row in once]
    assert shown == expected


def test_phrases_and_mentions_are_only_thought_of_alike(kb: KnowledgeBase) -> None:
    spans = span_linker(kb)
    pipeline = Pipeline(spans.linker, Detector(spans.linker.dictionary.lexicon), spans=spans)
    text = "Risk of auditory signs and lung cyst. CT to rule out cutaneous signs. It may cause thin cortex. Lung cyst."
    shown = [(p.mention.text, p.hypothetical) for p in pipeline.link_text(text)]
    feared = [("auditory signs", True), ("lung cyst", True), ("cutaneous signs", True), ("thin cortex", True)]
    assert shown == [*feared, ("Lung cyst", False)]


def test_a_model_is_written_beside_its_encoder_and_read(tmp_path: Path) -> None:
    artifact = Artifact.open(shutil.copytree(ENCODER, tmp_path / "model"), KIND)
    assert SpanModel.read(artifact) is None
    SURE.write(artifact)
    assert SpanModel.read(artifact) == SURE
    assert Artifact.open(artifact.folder, KIND).fingerprint == artifact.fingerprint


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "no model of spans of version 1"),
        ({"model": "0"}, "fitted for another encoder"),
        ({"weights": [1.0, 2.0]}, "damaged"),
        ({"weights": [1.0, -2.0, 0.0]}, "damaged"),
        ({"weights": [1.0, 2.0, float("nan")]}, "damaged"),
        ({"threshold": 1.0}, "damaged"),
        ({"threshold": "high"}, "damaged"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path: Path, change: dict[str, object], why: str) -> None:
    artifact = Artifact.open(shutil.copytree(ENCODER, tmp_path / "model"), KIND)
    SURE.write(artifact)
    path = artifact.folder / MODEL
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(ArtifactError, match=why):
        SpanModel.read(artifact)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ArtifactError, match="cannot be read"):
        SpanModel.read(artifact)


def test_load_uses_it_for_phenotypes_or_where_it_is_wanted(kb: KnowledgeBase, make_kb, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ENCODER, tmp_path / "model"))
    tree = make_kb({PHENOTYPES: "Phenotypic abnormality"})
    assert load(folder, tree).spans is None
    with pytest.raises(UsageError, match=r"spans\.json"):
        load(folder, tree, spans=True)
    SURE.write(Artifact.open(folder, KIND))
    assert load(folder, tree).spans is not None
    assert load(folder, tree, spans=False).spans is None
    assert load(folder, kb).spans is None
    wanted = load(folder, kb, spans=True).spans
    assert wanted is not None
    assert wanted.model == SURE
    assert load("dictionary", tree).spans is None
    with pytest.raises(UsageError, match=r"spans\.json"):
        load("dictionary", tree, spans=True)


def test_it_goes_to_another_process(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ENCODER, tmp_path / "model"))
    SURE.write(Artifact.open(folder, KIND))
    pipeline = load(folder, kb, spans=True, types="skin")
    again = pickle.loads(pickle.dumps(pipeline))
    assert again.spans.model == SURE
    text = "hearing abnormalities and a cutaneous problem with the skin"
    assert list(again.link([Document("d", text)])) == list(pipeline.link([Document("d", text)]))


@needs_shipped
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A grade 2 systolic murmur was heard.", [("systolic murmur", "HP:0031664")]),
        ("There was a diastolic murmur.", []),
        ("COVID rapid test positive.", []),
        ("Deteriorating renal function.", []),
        ("She has urinary problems.", [("urinary problems", "HP:0000079")]),
    ],
)
def test_phrases_of_the_full_hpo(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(p.mention.text, p.candidates[0].entity_id) for p in load().link_text(text)] == expected
