"""Every ```python, ```console and ```bash block of README and docs is run, page by page, in a temporary folder.

A page's folder holds a copy of ``examples/`` and keeps what earlier blocks of the page made; each Python block is a
program of its own, as a reader would paste it. In a ``console`` block, lines that start with "$ " are commands and the
other lines are their exact output, where "..." stands for anything. A block that must not run has the comment
``<!-- not run: REASON -->`` on the line above it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = {"python", "console", "bash"}
SHOWN = {"text", "toml", "tsv", "json", "obo"}
FENCE = re.compile(r"^( *)(`{3,})(.*)$")
NOT_RUN = re.compile(r"^<!-- not run:(.*)-->$")


class Block(NamedTuple):
    line: int
    language: str
    text: str
    not_run: str | None


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a page; ValueError, with the line, for one that nobody could run or leave out knowingly."""
    found = []
    lines = markdown.splitlines()
    i = 0
    while i < len(lines):
        opening = FENCE.match(lines[i])
        i += 1
        if not opening:
            continue
        start, (indent, fence, language) = i, opening.groups()
        while i < len(lines) and lines[i].strip() != fence:
            i += 1
        if i == len(lines):
            raise ValueError(f"line {start}: the block is not closed")
        if language not in RUN | SHOWN:
            raise ValueError(f"line {start}: language {language!r} is not one of {sorted(RUN | SHOWN)}")
        mark = NOT_RUN.match(lines[start - 2].strip()) if start > 1 else None
        if mark and not mark.group(1).strip():
            raise ValueError(f"line {start - 1}: not run, but why?")
        if language == "console" and not lines[start].startswith(f"{indent}$ "):
            raise ValueError(f"line {start}: a console block begins with a command, '$ ...'")
        text = "\n".join(line.removeprefix(indent) for line in lines[start:i])
        found.append(Block(start, language, text, mark.group(1).strip() if mark else None))
        i += 1
    return found


def matches(expected: str, actual: str) -> bool:
    """Whether the output is the expected one; "..." stands for anything, within a line or over several."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, actual.strip(), re.DOTALL) is not None


def commands(console: str) -> list[tuple[str, str]]:
    """The (command, expected output) pairs of a console block."""
    pairs: list[tuple[str, str]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], ""))
        else:
            command, output = pairs.pop()
            pairs.append((command, f"{output}{line}\n"))
    return pairs


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """An environment with `nomina` and `python` of this interpreter and one cache folder for all pages."""
    programs = tmp_path_factory.mktemp("bin")
    for name, arguments in (("nomina", "-m nomina"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "NOMINA_HOME": str(tmp_path_factory.mktemp("home")),
    }


def run(command: list[str], folder: Path, environment: dict[str, str], where: str) -> str:
    """Run a command and return what it printed; fail with all of it where it did not exit with 0."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, f"{where}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page, tmp_path, environment):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}:{block.line}"
        if block.language in SHOWN or block.not_run:
            continue
        if block.language == "python":
            run([sys.executable, "-c", block.text], tmp_path, environment, where)
        elif block.language == "bash":
            run(["bash", "-euo", "pipefail", "-c", block.text], tmp_path, environment, where)
        else:
            for command, expected in commands(block.text):
                actual = run(["bash", "-euo", "pipefail", "-c", command], tmp_path, environment, where)
                assert matches(expected, actual), f"{where}: {command}\n{actual}"


def test_the_readme_has_something_to_run():
    languages = [block.language for block in blocks(PAGES[0].read_text(encoding="utf-8")) if not block.not_run]
    assert "python" in languages
    assert {"bash", "console"} & set(languages)


def test_blocks_are_found_with_line_language_and_reason():
    page = (
        "a\n```python\nx = 1\n```\n<!-- not run: takes a day -->\n```bash\nls\n```\n- b\n  ```text\n  c\n    d\n  ```\n"
    )
    assert blocks(page) == [
        Block(2, "python", "x = 1", None),
        Block(6, "bash", "ls", "takes a day"),
        Block(10, "text", "c\n  d", None),
    ]


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("<!-- not run: -->\n```bash\nls\n```", "line 1: not run, but why"),
        ("```python\nx", "line 1: the block is not closed"),
        ("```\nx\n```", "line 1: language ''"),
        ("```console\nx\n```", "line 1: a console block begins with a command"),
        ("\n```pyhton\nx\n```", "line 2: language 'pyhton'"),
    ],
)
def test_a_block_that_nobody_would_run_is_refused(page, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        blocks(page)


def test_console_blocks_pair_commands_with_their_output():
    assert commands("$ a\nx\ny\n$ b") == [("a", "x\ny\n"), ("b", "")]


def test_output_is_compared_to_the_letter_but_for_the_dots():
    assert matches("a 1\nb", "a 1\nb\n")
    assert matches("a ... z\n...\nend", "a 1 2 z\nmore\nlines\nend")
    assert not matches("a", "a\nb")
    assert not matches("a.c", "abc")
