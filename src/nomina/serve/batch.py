"""``/link/batch``: lines in, lines out, at the pace of the slower side; only what is on its way is held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nomina.serve.bodies import Room, aside
from nomina.serve.errors import Refusal
from nomina.serve.schema import Asked, batch_line
from nomina.serve.service import Service
from nomina.types import Document

_DOCUMENTS = 32
_CHARACTERS = 100_000


class _Line(NamedTuple):
    """A line with its number, from 1; where it is no document, why."""

    number: int
    document: Document | None
    error: str = ""


class BatchResponse(Response):
    """The answer to a batch: reads the request while it is sent.

    An own response: Starlette's streams listen for the client's leaving meanwhile, and would swallow the body.
    """

    def __init__(self, service: Service, asked: Asked, media_type: str) -> None:
        self.status_code, self.background = 200, None
        self._service, self._asked = service, asked
        self.raw_headers = [(b"content-type", media_type.encode("latin-1")), (b"x-accel-buffering", b"no")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer line by line; a step that takes too long ends the answer with a line that says so."""
        limits = self._service.settings.limits
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        lines = _lines(receive, limits.body, self._service.room)
        number = 0
        try:
            while True:
                async with asyncio.timeout(limits.seconds):
                    raw = await anext(lines, None)
                if raw is None:
                    break
                chunks, size = _chunks(self._parsed(raw, number)), sum(map(len, raw))
                while chunk := await aside(partial(next, chunks, None), size):
                    async with asyncio.timeout(limits.seconds):
                        answer = await self._answered(chunk)
                        await send({"type": "http.response.body", "body": answer, "more_body": True})
                number += len(raw)
        except (TimeoutError, Refusal) as error:
            why = str(error) or f"nothing went on for {limits.seconds:g} seconds"
            await send({"type": "http.response.body", "body": _problem(number + 1, why), "more_body": True})
        finally:
            await lines.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _parsed(self, raw: Iterable[bytes], before: int) -> Iterator[_Line]:
        for number, line in enumerate(raw, before + 1):
            if not line.strip():
                continue
            try:
                yield _Line(number, batch_line(line, self._service.settings.limits))
            except Refusal as error:
                yield _Line(number, None, str(error))

    async def _answered(self, lines: list[_Line]) -> bytes:
        documents = [line.document for line in lines if line.document is not None]
        linked = await self._service.batcher.link_patiently(documents, self._asked)
        answers = iter(linked.documents)
        return b"".join(
            _problem(line.number, line.error) if line.document is None else f"{next(answers)}\n".encode()
            for line in lines
        )


async def _lines(receive: Receive, most: int, room: Room) -> AsyncGenerator[list[bytes], None]:
    """The lines that are whole with each part of the body that comes; the last one needs no line break.

    They and the line that has begun take room until the next lines are asked for.

    Raises:
        Refusal: a line has more than ``most`` bytes, there is no room for it, or the client is gone.
    """
    rest, more, held = bytearray(), True, 0
    try:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the client is gone")
            more, body = message.get("more_body", False), message.get("body", b"")
            held += len(body)
            room.take(len(body))
            whole, rest = _split(rest, body)
            if rest and (not more or len(rest) > most):
                whole.append(bytes(rest))
            short = list(takewhile(lambda line: len(line) <= most, whole))
            if short:
                yield short
            if len(short) < len(whole):
                raise Refusal(413, f"a line has {most:,} bytes at most")
            room.give_back(held - len(rest))
            held = len(rest)
    finally:
        room.give_back(held)


def _split(rest: bytearray, body: bytes) -> tuple[list[bytes], bytearray]:
    """The lines that a further part of the body ends, and the begin of the next one."""
    first, *others = body.split(b"\n")
    rest += first
    whole = []
    for part in others:
        whole.append(bytes(rest))
        rest = bytearray(part)
    return whole, rest


def _chunks(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Lines that are linked together."""
    chunk: list[_Line] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line.document.text) if line.document else 0
        if len(chunk) == _DOCUMENTS or size >= _CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _problem(line: int, why: str) -> bytes:
    return json.dumps({"line": line, "error": " ".join(why.split())}).encode() + b"\n"
