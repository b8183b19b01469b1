"""Files from the network: resumed where a connection broke, checked, and in place only when whole."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from nomina._version import __version__
from nomina.errors import UsageError
from nomina.files import atomic, lock, sha256

Fetched = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes there will be (None where the server does not say)."""

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_WAITS = (1.0, 2.0, 4.0, 8.0)  # seconds between tries that bring nothing new
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(UsageError):
    """What kept a file from being fetched; what is there of it stays for the next try."""


def fetch(url: str, folder: Path, *, digest: str | None = None, progress: Fetched | None = None) -> Path:
    """Bring a file into a folder, under the last part of the URL's path; at once where it is there already.

    A broken connection is taken up where it broke (``Range``), in this call or a later one, as long as the server says
    that the file is still the same (``If-Range``). Until the file is whole, its parts are in ``NAME.part``.

    Args:
        url: http or https.
        folder: an existing folder.
        digest: the SHA-256 that the file must have, in hex.
        progress: told how far it is.

    Raises:
        DownloadError: no connection, an answer that is no file, or a file with another digest.
        OSError: the folder cannot be written to.
    """
    target = folder / (unquote(urlsplit(url).path.rpartition("/")[2]) or "index")
    with lock(target):
        if not target.exists():
            _fetch(url, target, digest, progress or _silent)
    return target


def _silent(there: int, total: int | None) -> None:
    """No progress wanted."""


def _fetch(url: str, target: Path, digest: str | None, progress: Fetched) -> None:
    part = _Part(target)
    waits = iter(_WAITS)
    while True:
        before = part.size
        why = _try(url, part, progress)
        if why is None:
            break
        if part.size > before:
            waits = iter(_WAITS)
        wait = next(waits, None)
        if wait is None:
            raise DownloadError(
                f"{url} could not be fetched whole ({why}; {part.size:,} bytes are kept for a next try)"
            )
        time.sleep(wait)
    if digest is not None and (found := sha256(part.path)) != digest:
        part.forget()
        raise DownloadError(f"{url} is not the file that was expected (sha256 {found}, expected {digest})")
    part.finish()


class _Part:
    """The first bytes of a file, and what the server called the file they belong to."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self._notes = target.with_name(f"{target.name}.part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def version(self) -> str | None:
        """The validator of the kept bytes; None where they cannot be gone on from."""
        try:
            version = json.loads(self._notes.read_text(encoding="utf-8"))["version"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return version if isinstance(version, str) and self.size else None

    def begin(self, version: str | None) -> None:
        """Forget the bytes; those that come are of this version."""
        self.forget()
        with atomic(self._notes) as temporary:
            temporary.write_text(json.dumps({"version": version}), encoding="utf-8")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self._notes.unlink(missing_ok=True)

    def finish(self) -> None:
        self.path.replace(self.target)
        self._notes.unlink(missing_ok=True)


def _try(url: str, part: _Part, progress: Fetched) -> str | None:
    """One connection; None where the file is whole after it, else why it is not.

    Raises:
        DownloadError: trying again would not help.
    """
    headers = {"User-Agent": f"nomina/{__version__}", "Accept-Encoding": "identity"}
    version = part.version()
    if version is not None:
        headers |= {"Range": f"bytes={part.size}-", "If-Range": version}
    try:
        with urlopen(Request(url, headers=headers), timeout=_TIMEOUT) as answer:
            return _take(answer, part, progress)
    except HTTPError as error:
        if error.code == 416 and version is not None:
            part.forget()  # the kept bytes do not fit the file: from the beginning
            return "the kept bytes do not fit"
        if error.code in _PASSING:
            return f"the server says {error.code} {error.reason}"
        raise DownloadError(f"{url} cannot be fetched: the server says {error.code} {error.reason}") from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        return str(getattr(error, "reason", None) or error or type(error).__name__)
    except ValueError as error:
        raise DownloadError(f"{url} cannot be fetched: {error}") from error


def _take(answer: HTTPResponse, part: _Part, progress: Fetched) -> str | None:
    """Append what the server sends to the kept bytes, or begin anew where it sends all of the file."""
    found = _RANGE.match(answer.headers.get("Content-Range", ""))
    if answer.status == 206 and found and int(found.group(1)) == part.size:
        total = None if found.group(2) == "*" else int(found.group(2))
    elif answer.status == 200:
        part.begin(_validator(answer))
        length = answer.headers.get("Content-Length")
        total = int(length) if length is not None else None
    else:
        part.forget()
        return "the server sent another part than was asked for"
    with open(part.path, "ab") as stream:
        there = stream.tell()
        while chunk := _read(answer):
            stream.write(chunk)
            there += len(chunk)
            progress(there, total)
    if total is not None and there != total:
        if there > total:
            part.forget()
        return f"the connection broke after {there:,} of {total:,} bytes"
    return None


def _read(answer: HTTPResponse) -> bytes:
    """The next bytes; none at the end, which may have come too early.

    A fault of the connection must not be taken for one of the disk, as both are an ``OSError``.
    """
    try:
        return answer.read(_CHUNK)
    except (OSError, HTTPException):
        return b""


def _validator(answer: HTTPResponse) -> str | None:
    """What ``If-Range`` takes: a strong ETag, else the date."""
    tag: str | None = answer.headers.get("ETag")
    if tag and not tag.startswith("W/"):
        return tag
    modified: str | None = answer.headers.get("Last-Modified")
    return modified
