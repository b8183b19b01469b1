"""What an encoder loses when words are shuffled or its attention is cut to a window (ResCNN paper, tables 1 and 2).

    python experiments/probing.py FOLDER --title TITLE [--split dev] [--every 1] [--work DIR]
    python experiments/probing.py ncbi=FOLDER bc5cdr-d=FOLDER --title TITLE --name probing_tuned

``FOLDER`` is a saved BERT-type encoder: one for both corpora, or one fine-tuned on each. Accuracy at 1 on the mentions
of a split, clean-kb, any id. ``--every N``: of the names whose concepts no mention of the split has, every N-th only; a
smaller dictionary is an easier one, and all probes of a run have the same. Writes ``results/<name>.json``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import parser, record
from errors import CORPORA, PROTOCOL
from eval_kbs import Workshop
from numpy.typing import NDArray

from nomina import encoders
from nomina.corpora import read_corpus
from nomina.encoders.base import Encoder
from nomina.encoders.bert import BertEncoder, device_of
from nomina.evaluation.ids import IdMap
from nomina.evaluation.match import Item, items_of
from nomina.evaluation.probes import shuffled
from nomina.evaluation.protocols import prepare, protocol_of
from nomina.evaluation.windowed import WindowedEncoder

GRAMS = {"shuffled words": 1, "shuffled bigrams": 2, "shuffled trigrams": 3}
WINDOWS = {"window 3": 3, "window 5": 5}
PROBES = ("none", *GRAMS, *WINDOWS)
SEED = 0
QUERIES = 256  # at once

Floats = NDArray[np.float32]


@dataclass
class Task:
    """A corpus: its items, and the names that are ranked with the ids of each."""

    items: list[Item]
    names: list[str]
    ids: list[frozenset[str]]


def main() -> None:
    """Probe, record, print."""
    arguments = command_line().parse_args()
    folders = dict((name, folder) if equals else ("", name) for name, equals, folder in
                   (given.partition("=") for given in arguments.folders))  # fmt: skip
    shop = Workshop(arguments.shared, arguments.work)
    chosen = {corpus: folders.get(corpus, folders.get("")) for corpus in CORPORA}
    tasks = {corpus: read(shop, corpus, arguments.split, arguments.every) for corpus, f in chosen.items() if f}
    accuracy: dict[str, dict[str, float]] = {corpus: {} for corpus in tasks}
    for folder in dict.fromkeys(filter(None, chosen.values())):
        encoder = opened(folder, arguments.device)
        for probe in PROBES:
            started, vectors = time.monotonic(), Vectors(probed(encoder, probe), arguments.batch)
            for corpus in (corpus for corpus in tasks if chosen[corpus] == folder):
                accuracy[corpus][probe] = accuracy_of(tasks[corpus], vectors, probe, encoder.query_prefix)
                print(f"{corpus} {probe}: {accuracy[corpus][probe]}, {time.monotonic() - started:.0f} s", flush=True)
    metrics = {"accuracy": accuracy, "change": {probe: change(accuracy, probe) for probe in PROBES[1:]}}
    sizes = {corpus: {"mentions": len(task.items), "names": len(task.names)} for corpus, task in tasks.items()}
    print(record(arguments.name, metrics, seed=SEED, title=arguments.title, split=arguments.split, protocol=PROTOCOL,
                 every=arguments.every, sizes=sizes))  # fmt: skip


def command_line() -> argparse.ArgumentParser:
    """The options."""
    options = parser(__doc__)
    options.add_argument("folders", nargs="+", metavar="[CORPUS=]FOLDER")
    options.add_argument("--title", required=True, help="in RESULTS.md")
    options.add_argument("--name", default="probing", help="of the result; default: %(default)s")
    options.add_argument("--split", default="dev", choices=("dev", "test"), help="default: %(default)s")
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--device", default="auto")
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    return options


def read(shop: Workshop, corpus: str, split: str, every: int) -> Task:
    """Mentions with gold, and the names of the KB, thinned out where no mention needs them."""
    kb, rules = shop(f"{corpus}-clean"), protocol_of(PROTOCOL)
    ids = IdMap(kb, splits=rules.splits_ids)
    documents, _ = prepare(read_corpus(shop.file(*CORPORA[corpus], f"processed_{split}"), "biosyn"), rules, kb)
    items = [item for item in items_of(documents, ids) if item.gold]
    wanted = frozenset[str]().union(*(part for item in items for part in item.gold))
    names, owned = [], []
    for row, name in enumerate(kb.surfaces()):
        own = frozenset[str]().union(*(ids.candidate(id) for id in kb.owners(row)))
        if row % every == 0 or own & wanted:
            names.append(name)
            owned.append(own)
    return Task(items, names, owned)


def opened(folder: str, device: str) -> BertEncoder:
    """A saved encoder on a device."""
    encoder = encoders.load_trainable(folder)
    if not isinstance(encoder, BertEncoder):
        raise SystemExit(f"{folder} is no BERT-type encoder: attention windows can be probed of those only")
    encoder.module.to(device_of(device))
    return encoder


def probed(encoder: BertEncoder, probe: str) -> Encoder:
    """The encoder under a window, or as it is."""
    return WindowedEncoder(encoder, WINDOWS[probe]) if probe in WINDOWS else encoder


class Vectors:
    """Vectors of texts under one probe, each text encoded once."""

    def __init__(self, encoder: Encoder, batch: int) -> None:
        self._encoder, self._batch = encoder, batch
        self._kept: dict[str, Floats] = {}

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Shape (texts, dim)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        self._kept.update(zip(new, self._encoder.encode(new, self._batch), strict=True))
        return np.stack([self._kept[text] for text in texts])


def accuracy_of(task: Task, vectors: Vectors, probe: str, prefix: str) -> float:
    """Percent of items of which every part's nearest name is one of a gold id; of equal names the first counts."""
    n = GRAMS.get(probe)

    def asked(texts: Sequence[str], kind: str) -> list[str]:
        return [shuffled(text, n, f"{SEED} {kind}") if n else text for text in texts]

    parts = sorted({part for item in task.items for part in item.mention.text.split("|")})
    names = vectors(asked(task.names, "name"))
    mentions = vectors([prefix + text for text in asked(parts, "mention")])
    nearest: dict[str, int] = {}
    for start in range(0, len(parts), QUERIES):
        best = (mentions[start : start + QUERIES] @ names.T).argmax(axis=1)
        nearest.update(zip(parts[start : start + QUERIES], best.tolist(), strict=True))
    right = sum(
        all(task.ids[nearest[part]] & frozenset[str]().union(*item.gold) for part in item.mention.text.split("|"))
        for item in task.items
    )
    return round(100 * right / len(task.items), 2)


def change(accuracy: dict[str, dict[str, float]], probe: str) -> float:
    """The mean over corpora of the change in percent of the accuracy without a probe, as in the paper's tables."""
    each = [100 * (found[probe] / found["none"] - 1) for found in accuracy.values()]
    return round(sum(each) / len(each), 2)


if __name__ == "__main__":
    main()
