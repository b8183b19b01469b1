"""What cascades get wrong on development mentions, a sample of it sorted by kind.

    python experiments/cascade_errors.py link --cascades KEPT [--name bc5cdr] [--read FILE] [--work DIR]
    python experiments/cascade_errors.py sort

``KEPT``: what ``cascade_test.py --keep`` wrote. ``link``: the distinct pairs of mention and gold that the cascades of
clean-kb and clean-raw get wrong by the protocol's rule; of each protocol ``SAMPLE`` are drawn, as many of each corpus,
and written to ``results/cascade_errors[_NAME].json`` with what each part alone answers; ``--read``: to a table for a
reader too, with the text around. Cascades were fitted on such mentions too: a few weights, no model. ``sort`` adds the
kinds and remedies that a reader gave the errors of all results, in ``cascade_error_kinds.tsv`` (cell, mention, gold,
kind, remedy); ``RESULTS.md`` counts them.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import errors
from cascade_test import by_text, tasks_of
from common import NONE_DRAWN, RESULTS, ROOT, parser, record
from eval_kbs import Workshop
from eval_tasks import Task

from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import Item, pair
from nomina.evaluation.metrics import first_hits
from nomina.evaluation.outcome import outcome
from nomina.evaluation.protocols import Protocol, prepare, protocol_of
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker
from nomina.linkers.fitted_cascade import folder
from nomina.linkers.fitted_cascade.linker import FittedCascadeLinker
from nomina.text import normalise
from nomina.types import Document

CORPORA = ("ncbi", "bc5cdr-d", "bc5cdr-c")
PROTOCOLS = ("clean-kb", "clean-raw")
KINDS = ROOT / "experiments" / "cascade_error_kinds.tsv"
NAME = "cascade_errors"
SAMPLE, SEED, DEPTH, SHOWN, AROUND = 50, 0, 20, 3, 80


class Cell(NamedTuple):
    """A corpus under a protocol, and its fitted cascade."""

    task: Task
    kb: KnowledgeBase
    linker: FittedCascadeLinker
    rules: Protocol

    @property
    def ids(self) -> IdMap:
        """Gives ids the form in which they are compared."""
        return IdMap(self.kb, splits=self.rules.splits_ids)


def main() -> None:
    """Link or sort."""
    options = parser(__doc__)
    options.add_argument("what", choices=("link", "sort"))
    options.add_argument("--cascades", type=Path)
    options.add_argument("--name", default="", help="of the result, where there are several")
    options.add_argument("--read", type=Path)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    arguments = options.parse_args()
    if arguments.what == "sort":
        for path in sorted(RESULTS.glob(f"{NAME}*.json")):
            errors.sort(path, KINDS)
        return
    shop, found, shown, made = Workshop(arguments.shared, arguments.work), {}, [], {}
    for protocol in PROTOCOLS:
        cells = list(cells_of(protocol, arguments.cascades, shop))
        for number, cell in enumerate(cells):
            documents = prepare(cell.task.dev(shop) if cell.task.dev else (), cell.rules, cell.kb)[0]
            cases, counts = wrong(cell, documents, cell.task.train(shop))
            learnt = fitted_as(arguments.cascades, cell)
            found[cell.task.name] = counts | {"fitted_on": learnt["mentions"]}
            made[learnt["command"]] = learnt["commit"] or ""
            shown += described(cell, documents, drawn(cases, SAMPLE // len(cells) + (number < SAMPLE % len(cells))))
            print(cell.task.name, found[cell.task.name], flush=True)
            if arguments.read:
                arguments.read.write_text("\n".join(table(shown)) + "\n", encoding="utf-8")
    for case in shown:
        del case["around"]
    trained = {"commands": list(made), "commit": ", ".join(dict.fromkeys(made.values())), "seed": NONE_DRAWN}
    name = "_".join(filter(None, (NAME, arguments.name)))
    record(name, found, seed=SEED, sample=SAMPLE, errors=shown, trained=trained)


def cells_of(protocol: str, kept: Path, shop: Workshop) -> Iterator[Cell]:
    """The corpora of which there is a cascade."""
    for corpus in CORPORA:
        if (kept / f"{corpus}_{protocol}").exists():
            (task,) = tasks_of(corpus, [protocol])
            kb = shop(task.kb)
            linker = folder.load(kb, kept / task.name / "cascade")
            assert isinstance(linker, FittedCascadeLinker)
            yield Cell(task, kb, linker, protocol_of(protocol))


def fitted_as(kept: Path, cell: Cell) -> dict[str, Any]:
    """What a cascade's folder says of the development mentions that it was fitted on, and of the command."""
    path = kept / cell.task.name / "cascade" / folder.CALIBRATION
    learnt: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["dev"]
    return learnt


