"""Ids of gold and predictions as one form: that of the KB, where there is one.

Corpora write "MESH:D003110" where a KB has "D003110", keep ids that were retired since, and say "-1" where no concept
fits. What is done about it is the same for gold and predictions, is counted, and is told by its rule (``RULES``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from nomina.evaluation.shape import Coverage
from nomina.kb.store import KnowledgeBase

Gold = tuple[frozenset[str], ...]
"""Parts that are all needed, each with ids any of which will do; () = NIL."""

NIL_IDS = frozenset({"", "-", "-1", "CUI-less", "CUI_less", "CUILESS", "NIL", "None", "null"})
"""What corpora write where no concept fits; compared without case."""

RULES = ("itself", "replaced", "prefix spelt otherwise", "prefix removed", "prefix added", "unknown")
"""How an id was found in the KB, most direct first.

``itself``: it stands there, alone or as one of several that a KB id joins by | or +; ``replaced``: it is retired, and
another is live in its place; ``prefix spelt otherwise``: "mesh:D003110" for "MESH:D003110"; ``prefix removed``:
"MESH:D003110" for "D003110"; ``prefix added``: the other way round, where but one prefix of the KB fits.
"""

LEAST_COVERAGE = 0.5
"""Under this share of gold in the KB a report warns: it is likely that KB and corpus do not belong together."""

_NIL = frozenset(id.casefold() for id in NIL_IDS)
_JOINED = re.compile(r"[|+]")
_SAME_PREFIX = {
    "msh": "mesh", "mim": "omim", "umls_cui": "umls", "cui": "umls", "snomedct": "snomed", "snomedct_us": "snomed",
    "sctid": "snomed", "sct": "snomed", "scui": "snomed", "hpo": "hp",
}  # fmt: skip
_NOT_OF_THE_ID = frozenset({"mesh", "omim", "umls", "snomed"})  # their codes stand alone; "HP:0001250" does not


class _Found(NamedTuple):
    id: str
    rule: str


def is_nil(id: str) -> bool:
    """Whether an id says that no concept fits."""
    return id.strip().casefold() in _NIL


class IdMap:
    """Gives every id the form in which it is compared: the KB's live id, else the id without a well-known prefix.

    Args:
        kb: What is linked to; without one, "MESH:D003110" and "D003110" are the same, and nothing else is known.
        splits: Whether an id of gold that holds | or + is several, any of which will do (the as-published protocols).
            An id of a prediction or KB that does is always one concept of several ids.
    """

    def __init__(self, kb: KnowledgeBase | None = None, *, splits: bool = False) -> None:
        self.kb, self.splits = kb, splits
        self._cache: dict[str, _Found] = {}
        self._sets: dict[str, frozenset[str]] = {}
        self._golds: dict[tuple[tuple[str, ...], ...], Gold] = {}

    def __call__(self, id: str) -> str:
        """One id in the form in which it is compared."""
        return self._look(id).id

    def __contains__(self, id: str) -> bool:
        """Whether the KB has it, under any rule; without a KB everything is known."""
        return self._look(id).rule != "unknown"

    def candidate(self, id: str) -> frozenset[str]:
        """The ids of a predicted concept: the whole and, where it joins several, each; none where it says NIL.

        With a KB only what is one concept of it is taken apart: else a guess of twenty ids would be twenty answers.
        """
        if id not in self._sets:
            parts = _JOINED.split(id)
            apart = parts if len(parts) > 1 and (self.kb is None or self._is_concept(id, parts)) else ()
            self._sets[id] = frozenset(self(part) for part in (id, *apart) if not is_nil(part))
        return self._sets[id]

    def _is_concept(self, id: str, parts: Sequence[str]) -> bool:
        """Whether the KB has a concept of just these ids."""
        live = frozenset(self(part) for part in parts)
        return id in (self.kb or ()) or len(live) == 1 or live in self._wholes

    def gold(self, parts: Sequence[Sequence[str]]) -> Gold:
        """``Mention.gold`` as it is compared: NIL is left out, () where nothing else is there."""
        key = tuple(map(tuple, parts))
        if key not in self._golds:
            found = (frozenset(self(id) for id in self._concepts(part)) for part in key)
            self._golds[key] = tuple(part for part in found if part)
        return self._golds[key]

    def coverage(self, golds: Iterable[Sequence[Sequence[str]]]) -> Coverage | None:
        """How much of the gold of mentions (``Mention.gold``) the KB has; None without a KB or gold.

        A part counts once, by the most direct rule that one of its ids is found by.
        """
        if self.kb is None:
            return None
        counts: Counter[str] = Counter()
        for parts in golds:
            for part in parts:
                if ids := self._concepts(part):
                    counts[min((self._look(id).rule for id in ids), key=RULES.index)] += 1
        if not counts:
            return None
        share = 1.0 - counts["unknown"] / counts.total()
        warning = f"only {share:.1%} of the gold ids are in the KB {self.kb.manifest.name}: is it the corpus's own?"
        return Coverage(share, dict(counts.most_common()), warning if share < LEAST_COVERAGE else None)

    def _concepts(self, part: Sequence[str]) -> list[str]:
        """The ids of a part that are not NIL."""
        return [id for joined in part for id in self.split(joined) if not is_nil(id)]

    def split(self, id: str) -> list[str]:
        """The ids that an id of gold stands for."""
        return _JOINED.split(id) if self.splits else [id]

    def _look(self, id: str) -> _Found:
        id = id.strip()
        if id not in self._cache:
            self._cache[id] = _without_kb(id) if self.kb is None else self._find(id, self.kb)
        return self._cache[id]

    def _find(self, id: str, kb: KnowledgeBase) -> _Found:
        if id in kb or id in self._joined:
            return _Found(id, "itself")
        if live := kb.resolve(id):
            return _Found(live, "replaced")
        prefix, local = _parts(id)
        if prefix is None:
            added = {live for own in self._prefixes if (live := self._live(f"{own}:{id}", kb))}
            return _Found(added.pop(), "prefix added") if len(added) == 1 else _Found(id, "unknown")
        for own in self._prefixes:
            if _family(own) == prefix and (live := self._live(f"{own}:{local}", kb)):
                return _Found(live, "prefix spelt otherwise")
        if prefix in _NOT_OF_THE_ID and (live := self._live(local, kb)):
            return _Found(live, "prefix removed")
        return _Found(_without_kb(id).id, "unknown")

    def _live(self, id: str, kb: KnowledgeBase) -> str | None:
        return id if id in self._joined else kb.resolve(id)

    @cached_property
    def _joined(self) -> frozenset[str]:
        """Ids that the KB has only joined with others in one id."""
        joined = (id for id in self.kb or () if "|" in id or "+" in id)
        return frozenset(part.strip() for id in joined for part in _JOINED.split(id))

    @cached_property
    def _wholes(self) -> frozenset[frozenset[str]]:
        """The ids that the KB joins in one, each as a set."""
        joined = (id for id in self.kb or () if "|" in id or "+" in id)
        return frozenset(frozenset(self(part) for part in _JOINED.split(id)) for id in joined)

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        """The prefixes of the KB's ids as they are written there, most frequent first; then those of retired ids."""
        counts = Counter(id.partition(":")[0] for id in self.kb or () if ":" in id)
        usual = sorted(prefix.upper() for prefix in _NOT_OF_THE_ID)
        return tuple(dict.fromkeys([*(prefix for prefix, _ in counts.most_common()), *usual]))


def _without_kb(id: str) -> _Found:
    prefix, local = _parts(id)
    return _Found(local, "prefix removed") if prefix in _NOT_OF_THE_ID else _Found(id, "itself")


def _parts(id: str) -> tuple[str | None, str]:
    """The family of an id's prefix, None without one, and what stands behind it."""
    prefix, colon, local = id.partition(":")
    return (_family(prefix), local.strip()) if colon and local.strip() else (None, id)


def _family(prefix: str) -> str:
    key = prefix.strip().casefold()
    return _SAME_PREFIX.get(key, key)
