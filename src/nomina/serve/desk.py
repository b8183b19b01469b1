"""A project on a thread of its own, so that a writer of another worker is waited for without holding up requests."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from nomina.errors import UsageError
from nomina.review.project import Conflict, Project, Unknown
from nomina.serve.errors import Refusal, busy

_WAITING = 64  # requests that may wait at a time

T = TypeVar("T")


class Desk:
    """Where a worker does what is asked of its project, one thing after the other.

    Args:
        path: the project; opened at the first request.
        seconds: that one thing may take, waiting included. What is saved later is saved all the same.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path, self._seconds = path, seconds
        self._thread = ThreadPoolExecutor(1, "project")
        self._project: Project | None = None
        self._waiting = 0

    def close(self) -> None:
        """When all that was asked for is done."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    async def do(self, work: Callable[[Project], T]) -> T:
        """What the work makes of the project.

        Raises:
            Refusal: 404 no such document, 409 a conflict, 422 what cannot be, 429 too much waits, 504 it took too long.
        """
        if self._waiting >= _WAITING:
            raise busy()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(self._thread.submit(self._done, work))
        except TimeoutError as error:
            raise Refusal(504, "this took too long: ask again") from error
        finally:
            self._waiting -= 1

    def _done(self, work: Callable[[Project], T]) -> T:
        try:
            if self._project is None:
                self._project = Project(self._path)
            return work(self._project)
        except Conflict as error:
            facts: dict[str, object] = {
                "revision": error.revision,
                "annotator": error.annotator,
                "time": error.time,
            }
            raise Refusal(409, str(error), facts=facts) from error
        except Unknown as error:
            raise Refusal(404, str(error)) from error
        except (UsageError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) or isinstance(error.__cause__, sqlite3.Error):
                raise Refusal(503, "the project cannot be written or read now: try again") from error
            raise Refusal(422, str(error)) from error

    def _close(self) -> None:
        if self._project is not None:
            self._project.close()
