"""A cascade fitted on development mentions against each of its parts and the default, by folds of these mentions.

    python experiments/cascade.py [--corpora ncbi bc5cdr-d] [--encoder FOLDER] [--generator FOLDER] [--work DIR]

Raw texts with their context; a mention that the KB lacks is always wrong. Each mention is judged by weights that were
learnt on other documents. No test data is read. Writes ``results/cascade[_NAME].json``: accuracy (first concept, any
id), paired tests, how well probabilities fit, how many mentions reach each part, mentions a second in one process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import parser, record
from eval_kbs import Workshop, of_type
from numpy.typing import NDArray

from nomina.corpora import read_corpus
from nomina.evaluation.ids import IdMap
from nomina.evaluation.significance import mcnemar, paired_bootstrap
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import Linker
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.fitted_cascade.linker import SURE
from nomina.linkers.fitted_cascade.parts import PARTS, PartOptions
from nomina.training.cascade.fit import Dev, dev_of, fitted

CORPORA: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "ncbi": ("ncbi-clean", None, ("ncbi-disease", "raw", "NCBIdevelopset_corpus.txt")),
    "bc5cdr-d": ("bc5cdr-d-clean", "Disease", ("bc5cdr", "raw", "CDR_DevelopmentSet.PubTator.txt")),
    "bc5cdr-c": ("mesh-chemicals", "Chemical", ("bc5cdr", "raw", "CDR_DevelopmentSet.PubTator.txt")),
    "aap-0": ("askapatient", None, ("askapatient", "AskAPatient.fold-0.validation.txt")),
}
"""KB, type of the mentions that count, development file."""

BEAMS, MANY = 5, 64


def main() -> None:
    """Fit, compare, record, print."""
    options = parser(__doc__)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    options.add_argument("--corpora", nargs="*", default=list(CORPORA), choices=list(CORPORA))
    options.add_argument("--encoder", default="", help="by default the one that nomina comes with")
    options.add_argument("--generator", default="")
    options.add_argument("--scored", type=int, default=16, help="names that the generator scores")
    options.add_argument("--beams", type=int, default=0, help="names that the generator finds itself; 0: none")
    options.add_argument("--sure", type=float, default=SURE)
    options.add_argument("--name", default="", help="of the results, where there are several")
    options.add_argument("--speed", action=argparse.BooleanOptionalAction, default=True, help="where nothing else runs")
    arguments = options.parse_args()
    shop, metrics = Workshop(arguments.shared, arguments.work), {}
    for corpus in arguments.corpora:
        kb_name, kind, place = CORPORA[corpus]
        kb = shop(kb_name)
        dev = dev_of(of_type(read_corpus(shop.file(*place)), kind), kb)
        metrics[corpus] = compared(kb, dev, parts_of(arguments), arguments)
        print(corpus, metrics[corpus], flush=True)
    name = "_".join(filter(None, ("cascade", arguments.name)))
    parts = [part.part for part in parts_of(arguments)]
    record(name, metrics, parts=parts, sure=arguments.sure, card=card(arguments.generator))


def parts_of(arguments: Any) -> list[PartOptions]:  # noqa: ANN401
    """All parts, the generator where one is named."""
    models = {"embedding": arguments.encoder, "generative": arguments.generator}
    chosen = [part for part in PARTS if part != "generative" or arguments.generator]
    many, beams = {"generative": arguments.scored}, {"generative": arguments.beams}
    return [PartOptions(part, models.get(part, ""), many.get(part, MANY), beams.get(part, 0)) for part in chosen]


def card(generator: str) -> str | None:
    """The GPU that the generator runs on, where there is one."""
    if not generator:
        return None
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def compared(kb: KnowledgeBase, dev: Dev, parts: Sequence[PartOptions], arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    """The figures of one corpus."""
    linker, facts, judged = fitted(kb, parts, dev, sure=arguments.sure)
    _, every, asked_all = fitted(kb, parts, dev, sure=1.0)
    others = {part.part: alone(kb, part, dev) for part in parts}
    others["default"] = right_of(CascadeLinker(kb, arguments.encoder or None), dev)
    others["all parts for every mention"] = asked_all.right
    against = {}
    for name, right in others.items():
        paired = paired_bootstrap(judged.right, right, dev.groups)
        against[name] = {
            "accuracy": round(100 * float(right.mean()), 2),
            "difference": round(100 * paired.difference, 2),
            "bootstrap_p": round(paired.p, 4),
            "mcnemar_p": round(mcnemar(judged.right, right).p_exact, 4),
        }
    timed = {"mentions_a_second": speed(linker, dev)} if arguments.speed else {}
    return {**facts, "against": against, "brier_of_all": every["brier"], **timed}


def alone(kb: KnowledgeBase, part: PartOptions, dev: Dev) -> NDArray[np.bool_]:
    """Whether a part's own first concept is right; a generator searches all names."""
    only = replace(part, beams=BEAMS) if part.part == "generative" else part
    return fitted(kb, [only], dev)[2].right


def right_of(linker: Linker, dev: Dev) -> NDArray[np.bool_]:
    """Whether a linker's first concept is right."""
    ids, found = IdMap(linker.kb, splits=True), []
    documents = (replace(query.document, mentions=(query.mention,)) for query in dev.queries)
    for prediction, gold in zip(linker.link(documents, k=1, threshold=0.0), dev.gold, strict=True):
        first = prediction.candidates[:1]
        found.append(bool(first) and not ids.candidate(first[0].entity_id).isdisjoint(gold))
    return np.array(found)


def speed(linker: Linker, dev: Dev) -> float:
    """Mentions a second, models opened."""
    linker.rank(dev.queries[:1], 1)
    started = time.perf_counter()
    linker.rank(dev.queries, 5)
    return round(len(dev.queries) / (time.perf_counter() - started), 1)


if __name__ == "__main__":
    main()
