"""An S3 of this machine for tests, served by a process, with one bucket."""

from __future__ import annotations

import contextlib
import importlib.util
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_SERVER = Path(__file__).with_name("bulk") / "s3_server.py"
_MISSING = [name for name in ("fsspec", "s3fs", "moto", "flask", "boto3") if importlib.util.find_spec(name) is None]

S3_IS_THERE = pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)}")
ACCESS = {"AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up", "AWS_DEFAULT_REGION": "us-east-1"}


class S3:
    """An S3 of this machine with one bucket, and the process that serves it."""

    def __init__(self, process: subprocess.Popen[str], port: str) -> None:
        import boto3

        self.process, self.url = process, f"http://127.0.0.1:{port}"
        self._client = boto3.client("s3", endpoint_url=self.url)
        self._client.create_bucket(Bucket="corpus")

    def put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket="corpus", Key=key, Body=data)

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket="corpus", Key=key)

    def objects(self, folder: str) -> dict[str, bytes]:
        """All that is in a folder, by name."""
        found = {}
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket="corpus", Prefix=f"{folder}/"):
            for one in page.get("Contents", []):
                body = self._client.get_object(Bucket="corpus", Key=one["Key"])["Body"].read()
                found[one["Key"].removeprefix(f"{folder}/")] = body
        return found

    def upload(self, folder: Path, key: str) -> str:
        """A folder's files; the URL of where they are then."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.put(f"{key}/{file.relative_to(folder).as_posix()}", file.read_bytes())
        return f"s3://corpus/{key}"

    def say(self, line: str) -> None:
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def heard(self, seconds: float = 60) -> str:
        """The next line that it says; nothing after so long."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline().strip() if ready else ""


@contextlib.contextmanager
def serving() -> Iterator[S3]:
    """It, for as long as the block runs; ``ACCESS`` is in the environment."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, _SERVER], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8"
    )
    yield S3(process, process.stdout.readline().strip())
    process.communicate(timeout=60)
