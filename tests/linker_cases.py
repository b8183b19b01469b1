"""How the tests load each linker of ``nomina.linkers.LINKERS``; those that need nomina's own encoder ask here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nomina
from nomina.kb.store import KnowledgeBase
from nomina.linkers.embedding import EmbeddingLinker

ENCODER = Path(__file__).parent / "data" / "tiny-encoder"
"""Untrained: it finds what is written alike."""

FILES = ("manifest.json", "model.onnx", "tokenizer.json")


needs_shipped = pytest.mark.skipif(
    not all((Path(nomina.__file__).parent / "data" / "encoder" / name).is_file() for name in FILES),
    reason="the weights of the encoder that nomina comes with are not here",
)


def load_linker(name: str, kb: KnowledgeBase, **options: Any) -> nomina.Pipeline:
    """``nomina.load``, with the tiny encoder where the linker needs one."""
    if name == "cascade":
        return nomina.load(ENCODER, kb, **options)
    if name != "embedding":
        return nomina.load(name, kb, **options)
    pipeline = nomina.load("dictionary", kb, **options)
    pipeline.linker = EmbeddingLinker(kb, ENCODER)
    return pipeline
