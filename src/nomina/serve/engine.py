"""A pipeline on a thread of its own: opened, warmed, asked and closed there; one more thread reads concepts."""

from __future__ import annotations

import asyncio
import json
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from nomina import __version__
from nomina.detect import Detector
from nomina.errors import KnowledgeBaseError
from nomina.kb.find import BY_ID, find
from nomina.kb.store import KnowledgeBase
from nomina.linkers.cascade import CascadeLinker
from nomina.output import as_record
from nomina.pipeline import Pipeline, load
from nomina.proposals import SpanLinker
from nomina.review.unknown import unknown_ids
from nomina.serve.errors import Refusal
from nomina.serve.options import Settings
from nomina.serve.schema import Asked
from nomina.types import Candidate, Document, Mention, Prediction

_VARIANTS = 16  # filters whose detector is kept
_CHILDREN = 1000
_INVALID = 422  # as invalid for one request as for another that asks alike
_UNHEARD_OF = "unheard-of phrase"

T = TypeVar("T")


class Job(NamedTuple):
    """Documents of one request, and how it wants them linked."""

    documents: Sequence[Document]
    asked: Asked


class Linked(NamedTuple):
    """What a job was answered: one line of JSON a document, and how many mentions they hold together."""

    documents: list[str]
    mentions: int