def judged(cell: Cell, linker: Linker, documents: Sequence[Document]) -> tuple[list[Item], list[bool], list[float]]:
    """The items that name a concept with a linker's answers; whether each is right; at which place it is found."""
    answers = linker.link(by_text(documents), k=DEPTH, threshold=0.0, level=cell.rules.form)
    items = pair(documents, answers, cell.ids).items
    found = outcome(items, cell.ids, cell.rules.form)
    asked = [i for i, item in enumerate(items) if item.gold]
    hits = first_hits(found, cell.rules.primary) > 0
    return [items[i] for i in asked], hits[asked].tolist(), found.first[asked].tolist()


def wrong(
    cell: Cell, documents: Sequence[Document], train: Sequence[Document]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The distinct pairs of mention and gold that a cascade gets wrong; how many mentions there are, and right ones."""
    items, hits, places = judged(cell, cell.linker, documents)
    names, seen = errors.names_by_id(cell.kb), {normalise(m.text) for document in train for m in document.mentions}
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    for item, hit, place in zip(items, hits, places, strict=True):
        if hit:
            continue
        ids, called = errors.described(item.gold, names)
        case = {
            "corpus": cell.task.name,
            "mention": item.mention.text,
            "gold": ids,
            "gold_names": called,
            "answers": [_offered(prediction.candidates[:SHOWN]) for prediction in item.predictions],
            "place": int(place) if place <= DEPTH else None,
            "seen": normalise(item.mention.text) in seen,
            "where": (item.document_id, item.mention.spans),
        }
        cases.setdefault((item.mention.text, " ".join(ids)), {**case, "count": 0})["count"] += 1
    return list(cases.values()), {"mentions": len(items), "right": sum(hits), "distinct_errors": len(cases)}


def _offered(candidates: Sequence[Any]) -> list[str]:
    """The names of candidates, and what the KB calls their concepts where it is something else."""
    return [c.name if c.name == c.preferred else f"{c.name} [{c.preferred}]" for c in candidates]


def drawn(cases: Sequence[dict[str, Any]], share: int) -> list[dict[str, Any]]:
    """So many of the cases, each as likely as any other."""
    listed = sorted(cases, key=lambda case: (case["mention"], case["gold"]))
    return random.Random(SEED).sample(listed, min(share, len(listed)))


def described(cell: Cell, documents: Sequence[Document], cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the first answer of each part alone, whether it is right, and the text around the mention."""
    of_id = {document.id: document for document in documents}
    for case in cases:
        id, spans = case.pop("where")
        document = of_id[id]
        start, end = spans[0][0], spans[-1][1]
        around = document.text[max(start - AROUND, 0) : start], document.text[end : end + AROUND]
        case["around"] = "[]".join(" ".join(side.split()) for side in around)
        asked = [replace(document, mentions=tuple(m for m in document.mentions if m.spans == spans))]
        case["parts"] = {}
        for part in cell.linker.parts:
            items, hits, _ = judged(cell, part.linker, asked)
            place = next(i for i, item in enumerate(items) if item.mention.text == case["mention"])
            firsts = [name for p in items[place].predictions for name in _offered(p.candidates[:1])]
            case["parts"][part.options.part] = {"right": hits[place], "name": " | ".join(firsts)}
    return list(cases)


def table(cases: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Lines for a reader."""
    yield "\t".join(("cell", "mention", "gold", "gold_names", "answers", "place", "seen", "parts", "around"))
    for case in cases:
        parts = "; ".join(f"{part}: {'right' if own['right'] else own['name']}" for part, own in case["parts"].items())
        answers = " || ".join("; ".join(names) for names in case["answers"])
        yield "\t".join(
            (case["corpus"], case["mention"], " ".join(case["gold"]), "; ".join(case["gold_names"]), answers,
             str(case["place"]), str(case["seen"]), parts, case["around"])
        )  # fmt: skip


if __name__ == "__main__":
    main()
