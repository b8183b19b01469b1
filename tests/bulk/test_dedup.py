"""Mentions that come again are not linked again, and have the answer that they would have had."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.bulk.dedup import RememberingLinker
from nomina.linkers.base import Linker, Ranking
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.tfidf import TfidfLinker
from nomina.types import Document, Mention


class Asked(Linker):
    """A linker that keeps what it is asked."""

    def __init__(self, linker):
        super().__init__(linker.kb)
        self.linker, self.texts, self.sizes = linker, [], []

    def rank(self, queries, k, within=None) -> Ranking:
        return self.linker.rank(queries, k, within)

    def link(self, documents, **options):
        documents = list(documents)
        self.texts += [mention.text for document in documents for mention in document.mentions]
        self.sizes.append(sum(len(document.mentions) for document in documents))
        return self.linker.link(documents, **options)


def document(id, *words):
    """Words as mentions of a text."""
    text, mentions = "", []
    for word in words:
        mentions.append(Mention(((len(text), len(text) + len(word)),), word, f"type of {id}"))
        text += f"{word} "
    return Document(id, text, tuple(mentions))


def test_a_mention_is_asked_for_once(kb):
    asked = Asked(DictionaryLinker(kb))
    linker = RememberingLinker(asked)
    documents = [document("1", "fit", "ataxia", "fit"), document("2"), document("3", "nothing", "fit", "ataxia")]
    found = list(linker.link(documents))
    assert found == list(DictionaryLinker(kb).link(documents))
    assert asked.texts == ["fit", "ataxia", "nothing"]
    assert list(linker.link(documents[:1])) == found[:3]
    assert asked.texts == ["fit", "ataxia", "nothing"]
    linker.forget()
    assert list(linker.link(documents[:1])) == found[:3]
    assert asked.texts == ["fit", "ataxia", "nothing", "fit", "ataxia"]


def test_a_mention_that_its_text_defines_has_its_own_answer(kb):
    text = "Heart disease (HD) was seen, and HD again."
    defining = Document("1", text, (Mention(((15, 17),), "HD"), Mention(((0, 13),), "Heart disease")))
    plain = document("2", "HD", "Heart disease")
    for documents in ([defining, plain], [plain, defining, plain]):
        asked = Asked(DictionaryLinker(kb))
        found = list(RememberingLinker(asked).link(documents))
        assert found == list(DictionaryLinker(kb).link(documents))
        assert [bool(one.candidates) for one in found if one.mention.text == "HD"].count(True) == 1
        assert len(asked.texts) == 4


def test_as_many_are_asked_at_a_time_as_the_linker_ranks_together(kb):
    words = [f"word{number}" for number in range(1500)]
    for together, sizes in ((512, [512, 512, 476]), (1024, [1024, 476])):
        asked = Asked(DictionaryLinker(kb))
        asked.together = together
        assert len(list(RememberingLinker(asked).link([document("1", *words)]))) == 1500
        assert asked.sizes == sizes


def test_what_was_not_asked_for_lately_is_forgotten(kb):
    asked = Asked(DictionaryLinker(kb))
    linker = RememberingLinker(asked, kept=2)
    for words in (["fit"], ["ataxia"], ["fit"], ["seizure"], ["fit"], ["ataxia"]):
        list(linker.link([document("1", *words)]))
    assert asked.texts == ["fit", "ataxia", "seizure", "ataxia"]


@pytest.fixture(scope="module")
def tfidf(kb):
    return TfidfLinker(kb)


@given(
    st.lists(
        st.lists(st.sampled_from(["fit", "fits", "heart disese", "cardiac diseases", "ataxy", "ataxia", "xx"])),
        max_size=6,
    ),
    st.sampled_from([1, 2, 100]),
)
def test_answers_are_those_of_the_linker_itself(tfidf, made, kept):
    documents = [document(str(number), *words) for number, words in enumerate(made)]
    linker = RememberingLinker(tfidf, kept=kept)
    for _ in range(2):
        assert list(linker.link(documents, k=2)) == list(tfidf.link(documents, k=2))


def test_it_goes_to_another_process(kb):
    linker = pickle.loads(pickle.dumps(RememberingLinker(DictionaryLinker(kb), kept=7)))
    assert (linker.kept, linker.kb) == (7, kb)
    queries = [(document("1", "fit"), Mention(((0, 3),), "fit"))]
    from nomina.types import Query

    ranking = linker.rank([Query(*query) for query in queries], 1)
    assert ranking.rows.dtype == np.int64
    assert kb.names[int(ranking.rows[0, 0])] == "fit"
