"""How the tests load each linker of ``nomina.linkers.LINKERS``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nomina
from nomina.kb.store import KnowledgeBase
from nomina.linkers.embedding import EmbeddingLinker

ENCODER = Path(__file__).parent / "data" / "tiny-encoder"
"""Untrained: it finds what is written alike."""


def load_linker(name: str, kb: KnowledgeBase, **options: Any) -> nomina.Pipeline:
    """``nomina.load``, with an encoder where the linker needs one."""
    if name != "embedding":
        return nomina.load(name, kb, **options)
    pipeline = nomina.load("dictionary", kb, **options)
    pipeline.linker = EmbeddingLinker(kb, ENCODER)
    return pipeline
