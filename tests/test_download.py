"""Downloads from a server on the loopback that breaks connections, changes files and refuses."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nomina import download
from nomina.download import DownloadError, fetch

DATA = bytes(range(256)) * 4096  # 1 MiB


class Server(ThreadingHTTPServer):
    """Serves ``data`` at every path; ``cuts`` says after how many bytes each of the next answers breaks off."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.data, self.tag, self.ranges, self.status = DATA, '"1"', True, 200
        self.cuts: list[int] = []
        self.asked: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/files/terms%20of%202025.obo?x=1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        if server.status != 200:
            self.send_error(server.status)
            return
        start = 0
        if wanted and server.ranges and self.headers.get("If-Range") == server.tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(server.data):
            self.send_error(416)
            return
        body = server.data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.data) - 1}/{len(server.data)}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", server.tag)
        self.end_headers()
        self.wfile.write(body[: server.cuts.pop(0)] if server.cuts else body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "_WAITS", (0.0, 0.0))
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_a_whole_file(server: Server, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    path = fetch(server.url, tmp_path, progress=lambda there, total: told.append((there, total)))
    assert path == tmp_path / "terms of 2025.obo"
    assert path.read_bytes() == DATA
    assert left(tmp_path) == {"terms of 2025.obo"}
    assert told[-1] == (len(DATA), len(DATA))
    assert [there for there, _ in told] == sorted({there for there, _ in told})
    assert fetch(server.url, tmp_path) == path
    assert server.asked == [None]


def test_a_connection_that_breaks_half_way_is_taken_up_there(server: Server, tmp_path: Path) -> None:
    server.cuts = [len(DATA) // 2, 1000, 0]
    path = fetch(server.url, tmp_path, digest=hashlib.sha256(DATA).hexdigest())
    assert path.read_bytes() == DATA
    half = len(DATA) // 2
    assert server.asked == [None, f"bytes={half}-", *[f"bytes={half + 1000}-"] * 2]


def test_what_is_there_is_kept_for_a_later_call(server: Server, tmp_path: Path) -> None:
    server.cuts = [5000, 0, 0]
    with pytest.raises(
        DownloadError, match=r"could not be fetched whole \(.* 5,000 bytes are kept for a next try\)"
    ) as e:
        fetch(server.url, tmp_path)
    assert "\n" not in str(e.value)
    assert left(tmp_path) == {"terms of 2025.obo.part", "terms of 2025.obo.part.json"}
    assert fetch(server.url, tmp_path).read_bytes() == DATA
    assert server.asked[-1] == "bytes=5000-"
    assert left(tmp_path) == {"terms of 2025.obo"}


def test_a_file_that_changed_in_between_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    server.cuts = [5000, 0, 0]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path)
    server.data, server.tag = b"new" * 5000, '"2"'
    assert fetch(server.url, tmp_path).read_bytes() == b"new" * 5000


def test_a_server_without_ranges_starts_from_the_beginning(server: Server, tmp_path: Path) -> None:
    server.ranges, server.cuts = False, [5000]
    assert fetch(server.url, tmp_path).read_bytes() == DATA
    assert server.asked == [None, "bytes=5000-"]


def test_without_a_validator_nothing_is_gone_on_from(server: Server, tmp_path: Path) -> None:
    server.tag, server.cuts = 'W/"1"', [5000]
    assert fetch(server.url, tmp_path).read_bytes() == DATA
    assert server.asked == [None, None]


def test_another_file_than_expected_is_refused_and_forgotten(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="is not the file that was expected"):
        fetch(server.url, tmp_path, digest="0" * 64)
    assert left(tmp_path) == set()


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (403, 1), (503, 3)])
def test_a_refusal(server: Server, tmp_path: Path, status: int, tries: int) -> None:
    server.status = status
    with pytest.raises(DownloadError, match=f"the server says {status}"):
        fetch(server.url, tmp_path)
    assert len(server.asked) == tries
    assert left(tmp_path) == set()


def test_kept_bytes_that_are_too_many_are_forgotten(server: Server, tmp_path: Path) -> None:
    server.cuts = [5000, 0, 0]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path)
    part = tmp_path / "terms of 2025.obo.part"
    part.write_bytes(b"x" * (len(DATA) + 5))
    assert fetch(server.url, tmp_path).read_bytes() == DATA


def test_no_server_and_no_url(server: Server, tmp_path: Path) -> None:
    url = server.url
    server.server_close()
    with pytest.raises(DownloadError, match=r"could not be fetched whole \("):
        fetch(url, tmp_path)
    with pytest.raises(DownloadError, match="cannot be fetched"):
        fetch("obo", tmp_path)