class Engine:
    """What answers requests until a reload puts another one in its place. Made by ``open``.

    Tables of a pipeline are shared by nobody: all linking is done on one thread. A KB holds one connection a thread, to
    the file as it was when the thread first asked; so both threads ask before the engine is used.
    """

    def __init__(self, pipeline: Pipeline, linking: ThreadPoolExecutor, settings: Settings) -> None:
        self.pipeline, self.settings = pipeline, settings
        self._linking = linking
        self._reading = ThreadPoolExecutor(1, "reading")
        self._filtered = lru_cache(_VARIANTS)(self._make_filtered)
        self._searches, self._is_closed = 0, False
        self._reading.submit(next, iter(self.kb)).result()

    @classmethod
    def open(cls, settings: Settings) -> Engine:
        """Open KB and linker, encode what is not encoded yet, and link once.

        Raises:
            NominaError: as ``nomina.load``.
        """
        linking = ThreadPoolExecutor(1, "linking")
        try:
            return cls(linking.submit(_warmed, settings).result(), linking, settings)
        except BaseException:
            linking.shutdown()
            raise

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base."""
        return self.pipeline.kb

    def close(self) -> None:
        """Let both threads end when they have done what they were given, and the second half of searches."""
        self._is_closed = True
        if self._searches == 0:
            self._linking.shutdown(wait=False)
            self._reading.shutdown(wait=False)

    async def link(self, jobs: Sequence[Job]) -> list[Linked | Exception]:
        """Link jobs together; each gets its answer or its own error."""
        return await self._on(self._linking, lambda: self._linked(jobs))

    async def search(self, query: str, k: int) -> str:
        """``SearchOut`` as JSON: the concept of an id; else concepts with such names, then as if it were a mention."""
        self._searches += 1  # it asks one thread, then the other; a reload between the two must not have ended that
        try:
            found = await self._on(self._reading, lambda: find(self.kb, query, k))
            if len(found) < k and not any(candidate.rule in BY_ID for candidate in found):
                document = Document("search", query, (Mention(((0, len(query)),), query),))
                found = await self._on(self._linking, lambda: self._with_linked(found, document, k))
        finally:
            self._searches -= 1
            if self._is_closed:
                self.close()
        return _dumped({"candidates": [asdict(candidate) for candidate in found], "kb": self.kb.fingerprint})

    async def unknown(self, ids: Sequence[str]) -> list[str]:
        """Those that the KB does not have, see ``nomina.review.unknown``."""
        return await self._on(self._reading, lambda: unknown_ids(self.kb, ids))

    async def concept(self, id: str) -> str:
        """``ConceptOut`` as JSON.

        Raises:
            Refusal: the KB has no such concept.
        """
        return await self._on(self._reading, lambda: self._concept(id))

    async def _on(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(threads.submit(work))

    def info(self) -> dict[str, Any]:
        """What is served: KB, linker, encoder, versions. No paths of this machine."""
        manifest, linker = self.kb.manifest, self.pipeline.linker
        model = linker.model if isinstance(linker, CascadeLinker) else None
        card = None
        if model is not None:
            files = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in model.files.items()}
            card = {"kind": model.kind, "fingerprint": model.fingerprint, "options": model.options, "files": files}
        return {
            "kb": {
                "name": manifest.name,
                "release": manifest.release,
                "licence": manifest.licence,
                "fingerprint": self.kb.fingerprint,
                "concepts": manifest.counts.concepts,
                "names": manifest.counts.names,
            },
            "linker": type(linker).__name__,
            "model": card,
            "finds_phrases": self.pipeline.spans is not None,
            "k": self.settings.k,
            "threshold": self.settings.threshold,
            "limits": asdict(self.settings.limits),
            "versions": {
                "nomina": __version__,
                "normaliser": manifest.normaliser,
                "python": platform.python_version(),
                "onnxruntime": version("onnxruntime"),
            },
        }

    def _linked(self, jobs: Sequence[Job]) -> list[Linked | Exception]:
        answers: list[Linked | Exception] = [Linked([], 0)] * len(jobs)
        alike: dict[Asked, list[int]] = {}
        for number, job in enumerate(jobs):
            alike.setdefault(job.asked, []).append(number)
        for asked, numbers in alike.items():
            answered = self._alike([jobs[n].documents for n in numbers], asked)
            for number, answer in zip(numbers, answered, strict=True):
                answers[number] = answer
        return answers

    def _alike(self, groups: list[Sequence[Document]], asked: Asked) -> list[Linked | Exception]:
        """Link documents of several requests; where that fails, each request by itself, so that only one fails."""
        try:
            lines = iter(self._lines([document for group in groups for document in group], asked))
            return [_joined([next(lines) for _ in group]) for group in groups]
        except Exception as error:
            if len(groups) == 1 or (isinstance(error, Refusal) and error.status == _INVALID):
                return [error] * len(groups)
            return [self._alike([group], asked)[0] for group in groups]

    def _lines(self, documents: Sequence[Document], asked: Asked) -> list[tuple[str, int]]:
        """Each document's answer and how many mentions it has; ids are numbers meanwhile, since two may be alike."""
        pipeline, most = self._wanted(asked), self.settings.limits.answer
        numbered = [replace(document, id=str(number)) for number, document in enumerate(documents)]
        lines = [(self._line(document, []), 0) for document in documents]
        size = sum(len(line) for line, _ in lines)
        for number, found in groupby(pipeline.link(numbered, k=asked.k), lambda p: int(p.document_id)):
            predictions = list(found)
            line = self._line(documents[number], predictions)
            lines[number] = line, len(predictions)
            size += len(line)
            if size > most:
                raise Refusal(413, f"the answer has more than {most:,} characters: send less at a time, or a lower k")
        return lines

    def _line(self, document: Document, predictions: Sequence[Prediction]) -> str:
        records = [_record(prediction) for prediction in predictions]
        return _dumped({"id": document.id, "kb": self.kb.fingerprint, "predictions": records})

    def _wanted(self, asked: Asked) -> Pipeline:
        own, filtered = self.pipeline, self.pipeline
        if asked.under or asked.types:
            filtered = self._filtered(frozenset(asked.under), frozenset(asked.types))
        if asked.threshold is None:
            return filtered
        return Pipeline(
            own.linker, filtered.detector, k=own.k, threshold=asked.threshold, within=filtered.within,
            context=own.context, spans=filtered.spans,
        )  # fmt: skip

    def _make_filtered(self, under: frozenset[str], types: frozenset[str]) -> Pipeline:
        """The pipeline as ``nomina.load`` makes it with these filters, over the tables that are open.

        Raises:
            Refusal: an id or type that the KB does not have.
        """
        own = self.pipeline
        try:
            within = self.kb.subset(sorted(under), sorted(types))
        except KnowledgeBaseError as error:
            raise Refusal(_INVALID, str(error)) from error
        detector = Detector(own.detector.lexicon, own.detector.overlaps, within.rows)
        spans = SpanLinker(own.spans.linker, own.spans.model, within) if own.spans else None
        return Pipeline(
            own.linker, detector, k=own.k, threshold=own.threshold, within=within, context=own.context, spans=spans
        )

    def _with_linked(self, found: list[Candidate], document: Document, k: int) -> list[Candidate]:
        """What was found, and behind it what the linker offers besides."""
        (linked,) = self.pipeline.link([document], k=k)
        known = {candidate.entity_id for candidate in found}
        more = [each for each in linked.candidates if each.entity_id not in known]
        return [*found, *(replace(each, rank=len(found) + each.rank) for each in more)][:k]

    def _concept(self, id: str) -> str:
        kb = self.kb
        entity = kb.get(id)
        if entity is None:
            live = kb.resolve(id)
            raise Refusal(404, f"this id is retired: use {live}" if live else "the KB has no concept of this id")
        children = kb.children(id)
        record = asdict(entity)
        record["name"] = entity.name
        record["parents"] = [_neighbour(kb, parent) for parent in kb.parents(id)]
        record["children"] = [_neighbour(kb, child) for child in children[:_CHILDREN]]
        record["children_total"] = len(children)
        record["kb"] = kb.fingerprint
        return _dumped(record)


def _warmed(settings: Settings) -> Pipeline:
    """The pipeline; a phrase that no KB has makes it open its encoder and the KB's vectors now."""
    pipeline = load(
        settings.linker,
        settings.kb,
        k=settings.k,
        threshold=settings.threshold,
        spans=settings.spans,
        context=settings.context,
    )
    pipeline.link_mentions([_UNHEARD_OF])
    pipeline.link_text(f"She has an {_UNHEARD_OF}.")
    return pipeline


def _record(prediction: Prediction) -> dict[str, Any]:
    """A prediction without what only a corpus has."""
    record = as_record(prediction)
    del record["document_id"], record["mention"]["gold"]
    return record


def _joined(lines: Sequence[tuple[str, int]]) -> Linked:
    return Linked([line for line, _ in lines], sum(mentions for _, mentions in lines))


def _neighbour(kb: KnowledgeBase, id: str) -> dict[str, str]:
    return {"id": id, "name": kb[id].name}


def _dumped(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
