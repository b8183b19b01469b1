"""The named protocols under which figures may be compared; they are never mixed in one column.

===========================  ====  =======  =====================================================================
protocol                     k of  primary  whose
===========================  ====  =======  =====================================================================
``as-published``             name  any      SapBERT, ResCNN, BioSyn: mentions without context, a hit where gold and
                                            predicted ids meet, ids split on | and +, every part of a composite hit
``as-published-generative``  name  any      GenBioEL (appendix A), ANGEL (4.2): abbreviations expanded, lower-cased,
                                            overlapping mentions and those not in the KB dropped and counted
``clean-kb``                 conc. any      ours: as-published's mentions, a KB without the corpus's own
``clean-raw``                conc. strict   ours: what a user gets from raw text; nothing dropped
===========================  ====  =======  =====================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from nomina.abbreviations import expander
from nomina.errors import UsageError
from nomina.evaluation.ids import IdMap, is_nil
from nomina.kb.store import KnowledgeBase
from nomina.types import Document, Mention

Form = Literal["name", "concept"]
Rule = Literal["any", "strict"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """How predictions are judged.

    Attributes:
        name: As on the command line.
        form: What the k best are counted in; a concept that owns several names comes several times in a list of names.
        primary: The rule of the one figure that systems are compared by.
        splits_ids: Whether a gold id that holds | or + is several, any of which will do.
        generative: Whether documents are changed and mentions dropped as GenBioEL does.
    """

    name: str
    form: Form
    primary: Rule
    splits_ids: bool
    generative: bool = False


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("as-published", "name", "any", splits_ids=True),
        Protocol("as-published-generative", "name", "any", splits_ids=False, generative=True),
        Protocol("clean-kb", "concept", "any", splits_ids=True),
        Protocol("clean-raw", "concept", "strict", splits_ids=False),
    )
}


def protocol_of(name: str) -> Protocol:
    """The protocol of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in PROTOCOLS:
        raise UsageError(f"no protocol {name!r}; there are: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def prepare(
    documents: Iterable[Document], protocol: Protocol, kb: KnowledgeBase | None = None
) -> tuple[list[Document], Counter[str]]:
    """The documents that a protocol evaluates on, and how many mentions it drops, by reason.

    Only ``as-published-generative`` changes anything. Spans stay as they are, so that predictions made before and
    after fit: texts are lower-cased letter by letter, and abbreviations that the text defines are expanded in
    ``Mention.text`` only (in GenBioEL around it too).

    Raises:
        UsageError: the protocol needs a KB, and there is none.
    """
    listed = list(documents)
    dropped: Counter[str] = Counter()
    if not protocol.generative:
        return listed, dropped
    if kb is None:
        raise UsageError(f"the protocol {protocol.name} drops mentions whose id is not in the KB: name it with --kb")
    ids = IdMap(kb, splits=protocol.splits_ids)
    return [rewritten(_kept(document, ids, dropped), protocol) for document in listed], dropped


def rewritten(document: Document, protocol: Protocol) -> Document:
    """A document with its texts as ``prepare`` makes them, nothing dropped: training data, say."""
    if not protocol.generative:
        return document
    expand = expander(document.text)
    mentions = tuple(replace(mention, text=_lower(expand(mention.text))) for mention in document.mentions)
    return replace(document, text=_lower(document.text), mentions=mentions)


def _kept(document: Document, ids: IdMap, dropped: Counter[str]) -> Document:
    kept = []
    for mention in document.mentions:
        if why := _why_dropped(mention, document.mentions, ids):
            dropped[why] += 1
        else:
            kept.append(mention)
    return replace(document, mentions=tuple(kept))


def _why_dropped(mention: Mention, all_of_them: Iterable[Mention], ids: IdMap) -> str | None:
    known = [id for part in mention.gold for id in part if not is_nil(id)]
    if not known:
        return "without an id"
    if not any(part in ids for id in known for part in ids.split(id)):
        return "not in the KB"
    return "overlapping" if any(_overlap(mention, other) for other in all_of_them) else None


def _overlap(mention: Mention, other: Mention) -> bool:
    """Whether they share a character; parts of one composite stand at the same place and do not count."""
    if mention.spans == other.spans and mention.gold == other.gold:
        return False
    return any(start < end2 and start2 < end for start, end in mention.spans for start2, end2 in other.spans)


def _lower(text: str) -> str:
    """Lower case of the same length: offsets stay."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
