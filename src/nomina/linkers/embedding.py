"""Names that mean alike: the cosine between the vectors of a mention and of every name of the KB.

The linker of SapBERT (section 2) and ResCNN (section 2): the encoder tells them apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nomina import encoders
from nomina.abbreviations import definitions
from nomina.artifact import Artifact
from nomina.encoders.base import Encoder, TrainableEncoder
from nomina.encoders.onnx import KIND, OnnxEncoder, known
from nomina.errors import ArtifactError, UsageError
from nomina.index.building import Progress, open_index
from nomina.kb.store import KnowledgeBase, Subset
from nomina.linkers.base import NO_ROW, Level, Linker, Ranking, Rule
from nomina.linkers.calibration import JUDGED, Calibration, judged
from nomina.text import normalise
from nomina.types import Document, Prediction, Query

_KEPT = 1 << 12
"""Texts whose vectors are kept."""

_MARGIN = 1e-3  # more than a stored vector's cosine differs from the one that an index gives


class EmbeddingLinker(Linker):
    """Ranks KB names by cosine, above 0 and at most 1; 1 for what the encoder cannot tell from the mention.

    A mention that its text defines as an abbreviation is encoded as its long form. A mention of which the encoder's
    tokenizer knows no token has no candidate. Names are encoded once per KB and encoder, in the cache folder.

    Where the encoder's folder holds a calibration, predictions have a ``probability``, and without a ``threshold`` of
    the caller's one under 0.5 is an abstention. Without a calibration only a threshold makes abstentions.

    Args:
        kb: whose names are ranked.
        encoder: an encoder, or the folder of one; the one that nomina comes with where None.
        index: one of ``nomina.index.INDEXES``.
        progress: told how many names are encoded, of how many.

    Attributes:
        encoder: what makes vectors.
        fingerprint: of the encoder.
        index: of the KB's names.
        calibration: probabilities; None where the encoder has none.

    Raises:
        ArtifactError: the folder holds no encoder.
        UsageError: no encoder, no such index, or the cache folder cannot be written to.
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
        encoder = encoders.shipped() if encoder is None else encoder
        self.encoder = encoders.load(encoder) if isinstance(encoder, str | Path) else encoder
        self._folder = _folder(encoder)
        self.calibration = _calibration(self.encoder)
        self._kind, self.fingerprint = index, fingerprint(self.encoder)
        self.index = open_index(kb, self.encoder, self.fingerprint, index, progress)
        self._vectors: dict[str, NDArray[np.float32] | None] = {}
        self._long_forms = lru_cache(maxsize=512)(_long_forms)

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k nearest names a mention, by score, then by row; see ``Linker.rank``."""
        places: dict[str, list[int]] = {}
        for i, query in enumerate(queries):
            places.setdefault(self._text(query), []).append(i)
        ranking = Ranking.empty(len(queries), k)
        for at, *found in zip(places.values(), *self.nearest(list(places), k, within), strict=True):
            ranking.rows[at], ranking.scores[at], ranking.rules[at] = found
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
        depth, abstains = (max(k, JUDGED[level]) if self.calibration else k), threshold is None
        for prediction in super().link(documents, k=depth, threshold=threshold, within=within, level=level):
            yield judged(prediction, self.calibration, k, abstains=abstains)

    def forget(self) -> None:
        """Empty what is kept of texts, which later vectors hang on in their last bits."""
        self._vectors = {}

    def nearest(self, texts: Sequence[str], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k nearest names to each of many texts that stand alone, as ``rank`` gives them."""
        vectors = self._encoded(texts)
        places = [i for i, vector in enumerate(vectors) if vector is not None]
        ranking = Ranking.empty(len(texts), k)
        if not places:
            return ranking
        hits = self.index.search(np.stack([vector for vector in vectors if vector is not None]), k, within)
        near = hits.scores > 0
        ranking.rows[places] = np.where(near, hits.rows, NO_ROW)
        ranking.scores[places] = np.where(near, hits.scores, -np.inf)
        ranking.rules[places] = np.where(near, Rule.EMBEDDING, 0)
        return ranking

    def may_reach(self, asked: Sequence[tuple[Sequence[str], NDArray[np.int64]]], least: float) -> list[bool]:
        """Whether some of a few texts has a cosine of at least ``least`` with some of a few rows, for many such pairs.

        Where it has a little less, that it may is said too; ``nearest`` says which.
        """
        texts = list(dict.fromkeys(text for own, _ in asked for text in own))
        vectors = dict(zip(texts, self._encoded(texts), strict=True))
        found = []
        for own, rows in asked:
            known = [vector for text in own if (vector := vectors[text]) is not None]
            cosines = self.index.vectors(rows) @ np.stack(known).T if known else np.empty(0)
            found.append(bool(cosines.max(initial=-1) >= least - _MARGIN))
        return found

    def _encoded(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vectors of texts, None where the encoder knows nothing in one.

        Those of the last texts are kept: where k concepts need more rows than were ranked, the same texts come again.
        """
        kept = self._vectors
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        made: dict[str, NDArray[np.float32] | None] = dict.fromkeys(new)
        if asked := self._known(new):
            prefix = self.encoder.query_prefix
            made.update(zip(asked, self.encoder.encode([prefix + text for text in asked]), strict=True))
        if len(kept) + len(made) > _KEPT:
            self._vectors = made
        else:
            kept.update(made)
        return [made[text] if text in made else kept[text] for text in texts]

    def _text(self, query: Query) -> str:
        text = query.mention.text
        return self._long_forms(query.document.text).get(normalise(text), text)

    def _known(self, texts: list[str]) -> list[str]:
        """Those that have something in them that the encoder knows."""
        texts = [text for text in texts if normalise(text)]
        tokenizer = getattr(self.encoder, "tokenizer", None)
        if tokenizer is None or not texts:
            return texts
        return [text for text, is_known in zip(texts, known(tokenizer, texts), strict=True) if is_known]

    def state(self) -> dict[str, Any]:
        """Folder and fingerprint of the encoder, and the kind of index.

        Raises:
            UsageError: the encoder is in memory only.
        """
        if self._folder is None:
            raise UsageError("an encoder in memory cannot be told to another process: save it and name its folder")
        return {"encoder": str(self._folder), "fingerprint": self.fingerprint, "index": self._kind}

    @classmethod
    def from_state(cls, kb: KnowledgeBase, state: dict[str, Any]) -> Self:
        """See ``Linker.from_state``.

        Raises:
            ArtifactError: the folder holds another encoder by now.
        """
        encoder = encoders.load(state["encoder"])
        if fingerprint(encoder) != state["fingerprint"]:
            raise ArtifactError(f"{state['encoder']} is another encoder than before: make the linker again")
        linker = cls(kb, encoder, index=state["index"])
        linker._folder = Path(state["encoder"])
        return linker


def fingerprint(encoder: Encoder) -> str:
    """A hash of what an encoder's vectors depend on.

    Raises:
        UsageError: an encoder of another kind, without an attribute ``fingerprint``.
    """
    if isinstance(encoder, TrainableEncoder):
        digest = hashlib.sha256(json.dumps([encoder.kind, encoder.options()]).encode())
        digest.update(encoder.tokenizer.to_str().encode())
        for name, tensor in sorted(encoder.weights().items()):
            digest.update(f"{name} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()
    found = getattr(encoder, "fingerprint", None)
    if not isinstance(found, str):
        raise UsageError(f"{type(encoder).__name__} has no fingerprint to keep its vectors under: give it one")
    return found


def _folder(encoder: Encoder | str | Path) -> Path | None:
    if isinstance(encoder, str | Path):
        return Path(encoder).absolute()
    return encoder.folder if isinstance(encoder, OnnxEncoder) else None


def _calibration(encoder: Encoder) -> Calibration | None:
    """What lies beside an exported encoder, if anything does."""
    return Calibration.read(Artifact.open(encoder.folder, KIND)) if isinstance(encoder, OnnxEncoder) else None


def _long_forms(text: str) -> dict[str, str]:
    """Long forms by the look-up keys of the short forms that a text defines; the first definition counts."""
    found: dict[str, str] = {}
    for definition in definitions(text):
        found.setdefault(normalise(definition.short), definition.long)
    return found
