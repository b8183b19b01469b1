"""Numbers of figures 1 and 2 of the SapBERT paper for encoders of ours: ``results/figures.json``.

    python experiments/figures.py "MiniLM=MODELS/raw" "self-aligned=MODELS/aligned" [--work DIR]
    python experiments/draw_figures.py

Needs torch and scikit-learn. Names are those of MEDIC (NCBI's dictionary without mentions). Figure 1: where t-SNE puts
the names of ``SHOWN`` concepts; and, over ``SAMPLED`` concepts, how many names have a name of their own concept as the
nearest other one. Figure 2: cosines of positive and negative pairs in batches of ``PAIRS`` synonym pairs, of all pairs
and of those that hard mining leaves.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import parser, record
from eval_kbs import Workshop
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from nomina import encoders
from nomina.encoders.base import Encoder
from nomina.kb.store import KnowledgeBase
from nomina.training.examples import synonym_pairs
from nomina.training.metric import mine, relations

KB = "ncbi-clean"
SHOWN, NAMES = 10, 10
"""Concepts of figure 1, and names of each."""
SAMPLED = 300
BATCHES, PAIRS = 3, 512
MARGIN = 0.2
LOW, HIGH, BINS = -0.3, 1.0, 52
SEED = 0
SIGNS = ("positive", "negative")
PACKAGES = ("numpy", "scikit-learn", "torch")

Floats = NDArray[np.float32]
Concept = tuple[str, list[str]]


def main() -> None:
    """Measure and record."""
    options = parser(__doc__)
    options.add_argument("encoders", nargs="+", metavar="TITLE=FOLDER")
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nomina-evaluation")
    arguments = options.parse_args()
    kb = Workshop(arguments.shared, arguments.work)(KB)
    shown, sampled = concepts(kb, SHOWN, NAMES, NAMES), concepts(kb, SAMPLED, 2, 50)
    pairs = batches(kb)
    metrics: dict[str, Any] = {}
    for title, _, folder in (given.partition("=") for given in arguments.encoders):
        encoder = encoders.load(folder)
        metrics[title] = {
            "places": places(encoder, shown),
            "nearest_is_own": nearest_is_own(encoder, sampled),
            "similarities": similarities(encoder, pairs),
        }
        print(title, {key: value for key, value in metrics[title].items() if key != "places"}, flush=True)
    libraries = {package: version(package) for package in PACKAGES}
    sizes = {"sampled_concepts": len(sampled), "sampled_names": sum(len(names) for _, names in sampled),
             "batches": BATCHES, "pairs_in_a_batch": PAIRS, "margin": MARGIN, "bins": [LOW, HIGH, BINS]}  # fmt: skip
    listed = [{"concept": name, "names": names} for name, names in shown]
    record("figures", metrics, seed=SEED, kb=kb.fingerprint, concepts=listed, sizes=sizes, libraries=libraries)


def concepts(kb: KnowledgeBase, count: int, least: int, most: int) -> list[Concept]:
    """Some concepts with at least ``least`` names, and at most ``most`` names of each; all drawn by lot."""
    there = sorted(id for id, entity in kb.items() if len(entity.names) >= least)
    lot = random.Random(f"{SEED} {least}")
    drawn = [kb[id] for id in lot.sample(there, min(count, len(there)))]
    return [(e.name, [name.text for name in lot.sample(e.names, min(most, len(e.names)))]) for e in drawn]


def batches(kb: KnowledgeBase) -> list[list[tuple[int, str, str]]]:
    """Batches of synonym pairs, drawn from all of the KB."""
    named = ([name.text for name in entity.names] for entity in kb.values())
    pairs = list(synonym_pairs(named, seed=SEED))
    random.Random(SEED).shuffle(pairs)
    stream = iter(pairs)
    return [list(islice(stream, PAIRS)) for _ in range(BATCHES)]


def places(encoder: Encoder, shown: Sequence[Concept]) -> list[list[list[int]]]:
    """For each concept the places of its names in the plane, scaled to 0..1000."""
    vectors = encoder.encode([name for _, names in shown for name in names])
    plane = TSNE(perplexity=NAMES, init="pca", random_state=SEED).fit_transform(vectors)
    plane = (plane - plane.min(axis=0)) / np.ptp(plane, axis=0)
    ends = np.cumsum([len(names) for _, names in shown])[:-1]
    return [part.tolist() for part in np.split((1000 * plane).round().astype(int), ends)]


def nearest_is_own(encoder: Encoder, sampled: Sequence[Concept]) -> float:
    """Percent of names whose nearest other name is of the same concept."""
    vectors = encoder.encode([name for _, names in sampled for name in names])
    owner = np.repeat(np.arange(len(sampled)), [len(names) for _, names in sampled])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    return round(100 * float((owner[cosines.argmax(axis=1)] == owner).mean()), 2)


def similarities(encoder: Encoder, pairs: Sequence[Sequence[tuple[int, str, str]]]) -> dict[str, Any]:
    """Cosines of all pairs of a batch and of the mined ones: shares by bin, means, how far the two kinds overlap."""
    found: dict[str, list[Floats]] = {f"{which}_{sign}": [] for which in ("all", "mined") for sign in SIGNS}
    for batch in pairs:
        texts = [name for _, left, right in batch for name in (left, right)]
        vectors = torch.from_numpy(encoder.encode(texts))
        labels = torch.tensor([concept for concept, _, _ in batch]).repeat_interleave(2)
        cosines = vectors @ vectors.T
        for which, kinds in (("all", relations(labels)), ("mined", mine(cosines, labels, MARGIN))):
            for sign, kind in zip(SIGNS, kinds, strict=True):
                found[f"{which}_{sign}"].append(cosines[kind].numpy())
    values = {name: np.concatenate(parts) for name, parts in found.items()}
    shares = {name: histogram(value) for name, value in values.items()}
    return {
        "pairs": {name: len(value) for name, value in values.items()},
        "mean": {name: round(float(value.mean()), 4) for name, value in values.items()},
        "overlap": {
            which: round(float(np.minimum(*(shares[f"{which}_{sign}"] for sign in SIGNS)).sum()), 4)
            for which in ("all", "mined")
        },
        "shares": {name: share.round(5).tolist() for name, share in shares.items()},
    }


def histogram(values: Floats) -> NDArray[np.float64]:
    """Shares of values by bin; what is beyond the ends counts in the last bins."""
    counts, _ = np.histogram(values.clip(LOW, HIGH), bins=BINS, range=(LOW, HIGH))
    return counts / max(1, len(values))


if __name__ == "__main__":
    main()
