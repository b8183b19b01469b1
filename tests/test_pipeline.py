"""The main job: texts, documents and bare mentions in, predictions out."""

from __future__ import annotations

import multiprocessing
from itertools import islice

import numpy as np
import pytest
from linker_cases import load_linker

import nomina
from nomina import detect
from nomina.errors import KnowledgeBaseError, UsageError
from nomina.kb.store import KnowledgeBase
from nomina.linkers import LINKERS
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.tfidf import TfidfLinker
from nomina.pipeline import Pipeline, load
from nomina.types import Document, Mention, Prediction


@pytest.fixture(scope="module")
def kb(make_kb) -> KnowledgeBase:
    return make_kb(
        {
            "A:1": "Abnormality",
            "A:2": ("Seizure", "Fit"),
            "A:3": "Short stature",
            "A:4": "Ataxia",
            "A:5": ("Fitness", "Fit"),
            "A:6": "Breast cancer",
            "A:7": "Ovarian cancer",
            "A:8": "Febrile seizure",
        },
        parents={"A:2": ("A:1",), "A:3": ("A:1",), "A:8": ("A:2",)},
        types={"A:2": ("symptom",), "A:8": ("symptom",), "A:3": ("sign",)},
    )


@pytest.fixture(scope="module")
def linker(kb: KnowledgeBase) -> Pipeline:
    return load("dictionary", kb)


def shown(predictions: list[Prediction]) -> list[tuple[str, str]]:
    return [(p.mention.text, p.candidates[0].entity_id) for p in predictions]


def test_a_text_is_linked_with_offsets(linker: Pipeline) -> None:
    text = "She has SHORT STATURE and had two seizures."
    first, second = linker.link_text(text, "note-1")
    assert (first.document_id, first.mention) == ("note-1", Mention(((8, 21),), "SHORT STATURE"))
    assert (second.document_id, second.mention) == ("note-1", Mention(((34, 42),), "seizures"))
    assert shown([first, second]) == [("SHORT STATURE", "A:3"), ("seizures", "A:2")]
    assert [p.candidates[0].rule for p in (first, second)] == ["normalised", "inflection"]


@pytest.mark.parametrize("text", ["", "\n\n", " ", "nothing of note", "\u0000", "😀"])
def test_a_text_without_a_mention_gives_an_empty_list(linker: Pipeline, text: str) -> None:
    assert linker.link_text(text) == []


def test_no_documents_and_no_mentions_give_nothing(linker: Pipeline) -> None:
    assert list(linker.link([])) == linker.link_mentions([]) == []
    assert list(linker.link([Document("a", ""), Document("b", "nothing")])) == []


def test_bare_mentions_give_one_prediction_each_in_order(linker: Pipeline) -> None:
    predictions = linker.link_mentions(["seizures", "unheard-of", "", " ", "Ataxia", "no ataxia"])
    assert [p.document_id for p in predictions] == ["0", "1", "2", "3", "4", "5"]
    assert [p.mention.text for p in predictions] == ["seizures", "unheard-of", "", " ", "Ataxia", "no ataxia"]
    assert [p.abstained for p in predictions] == [False, True, True, True, False, True]
    assert [[c.entity_id for c in p.candidates] for p in predictions] == [["A:2"], [], [], [], ["A:4"], []]
    assert not any(p.negated for p in predictions)


@pytest.mark.parametrize("name", list(LINKERS))
def test_half_a_surrogate_pair_is_a_character_that_nothing_is_called(name: str, kb: KnowledgeBase) -> None:
    linker = load_linker(name, kb)
    nothing, inner, edge = linker.link_mentions(["\ud800", "short\udc00stature", "\ud83d seizure"])
    assert (nothing.candidates, nothing.abstained, nothing.mention) == ((), True, Mention(((0, 1),), "\ud800"))
    assert inner.mention == Mention(((0, 13),), "short\udc00stature")
    assert edge.mention == Mention(((2, 9),), "seizure")
    assert [p.candidates[0].entity_id for p in (inner, edge)] == ["A:3", "A:2"]
    text = "\ud800 seizure\udfff"
    (found,) = linker.link_text(text)
    assert (found.mention, found.candidates[0].entity_id) == (Mention(((2, 9),), "seizure"), "A:2")
    given = Document("d", text, (Mention(((0, len(text)),), text),))
    assert [p.mention for p in linker.link([given])] == [Mention(((0, 10),), text)]


