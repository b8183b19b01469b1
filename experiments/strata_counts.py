"""How many mentions of BC5CDR are in each stratum, beside the sample sizes of GenBioEL, table 9.

Needs MeSH (``nomina kb get mesh``). Ids that MeSH has replaced since the corpus was made are brought up to date with
the list beside it. Counted twice: on the text as it stands, and as GenBioEL prepares it (protocol
``as-published-generative``: abbreviations expanded, lower-cased, what overlaps or is not in the KB dropped).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import benchmark, parser, record

from nomina.corpora import read_corpus
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import items_of
from nomina.evaluation.protocols import PROTOCOLS, prepare, rewritten
from nomina.evaluation.strata import strata
from nomina.kb.sources import resolve_kb
from nomina.kb.store import KnowledgeBase
from nomina.types import Document

PUBLISHED = {
    "overall": 9650,
    "single word": 7040,
    "multi-word": 2620,
    "unseen mention": 3280,
    "unseen concept": 2160,
    "not direct match": 3830,
    "top 100 concepts": 3310,
}
"""Sample sizes of GenBioEL, table 9."""

_REPLACED = re.compile(r"^'MESH:(\w+)' *: *'MESH:(\w+)'")


def replaced(folder: Path) -> dict[str, str]:
    """New ids by the ids that they replace."""
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        matches = map(_REPLACED.match, path.read_text(encoding="utf-8").splitlines())
        found.update((match[1], match[2]) for match in matches if match)
    return found


def updated(documents: Iterable[Document], new: dict[str, str]) -> list[Document]:
    """The documents with ids brought up to date."""
    return [
        replace(
            document,
            mentions=tuple(
                replace(mention, gold=tuple(tuple(new.get(id, id) for id in part) for part in mention.gold))
                for mention in document.mentions
            ),
        )
        for document in documents
    ]


def counted(test: list[Document], train: list[Document], kb: KnowledgeBase, protocol_name: str) -> dict[str, Any]:
    """The size of each stratum, by group, and what the protocol dropped before; mentions without an id never count."""
    protocol = PROTOCOLS[protocol_name]
    ids = IdMap(kb, splits=protocol.splits_ids)
    kept, dropped = prepare(with_concept(test), protocol, kb)
    learnt = items_of((rewritten(document, protocol) for document in with_concept(train)), ids)
    sizes: dict[str, dict[str, int]] = {}
    for stratum in strata(items_of(kept, ids), kb, learnt, kept):
        sizes.setdefault(stratum.group, {})[stratum.name] = int(stratum.mask.sum())
    return {"train": len(learnt), "dropped": dict(dropped), "strata": sizes}


def with_concept(documents: Iterable[Document]) -> list[Document]:
    """The documents without mentions that are -1."""
    return [replace(d, mentions=tuple(m for m in d.mentions if m.gold and m.gold != (("-1",),))) for d in documents]


def main() -> None:
    """Print the seven strata beside the published counts and record all."""
    options = parser(__doc__)
    options.add_argument("--kb", default="mesh", help="a name or a file; default: %(default)s")
    arguments = options.parse_args()
    kb = resolve_kb(arguments.kb)
    folder = benchmark(arguments.shared, "bc5cdr", "raw")
    new = replaced(benchmark(arguments.shared, "bc5cdr", "mesh-id-updates"))
    test, train = (updated(read_corpus(folder / f"CDR_{part}Set.PubTator.txt"), new) for part in ("Test", "Training"))
    metrics = {
        "published": PUBLISHED,
        "prepared": counted(test, train, kb, "as-published-generative"),
        "as it stands": counted(test, train, kb, "clean-raw"),
    }
    print(f"{'stratum':20} {'published':>10} {'prepared':>10} {'as it stands':>12}")
    for name, size in PUBLISHED.items():
        ours = [metrics[form]["strata"]["genbioel"][name] for form in ("prepared", "as it stands")]
        print(f"{name:20} {size:10,} {ours[0]:10,} {ours[1]:12,}")
    print(record("strata_counts", metrics, kb={"name": kb.manifest.name, "fingerprint": kb.fingerprint}))


if __name__ == "__main__":
    main()
