"""Ids that were decided and that a KB does not have: of an older version of it, or of a corpus's own vocabulary.

They stay as they are and are exported; a decision that brings a new one is refused by the service.
"""

from __future__ import annotations

from collections.abc import Iterable

from nomina.evaluation.ids import IdMap, is_nil
from nomina.kb.store import KnowledgeBase
from nomina.review import views
from nomina.review.project import Project

_SHOWN = 3


def unknown_ids(kb: KnowledgeBase, ids: Iterable[str]) -> list[str]:
    """Those that the KB does not have under any of the rules that gold is compared by, in their order.

    A retired id that means a concept now is known, and so is an id for "no concept".
    """
    left = [id for id in ids if not is_nil(id) and kb.resolve(id) is None]
    known = IdMap(kb) if left else ()  # its tables are a pass over the KB
    return [id for id in left if id not in known]


def unknown_in(project: Project, kb: KnowledgeBase) -> str | None:
    """A line about decided ids that the KB does not have; None where it has all."""
    unknown = unknown_ids(kb, views.gold_ids(project))
    if not unknown:
        return None
    shown = ", ".join(unknown[:_SHOWN]) + (", ..." if len(unknown) > _SHOWN else "")
    what = "id is" if len(unknown) == 1 else "ids are"
    return f"{len(unknown):,} decided {what} not in the KB {kb.manifest.name}, and kept as they are: {shown}"
