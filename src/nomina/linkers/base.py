"""What every linker shares: it ranks KB *names*; the code here, and only here, turns names into concepts.

A linker answers "which rows of the KB's name list, with which scores, for which reason" (``Ranking``). Homonyms (one
row, several owners), ties, the type or subtree filter on owners, over-fetching until k distinct concepts are found, and
abstention are the same for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nomina.kb.store import KnowledgeBase, Owner, Subset
from nomina.types import SCOPES, Candidate, Document, Prediction, Query

Level = Literal["concept", "name"]
"""What candidates are and ``k`` counts: concepts, or names as the published systems count."""

NO_ROW = -1
"""Fills the tail of a ranking that has fewer rows than asked for."""

_BATCH = 512
_CELLS = 1 << 15  # rows ranked, or candidates made, for so many queries: some 10 MB
_DECIMALS = 6
_SCOPE_ORDER = {scope: i for i, scope in enumerate(SCOPES)}


class Rule(IntEnum):
    """Why a name was offered, most trusted first; its ``label`` stands in ``Candidate.rule``."""

    EXACT = 0
    NORMALISED = 1
    SPELLING = 2
    INFLECTION = 3
    ORDER = 4
    DERIVATION = 5
    LAY_TERM = 6
    ABBREVIATION = 7
    TFIDF = 8
    EMBEDDING = 9
    GENERATIVE = 10

    @property
    def label(self) -> str:
        """What users see."""
        return _LABELS[self]


_LABELS = [rule.name.lower().replace("_", " ") for rule in Rule]


class Ranking(NamedTuple):
    """Names for n queries, best first.

    ``rows`` int64 (n, k), ``NO_ROW`` where there are fewer; ``scores`` float32 (n, k), higher is better; ``rules``
    uint8 (n, k), values of ``Rule``.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    rules: NDArray[np.uint8]

    @classmethod
    def empty(cls, n: int, k: int) -> Self:
        """A ranking with no rows, to be filled."""
        return cls(np.full((n, k), NO_ROW, np.int64), np.full((n, k), -np.inf, np.float32), np.zeros((n, k), np.uint8))


