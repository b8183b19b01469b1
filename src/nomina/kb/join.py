"""Several KBs as one, and the names of one added to the concepts of another.

Both are new versions of the first KB (see ``kb.update``): its rows and concepts keep their numbers. A name that comes
from another KB says so in ``Name.source``; one whose look-up key the concept has already does not come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nomina.errors import KnowledgeBaseError, UsageError
from nomina.files import folder_beside
from nomina.kb.links import By, Links, links
from nomina.kb.schema import unpack
from nomina.kb.stage import Progress
from nomina.kb.store import KnowledgeBase
from nomina.kb.update import add
from nomina.text import normalise
from nomina.types import PREFERRED, Entity, Name, Retired


class Joined(NamedTuple):
    """The KB, how many concepts were found to be the same, how many may be but are not one to one."""

    kb: KnowledgeBase
    linked: int
    ambiguous: int


def expand(
    path: str | Path,
    target: KnowledgeBase,
    source: KnowledgeBase,
    by: By = "xref",
    *,
    many: bool = False,
    dedup: str | None = None,
    progress: Progress | None = None,
) -> Joined:
    """Add to the concepts of ``target`` the names that the same concepts have in ``source``; see ``links``.

    Raises:
        KnowledgeBaseError: no concept is linked, no name is new, or the place cannot be written.
    """
    with links(target, source, by, many) as found:
        if not found.count:
            names = source.manifest.name, target.manifest.name
            raise KnowledgeBaseError(f"no concept of {names[0]} is linked by {by} with one of {names[1]}")
        records = (Entity(t, _new_names(target[t], source[s], source)) for t, s in found)
        done = add(
            target, path, records, sources=source.manifest.sources, name=Path(path).stem, dedup=dedup, progress=progress
        )
        return Joined(done.kb, found.count, found.ambiguous)


def merge(
    path: str | Path,
    kbs: Sequence[KnowledgeBase],
    by: By,
    *,
    dedup: str | None = None,
    progress: Progress | None = None,
) -> Joined:
    """Make one KB of several, each joined to those before it: what is the same concept becomes one, by ``links``.

    The earlier KB's id and preferred name stay; the later id is retired in favour of it. An id that a KB has in use is
    not retired, whatever a later one says of it.

    Raises:
        UsageError: fewer than two KBs.
        KnowledgeBaseError: a KB that brings nothing new, or a place that cannot be written.
    """
    if len(kbs) < 2:
        raise UsageError("give two KBs or more to merge")
    target, *others = kbs
    last = len(others) - 1
    linked = ambiguous = 0
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise KnowledgeBaseError(f"cannot write {path}: there is no folder {folder}")
    with folder_beside(path) as scratch:
        for i, source in enumerate(others):
            place = Path(path) if i == last else Path(scratch, f"{i}.kb")
            with links(target, source, by) as found:
                target = add(
                    target,
                    place,
                    _merged(target, source, found),
                    sources=source.manifest.sources,
                    name=Path(path).stem,
                    dedup=dedup if i == last else None,
                    progress=progress,
                ).kb
                linked, ambiguous = linked + found.count, ambiguous + found.ambiguous
    return Joined(target, linked, ambiguous)


def _merged(target: KnowledgeBase, source: KnowledgeBase, found: Links) -> Iterator[Entity | Retired]:
    """The concepts of ``source`` as additions to ``target``."""
    for entity in source.entities():
        own = found.target_of(entity.id)
        gone = entity.retired_ids
        if own is None and entity.id in target:
            own = entity.id
        if own is None:
            names = tuple(replace(name, source=_provenance(source, name)) for name in entity.names)
        else:
            names = _new_names(target[own], entity, source)
            gone = (*gone, entity.id)
        yield replace(
            entity,
            id=own or entity.id,
            names=names,
            parents=tuple(dict.fromkeys(found.target_of(parent) or parent for parent in entity.parents)),
            retired_ids=tuple(id for id in gone if id not in target and id != own),
        )
    for id, replaced_by in source.select("SELECT id, replaced_by FROM retired ORDER BY id"):
        if id not in target:
            yield Retired(id, tuple(found.target_of(new) or new for new in unpack(replaced_by)))


def _new_names(entity: Entity, other: Entity, source: KnowledgeBase) -> tuple[Name, ...]:
    """The names of ``other`` that ``entity`` lacks; none of them is its preferred one."""
    known = {normalise(name.text) for name in entity.names}
    return tuple(
        replace(name, kind=None if name.kind == PREFERRED else name.kind, source=_provenance(source, name))
        for name in other.names
        if normalise(name.text) not in known
    )


def _provenance(source: KnowledgeBase, name: Name) -> str:
    """The KB a name comes from, with the source it has there."""
    own = source.manifest.name
    return f"{own}/{name.source}" if name.source else own