def test_given_mentions_are_linked_and_others_are_not_looked_for(linker: Pipeline) -> None:
    text = "ataxia, fits and seizures"
    given = Document("a", text, (Mention(((8, 12),), "fits"), Mention(((17, 25),), "seizures", "symptom")))
    predictions = list(linker.link([given, Document("b", "ataxia"), given]))
    assert [(p.document_id, p.mention.text) for p in predictions] == [
        ("a", "fits"),
        ("a", "seizures"),
        ("b", "ataxia"),
        ("a", "fits"),
        ("a", "seizures"),
    ]
    assert predictions[1].mention.type == "symptom"
    assert [c.entity_id for c in predictions[0].candidates] == ["A:2", "A:5"]
    assert predictions[0].ambiguous


def test_an_enumeration_is_two_mentions(linker: Pipeline) -> None:
    breast, ovarian = linker.link_text("breast and ovarian cancer")
    assert breast.mention == Mention(((0, 6), (19, 25)), "breast cancer")
    assert ovarian.mention == Mention(((11, 25),), "ovarian cancer")
    assert shown([breast, ovarian]) == [("breast cancer", "A:6"), ("ovarian cancer", "A:7")]


def test_context_says_what_is_denied_and_whose_it_is(kb: KnowledgeBase) -> None:
    text = "No seizures. Her brother has ataxia. She has short stature."
    attributes = [(p.negated, p.experiencer) for p in load("dictionary", kb).link_text(text)]
    assert attributes == [(True, "patient"), (False, "family"), (False, "patient")]
    plain = load("dictionary", kb, context=False).link_text(text)
    assert [(p.negated, p.experiencer) for p in plain] == [(False, "patient")] * 3
    assert shown(plain) == shown(load("dictionary", kb).link_text(text))


def test_predictions_keep_their_place_among_documents_with_and_without_mentions(linker: Pipeline, monkeypatch) -> None:
    monkeypatch.setattr(detect, "_BATCH_DOCUMENTS", 3)
    texts = ["seizures", "", "no ataxia", "nothing", "short stature, ataxia"]
    documents = [
        Document(str(i), texts[i % 5], (Mention(((0, 2),), "fit"),) if i % 7 == 5 and texts[i % 5] else ())
        for i in range(40)
    ]
    predictions = list(linker.link(documents))
    expected = [
        (document.id, mention)
        for document in documents
        for mention in (["fit"] if document.mentions else [p.mention.text for p in linker.link_text(document.text)])
    ]
    assert [(p.document_id, p.mention.text) for p in predictions] == expected
    assert len(expected) > 30
    assert {(p.mention.text, p.negated) for p in predictions if p.mention.text == "ataxia"} == {
        ("ataxia", True),
        ("ataxia", False),
    }


def test_documents_are_read_as_they_are_needed(linker: Pipeline) -> None:
    read = []

    def endless():
        while True:
            read.append(len(read))
            yield Document(str(len(read)), "ataxia")

    assert len(list(islice(linker.link(endless()), 5))) == 5
    assert len(read) < 5000


def test_under_and_types_act_on_what_is_found_and_on_what_is_answered(kb: KnowledgeBase) -> None:
    text = "ataxia, short stature, seizure, fits"
    assert shown(load("dictionary", kb, under=["A:1"]).link_text(text)) == [
        ("short stature", "A:3"),
        ("seizure", "A:2"),
        ("fits", "A:2"),
    ]
    assert shown(load("dictionary", kb, types=["sign"]).link_text(text)) == [("short stature", "A:3")]
    assert shown(load("dictionary", kb, under=["A:2"], types=["symptom"]).link_text(text)) == [
        ("seizure", "A:2"),
        ("fits", "A:2"),
    ]
    (fit,) = load("dictionary", kb, under=["A:2"]).link_mentions(["fit"])
    assert ([c.entity_id for c in fit.candidates], fit.ambiguous) == (["A:2"], False)
    (ataxia,) = load("dictionary", kb, under=["A:2"]).link_mentions(["ataxia"])
    assert ataxia.abstained


