"""Baselines on small KBs, and their published figures on the corpora beside the checkout."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from nomina.evaluation.baselines import exact_match, tfidf, train_lookup
from nomina.evaluation.ids import IdMap
from nomina.kb.build import BuildOptions, build
from nomina.linkers.dictionary import DictionaryLinker
from nomina.types import Document, Entity, Mention, Name

BENCHMARKS = Path(__file__).resolve().parents[2].parent / "shared" / "benchmarks"
CONCEPTS = {
    "C:1": ["Short stature", "Small stature", "Low stature"],
    "C:2": ["Myocardial infarction", "MI"],
    "C:3": ["Mitral insufficiency", "mi", "Insufficiency of the mitral valve"],
    "C:4": ["Seizure"],
}


@pytest.fixture(scope="module")
def kb(make_kb):
    return make_kb(CONCEPTS)


def document(*texts, gold=(), id="d"):
    """A document of nothing but mentions, one after the other."""
    mentions, text = [], ""
    for mention in texts:
        mentions.append(Mention(((len(text), len(text) + len(mention)),), mention, None, gold))
        text += f"{mention} "
    return Document(id, text, tuple(mentions))


def answers(predictions):
    return [[(c.entity_id, c.rank) for c in p.candidates] for p in predictions]


# Exact match


def test_exact_match_is_the_name_after_normalising_and_nothing_else(kb):
    found = list(exact_match([document("SHORT-stature", "short statures", "heart attack", "seizure")], kb))
    assert answers(found) == [[("C:1", 1)], [], [], [("C:4", 1)]]
    assert [p.abstained for p in found] == [False, True, True, False]
    assert [c.rule for p in found for c in p.candidates] == ["normalised", "normalised"]


def test_exact_match_does_not_read_definitions_of_abbreviations(kb):
    text = "Short stature (XYZ) was seen."
    asked = Document("d", text, (Mention(((15, 18),), "XYZ"),))
    assert answers(exact_match([asked], kb)) == [[]]


def test_homonyms_share_a_rank_unless_the_raw_name_tells_concepts_apart(kb):
    asked = [document("Mi", "MI", "mi")]
    assert answers(exact_match(asked, kb)) == [
        [("C:2", 1), ("C:3", 1)],
        [("C:2", 1), ("C:3", 2)],
        [("C:3", 1), ("C:2", 2)],
    ]
    assert answers(exact_match(asked, kb, "name")) == [
        [("C:2", 1), ("C:3", 1)],
        [("C:2", 1), ("C:3", 1)],
        [("C:3", 1), ("C:2", 1)],
    ]
    assert [p.ambiguous for p in exact_match(asked, kb)] == [True, False, False]


# TF-IDF


def test_concepts_stand_once_names_as_often_as_they_are_like_the_mention(kb):
    (concepts,) = tfidf([document("statures")], kb)
    assert answers([concepts]) == [[("C:1", 1), ("C:4", 2)]]
    (names,) = tfidf([document("statures")], kb, "name")
    assert [c.entity_id for c in names.candidates] == ["C:1", "C:1", "C:1", "C:4"]
    assert sorted(c.name for c in names.candidates[:3]) == ["Low stature", "Short stature", "Small stature"]
    assert [c.rank for c in names.candidates] == [1, 2, 2, 4]  # "Short" and "Small" are as like it
    scores = [c.score for c in names.candidates]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == concepts.candidates[0].score


def test_tfidf_has_no_threshold_and_abstains_where_nothing_is_alike(kb):
    weak, none = tfidf([document("mitrx", "###")], kb)
    assert answers([weak, none]) == [[("C:3", 1), ("C:2", 2)], []]
    assert weak.candidates[0].score < 0.6
    assert (weak.abstained, none.abstained) == (False, True)


def test_names_of_one_score_share_a_rank_and_a_tie_is_whole(make_kb):
    kb = make_kb({"T:1": ["abc x"], **{f"T:{i}": [f"abc {'vwyz'[i - 2]}"] for i in range(2, 6)}, "T:9": ["unlike"]})
    (best,) = tfidf([document("abc x")], kb, "name", k=2)
    assert [c.rank for c in best.candidates] == [1, 2, 2, 2, 2]
    assert [c.entity_id for c in best.candidates] == ["T:1", "T:2", "T:3", "T:4", "T:5"]
    (first,) = tfidf([document("abc x")], kb, "name", k=1)
    assert answers([first]) == [[("T:1", 1)]]
    assert not first.ambiguous


def test_a_tie_longer_than_what_was_asked_for_is_ranked_again(make_kb):
    kb = make_kb({f"T:{i:02}": [f"abc {letter}"] for i, letter in enumerate("defghijklmnopqrst")})
    (tied,) = tfidf([document("abc")], kb, "name", k=1)
    assert answers([tied]) == [[(f"T:{i:02}", 1) for i in range(17)]]
    assert tied.ambiguous


def test_k_may_be_more_than_the_kb_has(kb):
    (found,) = tfidf([document("stature")], kb, "name", k=10_000)
    assert [c.entity_id for c in found.candidates] == ["C:1", "C:1", "C:1", "C:4"]


def test_any_linker_may_be_asked_for_names(kb):
    found = list(DictionaryLinker(kb).link([document("MI", "statures short")], level="name"))
    assert answers(found) == [[("C:2", 1), ("C:3", 1)], [("C:1", 1)]]
    assert [c.rule for p in found for c in p.candidates] == ["exact", "normalised", "order"]


def test_many_documents_are_answered_in_order(kb):
    asked = [document("seizure", "Low stature", id=f"{i}") for i in range(300)]
    found = list(tfidf(asked, kb, "name", k=1))
    assert [p.document_id for p in found] == [d.id for d in asked for _ in range(2)]
    assert answers(found) == [[("C:4", 1)], [("C:1", 1)]] * 300


# Train look-up


def test_the_most_frequent_gold_comes_first():
    train = [
        document("Fits", "fits", gold=(("C:4",),)),
        document("fits", gold=(("C:9",),)),
        document("FITS", gold=(("C:8",),)),
    ]
    (found,) = train_lookup([document("fits.")], train)
    assert answers([found]) == [[("C:4", 1), ("C:9", 2), ("C:8", 2)]]
    assert [c.score for c in found.candidates] == [0.5, 0.25, 0.25]
    assert {c.rule for c in found.candidates} == {"train"}
    assert {c.row for c in found.candidates} == {-1}
    assert not found.ambiguous


def test_new_mentions_are_abstained_on():
    (found,) = train_lookup([document("new")], [document("fits", gold=(("C:4",),))])
    assert (found.candidates, found.abstained) == ((), True)


def test_all_ids_of_a_gold_share_a_rank_and_each_stands_once():
    train = [
        document("both", "both", gold=(("C:1", "C:2"), ("C:3",))),
        document("both", gold=(("C:3",), ("C:4",))),
    ]
    (found,) = train_lookup([document("both")], train)
    assert answers([found]) == [[("C:1", 1), ("C:2", 1), ("C:3", 1), ("C:4", 4)]]
    assert found.ambiguous


def test_what_is_mostly_nil_is_abstained_on():
    train = [document("signs", "signs", gold=(("-1",),)), document("signs", "marks", "marks", gold=(("C:4",),))]
    train.append(document("marks"))
    signs, marks = train_lookup([document("signs", "marks")], train)
    assert (answers([signs]), signs.abstained) == ([[("C:4", 1)]], True)
    assert (answers([marks]), marks.abstained) == ([[("C:4", 1)]], False)


def test_ids_are_those_of_the_kb_with_its_preferred_names(kb):
    train = [document("fits", gold=(("c:4",),)), document("fits", "fits", gold=(("X:1",),))]
    (found,) = train_lookup([document("fits")], train, kb, IdMap(kb))
    assert [(c.entity_id, c.preferred, c.name) for c in found.candidates] == [
        ("X:1", "X:1", "fits"),
        ("C:4", "Seizure", "fits"),
    ]


# The corpora


@pytest.mark.parametrize("corpus", ["ncbi-disease/biosyn", "bc5cdr/biosyn-disease"])
@pytest.mark.parametrize("dictionary", ["train", "test"])
@pytest.mark.slow
def test_published_corpora(corpus, dictionary, tmp_path):
    folder = BENCHMARKS / corpus
    if not folder.exists():
        pytest.skip(f"needs {corpus} of the benchmarks beside the checkout")
    level = "concept" if dictionary == "train" else "name"
    kb = dictionary_kb(folder / f"{dictionary}_dictionary.txt", tmp_path / "made.kb")
    test, train = (list(concept_files(folder / f"processed_{part}")) for part in ("test", "train"))
    expected = EXPECTED[corpus, dictionary]
    assert accuracy(exact_match(test, kb, level), 1) == pytest.approx(expected["exact"], abs=0.3)
    by_grams = list(tfidf(test, kb, level))
    assert [accuracy(by_grams, k) for k in (1, 5)] == pytest.approx(expected["tfidf"], abs=0.05)
    assert accuracy(train_lookup(test, train, kb), 1) == pytest.approx(expected["train"], abs=0.05)


EXPECTED = {
    ("ncbi-disease/biosyn", "train"): {"exact": 60.0, "tfidf": [77.60, 85.52], "train": 63.44},
    ("ncbi-disease/biosyn", "test"): {"exact": 76.8, "tfidf": [88.96, 92.60], "train": 63.44},
    ("bc5cdr/biosyn-disease", "train"): {"exact": 62.8, "tfidf": [80.01, 86.96], "train": 64.82},
    ("bc5cdr/biosyn-disease", "test"): {"exact": 84.0, "tfidf": [92.44, 95.59], "train": 64.82},
}
"""Exact match as published in nomina's design; the others as measured when the test was made."""


def dictionary_kb(path, out):
    names = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        ids, _, name = line.partition("||")
        names[ids.strip()].append(name)
    entities = (Entity(ids, tuple(map(Name, dict.fromkeys(each)))) for ids, each in names.items())
    return build(out, entities, BuildOptions("made"))


def concept_files(folder):
    """One mention for each part of each line; those of one line have the same span."""
    for path in sorted(folder.glob("*.concept")):
        mentions = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            *_, texts, ids = line.split("||")
            gold = (tuple(re.split(r"[|+]", ids)),)
            mentions += [Mention(((number, number + 1),), text, None, gold) for text in texts.split("|")]
        yield Document(path.stem, " " * len(mentions), tuple(mentions))


def accuracy(predictions, k):
    """Any id will do, of any candidate up to rank k; all parts of a line are needed."""
    lines = defaultdict(list)
    for prediction in predictions:
        offered = {id for c in prediction.candidates if c.rank <= k for id in re.split(r"[|+]", c.entity_id)}
        hit = not offered.isdisjoint(prediction.mention.gold[0])
        lines[prediction.document_id, prediction.mention.spans].append(hit)
    return round(100 * sum(map(all, lines.values())) / len(lines), 2)
