"""What the tests of `nomina link` share: how files are made, the command run, and its output read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOMINA = [sys.executable, "-m", "nomina"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX")


def write(**texts: str) -> None:
    """Files in the working folder: `a_txt` is a.txt."""
    for name, text in texts.items():
        Path(name.replace("_", ".")).write_text(text, encoding="utf-8", newline="\n")


def ataxias(number: int) -> str:
    """So many documents as JSON lines, of ids from 1."""
    return "".join(f'{{"id": "{i}", "text": "ataxia"}}\n' for i in range(1, number + 1))


def linked(jsonl: str) -> list[tuple[str, str, list[list[int]], str | None]]:
    """Document, mention, spans and first concept of each prediction."""
    records = map(json.loads, jsonl.splitlines())
    return [
        (
            r["document_id"],
            r["mention"]["text"],
            r["mention"]["spans"],
            r["candidates"][0]["entity_id"] if r["candidates"] else None,
        )
        for r in records
    ]


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NOMINA, "link", *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=120, **options
    )
