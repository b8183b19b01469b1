"""What a bulk run writes: one module a format, found through ``OUTPUTS`` and imported on use.

Each has ``check(pack)``, which raises what would go wrong later, and ``write(batches, path, pack, failed)``, which
writes a whole file at ``path`` and is the same for the same batches, to the byte. ``failed`` is told of a document that
the format cannot hold and why; it is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nomina.types import Document, Prediction


class Output(NamedTuple):
    """A format's module and the ending of its files."""

    module: str
    ending: str


OUTPUTS: dict[str, Output] = {
    "jsonl": Output("nomina.bulk.outputs.jsonl", ".jsonl"),
    "parquet": Output("nomina.bulk.outputs.parquet", ".parquet"),
    "pubtator": Output("nomina.bulk.outputs.pubtator", ".pubtator"),
    "bioc_xml": Output("nomina.bulk.outputs.bioc_xml", ".bioc.xml"),
    "bioc_json": Output("nomina.bulk.outputs.bioc_json", ".bioc.json"),
}
"""Format name -> output. A new one is one file and one line here."""

PACKINGS = {"none": "", "gz": ".gz", "zst": ".zst"}
"""How JSON lines are packed, and the ending that says so."""

Failed = Callable[[Document, str], None]
"""Told of a document that cannot be written, and why."""


class Batch(NamedTuple):
    """Documents and the predictions of each, in order."""

    documents: list[Document]
    predictions: list[list[Prediction]]
