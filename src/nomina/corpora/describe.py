"""What a corpus holds: counts, ids and how many of them a KB has, what training data have seen of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from nomina.evaluation.ids import IdMap, is_nil
from nomina.evaluation.match import Item, items_of
from nomina.evaluation.metrics import pairs
from nomina.evaluation.shape import Coverage
from nomina.evaluation.strata import strata
from nomina.kb.store import KnowledgeBase
from nomina.text import normalise
from nomina.types import Document

_SEEN = "seen"


@dataclass(frozen=True, slots=True)
class Seen:
    """What training data have seen of the mentions that have a concept (``of``), as counts.

    ``groups`` is the partition of ``evaluation.strata``: seen mention; seen concept, new mention; unseen concept.
    ``pairs``: the mention with the very same gold stands in the training data, so that a look-up there answers it.
    """

    train_mentions: int
    of: int
    groups: dict[str, int]
    pairs: int


@dataclass(frozen=True, slots=True)
class Description:
    """Counts of a corpus. The parts of a composite of BioSyn are one mention.

    Attributes:
        documents: all, also without a mention.
        characters: of their texts.
        mentions: that somebody marked.
        distinct_mentions: texts of mentions, without case.
        distinct_pairs: such texts with their gold, as an evaluation counts them; ``repeated_pairs`` are the mentions
            beyond the first of a pair.
        repeated_pairs: see there.
        types: mentions by type; "" where there is none.
        ids: distinct ids of gold, but for those that say that no concept fits.
        without_gold: mentions of which nobody said what they mean.
        nil: mentions of which gold says that no concept fits.
        composite: mentions that need several concepts, or have a text of several (``a|b``).
        discontinuous: mentions of several spans.
        overlapping: mentions that share a character with another one; the same place with the same gold is none.
        ids_in_kb: how many of ``ids`` the KB has; None without a KB.
        coverage: parts of gold that the KB has, by the rule that finds them; None without a KB or gold.
        seen: None without training data.
        dropped: what the file holds and the documents do not.
    """

    documents: int = 0
    characters: int = 0
    mentions: int = 0
    distinct_mentions: int = 0
    distinct_pairs: int = 0
    repeated_pairs: int = 0
    types: dict[str, int] = field(default_factory=dict)
    ids: int = 0
    without_gold: int = 0
    nil: int = 0
    composite: int = 0
    discontinuous: int = 0
    overlapping: int = 0
    ids_in_kb: int | None = None
    coverage: Coverage | None = None
    seen: Seen | None = None
    dropped: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values, by the names above."""
        return asdict(self)


def describe(
    documents: Iterable[Document],
    kb: KnowledgeBase | None = None,
    train: Iterable[Document] | None = None,
    dropped: Counter[str] | None = None,
) -> Description:
    """Read a corpus through and count. One document is held at a time, and all mentions.

    Args:
        documents: the corpus.
        kb: what its ids should be of; ids are found by the rules of ``evaluation.ids``.
        train: training data for it.
        dropped: what the reader of ``documents`` counts.
    """
    ids = IdMap(kb)
    counts: Counter[str] = Counter()
    items: list[Item] = []
    for document in documents:
        found = items_of([document], ids)
        counts["documents"] += 1
        counts["characters"] += len(document.text)
        counts["overlapping"] += _overlapping(found)
        items += found
    learnt = None if train is None else [item for each in train for item in items_of([each], ids)]
    groups = Counter({(each.group, each.name): int(each.mask.sum()) for each in strata(items, None, learnt)})
    mentions = [item.mention for item in items]
    distinct_pairs = len(set(pairs(items).tolist()))
    known = {id for mention in mentions for part in mention.gold for id in part if not is_nil(id)}
    return Description(
        documents=counts["documents"],
        characters=counts["characters"],
        mentions=len(items),
        distinct_mentions=len({mention.text.casefold() for mention in mentions}),
        distinct_pairs=distinct_pairs,
        repeated_pairs=len(items) - distinct_pairs,
        types=dict(Counter(mention.type or "" for mention in mentions).most_common()),
        ids=len(known),
        without_gold=sum(not mention.gold for mention in mentions),
        nil=sum(bool(item.mention.gold) and not item.gold for item in items),
        composite=groups["form", "composite"],
        discontinuous=groups["form", "discontinuous"],
        overlapping=counts["overlapping"],
        ids_in_kb=None if kb is None else sum(id in ids for id in known),
        coverage=ids.coverage(mention.gold for mention in mentions),
        seen=None if learnt is None else _seen(items, learnt, groups),
        dropped=dict((dropped or Counter[str]()).most_common()),
    )


def _overlapping(items: list[Item]) -> int:
    """How many items share a character with another one of the same document, unless place and gold are the same."""
    counts = Counter((item.mention.spans, item.mention.gold) for item in items)
    numbers = list(counts.values())
    spans = sorted((start, end, i) for i, (places, _) in enumerate(counts) for start, end in places)
    found: set[int] = set()
    reach, holder = -1, -1
    for start, end, i in spans:
        if start < reach:
            found |= {i, holder}
        if end > reach:
            reach, holder = end, i
    return sum(numbers[i] for i in found)


def _seen(items: list[Item], train: list[Item], groups: Counter[tuple[str, str]]) -> Seen:
    known = {(normalise(item.mention.text), item.gold) for item in train}
    named = [item for item in items if item.gold]
    same = sum((normalise(item.mention.text), item.gold) in known for item in named)
    return Seen(len(train), len(named), {name: n for (group, name), n in groups.items() if group == _SEEN}, same)