def test_overlaps(kb: KnowledgeBase) -> None:
    assert shown(load("dictionary", kb).link_text("febrile seizures")) == [("febrile seizures", "A:8")]
    every = load("dictionary", kb, overlaps="all").link_text("febrile seizures")
    assert shown(every) == [("febrile seizures", "A:8"), ("seizures", "A:2")]


def test_k_and_threshold(kb: KnowledgeBase) -> None:
    (prediction,) = load("tfidf", kb, k=1, threshold=0.99).link_mentions(["short statur"])
    assert (len(prediction.candidates), prediction.abstained) == (1, True)
    (prediction,) = load("tfidf", kb, k=3, threshold=0.1).link_mentions(["short statur"])
    assert (prediction.candidates[0].entity_id, prediction.abstained) == ("A:3", False)
    (prediction,) = load("dictionary", kb, threshold=0.96).link_mentions(["seizures"])
    assert prediction.abstained


def test_two_letters_of_a_text_are_doubted_unless_a_threshold_is_named(make_kb) -> None:
    kb = make_kb({"A:1": ("Myocardial infarction", "MI")})
    for threshold, doubted in ((None, True), (0.0, False), (0.99, False)):
        (prediction,) = load("dictionary", kb, threshold=threshold).link_text("She lives in MI now.")
        assert (prediction.candidates[0].entity_id, prediction.abstained) == ("A:1", doubted)
        (alone,) = load("dictionary", kb, threshold=threshold).link_mentions(["MI"])
        assert not alone.abstained


def test_a_call_may_ask_for_another_k(kb: KnowledgeBase) -> None:
    pipeline = load("tfidf", kb, k=1, threshold=0.1)
    document = Document("d", "breast cancer", (Mention(((0, 13),), "breast cancer"),))

    def counts(**k: int | None) -> list[int]:
        found = [*pipeline.link_mentions(["breast cancer"], **k), *pipeline.link([document], **k)]
        found += pipeline.link_text("Breast cancer.", **k)
        return [len(prediction.candidates) for prediction in found]

    assert counts(k=2) == [2, 2, 2]
    assert counts() == counts(k=None) == [1, 1, 1]
    assert pipeline.link_mentions(["breast cancer"], k=3) == load("tfidf", kb, k=3, threshold=0.1).link_mentions(
        ["breast cancer"]
    )
    for asked in (lambda: pipeline.link_text("x", k=0), lambda: pipeline.link_mentions([], k="2")):
        with pytest.raises(UsageError, match="k must be a whole number from 1 to 1,000"):
            asked()


@pytest.mark.parametrize("name", list(LINKERS))
def test_every_linker_does_the_main_job(name: str, kb: KnowledgeBase) -> None:
    found = load_linker(name, kb).link_text("A febrile seizure; then short stature.")
    assert shown(found) == [("febrile seizure", "A:8"), ("short stature", "A:3")]


def test_load_takes_a_kb_its_file_and_the_name_of_a_linker(kb: KnowledgeBase) -> None:
    assert isinstance(load("dictionary", kb).linker, DictionaryLinker)
    assert isinstance(load("tfidf", kb.path).linker, TfidfLinker)
    assert load("tfidf", str(kb.path)).kb == load("tfidf", kb=kb.path).kb == kb
    assert nomina.load is load


