"""Names in, concepts out: biomedical mentions linked to the concepts of a knowledge base.

Importing nomina loads nothing heavy; each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from nomina._version import __version__

if TYPE_CHECKING:
    from nomina.errors import NominaError
    from nomina.kb.store import KnowledgeBase
    from nomina.pipeline import Pipeline, load
    from nomina.types import Candidate, Document, Entity, Mention, Name, Prediction

__all__ = [
    "Candidate",
    "Document",
    "Entity",
    "KnowledgeBase",
    "Mention",
    "Name",
    "NominaError",
    "Pipeline",
    "Prediction",
    "__version__",
    "load",
]

_HOMES = {
    "Candidate": "nomina.types",
    "Document": "nomina.types",
    "Entity": "nomina.types",
    "KnowledgeBase": "nomina.kb.store",
    "Mention": "nomina.types",
    "Name": "nomina.types",
    "NominaError": "nomina.errors",
    "Pipeline": "nomina.pipeline",
    "Prediction": "nomina.types",
    "load": "nomina.pipeline",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'nomina' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
