"""The default: the dictionary where it knows the mention, an encoder where it does not.

The dictionary back-off of SapBERT (table 2). An exported encoder is opened when the first mention needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nomina import encoders
from nomina.artifact import Artifact
from nomina.encoders.onnx import KIND
from nomina.errors import ArtifactError
from nomina.kb.store import KnowledgeBase, Subset
from nomina.linkers.base import NO_ROW, Level, Linker, Ranking
from nomina.linkers.calibration import JUDGED, Calibration, judged
from nomina.linkers.dictionary import DictionaryLinker
from nomina.span_words import denied, families, narrowing
from nomina.text import normalise
from nomina.types import Document, Prediction, Query

if TYPE_CHECKING:
    from nomina.encoders.base import Encoder
    from nomina.index.building import Progress
    from nomina.linkers.embedding import EmbeddingLinker

NARROWER = 0.02
"""What a word of a name costs that narrows it down ("late", "severe") where the mention does not say it; chosen on the
development sets of NCBI and BC5CDR-d out of 0.01, 0.02, 0.05 and 0.1."""

CONTRARY = 0.2
"""What a word costs that says the opposite of one of the mention's: "one ear" where both are said."""

_DEEPER = 8  # rows beyond k, so that what is put lower has something to take its place

LEAST_COSINE = 0.8
"""An encoder's answer of a lower cosine is an abstention, where the encoder has no calibration."""


class CascadeLinker(Linker):
    """Ranks by ``DictionaryLinker`` and, where that finds no name, by ``EmbeddingLinker``; never both for one mention.

    Whether the dictionary knows a mention does not depend on filters: what it knows as a concept that is filtered out
    is not given to the encoder, which would only name another one.

    Scores are those of the two linkers, trust in a rule or a cosine; but a name that is narrower than the mention, by
    a word such as "late" or "severe", is put ``NARROWER`` lower for each of them, and one that says the opposite of a
    word of the mention ``CONTRARY`` lower. Predictions have a ``probability`` where the encoder's folder holds a
    calibration. Without a ``threshold`` of the caller's, an encoder's answer is an abstention where its probability is
    under 0.5 (without a calibration: its cosine under 0.8), and the dictionary's never is. A threshold of the caller's
    is a floor for the scores of both, and the only one.

    Args:
        kb: whose names are ranked.
        encoder: an encoder, or the folder of one; the one that nomina comes with where None.
        index: one of ``nomina.index.INDEXES``.
        progress: told how many names are encoded, of how many.

    Attributes:
        dictionary: what ranks first.
        calibration: probabilities; None where the encoder has none.
        model: the exported encoder's folder; None for another one.

    Raises:
        ArtifactError: the folder holds no encoder.
        UsageError: no such index, or the cache folder cannot be written to.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        encoder: Encoder | str | Path | None = None,
        *,
        index: str = "int8",
        progress: Progress | None = None,
    ) -> None:
        super().__init__(kb)
        self.dictionary = DictionaryLinker(kb)
        self._encoder = encoders.shipped() if encoder is None else encoder
        self._index, self._progress = index, progress
        self._narrowing = lru_cache(maxsize=1 << 16)(lambda row: narrowing(kb.names[row]))
        self.model: Artifact | None = None
        if isinstance(self._encoder, str | Path) and encoders.is_exported(self._encoder):
            self.model = Artifact.open(self._encoder, KIND)
        self.calibration = Calibration.read(self.model) if self.model else None
        if self.model is None:
            self.embedding  # noqa: B018  # its folder is checked now

    @cached_property
    def embedding(self) -> EmbeddingLinker:
        """What ranks where the dictionary knows nothing; opened when it is first asked for."""
        from nomina.linkers.embedding import EmbeddingLinker

        return EmbeddingLinker(self.kb, self._encoder, index=self._index, progress=self._progress)

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k best names a mention, by score, then by row; see ``Linker.rank``."""
        ranking = self.dictionary.rank(queries, k, within)
        unnamed: list[int] = np.flatnonzero(ranking.rows[:, 0] == NO_ROW).tolist()
        unknown = [i for i in unnamed if normalise(queries[i].mention.text)]
        if within is not None and unknown:
            unfiltered = self.dictionary.rank([queries[i] for i in unknown], 1)
            unknown = [i for i, row in zip(unknown, unfiltered.rows[:, 0], strict=True) if row == NO_ROW]
        if unknown:
            found = self._near([queries[i] for i in unknown], k, within)
            ranking.rows[unknown], ranking.scores[unknown], ranking.rules[unknown] = found
        return ranking

    def _near(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None) -> Ranking:
        """The encoder's ranking, names that are narrower than the mention or say the opposite lower."""
        rows, scores, rules = self.embedding.rank(queries, k + _DEEPER, within)
        self._put_lower([_said(query.mention.text) for query in queries], rows, scores)
        order = np.lexsort((rows, -scores), axis=1)[:, :k]
        best = np.arange(len(rows))[:, None], order
        return Ranking(rows[best], scores[best], rules[best])

    def _put_lower(self, asked: Sequence[_Said], rows: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Take off the scores what words cost that the mention does not say; most names have none, of either kind."""
        distinct, at = np.unique(rows, return_inverse=True)
        narrow = np.array([row != NO_ROW and bool(self._narrowing(row)) for row in distinct.tolist()], np.bool_)
        for i, j in np.argwhere(narrow[at].reshape(rows.shape)).tolist():
            terms = self._narrowing(int(rows[i, j]))
            scores[i, j] -= NARROWER * sum(not asked[i].families.issuperset(term.families) for term in terms)
        for i, said in enumerate(asked):
            for j in np.flatnonzero(rows[i] != NO_ROW).tolist() if said.contrary else ():
                if said.contrary & _families(self.kb.names[int(rows[i, j])]):
                    scores[i, j] -= CONTRARY

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
        depth, abstains = max(k, JUDGED[level]), threshold is None
        for prediction in super().link(documents, k=depth, threshold=threshold, within=within, level=level):
            yield judged(prediction, self.calibration, k, abstains=abstains, least_cosine=LEAST_COSINE)

    def state(self) -> dict[str, Any]:
        """Folder and fingerprint of the encoder, and the kind of index.

        Raises:
            UsageError: the encoder is in memory only.
        """
        if self.model is None:
            return self.embedding.state()
        return {"encoder": str(self.model.folder), "fingerprint": self.model.fingerprint, "index": self._index}

    @classmethod
    def from_state(cls, kb: KnowledgeBase, state: dict[str, Any]) -> Self:
        """See ``Linker.from_state``.

        Raises:
            ArtifactError: the folder holds another encoder by now.
        """
        linker = cls(kb, state["encoder"], index=state["index"])
        if linker.state()["fingerprint"] != state["fingerprint"]:
            raise ArtifactError(f"{state['encoder']} is another encoder than before: make the linker again")
        return linker


class _Said(NamedTuple):
    """The families of a mention's words, and those of words that say the opposite."""

    families: frozenset[str]
    contrary: frozenset[str]


@lru_cache(maxsize=1 << 12)  # where k concepts need more names, the same mentions come again
def _said(text: str) -> _Said:
    said = _families(normalise(text))
    return _Said(said, denied(said))


def _families(key: str) -> frozenset[str]:
    """The families of a look-up key's words."""
    return frozenset(part for word in key.split() for part in families(word))
