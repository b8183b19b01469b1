"""One worker's state: the engine of the moment, the queue before it, and how another engine takes its place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nomina.errors import NominaError
from nomina.serve.batching import Batcher
from nomina.serve.bodies import Room
from nomina.serve.desk import Desk
from nomina.serve.engine import Engine
from nomina.serve.errors import Refusal, busy
from nomina.serve.metrics import Metrics
from nomina.serve.options import Settings

LOG = logging.getLogger("nomina.serve")

_LOOKUPS = 64  # that may wait at a time
_BODIES = 16  # of the largest size, that may be held at a time

T = TypeVar("T")


class Service:
    """What the routes ask. All but ``settings`` is used on the event loop only."""

    def __init__(self, settings: Settings, engine: Engine, metrics: Metrics) -> None:
        self.settings, self.engine, self.metrics = settings, engine, metrics
        self.batcher = Batcher(lambda: self.engine, settings.limits.queue, metrics)
        self.desk = None if settings.project is None else Desk(settings.project, settings.limits.seconds)
        self.room = Room(_BODIES * settings.limits.body)
        self._lookups = 0
        self._reload: asyncio.Task[None] | None = None
        self._again = False

    def start(self) -> None:
        """Begin to answer."""
        self.batcher.start()

    async def stop(self) -> None:
        """After the last answer."""
        await self.batcher.stop()
        if self._reload is not None:
            self._reload.cancel()
        if self.desk is not None:
            self.desk.close()
        self.engine.close()

    async def look_up(self, ask: Callable[[Engine], Awaitable[T]]) -> T:
        """What the engine of the moment answers, within the time that a request may take.

        Raises:
            Refusal: too many wait already, or it took too long.
        """
        if self._lookups >= _LOOKUPS:
            raise busy()
        self._lookups += 1
        try:
            async with asyncio.timeout(self.settings.limits.seconds):
                return await ask(self.engine)
        except TimeoutError as error:
            raise Refusal(504, "this took too long") from error
        finally:
            self._lookups -= 1

    def reload(self) -> None:
        """Open KB and linker anew beside the old ones, which answer meanwhile; asked again meanwhile, once more."""
        if self._reload is not None and not self._reload.done():
            self._again = True
            return
        self._reload = asyncio.create_task(self._reloaded())

    async def _reloaded(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            await self._reload_once()

    async def _reload_once(self) -> None:
        try:
            engine = await asyncio.to_thread(Engine.open, self.settings)
        except NominaError as error:
            self._failed(" ".join(str(error).split()))
            return
        except Exception as error:
            self._failed(type(error).__name__)
            return
        old, self.engine = self.engine, engine
        old.close()
        self.metrics.add("nomina_reloads_total")
        LOG.info("serves %s %s now", engine.kb.manifest.name, engine.kb.fingerprint)

    def _failed(self, why: str) -> None:
        self.metrics.add("nomina_reload_failures_total")
        LOG.error("the KB could not be opened anew, the old one serves on: %s", why)