class Linker(ABC):
    """Ranks KB names for mentions; ``link`` makes predictions of the ranking.

    Linkers hold a ``KnowledgeBase`` and read-only tables; they pickle as paths and re-open in another process.
    """

    default_threshold: ClassVar[float] = 0.0
    """The score under which ``link`` abstains where the caller names none."""

    together: int = _BATCH
    """How many queries are worth being ranked together, 512 or more. Memory grows with it: some 10 MB for each 512."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @property
    def remark(self) -> str:
        """What a user should know who links with it, one line; "" where there is nothing."""
        return ""

    @abstractmethod
    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The best k names for each query; ``within`` (bool, one value a row) says which rows may be named."""

    def link(
        self,
        documents: Iterable[Document],
        *,
        k: int = 5,
        threshold: float | None = None,
        within: Subset | None = None,
        level: Level = "concept",
    ) -> Iterator[Prediction]:
        """One prediction a mention, in order: at most k concepts (all of a tie's), best first.

        At the level of names there are at most k names instead, each with all its owners, who share its rank, so that a
        concept may come several times: how BioSyn, SapBERT and ResCNN count.

        A prediction is ``abstained`` where no candidate reaches the threshold; its candidates stay, as what came
        nearest. A k beyond what the KB has asks for all of it.
        """
        floor = self.default_threshold if threshold is None else threshold
        size = self._at_a_time(min(k, len(self.kb)))
        queries = (Query(document, mention) for document in documents for mention in document.mentions)
        while batch := list(islice(queries, size)):
            for query, candidates in zip(batch, self._candidates(batch, k, within, level), strict=True):
                yield Prediction(
                    query.document.id,
                    query.mention,
                    candidates,
                    ambiguous=len(candidates) > 1 and candidates[1].rank == 1,
                    abstained=not candidates or candidates[0].score < floor,
                )

    def _candidates(
        self, queries: Sequence[Query], k: int, within: Subset | None, level: Level
    ) -> list[tuple[Candidate, ...]]:
        """Rank, and rank deeper those queries whose rows yielded fewer than k concepts, or where a tie may go on."""
        read = self._concepts if level == "concept" else self._names
        found: list[tuple[Candidate, ...]] = [()] * len(queries)
        todo = list(range(len(queries)))
        most = len(self.kb.names)
        width = min(k + 2, most)
        while todo:
            again = []
            size = self._at_a_time(width)
            for part in (todo[at : at + size] for at in range(0, len(todo), size)):
                ranking = self.rank([queries[i] for i in part], width, None if within is None else within.rows)
                for j, i in enumerate(part):
                    found[i], distinct = read(ranking, j, queries[i].mention.text, k, within)
                    if width == most or ranking.rows.shape[1] < width or ranking.rows[j, -1] == NO_ROW:
                        continue
                    if distinct < k or found[i][-1].score == _score(ranking.scores[j, -1]):
                        again.append(i)
            todo, width = again, min(width * 4, most)
        return found

    def _at_a_time(self, width: int) -> int:
        """How many queries of so many rows each are ranked together, so that memory does not grow with k."""
        cells = _CELLS * self.together // _BATCH
        return max(1, min(self.together, cells // max(1, width)))

    def _concepts(
        self, ranking: Ranking, j: int, text: str, k: int, within: Subset | None
    ) -> tuple[tuple[Candidate, ...], int]:
        """The concepts that own the ranked rows of query j, and how many distinct ones there were.

        Order: score; then the owner whose raw name is the very mention; then synonym scope; then entity number. Owners
        that differ in the last only share a rank, and a tie that crosses the k-th place is given whole.
        """
        best: dict[int, tuple[tuple[float, bool, int], int, Owner, int]] = {}
        for row, score, rule in zip(*(part[j].tolist() for part in ranking), strict=True):
            if row == NO_ROW:
                break
            below = -_score(score)
            for owner in self.kb.owners_of(row):
                if not _is_within(owner, within):
                    continue
                key = (below, text not in owner.raws, _SCOPE_ORDER[owner.name.scope])
                if owner.number not in best or key < best[owner.number][0]:
                    best[owner.number] = (key, row, owner, rule)
        ordered = sorted(best.values(), key=lambda item: (item[0], item[2].number))
        candidates: list[Candidate] = []
        rank, before = 0, None
        for place, (key, row, owner, rule) in enumerate(ordered, start=1):
            if key != before:
                if place > k:
                    break
                rank, before = place, key
            candidates.append(_candidate(row, owner, text, -key[0], rank, rule))
        return tuple(candidates), len(ordered)

    def _names(
        self, ranking: Ranking, j: int, text: str, k: int, within: Subset | None
    ) -> tuple[tuple[Candidate, ...], int]:
        """The ranked rows of query j with their owners, and how many rows there were; rows of one score share a rank.

        Owners of a row are in the order of ``_concepts``.
        """
        candidates: list[Candidate] = []
        place, rank, before = 0, 0, None
        for row, score, rule in zip(*(part[j].tolist() for part in ranking), strict=True):
            owners = [] if row == NO_ROW else [o for o in self.kb.owners_of(row) if _is_within(o, within)]
            if not owners:
                continue
            place += 1
            if _score(score) != before:
                rank, before = place, _score(score)
            if rank > k:
                break
            owners.sort(key=lambda owner: (text not in owner.raws, _SCOPE_ORDER[owner.name.scope], owner.number))
            candidates += [_candidate(row, owner, text, _score(score), rank, rule) for owner in owners]
        return tuple(candidates), place

    def state(self) -> dict[str, Any]:
        """What ``from_state`` needs beside the KB: plain values that JSON can hold."""
        return {}

    @classmethod
    def from_state(cls, kb: KnowledgeBase, state: dict[str, Any]) -> Self:
        """The linker again, over an opened KB."""
        return cls(kb, **state)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.kb, self.state())


def _is_within(owner: Owner, within: Subset | None) -> bool:
    return within is None or bool(within.entities[owner.number])


def _candidate(row: int, owner: Owner, text: str, score: float, rank: int, rule: int) -> Candidate:
    """An owner of a row as what is offered for a mention; that it has the very mention as a name is a reason."""
    is_exact = text in owner.raws
    reason = Rule.EXACT if rule == Rule.NORMALISED and is_exact else Rule(rule)
    name = text if is_exact else owner.name.text
    return Candidate(owner.entity_id, owner.preferred, name, score, rank, reason.label, row)


def _score(value: float) -> float:
    """A score as users see it: without what float32 adds, so that 0.95 reaches a threshold of 0.95."""
    return round(float(value), _DECIMALS)
