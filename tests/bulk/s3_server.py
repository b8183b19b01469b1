"""An S3 of this machine, as a process: says its port, and ends with its input.

Told ``hold N PART``, it stops within the Nth file with such a part in its name that is sent to it from then on, says
``held`` and which one, and goes on when told ``go``; then it says ``whole``, or ``cut`` where the sender has gone.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

SMALL = 1 << 12  # bytes that the system takes in before they are asked for, so that a sender waits


class Holding:
    """The body of a request, that is held back when an eighth of it is read: systems between take in megabytes."""

    def __init__(self, stream: BinaryIO, size: int, name: str, go: threading.Event) -> None:
        self._stream, self._left, self._hold_at, self._name, self._go = stream, size, size * 7 // 8, name, go

    def read(self, size: int = -1) -> bytes:
        """As of a file."""
        wanted = self._left if size < 0 else min(size, self._left)
        if self._left > self._hold_at:
            wanted = min(wanted, self._left - self._hold_at)
        data = self._stream.read(wanted)
        self._left -= len(data)
        if self._left <= self._hold_at and self._name:
            say(f"held {self._name}")
            self._go.wait()
            self._name = ""
        if size < 0 and self._left and data:
            return data + self.read()
        if wanted and len(data) < wanted:
            say("cut")
            self._left = 0
            raise ConnectionError("the sender has gone")
        if not self._left and data:
            say("whole")
        return data

    def readline(self, size: int = -1) -> bytes:
        """As of a file."""
        line = b""
        while not line.endswith(b"\n") and (byte := self.read(1)):
            line += byte
        return line


class Held:
    """An application whose uploads are held when that is wanted."""

    def __init__(self, application: Callable[..., Iterator[bytes]]) -> None:
        self._application, self._lock = application, threading.Lock()
        self._left, self._part, self.go = 0, "", threading.Event()

    def hold(self, number: int, part: str) -> None:
        """Hold the upload of this number, of those with a part in their names, counted from now on."""
        self.go.clear()
        self._left, self._part = number, part

    def __call__(self, environment: dict[str, Any], start: Callable[..., Any]) -> Iterator[bytes]:
        if environment["REQUEST_METHOD"] == "PUT" and self._part in environment["PATH_INFO"]:
            with self._lock:
                self._left -= 1
                is_it = self._left == 0
            if is_it:
                size = int(environment["CONTENT_LENGTH"])
                held = Holding(environment["wsgi.input"], size, environment["PATH_INFO"], self.go)
                environment["wsgi.input"] = held
        return self._application(environment, start)


class Quiet(WSGIRequestHandler):
    """A handler that logs nothing."""

    def log(self, *given: object) -> None:
        """Not."""


def say(line: str) -> None:
    """One line to who started this."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until the input ends."""
    import socket

    application = Held(DomainDispatcherApplication(create_backend_app))
    server = ThreadedWSGIServer("127.0.0.1", 0, application, handler=Quiet)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(str(server.server_port))
    for line in sys.stdin:
        word, *given = line.split()
        if word == "hold":
            application.hold(int(given[0]), given[1])
            say("ready")
        else:
            application.go.set()


if __name__ == "__main__":
    main()
