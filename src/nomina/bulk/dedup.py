"""A mention that stands alone, however often it comes, is linked once: a bounded memory of predictions, for a shard."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nomina.abbreviations import definitions
from nomina.kb.store import Subset
from nomina.linkers.base import Level, Linker, Ranking
from nomina.text import normalise
from nomina.types import Document, Mention, Prediction, Query

KEPT = 1 << 12
"""Predictions that are kept, those asked for last: full soon, so that memory does not go on growing."""


class RememberingLinker(Linker):
    """A linker whose answer to a mention hangs on the mention's text and on what its document defines as abbreviations.

    A mention that its document defines (the short or the long form) is always asked anew. All others of one text have
    one answer: that to the first one, until ``forget`` is called or ``kept`` others have been asked for since.
    """

    def __init__(self, linker: Linker, kept: int = KEPT) -> None:
        super().__init__(linker.kb)
        self.linker, self.kept = linker, kept
        self.together = linker.together
        self._answers: OrderedDict[str, Prediction] = OrderedDict()
        self._defined = lru_cache(maxsize=512)(_defined)

    def forget(self) -> None:
        """Begin anew, so that what comes does not hang on what went before."""
        self._answers.clear()

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """See ``Linker.rank``; nothing is remembered here."""
        return self.linker.rank(queries, k, within)

    def link(
        self,
        documents: Iterable[Document],
        *,
        k: int = 5,
        threshold: float | None = None,
        within: Subset | None = None,
        level: Level = "concept",
    ) -> Iterator[Prediction]:
        """See ``Linker.link``; all calls between two of ``forget`` have the same ``k`` and so on."""
        queries = (Query(document, mention) for document in documents for mention in document.mentions)
        while batch := list(islice(queries, self.together)):
            asked, places = self._to_ask(batch)
            linked = self.linker.link(asked, k=k, threshold=threshold, within=within, level=level)
            made = dict(zip(places, linked, strict=True))
            found = [made.get(i) for i in range(len(batch))]
            new = {batch[i].mention.text: answer for i, answer in made.items() if not self._is_defined(batch[i])}
            for query, own in zip(batch, found, strict=True):
                text = query.mention.text
                answer = own or new.get(text) or self._answers[text]
                yield replace(answer, document_id=query.document.id, mention=query.mention)
            self._keep([query.mention.text for query in batch if not self._is_defined(query)], new)

    def _to_ask(self, batch: Sequence[Query]) -> tuple[list[Document], list[int]]:
        """Documents with the mentions that are not known yet, and the places of these in the batch."""
        wanted: list[tuple[Document, list[Mention]]] = []
        places: list[int] = []
        coming: set[str] = set()
        for i, query in enumerate(batch):
            text = query.mention.text
            if not self._is_defined(query):
                if text in self._answers or text in coming:
                    continue
                coming.add(text)
            if not wanted or wanted[-1][0] is not query.document:
                wanted.append((query.document, []))
            wanted[-1][1].append(query.mention)
            places.append(i)
        return [replace(document, mentions=tuple(own)) for document, own in wanted], places

    def _keep(self, texts: Sequence[str], new: dict[str, Prediction]) -> None:
        for text in texts:
            if text not in self._answers:
                self._answers[text] = new[text]
            self._answers.move_to_end(text)
        while len(self._answers) > self.kept:
            self._answers.popitem(last=False)

    def _is_defined(self, query: Query) -> bool:
        defined = self._defined(query.document.text)
        return bool(defined) and normalise(query.mention.text) in defined

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.linker, self.kept)


def _defined(text: str) -> frozenset[str]:
    """The look-up keys of all short and long forms that a text defines."""
    return frozenset(normalise(form) for one in definitions(text) for form in (one.short, one.long))
