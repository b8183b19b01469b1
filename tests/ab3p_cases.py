"""A program that writes what Ab3P's ``identify_abbr`` writes: any ``LONG = SHORT`` of a line is a definition."""

import stat
import sys
from pathlib import Path

_PROGRAM = """\
#!{python}
import re, sys
open("path_Ab3P")
for line in open(sys.argv[1], encoding="utf-8"):
    print(line, end="")
    for long, short in re.findall(r"(\\w+ \\w+) = (\\w+)", line):
        print(f"  {{short}}|{{long}}|0.99")
    print()
"""


def save_ab3p(folder: Path) -> Path:
    """The program, which runs only beside its word lists, as ``identify_abbr`` in a folder."""
    return program(folder, _PROGRAM.format(python=sys.executable), lists=True)


def program(folder: Path, text: str, *, lists: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "identify_abbr"
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    if lists:
        (folder / "path_Ab3P").touch()
    return path
