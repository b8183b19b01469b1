"""Files, folders and standard input as a stream of documents.

No more than the document at hand is held, and of the ids of records a hash of 8 bytes (70 bytes of memory each, 0.07 GB
a million), so that none comes twice.

A text file is one document. A ``.jsonl`` file has one a line: ``{"id": "1", "text": "Short stature.", "mentions":
[{"spans": [[0, 13]], "text": "Short stature", "type": "phenotype"}]}``; all but ``id``, ``text`` and ``spans`` may be
left out; what comes through a pipe is read so if its first line is a JSON object. In a list of mentions each line is
a document of its own. Of a corpus (``nomina.corpora``) only the mentions that it has are asked for, unless the texts
alone or documents without mentions are wanted. Files packed with gzip are unpacked.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from nomina.corpora import CORPORA, corpus_format, read_corpus
from nomina.corpora.jsonl import document_parser
from nomina.errors import FormatError, UsageError
from nomina.reading import LARGEST_TEXT, STDIN, lines_of, opened, text_of, too_large
from nomina.types import Document, Mention

_HEAD = 1 << 16
_TEXTS = (".txt", ".txt.gz")
_RECORDS = (".jsonl", ".jsonl.gz")
_HEADER = "mention"
_PUBTATOR = (".pubtator", ".pubtator.gz", ".pubtator.txt", ".pubtator.txt.gz")
_TO_LOOK_AT = {"bioc_xml": ".xml", "bioc_json": ".json", "biosyn": ".concept"}

Kind = Literal["text", "records", "mentions", "corpus"]
_Split = Callable[[str], list[str]]


class Source(NamedTuple):
    """Where documents come from, as what they are read, the id of a text, and the format of a corpus."""

    path: Path
    kind: Kind
    id: str
    format: str | None = None


class Found(NamedTuple):
    """The sources that paths name, and how many other files their folders hold."""

    sources: list[Source]
    others: int


def find(paths: Iterable[Path]) -> Found:
    """The sources in order: files as named; of folders and theirs, the ``.txt`` and ``.jsonl`` files, sorted.

    A text's id is the name of its file, in a folder the path from there on; where two would have the same id, it is the
    path as given. A file named twice counts once; hidden ones in folders are left alone. A ``.pubtator`` or
    ``.PubTator.txt`` file is a corpus; so is a ``.xml``, ``.json`` or ``.concept`` file, named by itself, that looks
    like one, and a folder without any of the others that does.

    Raises:
        FormatError: a folder that cannot be read.
        UsageError: a folder without such files.
    """
    named: dict[Path, tuple[Path, str]] = {}
    others = 0
    for path in paths:
        files = _files(path) if path.is_dir() else [path]
        chosen = [file for file in files if file is path or _is_named_as_one(file)]
        if not chosen:
            chosen, files = [_corpus_folder(path, len(files))], [path]
        others += len(files) - len(chosen)
        for file in chosen:
            id = file.name if file is path else file.relative_to(path).as_posix()
            named.setdefault(file.absolute(), (file, "stdin" if path == STDIN else id))
    times = Counter(id for _, id in named.values())
    return Found([_source(path, id if times[id] == 1 else path.as_posix()) for path, id in named.values()], others)


def corpora(paths: Iterable[Path], format: str) -> list[Source]:
    """The sources of files and folders that are corpora of a format; one named twice counts once.

    Raises:
        UsageError: no such format, or standard input, which can be read but once.
    """
    if format not in CORPORA:
        raise UsageError(f"no corpus format {format!r}; there are: {', '.join(CORPORA)}")
    named = {path.absolute(): path for path in paths}
    if STDIN in named.values():
        raise UsageError("a corpus is read from a file or folder, not from standard input: name it")
    return [Source(path, "corpus", "", format) for path in named.values()]


def _is_named_as_one(file: Path) -> bool:
    return file.name.endswith(_TEXTS + _RECORDS) or file.name.casefold().endswith(_PUBTATOR)


def _corpus_folder(folder: Path, files: int) -> Path:
    """The folder, if it is a corpus."""
    try:
        corpus_format(folder)
    except FormatError as error:
        raise UsageError(f"no .txt or .jsonl file in the folder {folder} ({files} others)") from error
    return folder


def _files(folder: Path) -> list[Path]:
    """All files under a folder, sorted, but for hidden ones."""

    def refuse(error: OSError) -> None:
        raise FormatError(error.filename, None, f"cannot be read ({error.strerror})") from error

    files = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted(files, key=lambda file: file.parts)


def _source(path: Path, id: str) -> Source:
    """The source of a file or corpus; bytes of its name that are not UTF-8 are written out in the id."""
    if (format := _corpus_by_name(path)) is not None:
        return Source(path, "corpus", "", format)
    kind: Kind = "records" if path.name.endswith(_RECORDS) else "text"
    return Source(path, kind, os.fsencode(id).decode("utf-8", errors="backslashreplace"))


def _corpus_by_name(path: Path) -> str | None:
    """The format of a corpus, which a note or a table can never be taken for."""
    name = path.name.casefold()
    if path.is_dir():
        return corpus_format(path)[0]
    if name.endswith(_PUBTATOR):
        return "pubtator"
    for format, ending in _TO_LOOK_AT.items():
        if name.removesuffix(".gz").endswith(ending) and path.is_file():
            with contextlib.suppress(FormatError):
                return format if corpus_format(path)[0] == format else None
    return None


def mention_list(path: Path) -> Source:
    """The source of a list or TSV of mentions.

    Where a column of the first line, between tabs or commas, says ``mention``, the lines below are a table and that
    column of theirs counts (of a comma file a record must stand on one line); else each line is a mention as it is. A
    mention is the whole text of a document whose id is the line's number; a line without one stays, as a single space.
    """
    return Source(path, "mentions", "")


def check(sources: Sequence[Source]) -> list[Source]:
    """Read the head of every file before anything is made of one; pipes are left alone.

    Returns:
        Those that hold nothing.

    Raises:
        FormatError: the first fault; it says how many more files have one.
        UsageError: none of them holds anything.
    """
    faults: list[FormatError] = []
    empty: list[Source] = []
    for source in sources:
        try:
            if not _is_pipe(source.path) and not _has_documents(source):
                empty.append(source)
        except FormatError as fault:
            faults.append(fault)
    if faults:
        first = faults[0]
        others = f" ({len(faults) - 1:,} more of the files have faults)" if len(faults) > 1 else ""
        raise FormatError(first.path, first.line, f"{first.why}{others}")
    if sources and len(empty) == len(sources):
        raise UsageError(f"{empty[0].path} is empty" if len(empty) == 1 else f"all {len(empty):,} files are empty")
    return empty


def _is_pipe(path: Path) -> bool:
    """Whether it can be read but once."""
    return path == STDIN or (path.exists() and not path.is_file() and not path.is_dir())


def _has_documents(source: Source) -> bool:
    path = source.path
    if source.kind == "corpus":
        return any(_of_corpus(source))
    if source.kind == "text" and path.is_file() and path.stat().st_size > LARGEST_TEXT:
        raise too_large(path)
    with opened(path) as stream:
        head = stream.read(_HEAD)
    if len(head) < _HEAD:
        return any(_documents(source, io.BytesIO(head), set()))
    for _ in _documents(source, io.BytesIO(head[: head.rfind(b"\n") + 1]), set()):
        pass
    return True


def read(sources: Iterable[Source], *, detect: bool = False, bare: bool = False) -> Iterator[Document]:
    """The documents of the sources, in order. An empty text is none, nor is one of a corpus that has no mention.

    Args:
        sources: what to read.
        detect: whether to take the texts alone, of corpora too, so that their mentions have to be found.
        bare: whether documents of a corpus that have no mention are wanted too.

    Raises:
        FormatError: a file that cannot be read as what it should be, or a record with the id of another, with the line.
    """
    seen: set[int] = set()
    for source in sources:
        for document in _documents_of(source, seen):
            if detect and source.kind != "mentions":
                yield Document(document.id, document.text, sections=document.sections)
            elif document.mentions or bare or source.kind != "corpus":
                yield document


def _documents_of(source: Source, seen: set[int]) -> Iterator[Document]:
    if source.kind == "corpus":
        yield from _with_ids_of_their_own(_of_corpus(source), source.path, seen)
        return
    with opened(source.path) as stream:
        yield from _documents(source, stream, seen)


def _documents(source: Source, stream: BinaryIO, seen: set[int]) -> Iterator[Document]:
    first = stream.readline(LARGEST_TEXT + 1) if _is_pipe(source.path) else b""
    if source.kind == "mentions":
        yield from _mentions(lines_of(stream, source.path, first), source.path)
    elif source.kind == "records" or _is_object(first):
        records = _records(lines_of(stream, source.path, first), source.path)
        yield from _with_ids_of_their_own(records, source.path, seen)
    elif text := text_of(stream, source.path, first):
        yield Document(source.id, text)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _mentions(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[Document]:
    cells: _Split = _plain
    column = 0
    for number, line in lines:
        if number == 1 and (header := _header(line)):
            cells, column = header
            continue
        try:
            mention = cells(line)[column].strip()
        except IndexError:
            mention = ""
        except ValueError as error:
            raise FormatError(path, number, str(error)) from error
        text = mention or " "
        yield Document(str(number), text, (Mention(((0, len(text)),), mention),))


def _header(line: str) -> tuple[_Split, int] | None:
    """How the lines below are split, and which cell is the mention; None where the line is no header."""
    for split in (_by_tab, _by_comma):
        with contextlib.suppress(ValueError):
            names = [cell.strip().casefold() for cell in split(line)]
            return split, names.index(_HEADER)
    return None


def _by_tab(line: str) -> list[str]:
    return line.split("\t")


def _by_comma(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise ValueError(f"is no line of a comma file ({error})") from error


def _plain(line: str) -> list[str]:
    if "\t" in line.strip():
        raise ValueError(
            f"has several columns, but line 1 names none of them {_HEADER!r}: write a header, or name it so"
        )
    return [line]


def _records(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[tuple[int, Document]]:
    parse = document_parser()
    for number, line in lines:
        if not line.strip():
            continue
        try:
            yield number, parse(line)
        except ValueError as error:
            raise FormatError(path, number, str(error)) from error


def _of_corpus(source: Source) -> Iterator[tuple[int | None, Document]]:
    return ((None, document) for document in read_corpus(source.path, source.format))


def _with_ids_of_their_own(
    documents: Iterable[tuple[int | None, Document]], path: Path, seen: set[int]
) -> Iterator[Document]:
    for number, document in documents:
        key = int.from_bytes(blake2b(document.id.encode(), digest_size=8).digest())
        if key in seen:
            why = f"a second document with the id {document.id!r}: ids must differ to tell their predictions apart"
            raise FormatError(path, number, why)
        seen.add(key)
        yield document
