"""A remedy of what cascades get wrong (``cascade_errors.py``): names that the text gives in brackets.

    python experiments/cascade_brackets.py --cascades KEPT [--work DIR]

"Mellaril (thioridazine)", "thioridazine (Mellaril)": a mention that no name of the KB equals is read as the name behind
it in brackets, or in front of the brackets that it stands in, wherever the text has it so. What the text defines as a
short form is left alone: the parts read that already. ``KEPT``: what ``cascade_test.py --keep`` wrote. Development
mentions of clean-raw, by the protocol's rule; no test data is read. On training texts, which were not looked at to
find the rule, how often the name alone is right. Writes ``results/cascade_brackets.json``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cascade_errors import Cell, cells_of
from cascade_remedies import SEED, Hits, compared
from cascade_test import by_text
from common import parser, record
from eval_kbs import Workshop

from nomina.abbreviations import definitions
from nomina.evaluation.match import Item, pair
from nomina.evaluation.metrics import first_hits
from nomina.evaluation.outcome import outcome
from nomina.evaluation.protocols import prepare
from nomina.lexicon import Lexicon
from nomina.text import normalise
from nomina.types import Document, Prediction

PROTOCOL = "clean-raw"
WORDS = 7
"""In front of a bracket, of which a name is looked for."""
_OPENED = re.compile(r"\s*[(\[]")
_OPENS = re.compile(r"\s*[(\[]\s*$")
_ENDS = re.compile(r"[;,]\s| or ")
_SHOWN = 120


def main() -> None:
    """Link, read anew, record, print, corpus by corpus."""
    options = parser(__doc__)
    options.add_argument("--cascades", type=Path, required=True)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    arguments = options.parse_args()
    shop, metrics = Workshop(arguments.shared, arguments.work), {}
    for cell in cells_of(PROTOCOL, arguments.cascades, shop):
        documents = prepare(cell.task.dev(shop) if cell.task.dev else (), cell.rules, cell.kb)[0]
        train = prepare(cell.task.train(shop), cell.rules, cell.kb)[0]
        metrics[cell.task.corpus] = {**tried(cell, documents), "train": alone(cell, train)}
        print(cell.task.name, metrics[cell.task.corpus], flush=True)
    record("cascade_brackets", metrics, seed=SEED, protocol=PROTOCOL)


def tried(cell: Cell, documents: Sequence[Document]) -> dict[str, Any]:
    """What it does to a cascade."""
    asked, lexicon = by_text(documents), Lexicon.open(cell.kb)
    names = [other_name(one.text, one.mentions[0].text, lexicon) for one in asked]
    read = [i for i, name in enumerate(names) if name]
    before = answered(cell, asked)
    after = dict(enumerate(before))
    anew = [replace(asked[i], mentions=(replace(asked[i].mentions[0], text=names[i]),)) for i in read]
    for i, answer in zip(read, answered(cell, anew), strict=True):
        after[i] = replace(answer, mention=asked[i].mentions[0])
    items, old = judged(cell, documents, before)
    _, new = judged(cell, documents, list(after.values()))
    places = {(asked[i].id, asked[i].mentions[0].spans) for i in read}
    some = np.array([(item.document_id, item.mention.spans) in places for item in items])
    return {
        "mentions": len(items),
        "documents": len(documents),
        "right": int(old.sum()),
        "read": {"mentions": int(some.sum()), "before": int(old[some].sum()), "after": int(new[some].sum())},
        **compared(new, old, [item.document_id for item in items], [item.mention.text for item in items]),
    }


def alone(cell: Cell, documents: Sequence[Document]) -> dict[str, int]:
    """How many mentions are read so, and how many of those by the name that is found are right: any of its concepts."""
    lexicon, found, right = Lexicon.open(cell.kb), 0, 0
    for document in documents:
        for mention in document.mentions:
            name = other_name(document.text, mention.text, lexicon)
            if not name or not mention.gold:
                continue
            owners = cell.kb.owners(lexicon.lookup(name)[0].row)
            gold = frozenset[str]().union(*cell.ids.gold(mention.gold))
            found += 1
            right += any(cell.ids.candidate(owner) & gold for owner in owners)
    return {"mentions": found, "right": right}


def answered(cell: Cell, asked: Sequence[Document]) -> list[Prediction]:
    """The cascade's first concepts."""
    return list(cell.linker.link(asked, k=1, threshold=0.0, level=cell.rules.form))


def judged(cell: Cell, documents: Sequence[Document], answers: Sequence[Prediction]) -> tuple[list[Item], Hits]:
    """The items that name a concept, and whether the answer to each is right."""
    items = pair(documents, answers, cell.ids).items
    hits = first_hits(outcome(items, cell.ids, cell.rules.form), cell.rules.primary) > 0
    asked = [i for i, item in enumerate(items) if item.gold]
    return [items[i] for i in asked], hits[asked]


def other_name(text: str, mention: str, lexicon: Lexicon) -> str:
    """The name that a text gives beside a mention; none where that is a name itself, or a short form defined there."""
    shorts = {normalise(definition.short) for definition in definitions(text)}
    if lexicon.lookup(mention) or shorts & {normalise(mention), normalise(f"{mention}s")}:
        return ""
    for place in re.finditer(rf"(?<!\w){re.escape(mention)}(?!\w)", text):
        for name in (_behind(text[place.end() :]), _in_front(text[: place.start()], lexicon)):
            if name and lexicon.lookup(name):
                return name
    return ""


def _behind(rest: str) -> str:
    """What stands in the brackets with which a text goes on, up to a comma or the like."""
    opened, depth = _OPENED.match(rest), 0
    if opened is None:
        return ""
    for i, character in enumerate(rest[opened.end() : opened.end() + _SHOWN]):
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            return _ENDS.split(rest[opened.end() : opened.end() + i])[0].strip()
    return ""


def _in_front(text: str, lexicon: Lexicon) -> str:
    """The longest name in front of the bracket with which a text ends."""
    opens = _OPENS.search(text)
    if opens is None:
        return ""
    words = text[: opens.start()].split()[-WORDS:]
    names = (" ".join(words[i:]) for i in range(len(words)))
    return next((name for name in names if lexicon.lookup(name)), "")


if __name__ == "__main__":
    main()
