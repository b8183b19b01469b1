"""brat standoff: a folder of texts (``.txt``) with their annotations (``.ann``), https://brat.nlplab.org/standoff.html.

::

    T1<TAB>Disease 0 6;19 25<TAB>breast cancer
    N1<TAB>Reference T1 MESH:D001943<TAB>Breast Neoplasms

Each ``N`` line of a mention is an id that is needed; ids that will do in its place stand in the same line.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from nomina.corpora.common import PARTS, Gold, Separators, cannot_hold, cell, column_text, count, text_at, writing
from nomina.errors import FormatError, UsageError
from nomina.files import Skip, lines, open_bytes, report
from nomina.packed import members
from nomina.reading import text_of
from nomina.types import Document, Mention

NO_TYPE = "Mention"
"""What stands for a mention without a type: brat has none without."""

_BOUND = re.compile(r"(\S+) ([0-9]+ [0-9]+(?:;[0-9]+ [0-9]+)*)")
_REFERENCE = re.compile(r"Reference (\S+) (.*\S)")
_FIRST = re.compile(rb"(?:#[^\n]*\n)*T[0-9]+\t[^\s]+ [0-9]+ [0-9]+[;\t]")
_DROPPED = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes", "#": "notes", "*": "equivalences"}
_LONGEST_NAME = 200  # bytes; file systems take 255 and a temporary name is longer


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like a .ann file."""
    return _FIRST.match(head) is not None


