"""The cascade of all parts: dictionary, TF-IDF, embedding, generator; each sees what those before it are unsure of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nomina.errors import UsageError
from nomina.kb.store import KnowledgeBase, Subset
from nomina.linkers.base import Level, Linker, Ranking
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.fitted_cascade.parts import PARTS, Part, PartOptions, Progress, Searching, opened
from nomina.linkers.fitted_cascade.pools import FEATURES, Floats, Ints, Pools, place_of
from nomina.linkers.fitted_cascade.weights import Stage
from nomina.text import normalise
from nomina.types import Document, Prediction, Query

SURE = 0.99
"""A mention whose best concept is as likely to be right is not given to the parts behind."""

LEAST_PROBABILITY = 0.5
"""An answer that is less likely to be right is an abstention, where nothing else is chosen."""

_BATCH = 256


class Answers(NamedTuple):
    """Names for n queries; the chance that the best concept is right, (n,); how many parts were asked, (n,)."""

    ranking: Ranking
    probability: Floats
    asked: Ints


class FittedCascadeLinker(Linker):
    """Ranks by several linkers together; made by ``fit.fitted`` out of development mentions, or ``folder.load``.

    The parts are asked in their order. Behind each, the names that have been offered share a probability by weights
    that were learnt, and a mention whose best concept is as good as ``sure`` is done: the parts behind, which cost
    more, never see it. A name of log-share p has the score 1 / (1 - p). Every prediction has a ``probability``: the
    chance that its first concept is right, as learnt on development mentions.

    Without a ``threshold`` of the caller's, an answer less probable than ``abstain`` is an abstention. A threshold of
    the caller's is a floor for scores, and the only one.

    Args:
        kb: whose names are ranked.
        parts: those that are asked, in the order of ``PARTS``.
        stages: what was learnt behind each of them.
        sure: see above.
        abstain: see above.
        progress: told how many names are encoded, of how many.

    Attributes:
        dictionary: the part of that name, None where there is none.
        folder: where it is saved, None where it is not.

    Raises:
        ArtifactError: the folder of a part's model is not there.
        UsageError: parts that cannot go together.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        parts: Sequence[PartOptions],
        stages: Sequence[Stage],
        *,
        sure: float = SURE,
        abstain: float = LEAST_PROBABILITY,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(kb)
        check_parts(parts)
        if len(stages) != len(parts) or not all(_fits(stage, depth) for depth, stage in enumerate(stages, start=1)):
            raise UsageError("a cascade needs weights of each of its parts: fit it (nomina cascade)")
        self.parts: list[Part] = [opened(kb, options, progress) for options in parts]
        self.stages, self.sure, self.abstain = list(stages), sure, abstain
        self.folder: Path | None = None
        self.made_as: str | None = None
        self._owners = owners_of(kb)

    @property
    def dictionary(self) -> DictionaryLinker | None:
        """See the class."""
        first = self.parts[0]
        linker = first.linker if isinstance(first, Searching) else None
        return linker if isinstance(linker, DictionaryLinker) else None

    def answers(self, queries: Sequence[Query], within: NDArray[np.bool_] | None = None) -> Answers:
        """All names that the parts offer for each query, best first."""
        n = len(queries)
        probability, asked = np.zeros(n), np.zeros(n, np.int64)
        active = np.array([i for i, query in enumerate(queries) if normalise(query.mention.text)], np.int64)
        pools, shares = Pools.empty(len(active)), None
        done: list[tuple[Ints, Pools, Floats]] = []
        for depth, (part, stage) in enumerate(zip(self.parts, self.stages, strict=True), start=1):
            if not len(active):
                break
            pools = part.extend([queries[i] for i in active.tolist()], pools, shares, within)
            shares = stage.log_shares(pools)
            found = stage.probability(pools, shares, self._owners)
            probability[active], asked[active] = found, depth
            over = (found >= self.sure) | (depth == len(self.parts))
            done.append((active[over], pools.take(over), shares[over[pools.mention]]))
            active, shares, pools = active[~over], shares[~over[pools.mention]], pools.take(~over)
        return Answers(ranking_of(n, done), probability, asked)

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k best names a mention, by score, then by row; see ``Linker.rank``. There are no more than are offered.

        Scores depend on what else is offered: a filter changes them.
        """
        found, ranking = self.answers(queries, within).ranking, Ranking.empty(len(queries), k)
        best = slice(None), slice(min(k, found.rows.shape[1]))
        ranking.rows[best], ranking.scores[best], ranking.rules[best] = (part[best] for part in found)
        return ranking

    def link(
        self,
        documents: Iterable[Document],
        *,
        k: int = 5,
        threshold: float | None = None,
        within: Subset | None = None,
        level: Level = "concept",
    ) -> Iterator[Prediction]:
        """See ``Linker.link``; ``probability`` and abstention as the class says."""
        read = self._concepts if level == "concept" else self._names
        queries = (Query(document, mention) for document in documents for mention in document.mentions)
        while batch := list(islice(queries, _BATCH)):
            ranking, probability, _ = self.answers(batch, None if within is None else within.rows)
            for j, query in enumerate(batch):
                candidates, _ = read(ranking, j, query.mention.text, k, within)
                chance = float(probability[j]) if candidates else None
                unsure = chance is None or chance < self.abstain
                yield Prediction(
                    query.document.id,
                    query.mention,
                    candidates,
                    ambiguous=len(candidates) > 1 and candidates[1].rank == 1,
                    abstained=unsure if threshold is None else not candidates or candidates[0].score < threshold,
                    probability=chance,
                )

    def state(self) -> dict[str, Any]:
        """The folder, and a fingerprint of what is in it.

        Raises:
            UsageError: it is not saved.
        """
        if self.folder is None:
            raise UsageError("a cascade in memory cannot be told to another process: save it first")
        return {"folder": str(self.folder), "fingerprint": self.made_as}

    @classmethod
    def from_state(cls, kb: KnowledgeBase, state: dict[str, Any]) -> Self:
        """See ``Linker.from_state``.

        Raises:
            ArtifactError: the folder holds another cascade by now.
        """
        from nomina.linkers.fitted_cascade.folder import again

        linker = again(kb, state["folder"], state["fingerprint"])
        assert isinstance(linker, cls)
        return linker


def check_parts(parts: Sequence[PartOptions]) -> None:
    """Whether parts can be a cascade.

    Raises:
        UsageError: there are none, they are not in the order of ``PARTS``, or the first one only scores.
    """
    places = [PARTS.index(options.part) for options in parts]
    if not places or places != sorted(set(places)):
        raise UsageError(f"a cascade has some of these parts, in this order, each once: {', '.join(PARTS)}")
    if parts[0].part == "generative" and not parts[0].beams:
        raise UsageError("a cascade of a generator alone has nothing to score: let it search, with beams")


def owners_of(kb: KnowledgeBase) -> Any:  # noqa: ANN401
    """The numbers of the concepts that own a row, kept; see ``weights.Owners``."""
    return lru_cache(maxsize=1 << 16)(lambda row: frozenset(owner.number for owner in kb.owners_of(row)))


def ranking_of(n: int, done: Sequence[tuple[Ints, Pools, Floats]]) -> Ranking:
    """The names of n mentions, best first.

    Args:
        n: how many.
        done: the numbers of some of the mentions, what is offered for them, and the log-share of each name.
    """
    placed = [(numbers, pools, shares, place_of(pools.mention, pools.rows, shares)) for numbers, pools, shares in done]
    ranking = Ranking.empty(n, max((int(places.max(initial=-1)) + 1 for *_, places in placed), default=0))
    for numbers, pools, shares, places in placed:
        at = numbers[pools.mention], places
        ranking.rows[at], ranking.rules[at] = pools.rows, pools.rules
        ranking.scores[at] = 1 / (1 - shares)
    return ranking


def _fits(stage: Stage, depth: int) -> bool:
    return len(stage.rank) == depth and len(stage.judge) == depth * FEATURES + 2
