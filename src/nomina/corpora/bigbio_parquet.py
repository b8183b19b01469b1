"""BigBIO's KB schema as Parquet, a document a row, as its data sets are passed on today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from nomina.corpora.bigbio import PARTS as EACH
from nomina.corpora.bigbio import Builder, concepts, record_of
from nomina.corpora.common import PARTS, SHOWN, Seen, Separators, writing
from nomina.errors import FormatError, MissingExtra
from nomina.files import Skip, atomic, open_bytes
from nomina.types import Document

_MAGIC = b"PAR1"
_ROWS = 64  # in memory at a time


def sniff(head: bytes) -> bool:
    """Whether the file is Parquet; what is in it is for ``read`` to say."""
    return head.startswith(_MAGIC)


def read(
    path: Path,
    *,
    skip: Skip | None = None,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
    several: str = EACH,
    database: bool = False,
) -> Iterator[Document]:
    """The documents of a file in order; a file that is packed once more is held in memory.

    Args:
        path: the file.
        skip: told of each fault; its entity or document is left out.
        dropped: counts what is counted of ``bigbio_jsonl``.
        parts: as there.
        alternatives: as there.
        several: as there.
        database: as there.

    Raises:
        FormatError: no Parquet file, else as ``bigbio_jsonl``; rows are numbered from 1.
        UsageError: ``several`` is another word.
        MissingExtra: ``pyarrow`` is not installed.
    """
    dropped = Counter() if dropped is None else dropped
    builder = Builder(path, skip, dropped, concepts(parts, alternatives, several, database))
    seen = Seen(path, skip, dropped)
    for number, row in _rows(path):
        document = builder.document(row, number)
        if document and seen.is_new(document, number):
            yield document


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    parquet, arrow = _parquet("reading", path)
    with open_bytes(path) as stream:
        plain = path.is_file() and _starts(path)
        source = path if plain else BytesIO(stream.read())
    number = 0
    try:
        with parquet.ParquetFile(source) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (arrow.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:SHOWN]
        raise FormatError(path, None, f"is no whole Parquet file ({why})") from error


def _starts(path: Path) -> bool:
    with open(path, "rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def write(
    documents: Iterable[Document],
    path: Path,
    *,
    dropped: Counter[str] | None = None,
    parts: str = PARTS,
    alternatives: str = "",
    db_name: str = "",
) -> None:
    """Write documents, a row each, as ``bigbio_jsonl`` does.

    Raises:
        UsageError: a part of gold whose ids cannot stand in one ``db_id``, or the file cannot be written.
        MissingExtra: ``pyarrow`` is not installed.
    """
    parquet, arrow = _parquet("writing", path)
    dropped = Counter() if dropped is None else dropped
    separators = Separators(parts, alternatives)
    schema = _schema(arrow)
    rows = (record_of(document, separators, db_name, dropped) for document in documents)
    with writing(path), atomic(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        while batch := list(islice(rows, _ROWS)):
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))


def _schema(arrow: Any) -> Any:  # noqa: ANN401
    """The columns of BigBIO's KB schema."""
    text, offsets = arrow.string(), arrow.list_(arrow.list_(arrow.int32()))
    piece = {"id": text, "type": text, "text": arrow.list_(text), "offsets": offsets}
    concept = arrow.struct({"db_name": text, "db_id": text})
    relation = {"id": text, "type": text, "arg1_id": text, "arg2_id": text, "normalized": arrow.list_(concept)}
    trigger = arrow.struct({"text": arrow.list_(text), "offsets": offsets})
    argument = arrow.struct({"role": text, "ref_id": text})
    columns = {
        "passages": piece,
        "entities": piece | {"normalized": arrow.list_(concept)},
        "events": {"id": text, "type": text, "trigger": trigger, "arguments": arrow.list_(argument)},
        "coreferences": {"id": text, "entity_ids": arrow.list_(text)},
        "relations": relation,
    }
    lists = {name: arrow.list_(arrow.struct(fields)) for name, fields in columns.items()}
    return arrow.schema({"id": text, "document_id": text, **lists})


def _parquet(doing: str, path: Path) -> tuple[Any, Any]:
    try:
        return import_module("pyarrow.parquet"), import_module("pyarrow")
    except ImportError as error:
        raise MissingExtra("parquet", f"{doing} {path}") from error