def holds(path: Path) -> bool:
    """Whether a folder or archive has a .ann file with its .txt file."""
    names = set(members(path))
    return any(name.suffix == ".ann" and name.with_suffix(".txt") in names for name in names)


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> Iterator[Document]:
    """The documents of a folder or archive, sorted, or the one of a .ann or .txt file.

    Ids are paths within the folder, without the ending. ``dropped`` counts relations, events, attributes, notes,
    equivalences, names of references, references to other things than mentions, empty ids, and .txt files without
    a .ann file.

    Args:
        path: see above.
        skip: told of each fault; its line or document is left out.
        dropped: see above.
        parts: characters between ids that are all needed, where one reference has several.
        alternatives: characters between ids of which any will do.

    Raises:
        FormatError: a .ann file without its text, a text that is not UTF-8, a line that brat does not have, a mention
            that does not stand at its offsets, a second one with the same number (strict reading only).
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    for id, file in _annotation_files(path, dropped):
        text = file.with_suffix(".txt")
        try:
            with open_bytes(text) as stream:
                whole = text_of(stream, text)
        except FormatError as error:
            report(error, skip)
            continue
        yield Document(id, whole, tuple(_mentions(file, whole, separators, skip, dropped)))


def _annotation_files(path: Path, dropped: Counter[str]) -> Iterator[tuple[str, Path]]:
    """Id and .ann file of each document."""
    if path.suffix in (".ann", ".txt") and not path.is_dir():
        yield path.stem, path.with_suffix(".ann")
        return
    files = members(path)
    names = set(files)
    alone = [name for name in names if name.suffix == ".txt" and name.with_suffix(".ann") not in names]
    count(dropped, "texts without .ann", len(alone))
    for file in files:
        if file.suffix == ".ann":
            yield file.relative_to(path).with_suffix("").as_posix(), file


def _mentions(
    path: Path, text: str, separators: Separators, skip: Skip | None, dropped: Counter[str]
) -> Iterator[Mention]:
    bounds: dict[str, Mention] = {}
    references: list[tuple[str, Gold]] = []
    for number, line in lines(path, skip):
        if not line.strip():
            continue
        key, _, rest = line.partition("\t")
        if (what := _DROPPED.get(line[0])) and rest:
            count(dropped, what)
            continue
        data, _, last = rest.partition("\t")
        try:
            if line[0] == "T":
                if key in bounds:
                    raise ValueError(f"a second mention {key}")
                bounds[key] = _bound(data, last, text)
            else:
                references.append(_reference(key, data, separators, dropped))
                count(dropped, "names of references", bool(last.strip()))
        except ValueError as error:
            report(FormatError(path, number, str(error)), skip)
    for target, gold in references:
        if target in bounds:
            bounds[target] = replace(bounds[target], gold=bounds[target].gold + gold)
        else:
            count(dropped, "references to others")
    yield from bounds.values()


def _bound(data: str, given: str, text: str) -> Mention:
    match = _BOUND.fullmatch(data)
    if not match:
        raise ValueError(f"expected 'TYPE START END' between tabs, with ; between spans, not {data[:60]!r}")
    spans = tuple(sorted((int(start), int(end)) for start, end in map(str.split, match[2].split(";"))))
    own = text_at(spans, text, given)
    return Mention(spans, own, None if match[1] == NO_TYPE else match[1])


def _reference(key: str, data: str, separators: Separators, dropped: Counter[str]) -> tuple[str, Gold]:
    match = _REFERENCE.fullmatch(data)
    if not match or not key.startswith("N"):
        raise ValueError(f"is no line that brat has: {key[:20]!r}, {data[:40]!r}")
    return match[1], separators.split(match[2], dropped)


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
) -> None:
    """Write documents into a new folder, which appears when all are written: ID.txt and ID.ann for each.

    Each part of a composite is a reference of its own, without the name of the concept. ``dropped`` counts sections,
    mention texts of their own, types with spaces (they get _), and zero bytes, which become spaces.

    Raises:
        UsageError: the folder has files in it or cannot be written, a document id that is no name of a file or differs
            from another in case only, an id that cannot stand in a reference.
    """
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UsageError(f"cannot write {path}: it is there already; name a new folder, or an empty one")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with writing(path):
        try:
            temporary.mkdir()
            _write_all(documents, temporary, separators, dropped)
            if path.exists():
                path.rmdir()
            temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _write_all(documents: Iterable[Document], folder: Path, separators: Separators, dropped: Counter[str]) -> None:
    written: set[str] = set()
    for document in documents:
        _check_id(document, written)
        base = folder / document.id
        base.parent.mkdir(parents=True, exist_ok=True)
        count(dropped, "sections", len(document.sections))
        count(dropped, "control characters", document.text.count("\0"))
        text = document.text.replace("\0", " ")
        # A reader takes the first byte-order mark for that of the file.
        marked = text.replace("\ufeff", "\ufeff\ufeff", 1) if text.startswith("\ufeff") else text
        base.with_name(f"{base.name}.txt").write_text(marked, encoding="utf-8", newline="")
        rows = "".join(_rows(document, separators, dropped))
        base.with_name(f"{base.name}.ann").write_text(rows, encoding="utf-8", newline="")


def _check_id(document: Document, written: set[str]) -> None:
    names = document.id.split("/")
    if not document.id.isprintable() or "\\" in document.id or not all(map(_is_file_name, names)):
        raise cannot_hold(document, "this id is no name of a file, such as 8701013 or trial/8701013")
    if document.id.casefold() in written:
        raise cannot_hold(document, "another id is the same but for upper and lower case, which many disks do not tell")
    written.add(document.id.casefold())


def _is_file_name(name: str) -> bool:
    return bool(name) and not name.startswith(".") and len(name.encode()) <= _LONGEST_NAME


def _rows(document: Document, separators: Separators, dropped: Counter[str]) -> Iterator[str]:
    references = 0
    for number, mention in enumerate(document.mentions, start=1):
        type = cell(mention.type or NO_TYPE, "types", dropped)
        count(dropped, "types", " " in type)
        spans = ";".join(f"{start} {end}" for start, end in mention.spans)
        shown = column_text(mention, document.text, dropped)
        yield f"T{number}\t{type.replace(' ', '_')} {spans}\t{shown}\n"
        for part in mention.gold:
            references += 1
            try:
                ids = separators.join((part,))
            except ValueError as error:
                raise cannot_hold(document, error) from error
            yield f"N{references}\tReference T{number} {ids}\t\n"
