"""Predictions as Parquet, a mention a row, with the fields of ``nomina.Prediction``; gold and types as they came."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from nomina.bulk.outputs import Batch, Failed
from nomina.errors import MissingExtra
from nomina.output import as_record


def check(pack: str) -> None:
    """Whether ``pyarrow`` is installed.

    Raises:
        MissingExtra: it is not.
    """
    _arrow()


def _arrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow.parquet"), import_module("pyarrow")
    except ImportError as error:
        raise MissingExtra("parquet", "writing Parquet files") from error


def write(batches: Iterable[Batch], path: Path, pack: str, failed: Failed) -> None:
    """A row a prediction, a group of rows a batch."""
    parquet, arrow = _arrow()
    schema = _schema(arrow)
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            if rows := [as_record(prediction) for prediction in chain.from_iterable(batch.predictions)]:
                writer.write_table(arrow.Table.from_pylist(rows, schema=schema))


def _schema(arrow: Any) -> Any:  # noqa: ANN401
    text, number, yes = arrow.string(), arrow.int64(), arrow.bool_()
    mention = {
        "spans": arrow.list_(arrow.list_(number)), "text": text, "type": text, "gold": arrow.list_(arrow.list_(text)),
    }  # fmt: skip
    candidate = {
        "entity_id": text, "preferred": text, "name": text, "score": arrow.float64(), "rank": number, "rule": text,
        "row": number,
    }  # fmt: skip
    return arrow.schema(
        {
            "document_id": text,
            "mention": arrow.struct(mention),
            "candidates": arrow.list_(arrow.struct(candidate)),
            "ambiguous": yes,
            "abstained": yes,
            "probability": arrow.float64(),
            "negated": yes,
            "experiencer": text,
            "hypothetical": yes,
        }
    )
