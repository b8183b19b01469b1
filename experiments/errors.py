"""What two encoders get wrong on development mentions, a sample of it sorted by kind: ``docs/errors.md``.

    python experiments/errors.py link [--aligned FOLDER] [--default FOLDER] [--work DIR]
    python experiments/errors.py sort

``link``: NCBI and BC5CDR-d, BioSyn's ``processed_dev``, clean-kb, with the encoder that nomina comes with behind the
dictionary, as ``nomina.load()`` links, and with self-aligned MiniLM alone. Of the distinct pairs of mention and gold
that at least one of the two gets wrong, ``SAMPLE`` a corpus are drawn; written to ``results/errors.json``.

``sort`` adds the kinds that a reader gave them, in ``error_kinds.tsv`` (corpus, mention, gold, kind), to that file.
``make_errors.py`` prints the tables of the page.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from baselines import predicted
from common import RESULTS, ROOT, parser, record
from eval_kbs import Workshop

from nomina import encoders
from nomina.corpora import read_corpus
from nomina.encoders.onnx import OnnxEncoder
from nomina.evaluation.ids import Gold, IdMap
from nomina.evaluation.match import pair
from nomina.evaluation.protocols import prepare, protocol_of
from nomina.files import atomic
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.embedding import EmbeddingLinker
from nomina.types import Prediction

CORPORA = {"ncbi": ("ncbi-disease", "biosyn"), "bc5cdr-d": ("bc5cdr", "biosyn-disease")}
SYSTEMS = ("default", "aligned")
KINDS = ROOT / "experiments" / "error_kinds.tsv"
SAMPLE = 50
SEED = 0
PROTOCOL = "clean-kb"


@dataclass
class Case:
    """A distinct pair of mention and gold: how often it is annotated, and what each system answers."""

    corpus: str
    mention: str
    gold: list[str]
    gold_names: list[str]
    count: int = 0
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.corpus, self.mention, " ".join(self.gold)

    @property
    def is_wrong(self) -> bool:
        """Whether a system gets it wrong."""
        return not all(answer["right"] for answer in self.answers.values())


def main() -> None:
    """Link or sort."""
    options = parser(__doc__)
    options.add_argument("what", choices=("link", "sort"))
    options.add_argument("--default", type=Path, default=None, help="default: the encoder that nomina comes with")
    options.add_argument("--aligned", type=Path, default=ROOT / "checkpoints" / "sapbert-mini")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    arguments = options.parse_args()
    if arguments.what == "sort":
        sort(RESULTS / "errors.json", KINDS)
        return
    shop = Workshop(arguments.shared, arguments.work)
    folders = {"default": arguments.default or encoders.shipped(), "aligned": arguments.aligned}
    sampled, metrics = [], {}
    for corpus in CORPORA:
        cases = linked(shop, corpus, folders)
        wrong = [case for case in cases if case.is_wrong]
        metrics[corpus] = totals(cases)
        sampled += drawn(wrong)
        print(corpus, metrics[corpus], flush=True)
    models = {name: OnnxEncoder(folder).fingerprint for name, folder in folders.items()}
    shown = [{**vars(case), "kind": None} for case in sampled]
    record("errors", metrics, seed=SEED, encoders=models, protocol=PROTOCOL, sample=SAMPLE, errors=shown)


def linked(shop: Workshop, corpus: str, folders: dict[str, Path]) -> list[Case]:
    """All distinct cases of a corpus, answered by both systems."""
    kb, rules = shop(f"{corpus}-clean"), protocol_of(PROTOCOL)
    ids = IdMap(kb, splits=rules.splits_ids)
    documents, _ = prepare(read_corpus(shop.file(*CORPORA[corpus], "processed_dev"), "biosyn"), rules, kb)
    linkers: dict[str, Linker] = {
        "default": CascadeLinker(kb, folders["default"], progress=told),
        "aligned": EmbeddingLinker(kb, folders["aligned"], progress=told),
    }
    names = names_by_id(kb)
    cases: dict[tuple[str, str, str], Case] = {}
    for system, linker in linkers.items():
        for item in pair(documents, predicted(linker, documents, rules.form), ids).items:
            if not item.gold:
                continue
            new = Case(corpus, item.mention.text, *described(item.gold, names))
            case = cases.setdefault(new.key, new)
            case.count += system == SYSTEMS[0]
            case.answers.setdefault(system, answer(item.predictions, item.gold, ids))
    return list(cases.values())


def described(gold: Gold, names: dict[str, str]) -> tuple[list[str], list[str]]:
    """The ids of gold, and what the KB calls them."""
    listed = sorted({id for part in gold for id in part})
    return listed, sorted({names[id] for id in listed if id in names})


def answer(predictions: tuple[Prediction, ...], gold: Gold, ids: IdMap) -> dict[str, Any]:
    """The first candidate of each part, and whether the mention is right by it (every part hits any id of gold)."""
    firsts = [prediction.candidates[0] for prediction in predictions if prediction.candidates]
    wanted = frozenset[str]().union(*gold)
    right = (
        bool(firsts)
        and len(firsts) == len(predictions)
        and all(ids.candidate(first.entity_id) & wanted for first in firsts)
    )
    return {
        "right": right,
        "id": " ".join(first.entity_id for first in firsts),
        "preferred": " | ".join(first.preferred for first in firsts),
        "name": " | ".join(first.name for first in firsts),
        "rule": " | ".join(first.rule for first in firsts),
    }


def names_by_id(kb: KnowledgeBase) -> dict[str, str]:
    """What the KB calls an id, those within an id of several (``C1|123``) as well; the first concept counts."""
    found: dict[str, str] = {}
    for id, entity in kb.items():
        for part in (id, *id.replace("+", "|").split("|")):
            found.setdefault(part, entity.name)
    return found


def totals(cases: list[Case]) -> dict[str, Any]:
    """Sizes, and of each system the accuracy and the distinct pairs that are wrong."""
    mentions = sum(case.count for case in cases)
    found: dict[str, Any] = {"mentions": mentions, "distinct": len(cases)}
    found["distinct_wrong"] = sum(case.is_wrong for case in cases)
    found["equal_to_a_wrong_name"] = sum(case.count for case in cases if equals_a_wrong_name(case))
    for system in SYSTEMS:
        right = sum(case.count for case in cases if case.answers[system]["right"])
        wrong = sum(not case.answers[system]["right"] for case in cases)
        found[system] = {"acc@1": round(100 * right / mentions, 2), "distinct_wrong": wrong}
    return found


def equals_a_wrong_name(case: Case) -> bool:
    """Whether the mention is word for word a name of a concept that is not gold."""
    answer = case.answers["aligned"]
    return not answer["right"] and answer["name"].lower() == case.mention.lower()


def drawn(wrong: list[Case]) -> list[Case]:
    """``SAMPLE`` of the cases, each as likely as any other, in the order of their mentions."""
    chosen = random.Random(SEED).sample(sorted(wrong, key=lambda case: case.key), min(SAMPLE, len(wrong)))
    return sorted(chosen, key=lambda case: case.key)


def sort(path: Path, kinds: Path) -> None:
    """Write the kinds of a table, and the remedies where it has them, into the errors of a result.

    Raises:
        SystemExit: an error has no kind.
    """
    result = json.loads(path.read_text(encoding="utf-8"))
    given = {tuple(row[:3]): row[3:] for row in rows(kinds)}
    for error in result["errors"]:
        key = error["corpus"], error["mention"], " ".join(error["gold"])
        if key not in given:
            raise SystemExit(f"{kinds} has no kind for {key}: read the error and add a line")
        error.update(zip(("kind", "remedy"), given[key], strict=False))
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def rows(table: Path) -> Iterator[list[str]]:
    """The cells of a tab-separated table without its head."""
    for line in table.read_text(encoding="utf-8").splitlines()[1:]:
        yield line.split("\t")


def told(done: int, total: int) -> None:
    """Progress with the names of a KB."""
    if done % (1 << 14) == 0:
        print(f"{done:,} of {total:,} names", flush=True)


if __name__ == "__main__":
    main()
