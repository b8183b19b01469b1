"""Names that mean alike: the cosine between the vectors of a mention and of every name of the KB.

The linker of SapBERT (section 2) and ResCNN (section 2): the encoder tells them apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nomina import encoders
from nomina.abbreviations import definitions
from nomina.artifact import MANIFEST
from nomina.encoders.base import Encoder, TrainableEncoder
from nomina.encoders.onnx import OnnxEncoder, known
from nomina.errors import ArtifactError, UsageError
from nomina.index.building import Progress, open_index
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker, Ranking, Rule
from nomina.text import normalise
from nomina.types import Query


class EmbeddingLinker(Linker):
    """Ranks KB names by cosine, above 0 and at most 1; 1 for what the encoder cannot tell from the mention.

    A mention that its text defines as an abbreviation is encoded as its long form. A mention of which the encoder's
    tokenizer knows no token has no candidate. Names are encoded once per KB and encoder, in the cache folder.

    Args:
        kb: whose names are ranked.
        encoder: an encoder, or the folder of one.
        index: one of ``nomina.index.INDEXES``.
        progress: told how many names are encoded, of how many.

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
        if encoder is None:
            raise UsageError("the embedding linker needs an encoder: EmbeddingLinker(kb, FOLDER), a saved encoder's")
        self.encoder = open_encoder(encoder) if isinstance(encoder, str | Path) else encoder
        self._folder = _folder(encoder)
        self._kind, self._fingerprint = index, fingerprint(self.encoder)
        self.index = open_index(kb, self.encoder, self._fingerprint, index, progress)
        self._long_forms = lru_cache(maxsize=512)(_long_forms)

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k nearest names a mention, by score, then by row; see ``Linker.rank``."""
        places: dict[str, list[int]] = {}
        for i, query in enumerate(queries):
            places.setdefault(self._text(query), []).append(i)
        texts = self._known(list(places))
        ranking = Ranking.empty(len(queries), k)
        if not texts:
            return ranking
        prefix = self.encoder.query_prefix
        hits = self.index.search(self.encoder.encode([prefix + text for text in texts]), k, within)
        near = hits.scores > 0
        for text, rows, scores, there in zip(texts, *hits, near, strict=True):
            count = np.count_nonzero(there)
            ranking.rows[places[text], :count] = rows[:count]
            ranking.scores[places[text], :count] = scores[:count]
            ranking.rules[places[text], :count] = Rule.EMBEDDING
        return ranking

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
        return {"encoder": str(self._folder), "fingerprint": self._fingerprint, "index": self._kind}

    @classmethod
    def from_state(cls, kb: KnowledgeBase, state: dict[str, Any]) -> Self:
        """See ``Linker.from_state``.

        Raises:
            ArtifactError: the folder holds another encoder by now.
        """
        encoder = open_encoder(state["encoder"])
        if fingerprint(encoder) != state["fingerprint"]:
            raise ArtifactError(f"{state['encoder']} is another encoder than before: make the linker again")
        linker = cls(kb, encoder, index=state["index"])
        linker._folder = Path(state["encoder"])
        return linker


def open_encoder(folder: str | Path) -> Encoder:
    """An exported encoder, which needs no torch, or a saved trainable one.

    Raises:
        ArtifactError: the folder holds neither.
        MissingExtra: it is a trainable one, and torch is not installed.
    """
    if (Path(folder) / MANIFEST).is_file():
        return OnnxEncoder(folder)
    encoder: Encoder = encoders.load(folder)
    return encoder


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


def _long_forms(text: str) -> dict[str, str]:
    """Long forms by the look-up keys of the short forms that a text defines; the first definition counts."""
    found: dict[str, str] = {}
    for definition in definitions(text):
        found.setdefault(normalise(definition.short), definition.long)
    return found
