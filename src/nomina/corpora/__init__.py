"""Corpora: annotated documents, read and written in the forms in which they are passed on.

One module a format, found through ``CORPORA`` and imported on use. Each has ``sniff(head) -> bool`` and ``read(path, *,
skip=None, dropped=None, **options) -> Iterator[Document]``; those that can be written have ``write(documents, path, *,
dropped=None, **options)``. Where a corpus is a folder, ``holds(path) -> bool`` says whether a folder or an archive of
several files is one. ``dropped`` counts, by a word for it, what is in the file (or, when writing, in the documents) and
has no place on the other side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from nomina.errors import FormatError, UsageError
from nomina.files import UTF16, Skip, head
from nomina.kb.options import Value, fitting
from nomina.packed import members
from nomina.types import Document

CORPORA: dict[str, str] = {
    "pubtator": "nomina.corpora.pubtator",
    "bioc_xml": "nomina.corpora.bioc_xml",
    "pubmed_xml": "nomina.corpora.pubmed_xml",
    "bioc_json": "nomina.corpora.bioc_json",
    "brat": "nomina.corpora.brat",
    "biosyn": "nomina.corpora.biosyn",
    "biosyn_json": "nomina.corpora.biosyn_json",
    "cometa": "nomina.corpora.cometa",
    "askapatient": "nomina.corpora.askapatient",
    "bigbio_jsonl": "nomina.corpora.bigbio_jsonl",
    "bigbio_parquet": "nomina.corpora.bigbio_parquet",
    "docbin": "nomina.corpora.docbin",
    "project": "nomina.corpora.project",
    "jsonl": "nomina.corpora.jsonl",
}
"""Format name -> module, in the order in which they are asked whether a file is theirs."""


def corpus_format(path: str | Path, format: str | None = None) -> tuple[str, Any]:
    """The format's name and module that reads a file or folder: by name, else by a look at it.

    Raises:
        UsageError: no format of that name.
        FormatError: the file is missing, empty, or like no format.
    """
    path = Path(path)
    if format is not None:
        return format, _module(format)
    if path.is_dir() or len(members(path)) > 1:
        modules = {name: import_module(module) for name, module in CORPORA.items()}
        for name, module in modules.items():
            if hasattr(module, "holds") and module.holds(path):
                return name, module
        what = "a folder" if path.is_dir() else "an archive"
        raise FormatError(path, None, f"is {what} that holds no corpus that nomina knows: name a file in it")
    start = head(path)
    if start.startswith(UTF16):
        start = start.decode("utf-16", errors="ignore").encode("utf-8", errors="ignore")
    if not start.strip():
        raise FormatError(path, None, "is empty")
    for name, dotted in CORPORA.items():
        module = import_module(dotted)
        if module.sniff(start):
            return name, module
    raise FormatError(path, None, f"is like no corpus that nomina reads ({', '.join(CORPORA)}): see docs/corpora")


def _module(format: str) -> Any:  # noqa: ANN401
    if format not in CORPORA:
        raise UsageError(f"no corpus format {format!r}; there are: {', '.join(CORPORA)}")
    return import_module(CORPORA[format])


def read_corpus(
    path: str | Path,
    format: str | None = None,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    options: Mapping[str, Value] | None = None,
) -> Iterator[Document]:
    """The documents of a corpus in order, one in memory at a time.

    Args:
        path: a file or a folder.
        format: a name out of ``CORPORA``; where None, what the file looks like.
        skip: told of each fault, whose mention or document is left out; where None, the first fault is an error.
        dropped: counts what is in the file and not in the documents, such as relations.
        options: those of the format's ``read``, as values or as texts of the command line.

    Raises:
        UsageError: no such format, or an option that it does not have.
        FormatError: the file is missing or like no format; while it is read, what is wrong with it.
    """
    name, module = corpus_format(path, format)
    fitted = fitting({name: module.read}, options or {})[name]
    documents: Iterator[Document] = module.read(Path(path), skip=skip, dropped=dropped, **fitted)
    return documents


def write_corpus(
    documents: Iterable[Document],
    path: str | Path,
    format: str,
    *,
    dropped: Counter[str] | None = None,
    options: Mapping[str, Value] | None = None,
) -> None:
    """Write documents as a corpus; the file or folder appears when it is whole.

    Args:
        documents: read one at a time.
        path: the file or folder to write.
        format: a name out of ``CORPORA``.
        dropped: counts what the documents hold and the format cannot, such as sections.
        options: those of the format's ``write``, as values or as texts of the command line.

    Raises:
        UsageError: no such format, one that nomina only reads, an option that it does not have, a place that cannot be
            written to, or a document whose ids the format cannot hold exactly.
    """
    module = _module(format)
    if not hasattr(module, "write"):
        raise UsageError(f"nomina reads {format} and does not write it; it writes: {', '.join(_writable())}")
    fitted = fitting({format: module.write}, options or {})[format]
    module.write(documents, Path(path), dropped=dropped, **fitted)


def _writable() -> list[str]:
    return [name for name, module in CORPORA.items() if hasattr(import_module(module), "write")]
