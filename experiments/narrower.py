"""What a word that narrows a name down shall cost it where the mention does not say the word, on development mentions.

    python experiments/narrower.py [--encoder FOLDER] [--work DIR]

NCBI and BC5CDR-d, BioSyn's ``processed_dev``, clean-kb, linked by the default with ``NARROWER`` of
``nomina.linkers.cascade`` at each of ``COSTS``. Writes ``results/narrower.json``: right answers in percent.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from baselines import predicted
from common import parser, record
from errors import CORPORA, PROTOCOL, answer
from eval_kbs import Workshop

from nomina import encoders
from nomina.corpora import read_corpus
from nomina.encoders.onnx import OnnxEncoder
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import pair
from nomina.evaluation.protocols import prepare, protocol_of
from nomina.linkers import cascade

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1)


def main() -> None:
    """Link, record, print."""
    options = parser(__doc__)
    options.add_argument("--encoder", type=Path, default=None, help="default: the one that nomina comes with")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    arguments = options.parse_args()
    folder = arguments.encoder or encoders.shipped()
    shop = Workshop(arguments.shared, arguments.work)
    metrics = {corpus: accuracies(shop, corpus, folder) for corpus in CORPORA}
    record("narrower", metrics, encoder=OnnxEncoder(folder).fingerprint, protocol=PROTOCOL, chosen=cascade.NARROWER)
    for corpus, found in metrics.items():
        print(corpus, found)


def accuracies(shop: Workshop, corpus: str, folder: Path) -> dict[str, float]:
    """acc@1 by cost."""
    kb, rules = shop(f"{corpus}-clean"), protocol_of(PROTOCOL)
    ids = IdMap(kb, splits=rules.splits_ids)
    documents, _ = prepare(read_corpus(shop.file(*CORPORA[corpus], "processed_dev"), "biosyn"), rules, kb)
    linker, chosen, found = cascade.CascadeLinker(kb, folder), cascade.NARROWER, {}
    for cost in COSTS:
        cascade.NARROWER = cost
        items = [item for item in pair(documents, predicted(linker, documents, rules.form), ids).items if item.gold]
        right = sum(answer(item.predictions, item.gold, ids)["right"] for item in items)
        found[str(cost)] = round(100 * right / len(items), 2)
    cascade.NARROWER = chosen
    return found


if __name__ == "__main__":
    main()
