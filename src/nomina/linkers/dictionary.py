"""The dictionary: names and their variants in order of trust, and abbreviations that the text itself defines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nomina.abbreviations import definitions
from nomina.kb.store import KnowledgeBase
from nomina.lexicon import Lexicon, Match
from nomina.linkers.base import Linker, Ranking, Rule
from nomina.text import normalise
from nomina.types import Query

_DEFINED = 0.97
"""What a definition in the text leaves of its long form's score."""
_OVERRULED = 0.8
"""What is left of a short form's own reading where the text defines it as another KB name."""


class DictionaryLinker(Linker):
    """Ranks the KB names that a mention is a variant of; its score is the trust in the rule (1 for the very name).

    A mention that the text defines as an abbreviation is looked up in its long form **and** as it stands; a long form
    also in its short one, where nothing else is found.
    """

    def __init__(self, kb: KnowledgeBase, lexicon: Lexicon | None = None) -> None:
        super().__init__(kb)
        self.lexicon = lexicon or Lexicon.open(kb)
        self._defined = lru_cache(maxsize=512)(_defined)

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k most trusted names a mention; see ``Linker.rank``."""
        ranking = Ranking.empty(len(queries), k)
        places: list[int] = []
        found: list[Match] = []
        for i, query in enumerate(queries):
            matches = self._matches(query)
            if within is not None:
                matches = [match for match in matches if within[match.row]]
            places.extend(range(i * k, i * k + min(k, len(matches))))
            found.extend(matches[:k])
        ranking.rows.flat[places] = [match.row for match in found]
        ranking.scores.flat[places] = [match.score for match in found]
        ranking.rules.flat[places] = [match.rule for match in found]
        return ranking

    def _matches(self, query: Query) -> Sequence[Match]:
        text = query.mention.text
        own = self.lexicon.lookup(text)
        defined_here = self._defined(query.document.text)
        other = defined_here.get(normalise(text)) if defined_here else None
        if other is None:
            return own
        defined = [Match(m.row, Rule.ABBREVIATION, m.score * _DEFINED) for m in self.lexicon.lookup(other)]
        if own and len(other) < len(text):
            return own
        if defined:
            own = tuple(Match(m.row, m.rule, m.score * _OVERRULED) for m in own)
        best = {m.row: m for m in sorted([*own, *defined], key=lambda m: m.score)}
        return sorted(best.values(), key=lambda m: (-m.score, m.row))


def _defined(text: str) -> dict[str, str]:
    """Long form by short form and short form by long form, as look-up keys to raw text; the first definition counts."""
    other: dict[str, str] = {}
    for definition in definitions(text):
        other.setdefault(normalise(definition.short), definition.long)
        other.setdefault(normalise(definition.long), definition.short)
    return other
