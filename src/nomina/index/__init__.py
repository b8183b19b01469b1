"""Nearest rows: ``INDEXES`` names the kinds of index; each is imported when it is first used."""

from __future__ import annotations

INDEXES: dict[str, str] = {
    "float32": "nomina.index.exact.ExactIndex",
    "float16": "nomina.index.exact.HalfIndex",
    "int8": "nomina.index.int8.Int8Index",
    "faiss-flat": "nomina.index.faiss.FlatIndex",
    "faiss-hnsw": "nomina.index.faiss.HnswIndex",
    "faiss-ivfpq": "nomina.index.faiss.IvfPqIndex",
}
"""Kind of an index, and where its class is. The first three are exact and need no extra."""
