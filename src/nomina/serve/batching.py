"""Requests that come at the same time are linked together: what waits while a batch is linked is the next batch.

Clients that ask again as soon as they are answered do so a moment after a batch, one by one. So the next batch waits
for as many as were answered, but no longer than a share of the time that the last one took: else the first of them
would be linked alone, and the others after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nomina.serve.engine import Engine, Job, Linked
from nomina.serve.errors import busy
from nomina.serve.metrics import Metrics
from nomina.serve.schema import Asked
from nomina.types import Document

_DOCUMENTS = 256
_CHARACTERS = 200_000
_SHARE = 0.25
_LONGEST = 0.02  # seconds


class _Waiting(NamedTuple):
    job: Job
    answer: asyncio.Future[Linked]


class Batcher:
    """A bounded queue before the engine; used on the event loop only.

    Args:
        engine: gives the engine of the moment; a batch stays with the one that it began with.
        limit: documents that may wait or be linked at a time. A single larger job is taken while nothing else is there.
        metrics: told what is done.
    """

    def __init__(self, engine: Callable[[], Engine], limit: int, metrics: Metrics) -> None:
        self._engine, self._limit, self._metrics = engine, limit, metrics
        self._waiting: deque[_Waiting] = deque()
        self._size = 0
        self._work, self._room, self._enough = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._expected, self._patience = 1, 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to link what comes."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Link no more; whoever still waits is gone."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def link(self, documents: Sequence[Document], asked: Asked) -> Linked:
        """Queue documents and wait for their answer.

        Raises:
            Refusal: the queue is full, or the KB has no such id or type.
        """
        if not self._has_room(len(documents)):
            raise busy()
        return await self._queued(documents, asked)

    async def link_patiently(self, documents: Sequence[Document], asked: Asked) -> Linked:
        """The same, waiting for room: of a batch that can be read more slowly."""
        while not self._has_room(len(documents)):
            self._room.clear()
            await self._room.wait()
        return await self._queued(documents, asked)

    @property
    def is_full(self) -> bool:
        """Whether a single document would be refused now."""
        return not self._has_room(1)

    def _has_room(self, documents: int) -> bool:
        return self._size == 0 or self._size + documents <= self._limit

    async def _queued(self, documents: Sequence[Document], asked: Asked) -> Linked:
        answer: asyncio.Future[Linked] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(Job(documents, asked), answer))
        self._grow(len(documents))
        self._work.set()
        if len(self._waiting) >= self._expected:
            self._enough.set()
        return await answer

    def _grow(self, documents: int) -> None:
        self._size += documents
        self._metrics.set("nomina_queue_documents", self._size)
        if documents < 0:
            self._room.set()

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            await self._gather()
            batch = self._next()
            if not batch:
                self._work.clear()
                self._expected = 1
                continue
            begun = time.perf_counter()
            try:
                await self._answer(batch)
            finally:
                self._grow(-sum(len(item.job.documents) for item in batch))
            self._expected = len(batch)
            self._patience = min(_SHARE * (time.perf_counter() - begun), _LONGEST)

    async def _gather(self) -> None:
        """Wait for as many jobs as were answered last, or until the time for that is over."""
        if len(self._waiting) >= self._expected:
            return
        self._enough.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._enough.wait()

    def _next(self) -> list[_Waiting]:
        """The oldest jobs that make up a batch; those that nobody waits for any more are left out."""
        batch: list[_Waiting] = []
        documents = characters = 0
        while self._waiting and documents < _DOCUMENTS and characters < _CHARACTERS:
            item = self._waiting.popleft()
            if item.answer.done():
                self._grow(-len(item.job.documents))
                continue
            batch.append(item)
            documents += len(item.job.documents)
            characters += sum(len(document.text) for document in item.job.documents)
        return batch

    async def _answer(self, batch: list[_Waiting]) -> None:
        answers: list[Linked | Exception]
        try:
            answers = await self._engine().link([item.job for item in batch])
        except Exception as error:
            answers = [error] * len(batch)
        self._metrics.add("nomina_batches_total")
        for item, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Linked):
                self._metrics.add("nomina_documents_total", len(answer.documents))
                self._metrics.add("nomina_mentions_total", answer.mentions)
            if item.answer.done():
                continue
            if isinstance(answer, Exception):
                item.answer.set_exception(answer)
            else:
                item.answer.set_result(answer)
