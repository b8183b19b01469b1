"""A part of a KB as a KB of its own: by subtree, by type, by the source of the names. Its rows are numbered anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nomina.errors import KnowledgeBaseError, UsageError
from nomina.kb.build import BuildOptions, build
from nomina.kb.schema import unpack
from nomina.kb.stage import Progress
from nomina.kb.store import KnowledgeBase
from nomina.types import Entity, Retired

_SOURCES = """
SELECT text FROM label WHERE number IN (SELECT DISTINCT source FROM name WHERE source IS NOT NULL) ORDER BY text
"""


def subset(
    path: str | Path,
    kb: KnowledgeBase,
    *,
    under: Sequence[str] = (),
    types: Sequence[str] = (),
    sources: Sequence[str] = (),
    dedup: str | None = None,
    progress: Progress | None = None,
) -> KnowledgeBase:
    """Write the concepts that meet all conditions, and the retired ids that lead to them.

    Args:
        path: the KB file to write.
        kb: the whole.
        under: only concepts under one of these ids, themselves included.
        types: only concepts of one of these types.
        sources: only names with one of these in ``Name.source``, and the concepts that have such a name.
        dedup: see ``BuildOptions``.
        progress: told how far it is.

    Raises:
        UsageError: no condition at all.
        KnowledgeBaseError: an id, type or source that the KB does not have, or nothing left to look up.
    """
    if not (under or types or sources or dedup):
        raise UsageError("say what to keep: --under, --types or --source")
    if sources:
        known = [text for (text,) in kb.select(_SOURCES)]
        for source in sources:
            if source not in known:
                has = ", ".join(known) or "none"
                raise KnowledgeBaseError(f"no name in the KB has the source {source!r}; there are: {has}")
    options = BuildOptions(Path(path).stem, dedup=dedup)
    return build(path, _records(kb, under, types, frozenset(sources)), options, kb.manifest.sources, progress)


def _records(
    kb: KnowledgeBase, under: Sequence[str], types: Sequence[str], sources: frozenset[str]
) -> Iterator[Entity | Retired]:
    kept = kb.subset(under, types).entities
    numbers = (number for (number,) in kb.select("SELECT number FROM entity WHERE live ORDER BY number"))
    for number, entity in zip(numbers, kb.entities(), strict=True):
        if sources:
            entity = replace(entity, names=tuple(name for name in entity.names if name.source in sources))
            kept[number] &= bool(entity.names)
        if kept[number]:
            yield entity
    for id, replaced_by in kb.select("SELECT id, replaced_by FROM retired ORDER BY id"):
        live = kb.resolve(id)
        if live is not None and all(kept[n] for (n,) in kb.select("SELECT number FROM entity WHERE id = ?", (live,))):
            yield Retired(id, unpack(replaced_by))
