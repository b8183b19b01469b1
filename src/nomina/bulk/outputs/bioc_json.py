"""The documents as BioC JSON, with what was found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nomina.bulk.outputs import Batch, Failed, annotated


def check(pack: str) -> None:
    """Nothing can be missing."""


def write(batches: Iterable[Batch], path: Path, pack: str, failed: Failed) -> None:
    """Write a file; see ``annotated``."""
    annotated.write(batches, path, "bioc_json", failed)