@pytest.mark.parametrize(
    "options", [{}, {"under": ["A:1"], "overlaps": "all", "context": False, "k": 1, "threshold": 0.96}]
)
@pytest.mark.parametrize("name", list(LINKERS))
def test_works_in_spawned_workers(name: str, kb: KnowledgeBase, options: dict) -> None:
    linker = load_linker(name, kb, **options)
    text = "No febrile seizure, fits; breast and ovarian cancer, short stature (SS) and SS."
    expected = linker.link_text(text)
    assert len(expected) >= 4
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(linker.link_text, [text] * 3, chunksize=1) == [expected] * 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"linker": "neural"}, UsageError, "no linker 'neural'; there are: cascade, dictionary, tfidf"),
        ({"linker": "model/none"}, UsageError, "no such folder: model/none; name the folder of an encoder"),
        ({"spans": "yes"}, UsageError, "spans must be True, False or None, not 'yes'"),
        ({"spans": 1}, UsageError, "spans must be True, False or None, not 1"),
        ({"k": 0}, UsageError, "k must be a whole number from 1 to 1,000, not 0"),
        ({"k": 1001, "kb": "missing.kb"}, UsageError, "k must be a whole number from 1 to 1,000, not 1001"),
        ({"k": 2.5}, UsageError, "k must be a whole number from 1 to 1,000, not 2.5"),
        ({"k": "5"}, UsageError, "k must be a whole number from 1 to 1,000, not '5'"),
        ({"threshold": 1.1}, UsageError, "threshold must be a number from 0 to 1, not 1.1"),
        ({"threshold": float("nan")}, UsageError, "threshold must be a number from 0 to 1, not nan"),
        ({"threshold": "0.5"}, UsageError, "threshold must be a number from 0 to 1, not '0.5'"),
        ({"level": "names"}, UsageError, "no level 'names'; there are: concept, name"),
        ({"overlaps": "none"}, UsageError, "overlaps must be one of longest, all, not 'none'"),
        ({"under": ["A:404"]}, KnowledgeBaseError, "A:404"),
        ({"types": ["organ"]}, KnowledgeBaseError, "the KB has no type 'organ'; it has: sign, symptom"),
        ({"kb": "missing.kb"}, KnowledgeBaseError, "missing.kb"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(kb: KnowledgeBase, options: dict, error: type, message: str) -> None:
    with pytest.raises(error) as caught:
        load(**{"linker": "dictionary", "kb": kb, **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("link_mentions", "fever", "link_mentions takes a list of texts, not str: write [...] around"),
        ("link_mentions", None, "link_mentions takes a list of texts, not NoneType: write [...] around"),
        ("link_mentions", ["fever", float("nan")], "mention 1 (from 0) is no text but float"),
        ("link_text", None, "link_text takes one text, not NoneType"),
        ("link_text", ["fever"], "link_text takes one text, not list"),
        ("link", "fever", "link takes nomina.Document objects, not str: link_text takes a text, link_mentions a list"),
        ("link", ["fever"], "link takes nomina.Document objects, not str: link_text takes a text, link_mentions a"),
        ("link", None, "link takes documents, not NoneType: link_text takes a text, link_mentions a list"),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(linker: Pipeline, method: str, given, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        list(getattr(linker, method)(given))
    assert str(caught.value).startswith(message)


def test_numbers_of_numpy_are_numbers(kb: KnowledgeBase) -> None:
    (prediction,) = load("dictionary", kb, k=np.int64(1), threshold=np.float32(0.5)).link_mentions(
        np.array(["seizures"])
    )
    assert [candidate.entity_id for candidate in prediction.candidates] == ["A:2"]


def test_a_misspelt_option_is_refused_by_name(kb: KnowledgeBase) -> None:
    with pytest.raises(TypeError, match="treshold"):
        load("dictionary", kb, treshold=0.5)  # type: ignore[call-arg]


def test_names_may_be_offered_in_place_of_concepts(kb: KnowledgeBase) -> None:
    (prediction,) = load("tfidf", kb, level="name", k=2).link_mentions(["fits"])
    assert [(c.entity_id, c.name, c.rank) for c in prediction.candidates] == [
        ("A:2", "Fit", 1),
        ("A:5", "Fit", 1),
        ("A:5", "Fitness", 2),
    ]
