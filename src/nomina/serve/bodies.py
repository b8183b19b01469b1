"""Bodies of requests: of the type that they should have, read within the time that they may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request

from nomina.serve.errors import Refusal, busy

JSON = "application/json"
_SHORT = 10_000  # bytes that are parsed in less time than another thread takes to begin
_MOST_VALUES = 1_000_000  # of a body: nobody is answered while they are made, on whichever thread

T = TypeVar("T")


def check_type(request: Request, wanted: str) -> None:
    """Refuse a body that is said to be something else, or packed.

    Raises:
        Refusal: it is.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        raise Refusal(415, f"send the body as {wanted} (header Content-Type)")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "send the body as it is, not packed")


async def read(request: Request, seconds: float) -> bytes:
    """The whole body.

    Raises:
        Refusal: it came too slowly.
    """
    try:
        async with asyncio.timeout(seconds):
            return await request.body()
    except TimeoutError as error:
        raise Refusal(408, "the body came too slowly", {"connection": "close"}) from error


class Room:
    """How many bytes of bodies are held, of all requests together; used on the event loop only.

    Args:
        most: how many may be.
    """

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0

    def take(self, size: int) -> None:
        """Hold so many more; they have come already, and are to be given back in any case.

        Raises:
            Refusal: they are too many now.
        """
        self._held += size
        if self._held > self._most:
            raise busy()

    def give_back(self, size: int) -> None:
        """Hold so many less."""
        self._held -= size


async def aside(work: Callable[[], T], size: int) -> T:
    """What the work makes of so many bytes; where they are many, others are answered meanwhile."""
    return work() if size <= _SHORT else await asyncio.to_thread(work)


def parsed(parse: Callable[[str], T], raw: bytes) -> T:
    """A body as ``nomina.records.parser`` makes it.

    Raises:
        Refusal: it is none, or has too many values, by the signs before them (of which its texts have some, too).
    """
    if len(raw) > _MOST_VALUES and sum(map(raw.count, (b",", b"{", b"["))) > _MOST_VALUES:
        raise Refusal(413, f"a body has {_MOST_VALUES:,} values at most: send less at a time")
    try:
        return parse(raw.decode())
    except UnicodeDecodeError as error:
        raise Refusal(422, f"byte {error.start} (from 0) is not UTF-8") from error
    except ValueError as error:
        raise Refusal(422, str(error).replace("; a line has:", "; there are:")) from error
