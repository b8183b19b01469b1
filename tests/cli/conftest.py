"""A made KB and `nomina link` over it."""

import io
import sys

import pytest

from nomina.cli.main import main
from nomina.types import Name


@pytest.fixture(scope="module")
def kb(make_kb):
    """A made KB: a homonym, a retired style of types, a small tree."""
    return make_kb(
        {
            "T:1": ("Disease",),
            "T:2": ("Heart disease", Name("cardiac disease")),
            "T:3": ("Seizure", "fit"),
            "T:4": ("Physical fitness", "fit"),
            "T:5": ("Ataxia",),
        },
        parents={"T:2": ["T:1"], "T:3": ["T:1"]},
        types={"T:4": ["wellness"], "T:5": ["sign"]},
    )


@pytest.fixture
def nomina(kb, tmp_path, monkeypatch, capsys):
    """Run `nomina link` with the made KB in a folder of its own: exit code, stdout, stderr.

    By the dictionary, if nothing else is said: these tests are of what goes in and comes out.
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
        raw = stdin.encode() if isinstance(stdin, str) else stdin or b""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        given = [] if "--kb" in arguments else ["--kb", str(kb.path)]
        given += [] if "--linker" in arguments else ["--linker", "dictionary"]
        code = main(["link", *map(str, arguments), *given])
        return code, *capsys.readouterr()

    return run
