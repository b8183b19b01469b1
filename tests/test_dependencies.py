"""No test of a KB is skipped in every run: what it asks for is installed by ``make test`` or ``make test-extras``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SKIPS = re.compile(r"importorskip\(\s*\"([\w]+)")


def distributions(extras: set[str]) -> set[str]:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return {re.split(r"[<>=]", requirement)[0] for extra in extras for requirement in known[extra]}


def test_every_optional_package_of_a_test_of_kbs_is_installed_by_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = {name for names in re.findall(r"\.\[([\w,]+)\]", makefile) for name in names.split(",")}
    paths = [*(ROOT / "tests" / "kb").glob("test_*.py"), ROOT / "tests" / "test_packed.py"]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    asked = {name.replace("_", "-") for text in texts for name in SKIPS.findall(text)}
    assert {"pronto", "zstandard"} <= asked
    assert asked <= distributions(extras)


def test_every_package_that_is_tested_with_is_pinned() -> None:
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    assert distributions({"dev", "oracles"}) <= pinned
