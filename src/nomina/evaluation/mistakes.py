"""What a system gets wrong, with all that a reader needs to see why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

from nomina.evaluation.match import Item
from nomina.evaluation.metrics import answered, first_hits
from nomina.evaluation.outcome import Outcome
from nomina.evaluation.protocols import Rule
from nomina.evaluation.shape import GoldId, Kind, Mistake, Offered
from nomina.evaluation.strata import Stratum
from nomina.kb.store import KnowledgeBase
from nomina.types import Document, Prediction

MOST = 2000
"""Mistakes that a report holds."""
CANDIDATES = 5
"""Candidates that each of them shows, of every part of a composite."""

_CONTEXT = 80  # characters
_NAMES_CACHED = 1 << 14


def mistakes(
    items: Sequence[Item],
    found: Outcome,
    rule: Rule,
    documents: Sequence[Document] = (),
    kb: KnowledgeBase | None = None,
    strata: Sequence[Stratum] = (),
) -> tuple[tuple[Mistake, ...], int]:
    """The first ``MOST`` items that are wrong by ``metrics.answered``, in order, and how many there are in all."""
    hits = first_hits(found, rule)
    wrong = np.flatnonzero(answered(found, rule) == 0).tolist()
    texts = {document.id: document.text for document in documents}
    names = _Names(kb)
    shown = (
        _mistake(
            items[i],
            _kind(items[i], bool(hits[i])),
            float(found.first[i]),
            texts,
            names,
            tuple(dict.fromkeys(stratum.name for stratum in strata if stratum.mask[i])),
        )
        for i in islice(wrong, MOST)
    )
    return tuple(shown), len(wrong)


class _Names:
    """Preferred names by id, as far as the KB has them."""

    def __init__(self, kb: KnowledgeBase | None) -> None:
        self._kb = kb
        self.of = lru_cache(_NAMES_CACHED)(self._read)

    def _read(self, id: str) -> str | None:
        return self._kb[id].name if self._kb is not None and id in self._kb else None


def _kind(item: Item, is_hit: bool) -> Kind:
    if not item.predictions:
        return "missing"
    if not item.gold:
        return "nil"
    return "abstained" if is_hit else "wrong"


def _mistake(
    item: Item, kind: Kind, rank: float, texts: Mapping[str, str], names: _Names, strata: tuple[str, ...]
) -> Mistake:
    text, mention = texts.get(item.document_id, ""), item.mention
    return Mistake(
        document_id=item.document_id,
        start=mention.start,
        end=mention.end,
        mention=mention.text,
        context_before=text[max(0, mention.start - _CONTEXT) : mention.start],
        context_after=text[mention.end : mention.end + _CONTEXT],
        gold=tuple(tuple(GoldId(id, names.of(id)) for id in sorted(part)) for part in item.gold),
        candidates=tuple(_offered(item.predictions)),
        kind=kind,
        rank_of_gold=int(rank) if np.isfinite(rank) else None,
        strata=strata,
    )


def _offered(predictions: Sequence[Prediction]) -> Iterator[Offered]:
    for prediction in predictions:
        for candidate in prediction.candidates[:CANDIDATES]:
            yield Offered(
                candidate.entity_id, candidate.preferred, candidate.name, candidate.score, candidate.rank,
                candidate.rule,
            )  # fmt: skip
