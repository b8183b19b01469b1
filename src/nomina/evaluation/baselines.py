"""What a model has to beat: exact match, a look-up in the training data, character 3-grams.

Each gives predictions like those of a model, so that the same code scores them; none has a threshold, so that one
abstains only where it has nothing to say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nomina.evaluation.ids import is_nil
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import NO_ROW, Level, Linker, Ranking, Rule
from nomina.linkers.tfidf import TfidfLinker
from nomina.text import normalise
from nomina.types import Candidate, Document, Prediction, Query

DEPTH = 20
"""Candidates a mention: as deep as recall is reported."""
TRAIN_RULE = "train"
"""``Candidate.rule`` of what stands in the training data."""

_BATCH = 256
_DECIMALS = 6


def exact_match(documents: Iterable[Document], kb: KnowledgeBase, level: Level = "concept") -> Iterator[Prediction]:
    """The concepts that have the mention as a name after normalising; homonyms share the first rank.

    At the level of concepts the owner whose raw name is the very mention comes first, as in every linker.
    """
    return _Exact(kb).link(documents, k=DEPTH, threshold=0.0, level=level)


def tfidf(
    documents: Iterable[Document], kb: KnowledgeBase, level: Level = "concept", k: int = DEPTH
) -> Iterator[Prediction]:
    """The k concepts, or k names, most similar by character 3-grams (``TfidfLinker``)."""
    return TfidfLinker(kb).link(documents, k=k, threshold=0.0, level=level)


def train_lookup(
    documents: Iterable[Document],
    train: Iterable[Document],
    kb: KnowledgeBase | None = None,
    live: Callable[[str], str] = str,
) -> Iterator[Prediction]:
    """What a mention of the same look-up key means in the training data, most frequent first; nothing for a new one.

    It abstains, too, on what is mostly NIL there.

    Args:
        documents: Their mentions are answered.
        train: Mentions with gold. The ids of one gold share a rank, as do golds that are as frequent.
        kb: Gives preferred names.
        live: An id of the training data as it is compared, say an ``IdMap``.
    """
    learnt = _learn(train, live)
    for document in documents:
        for mention in document.mentions:
            golds = learnt.get(normalise(mention.text), Counter())
            candidates = _remembered(golds, mention.text, kb)
            ambiguous = len(candidates) > 1 and candidates[1].rank == 1
            nil = golds[()] > max((times for ids, times in golds.items() if ids), default=0)
            yield Prediction(document.id, mention, candidates, ambiguous, abstained=nil or not candidates)


def _learn(train: Iterable[Document], live: Callable[[str], str]) -> dict[str, Counter[tuple[str, ...]]]:
    """How often each gold, as its distinct ids, was meant by each look-up key; () is NIL."""
    learnt: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for document in train:
        for mention in document.mentions:
            ids = [live(id) for part in mention.gold for id in part if not is_nil(id)]
            learnt[normalise(mention.text)][tuple(dict.fromkeys(ids))] += 1
    return learnt


def _remembered(golds: Counter[tuple[str, ...]], text: str, kb: KnowledgeBase | None) -> tuple[Candidate, ...]:
    total, before, rank = golds.total(), 0, 0
    found: dict[str, Candidate] = {}
    for ids, times in golds.most_common():
        rank, before = (rank, before) if times == before else (len(found) + 1, times)
        for id in ids:
            preferred = kb[id].name if kb is not None and id in kb else id
            found.setdefault(id, Candidate(id, preferred, text, times / total, rank, TRAIN_RULE, NO_ROW))
    return tuple(found.values())


class _Exact(Linker):
    """Only the name itself: no variants, no abbreviations."""

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        ranking = Ranking.empty(len(queries), k)
        for i, query in enumerate(queries):
            row = self.kb.row(normalise(query.mention.text))
            if row is not None and (within is None or within[row]):
                ranking.rows[i, 0], ranking.scores[i, 0], ranking.rules[i, 0] = row, 1.0, Rule.NORMALISED
        return ranking
