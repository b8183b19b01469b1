"""Which files a bulk run reads, as what, and in which order."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from glob import glob, has_magic
from importlib import import_module
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from nomina.bulk.inputs import INPUTS, Columns, Item, NoColumn, Told
from nomina.bulk.places import bare, on_disk
from nomina.bulk.remote import Remote, check_shared, is_remote, local_name
from nomina.corpora import corpus_format
from nomina.errors import FormatError, UsageError
from nomina.packed import bare_name

ENDINGS = {
    "pubtator": (".pubtator", ".pubtator.txt"),
    "bioc_xml": (".bioc.xml",),
    "bioc_json": (".bioc.json",),
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
}
"""How files of a format are named, in lower case and without ``.gz``, ``.zst`` or ``.zip``."""

_TO_LOOK_AT = {".xml": ("pubmed_xml", "bioc_xml"), ".json": ("bioc_json",)}
_BEGINNING = 1 << 20
"""Bytes that are fetched of a file to see what it is."""
_OF_ONE_PROCESS = ("/dev/stdin", "/dev/fd/", "/proc/")
_PUBMED = re.compile(r"pubmed\d\dn\d+\.xml")


class Input(NamedTuple):
    """A file to be read: its absolute path or URL, its format, and its place among all that are found."""

    place: str
    format: str
    number: int = 0


class Found(NamedTuple):
    """The files in order, how many others their folders hold, and what to say of those left out that look like one."""

    inputs: list[Input]
    others: int
    left_out: list[str]


def find(given: Iterable[str], format: str | None = None, outside: str | Path | None = None) -> Found:
    """The files that are named, match a pattern (``**`` for any folders), or lie in a folder, sorted there by path.

    A file that is named twice, by whichever paths, comes once, under the first; in folders, hidden files, pipes and
    those that are like no format by name or look are left alone, as is all that lies in ``outside``.

    Args:
        given: files, folders and patterns, or URLs of such.
        format: what files are read as; by their names, and a look at ``.xml`` and ``.json``, where None.
        outside: the folder that is written to, or its URL.

    Raises:
        UsageError: nothing is found, no such format, or a file that is named is like none or is a pipe.
        FormatError: a folder or file that is not there or cannot be read.
        NominaError: a place that cannot be reached.
    """
    if format is not None and format not in INPUTS:
        raise UsageError(f"no input format {format!r}; there are: {', '.join(INPUTS)}")
    inputs: dict[str, Input] = {}
    others = 0
    left_out: list[str] = []
    for name in map(local_name, given):
        chosen = inside = 0
        for place, is_named in _places(name):
            if outside is not None and _is_inside(place, outside):
                inside += 1
                continue
            known, why = _format(place, format)
            if known is None and is_named:
                what = f": {why}" if why else " is named like no format: say with --input-format what it is read as"
                raise UsageError(f"{place}{what}")
            if known is not None:
                chosen += 1
                left_out += _taken(inputs, place, known)
            elif why:
                left_out.append(f"{place}: {why}")
            else:
                others += 1
        if inside and not chosen:
            raise UsageError(f"{outside} holds the inputs themselves: name another folder with --out")
        if not chosen:
            but = f" (but {left_out[-1]})" if left_out else ""
            raise UsageError(f"no file in {name} is named like a format{but}: nomina bulk reads {', '.join(INPUTS)}")
    return Found(list(inputs.values()), others, left_out)


def _taken(inputs: dict[str, Input], place: str, format: str) -> list[str]:
    """Put a file among the inputs; what to say where it came before by another path."""
    _check_name(place)
    first = inputs.setdefault(_real(place), Input(place, format, len(inputs))).place
    return [] if first == place else [f"{place}: is the same file as {first}"]


def _is_inside(place: str, folder: str | Path) -> bool:
    if is_remote(place) or is_remote(str(folder)):
        return place.startswith(f"{str(folder).rstrip('/')}/")
    return Path(place).is_relative_to(Path(folder).absolute()) or Path(_real(place)).is_relative_to(_real(folder))


def _real(place: str | Path) -> str:
    """The one path of a file, without links; a URL as it is."""
    return str(place) if is_remote(str(place)) else os.path.realpath(place)


def _check_name(place: str) -> None:
    """The manifest and the list of errors hold names as UTF-8."""
    try:
        place.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = os.fsencode(place).decode("utf-8", errors="backslashreplace")
        raise UsageError(f"the name {shown} is not UTF-8: rename the file or its folder") from error


def _places(name: str) -> Iterator[tuple[str, bool]]:
    """Files by absolute path or URL, and whether they were named one by one."""
    if is_remote(name):
        yield from _remote(name)
        return
    path = Path(name)
    if not path.exists() and has_magic(name):
        matches = [Path(match) for match in sorted(glob(name, recursive=True))]
        if not matches:
            raise UsageError(f"no file matches {name}")
    else:
        matches = [path]
    for match in matches:
        if match.is_dir():
            yield from ((str(file.absolute()), False) for file in _in(match))
        elif match.exists() or match is not path:
            yield str(match.absolute()), match is path
        else:
            raise FormatError(match, None, "cannot be read (No such file or directory)")


def _remote(url: str) -> list[tuple[str, bool]]:
    check_shared(url)
    try:
        found = Remote(url).files()
    except OSError as error:
        raise UsageError(f"{url}: cannot be read (No such file or directory)") from error
    if not found:
        raise UsageError(f"no file matches {url}")
    return found


def _in(folder: Path) -> list[Path]:
    """All files under a folder, sorted, but for hidden ones."""

    def refuse(error: OSError) -> None:
        raise FormatError(error.filename, None, f"cannot be read ({error.strerror})") from error

    files: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted(files, key=lambda file: file.parts)


def _format(place: str, given: str | None) -> tuple[str | None, str]:
    """What a file is read as; None for one that is not, with why where its name is that of an input.

    That is what is given, else what the name says; of XML and JSON a look at the file, else what such a file may be.
    """
    known, to_look_at = (given, ()) if given else _named(bare_name(bare(place)).casefold())
    if known is None and not to_look_at:
        return None, ""
    if _is_pipe(place):
        return None, "is no file but a pipe or a device: save what comes from it as a file"
    return (known, "") if known else _looked_at(place, to_look_at)


def _named(name: str) -> tuple[str | None, tuple[str, ...]]:
    """The format that a name says, or those among which a look decides."""
    for format, endings in ENDINGS.items():
        if name.endswith(endings):
            return format, ()
    if _PUBMED.fullmatch(name):
        return "pubmed_xml", ()
    return None, next((formats for ending, formats in _TO_LOOK_AT.items() if name.endswith(ending)), ())


def _is_pipe(place: str) -> bool:
    """Whether it can be read once alone, or by this process alone; one that is gone is said when it is read."""
    if is_remote(place):
        return False
    try:
        return place.startswith(_OF_ONE_PROCESS) or not stat.S_ISREG(os.stat(place).st_mode)
    except OSError:
        return False


def _looked_at(place: str, formats: tuple[str, ...]) -> tuple[str | None, str]:
    """What a file looks like, or why it is not read; one that cannot be looked at is, so that the run can say so."""
    found = "nothing that nomina reads"
    with TemporaryDirectory() as folder:
        try:
            found = corpus_format(_beginning(place, Path(folder)))[0]
        except FormatError as error:
            if "like no corpus" not in error.why:
                return formats[0], ""
    if found in formats:
        return found, ""
    return None, f"looks like {found}, not {' or '.join(formats)}: say with --input-format what it is read as"


def _beginning(place: str, folder: Path) -> Path:
    """The file itself, or the first part of one of another place."""
    if not is_remote(place):
        return Path(place)
    path = folder / bare(place).name
    path.write_bytes(Remote(place).start(_BEGINNING))
    return path


def check_columns(inputs: Iterable[Input], columns: Columns) -> None:
    """Whether the first file of each format has the columns that are asked for; what else is wrong is said later.

    Raises:
        NoColumn: it has not.
        MissingExtra: a package that reading needs is not installed.
    """
    firsts: dict[str, Input] = {}
    for one in inputs:
        firsts.setdefault(one.format, one)
    for one in firsts.values():
        with TemporaryDirectory() as folder:
            try:
                next(iter(reader(one.format)(on_disk(one.place, Path(folder)), columns, lambda fault: None)), None)
            except NoColumn as error:
                raise NoColumn(one.place, error.line, error.why) from error
            except (FormatError, FileNotFoundError):
                continue


def reader(format: str) -> Callable[[Path, Columns, Told], Iterator[Item]]:
    """The ``read`` of a format; one that serves several is told which."""
    read: Callable[..., Iterator[Item]] = import_module(INPUTS[format]).read
    return partial(read, format=format) if "format" in signature(read).parameters else read
