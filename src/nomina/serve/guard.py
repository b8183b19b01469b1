"""What every request passes first: the token, the size of its body, a count and a line in the log, without its text."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from nomina.serve.bodies import Room
from nomina.serve.errors import Refusal, broken_down
from nomina.serve.metrics import PATHS, Metrics
from nomina.serve.options import Settings
from nomina.serve.review import PAGE_PATHS

LOG = logging.getLogger("nomina.serve")

_OPEN = ("/healthz", "/readyz")
_NO_TOKEN = PAGE_PATHS.union(_OPEN)
_STREAMED = "/link/batch"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class _Taken:
    """How many bytes of a body have come."""

    size = 0


class Guard:
    """An ASGI application around another one.

    Args:
        app: what answers.
        settings: the token and the largest body.
        metrics: told of each request.
        room: for bodies; a batch, which is not held as a whole, takes of it itself.
    """

    def __init__(self, app: App, settings: Settings, metrics: Metrics, room: Room) -> None:
        self._app, self._metrics, self._room = app, metrics, room
        self._most, self._log = settings.limits.body, settings.access_log
        self._token = _digest(settings.token.encode()) if settings.token else None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """See ASGI; an error of the service's own is an answer 500, and its place a line in the log."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._answered(scope, receive, noted)
        except Exception as error:
            LOG.error("%s", _where(error))
            if not status:
                await refuse(noted, broken_down())
        finally:
            self._note(scope, status, time.perf_counter() - begun)

    async def _answered(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if self._token and scope["path"] not in _NO_TOKEN and not self._is_known(headers.get(b"authorization", b"")):
            await refuse(send, Refusal(401, "give the service's token", {"www-authenticate": "Bearer"}))
            return
        if scope["path"] == _STREAMED:
            await self._app(scope, receive, send)
            return
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._most:
            await refuse(send, self._too_large())
            return
        taken = _Taken()
        try:
            await self._app(scope, self._counted(receive, taken), send)
        finally:
            self._room.give_back(taken.size)

    def _is_known(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(_digest(token.strip()), self._token or b"")

    def _counted(self, receive: Receive, taken: _Taken) -> Receive:
        async def counted() -> Message:
            message = await receive()
            size = len(message.get("body", b""))
            taken.size += size
            self._room.take(size)
            if taken.size > self._most:
                raise self._too_large()
            return message

        return counted

    def _too_large(self) -> Refusal:
        return Refusal(413, f"a body has {self._most:,} bytes at most", {"connection": "close"})

    def _note(self, scope: Message, status: int, seconds: float) -> None:
        path = shown_path(scope["path"])
        self._metrics.request(path, status, seconds)
        if self._log and path not in _OPEN:
            LOG.info("%s %s %s %.0f ms", scope["method"], path, status or "gone", seconds * 1000)


def shown_path(path: str) -> str:
    """A path without what a user wrote into it."""
    if path.startswith("/concepts/"):
        return "/concepts/{id}"
    if path.startswith("/project/"):
        return "/project"
    return path if path in PATHS else "other"


async def refuse(send: Send, refusal: Refusal) -> None:
    """Send a refusal as a whole answer."""
    body = problem(refusal)
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def problem(error: Exception) -> bytes:
    """The body of a refusal: one line."""
    facts = error.facts if isinstance(error, Refusal) else {}
    return json.dumps({"error": " ".join(str(error).split()), **facts}, ensure_ascii=True).encode()


def _digest(token: bytes) -> bytes:
    """Of one length for all tokens, so that a comparison does not tell the length either."""
    return hashlib.sha256(token).digest()


def _where(error: Exception) -> str:
    """Kind and place of an error: its message may hold a user's text."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "an unknown place"
    return f"{type(error).__name__} at {place}"
