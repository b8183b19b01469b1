"""Abbreviations of a corpus by Ab3P (Sohn et al. 2008), a program of its own, where it is installed: GenBioEL took it.

``identify_abbr FILE`` repeats each line of a file and writes below it what the line defines: two spaces, then
``short form|long form|precision``.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from nomina.abbreviations import expanding
from nomina.errors import RecipeError

_INDENT = "  "


def program_of(name: str) -> Path | None:
    """Ab3P's program; None where no name is given.

    Args:
        name: its path, or what it is called on the PATH.

    Raises:
        RecipeError: there is no such program.
    """
    if not name:
        return None
    found = shutil.which(name)
    if found is None:
        raise RecipeError(
            f"there is no program {name}: name Ab3P's identify_abbr, or leave generation.ab3p empty for nomina's rules"
        )
    return Path(found).resolve()


def expanders(program: Path, texts: Iterable[str]) -> Callable[[str], Callable[[str], str]]:
    """What ``abbreviations.expander`` is, for these texts alone, by the definitions that Ab3P finds; it is run once.

    Args:
        program: see ``program_of``; it runs in its own folder, where it looks for its word lists.
        texts: of documents, whole.

    Raises:
        RecipeError: the program fails, or does not write what Ab3P writes.
    """
    lines = {text: " ".join(text.split()) for text in texts}
    asked = sorted({line for line in lines.values() if line})
    found = dict(zip(asked, _definitions(program, asked), strict=True)) if asked else {}
    return lambda text: expanding(found.get(lines[text], {}))


def _definitions(program: Path, lines: list[str]) -> list[dict[str, str]]:
    """Long forms by short form, the first of each, of texts that are each a line."""
    found: list[dict[str, str]] = []
    for written in _output(program, lines).split("\n"):
        if len(found) < len(lines) and written == lines[len(found)]:
            found.append({})
            continue
        short, _, rest = written.removeprefix(_INDENT).partition("|")
        long = rest.rpartition("|")[0]
        if found and written.startswith(_INDENT) and short and long:
            found[-1].setdefault(short, long)
    if len(found) < len(lines):
        raise RecipeError(f"{program} does not write what Ab3P's identify_abbr does: name that as generation.ab3p")
    return found


def _output(program: Path, lines: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts")
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        try:
            done = subprocess.run([program, path], cwd=program.parent, capture_output=True, check=False)
        except OSError as error:
            raise RecipeError(f"{program} cannot be run ({error.strerror}): name another as generation.ab3p") from error
    if done.returncode:
        raise RecipeError(
            f"{program} ended with exit code {done.returncode}: the file path_Ab3P beside it must name its word lists"
        )
    return done.stdout.decode("utf-8", errors="replace")
