"""The parts that a cascade may have, each opened when a mention first needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nomina import encoders, generation
from nomina.abbreviations import definitions
from nomina.encoders.base import TOKENIZER
from nomina.errors import ArtifactError, UsageError
from nomina.files import sha256
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker, Rule
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.fitted_cascade.pools import Flags, Floats, Pools, place_of
from nomina.text import normalise
from nomina.types import Query

if TYPE_CHECKING:
    from nomina.linkers.generative import GenerativeLinker

PARTS = ("dictionary", "tfidf", "embedding", "generative")
"""Those that there are, the cheapest first, which is the order in which they are asked."""

Progress = Callable[[int, int], None]

_WEIGHTS = (".safetensors", ".bin")
_WRITTEN_BY = ("config.json", generation.DESCRIPTION, TOKENIZER)
"""Of a generator's folder: what else its answers depend on."""

_LEAST_LOG = -30.0
"""Of a name's probability; what is less likely is as unlikely."""


@dataclass(frozen=True, slots=True)
class PartOptions:
    """A part, as a saved cascade describes it.

    Attributes:
        part: one of ``PARTS``.
        model: the folder of its encoder or generator; of embedding "" is the encoder that nomina comes with.
        many: names that it offers, of generative those that it scores, the most promising ones.
        beams: of generative: names that it finds itself as well, by beam search; 0: none.
        context: of generative: whether it may read the text around a mention; one that was not trained to never does.
        index: of embedding: one of ``nomina.index.INDEXES``.
        fingerprint: of the model that the cascade was fitted with; "": not fitted yet.
    """

    part: str
    model: str = ""
    many: int = 64
    beams: int = 0
    context: bool = True
    index: str = "int8"
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise UsageError(f"no part is called {self.part!r}: there are {', '.join(PARTS)}")
        if self.part == "generative" and not self.model:
            raise UsageError("the part generative needs the folder of a generator")
        if self.many < 1 or self.beams < 0:
            raise UsageError(f"{self.part}: many must be at least 1, beams not below 0")


class Searching:
    """A part that offers names of its own.

    Args:
        kb: whose names.
        options: see there.
        progress: told how many names are encoded, of how many.

    Raises:
        ArtifactError: there is no such encoder.
    """

    def __init__(self, kb: KnowledgeBase, options: PartOptions, progress: Progress | None = None) -> None:
        self.kb, self.options, self._progress = kb, options, progress
        self._long_forms = lru_cache(maxsize=512)(_long_forms)
        if options.model:
            encoders.check_encoder(options.model)

    @cached_property
    def linker(self) -> Linker:
        """What ranks.

        Raises:
            ArtifactError: its encoder is not the one that the cascade was fitted with.
        """
        if self.options.part == "dictionary":
            return DictionaryLinker(self.kb)
        if self.options.part == "tfidf":
            from nomina.linkers.tfidf import TfidfLinker

            return TfidfLinker(self.kb)
        from nomina.linkers.embedding import EmbeddingLinker

        model = self.options.model or encoders.shipped()
        linker = EmbeddingLinker(self.kb, model, index=self.options.index, progress=self._progress)
        _check(self.options, linker.fingerprint)
        return linker

    def fingerprint(self) -> str:
        """Of its model; "" where it has none."""
        from nomina.linkers.embedding import EmbeddingLinker

        return self.linker.fingerprint if isinstance(self.linker, EmbeddingLinker) else ""

    def extend(self, queries: Sequence[Query], pools: Pools, shares: Floats | None, within: Flags | None) -> Pools:
        """The names that have been offered, with its own and what it says of all of them.

        Args:
            queries: n mentions.
            pools: what has been offered for them.
            shares: (t,) how promising these are, as far as the parts before it can say.
            within: which rows may be named.
        """
        del shares
        if self.options.part == "tfidf":
            queries = [self._written_out(query) for query in queries]
        ranking = self.linker.rank(queries, min(self.options.many, max(len(self.kb.names), 1)), within)
        return pools.united(ranking, np.where(np.isfinite(ranking.scores), ranking.scores, 0.0).astype(np.float64))

    def _written_out(self, query: Query) -> Query:
        """A mention that its text defines as an abbreviation as its long form, as the other parts read it."""
        form = self._long_forms(query.document.text).get(normalise(query.mention.text))
        return query if form is None else query._replace(mention=replace(query.mention, text=form))


def _long_forms(text: str) -> dict[str, str]:
    """Long forms by the look-up keys of the short forms that a text defines; the first definition counts."""
    found: dict[str, str] = {}
    for definition in definitions(text):
        found.setdefault(normalise(definition.short), definition.long)
    return found


class Rescoring:
    """A generator, which says of the most promising names how likely it is to write them, in the mention's context.

    For arguments and errors see ``Searching``.
    """

    def __init__(self, kb: KnowledgeBase, options: PartOptions, progress: Progress | None = None) -> None:
        self.kb, self.options, self._progress = kb, options, progress
        if not Path(options.model).is_dir():
            raise ArtifactError(f"no such folder: {options.model}; name the folder of a generator")
        if not generation.is_generator(options.model):
            raise ArtifactError(f"{options.model} holds no generator: name a folder that `nomina train genbioel` wrote")

    @cached_property
    def linker(self) -> GenerativeLinker:
        """What scores; see ``Searching.linker``."""
        from nomina.linkers.generative import GenerativeLinker

        _check(self.options, self.fingerprint())
        beams, context = max(self.options.beams, 1), None if self.options.context else False
        return GenerativeLinker(self.kb, self.options.model, beams=beams, context=context, progress=self._progress)

    def fingerprint(self) -> str:
        """Of its model: weights, configuration, tokenizer, and how mentions are written (prompt, markers, context)."""
        files = sorted(Path(self.options.model).iterdir())
        return sha256(*(path for path in files if path.suffix in _WEIGHTS or path.name in _WRITTEN_BY))

    def extend(self, queries: Sequence[Query], pools: Pools, shares: Floats | None, within: Flags | None) -> Pools:
        """See ``Searching.extend``; of the names that have been offered the most promising ones are left."""
        if shares is not None:
            pools = pools.kept(place_of(pools.mention, pools.rows, shares) < self.options.many)
        if self.options.beams:
            pools = pools.offered(self.linker.rank(queries, self.options.beams, within))
        rows, column = pools.table()
        logs = self.linker.log_probabilities(queries, rows) if rows.size else np.zeros(rows.shape, np.float32)
        values = logs[pools.mention, column].astype(np.float64).clip(_LEAST_LOG, 0.0)
        return pools.scored(values, Rule.GENERATIVE)


Part = Searching | Rescoring


def opened(kb: KnowledgeBase, options: PartOptions, progress: Progress | None = None) -> Part:
    """A part over a KB; see ``Searching``."""
    return (Rescoring if options.part == "generative" else Searching)(kb, options, progress)


def fitted_with(part: Part) -> PartOptions:
    """The options of a part, its model's fingerprint noted."""
    return replace(part.options, fingerprint=part.fingerprint())


def _check(options: PartOptions, found: str) -> None:
    if options.fingerprint and options.fingerprint != found:
        model = options.model or "the encoder that nomina comes with"
        raise ArtifactError(f"{model} is not the model that the cascade was fitted with: fit it again (nomina cascade)")
