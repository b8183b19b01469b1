"""What is known of phrases by their words alone: nothing that a comparison with every name would find is left out."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from word_encoder import WordEncoder

from nomina import counterparts
from nomina.bulk.engine import make_new
from nomina.counterparts import Counterparts
from nomina.detect import Detector
from nomina.kb.store import KnowledgeBase
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.embedding import EmbeddingLinker
from nomina.name_words import Is, NameWords, Ragged
from nomina.pipeline import Pipeline
from nomina.proposals import SpanLinker, SpanModel
from nomina.span_words import KnownWords, families, terms
from nomina.spans import Proposal
from nomina.types import Document

ANY = SpanModel((0.0, 1.0, -1.0), 0.5)
WORDS = """
    lung kidney heart renal pulmonary cardiac cyst mass growth lesion tumour late early severe blood serum level levels
    low decreased increased high abnormality problem system tract of the speed pale white double-barrelled barrelled
""".split()
ALIKE = {
    "cyst mass": 0.45,
    "mass growth": 0.55,
    "tumour lesion": 0.9,
    "late early": 0.9,
    "pale white": 0.399,
    "speed heart": 0.6,
    "severe level": 0.7,
    "problem pale": 0.8,
    "blood kidney": 0.6,
}


def phrase(*words: str) -> Proposal:
    text = " ".join(words)
    return Proposal(((0, len(text)),), text, words)


@pytest.fixture(scope="module")
def kb(make_kb) -> KnowledgeBase:
    rng = random.Random(7)
    names = [f"Abnormality of the {organ}" for organ in ("lung", "kidney", "heart", "urinary system")]
    names += ["Lung mass"]
    names += [" ".join(rng.choices(WORDS, k=rng.randint(1, 4))) for _ in range(150)]
    return make_kb({f"A:{i}": name for i, name in enumerate(dict.fromkeys(names))}, {"A:9": ["A:8"], "A:20": ["A:9"]})


@pytest.fixture(scope="module")
def linker(kb: KnowledgeBase) -> SpanLinker:
    return SpanLinker(CascadeLinker(kb, WordEncoder(ALIKE), index="float32"), ANY)


@pytest.fixture(scope="module")
def phrases() -> list[Proposal]:
    rng = random.Random(8)
    longer = [phrase(*rng.choices(WORDS, k=rng.randint(3, 5))) for _ in range(400)]
    every = [*map(phrase, WORDS), *(phrase(*pair) for pair in product(WORDS, repeat=2)), *longer]
    return [each for each in every if each.terms]  # no other is proposed


def test_the_comparison_finds_nothing_else(
    linker: SpanLinker, phrases: list[Proposal], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = linker.hits(phrases, 0.0)
    assert sum(map(bool, found)) > 100
    names = linker._counterparts.names_for([proposal.terms for proposal in phrases])
    assert 100 < sum(map(bool, map(len, names))) < 0.6 * len(phrases)
    for one, hits in zip(names, found, strict=True):
        assert {hit.row for hit in hits} <= set(one.tolist())
    every = np.arange(len(linker.linker.kb.names))
    monkeypatch.setattr(Counterparts, "names_for", lambda self, given: [every] * len(given))
    assert linker.hits(phrases, 0.0) == found


@pytest.mark.parametrize(
    ("words", "is_hit"),
    [
        ("lung growth", True),  # 0.55 of "mass"
        ("lung growth cyst", True),  # and 0.45, enough for a word that is not the only one
        ("lung cyst", False),  # but not for the only one
        ("lung growth heart", False),
    ],
)
def test_words_of_a_near_vector_are_counterparts(
    kb: KnowledgeBase, linker: SpanLinker, words: str, is_hit: bool
) -> None:
    (hits,) = linker.hits([phrase(*words.split())], 0.0)
    assert (kb.row("lung mass") in {hit.row for hit in hits}) is is_hit


def test_what_is_not_possible_is_not_encoded(linker: SpanLinker) -> None:
    encoder = linker.linker.embedding.encoder
    linker.hits([phrase("lung", "cyst")], 0.0)
    encoder.texts.clear()
    assert linker.hits([phrase("lung", "gadolinium"), phrase("lung", "gadolinium", "cyst")], 0.0) == [[], []]
    assert encoder.texts == ["gadolinium"]
    linker.hits([phrase("lung", "gadolinium")], 0.0)
    assert encoder.texts == ["gadolinium"], "a word is encoded once"
    linker._counterparts.forget()
    linker.hits([phrase("lung", "gadolinium")], 0.0)
    assert encoder.texts == ["gadolinium", "gadolinium"]


def test_a_shard_begins_without_the_words_of_another(kb: KnowledgeBase, linker: SpanLinker) -> None:
    detector = Detector(linker.linker.dictionary.lexicon)
    encoder = linker.linker.embedding.encoder
    spans = SpanLinker(linker.linker, ANY)
    pipeline = Pipeline(linker.linker, detector, spans=spans)
    for _ in range(2):
        make_new(pipeline, 1)
        encoder.texts.clear()
        spans.link([Document("d", "A lung gadolinium cyst.")])
        assert "gadolinium" in encoder.texts


def test_only_names_that_are_allowed_count(kb: KnowledgeBase) -> None:
    names = NameWords(kb, WordEncoder(ALIKE), WordEncoder.fingerprint, KnownWords(kb))
    asked = [terms(("lung", "abnormality"))]
    for allowed in (True, False):
        some = Counterparts(names, WordEncoder(ALIKE), np.full(len(kb.names), allowed))
        some.learn(("lung", "abnormality"))
        (rows,) = some.names_for(asked)
        assert (kb.row("abnormality of the lung") in rows.tolist()) is allowed


def test_room_for_few_words_changes_nothing(
    linker: SpanLinker, phrases: list[Proposal], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [proposal.terms for proposal in phrases]
    words = [term.word for terms in asked for term in terms]
    linker._counterparts.learn(words)
    expected = [set(rows.tolist()) for rows in linker._counterparts.names_for(asked)]
    monkeypatch.setattr(counterparts, "_ROOM", 0)
    monkeypatch.setattr(counterparts, "_FEWEST", 6)
    monkeypatch.setattr(counterparts, "_BLOCK", 3)
    monkeypatch.setattr(counterparts, "_CELLS", 1)
    cramped = SpanLinker(linker.linker, ANY)._counterparts
    cramped.learn(words)
    assert [set(rows.tolist()) for rows in cramped.names_for(asked)] == expected
    assert cramped._kept.room == len(cramped._kept._slots) == 6
    assert cramped.names_for([]) == []
    assert [len(rows) for rows in cramped.names_for([[]])] == [0]


def test_a_phrase_far_from_its_names_is_not_looked_for(
    linker: SpanLinker, phrases: list[Proposal], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {least: linker.hits(phrases, least) for least in (0.3, 0.7, 0.9)}
    monkeypatch.setattr(EmbeddingLinker, "may_reach", lambda self, asked, least: [True] * len(asked))
    for least, found in expected.items():
        assert linker.hits(phrases, least) == found
    assert len({sum(map(len, found)) for found in expected.values()}) == 3


def test_the_words_of_names_are_kept(kb: KnowledgeBase) -> None:
    encoder = WordEncoder(ALIKE)
    made = NameWords(kb, encoder, encoder.fingerprint, KnownWords(kb))
    encoder.texts.clear()
    again = NameWords(kb, encoder, encoder.fingerprint, KnownWords(kb))
    assert encoder.texts == [], "they are read and not made again"
    words = list(again.place)
    assert again.vectors.tobytes() == made.vectors.tobytes() == encoder.encode(words).tobytes()
    for row, key in enumerate(kb.names):
        numbers, (count,) = again.of_names.of(np.array([row]))
        assert [words[number] for number in numbers] == [term.word for term in terms(key.split())]
        assert len(numbers) == count
    for word in ("renal", "kidney"):
        assert again.place[word] in again.holding(families("kidney")[0])
    assert {word for word, is_part in zip(words, again.are(Is.PART), strict=True) if is_part} >= {"lung", "renal"}
    assert {words[i] for i in np.flatnonzero(again.are(Is.UNSAID))} == {"system", "tract"}
    assert {words[i] for i in np.flatnonzero(again.are(Is.RESTRICTING))} == {"late", "early", "severe"}
    assert {words[i] for i in np.flatnonzero(again.are(Is.ABNORMALITY))} == {"abnormality", "problem"}
    assert {"blood", "level"} <= {words[i] for i in np.flatnonzero(again.are(Is.MEASURED))}


def test_lists_of_numbers() -> None:
    lists = Ragged(np.array([0, 2, 2, 3]), np.array([1, 0, 1]))
    numbers, counts = lists.of(np.array([2, 1, 0, 0]))
    assert numbers.tolist() == [1, 1, 0, 1, 0]
    assert counts.tolist() == [1, 0, 2, 2]
    assert lists.of(np.empty(0, np.int64))[0].tolist() == []
    turned = lists.turned(3)
    assert [turned.of(np.array([i]))[0].tolist() for i in range(3)] == [[0], [0, 2], []]
