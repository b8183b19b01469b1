"""Exported encoders against torch: ``python experiments/export_figures.py rescnn=SAVED minilm=SAVED:EXPORTED``.

Each saved encoder is exported with float32 weights and with int8 rows; one that has been exported before is looked at
too. Over all names of NCBI's dictionary: the cosine of an exported encoder's vector with torch's. Over the mentions of
NCBI's development set: how often the nearest name is torch's. Writes ``results/export.json``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from common import parser, record
from eval_kbs import Workshop
from numpy.typing import NDArray

from nomina import encoders
from nomina.corpora import read_corpus
from nomina.encoders.base import Encoder, TrainableEncoder
from nomina.encoders.export import Weights, export
from nomina.encoders.onnx import OnnxEncoder
from nomina.kb.store import KnowledgeBase

KB = "ncbi-clean"
EVERY = 200
"""Of the names: what an export is compared with torch on before it is kept."""
STORED: tuple[Weights, ...] = ("float32", "int8")
TIED = 1e-6
PACKAGES = ("numpy", "onnx", "onnxruntime", "torch")
Vectors = NDArray[np.float32]


def main() -> None:
    """Export, compare, record, print."""
    options = parser(__doc__)
    options.add_argument("models", nargs="+", metavar="NAME=SAVED[:EXPORTED]")
    options.add_argument("--limit", type=int, help="only so many names (to try things out)")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    arguments = options.parse_args()
    shop = Workshop(arguments.shared, arguments.work)
    kb = shop(KB)
    names = [*kb.surfaces()][: arguments.limit]
    documents = read_corpus(shop.file("ncbi-disease", "biosyn", "processed_dev"), "biosyn")
    mentions = [mention.text for document in documents for mention in document.mentions]
    metrics = {}
    for name, _, folders in (model.partition("=") for model in arguments.models):
        metrics[name] = compared(name, folders.split(":"), kb, names, mentions)
    libraries = {package: version(package) for package in PACKAGES}
    if arguments.limit is None:
        record("export", metrics, names=len(names), mentions=len(mentions), libraries=libraries)


def compared(
    name: str, folders: Sequence[str], kb: KnowledgeBase, names: Sequence[str], mentions: Sequence[str]
) -> dict[str, Any]:
    """Figures of one encoder by how its weights are stored, beside the time that torch takes for the names."""
    trained = encoders.load_trainable(Path(folders[0]))
    started = time.monotonic()
    expected, asked = vectors(trained, names), vectors(trained, mentions)
    figures: dict[str, Any] = {"torch": {"seconds": round(time.monotonic() - started, 1)}}
    with exports(trained, folders[1:], names[::EVERY]) as made:
        for how, (exported, known) in made.items():
            started = time.monotonic()
            found, queries = vectors(exported, names), vectors(exported, mentions)
            seconds = round(time.monotonic() - started, 1)
            size = sum(path.stat().st_size for path in exported.folder.iterdir())
            figures[how] = {"bytes": size, **known, "seconds": seconds, **cosines(expected, found)}
            figures[how] |= nearest(kb, (asked, expected), (queries, found))
            print(f"{name}, {how}: {figures[how]}", flush=True)
    return figures


@contextmanager
def exports(
    trained: TrainableEncoder, before: Sequence[str], sample: Sequence[str]
) -> Iterator[dict[str, tuple[OnnxEncoder, dict[str, float]]]]:
    """Exported encoders by how they are stored, each with the share of its numbers that are int8 where it is known."""
    with tempfile.TemporaryDirectory() as folder:
        made = {}
        for weights in STORED:
            target = Path(folder, weights)
            share = export(trained, target, sample, weights=weights)["int8"]
            made[str(weights)] = (OnnxEncoder(target), {"int8": share})
        for target in before:
            made["exported"] = (OnnxEncoder(target), {})
        yield made


def vectors(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Of the texts; a text that comes again is encoded once."""
    places = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return encoder.encode(list(places))[[places[text] for text in texts]]


def cosines(expected: Vectors, found: Vectors) -> dict[str, float]:
    """Least and mean, and the share of names under the floor of int8 rows."""
    each = np.einsum("ij,ij->i", expected.astype(np.float64), found.astype(np.float64))
    each /= np.linalg.norm(expected.astype(np.float64), axis=1) * np.linalg.norm(found.astype(np.float64), axis=1)
    return {"least": float(each.min()), "mean": float(each.mean()), "under_0.9999": float((each < 0.9999).mean())}


def nearest(kb: KnowledgeBase, torch: tuple[Vectors, Vectors], other: tuple[Vectors, Vectors]) -> dict[str, float]:
    """How often the nearest name to a mention is torch's; vectors of mentions and of names each.

    ``or_tied``: or one that torch has no further from the mention, to a millionth. ``same_concept``: or one of the same
    concept. ``largest_gap``: most that torch's nearest name is nearer to a mention than the other one, by cosine.
    """
    first, best = _best(*torch)
    second, _ = _best(*other)
    gaps = best - np.einsum("ij,ij->i", torch[0], torch[1][second])
    same = first == second
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    concepts = [a == b or set(kb.owners(a)) == set(kb.owners(b)) for a, b in pairs]
    return {
        "same_top1": float(same.mean()),
        "or_tied": float((same | (gaps <= TIED)).mean()),
        "same_concept": float(np.mean(concepts)),
        "largest_gap": float(gaps.max()),
    }


def _best(mentions: Vectors, names: Vectors) -> tuple[NDArray[np.int64], Vectors]:
    """Row and cosine of the name nearest to each mention; of equal ones the first, as linkers rank."""
    scores = [np.round(part @ names.T, 6) for part in np.array_split(mentions, len(mentions) // 64 + 1)]
    rows = np.concatenate([part.argmax(axis=1) for part in scores])
    return rows, np.einsum("ij,ij->i", mentions, names[rows])


if __name__ == "__main__":
    main()
