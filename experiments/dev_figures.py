r"""Measure encoders on the four development sets of ``dev_sets.py``, and record them beside what a GPU measured.

    python experiments/dev_figures.py --data DATA --averages OUT/align.json --trained-at COMMIT --trained-by COMMAND \
        default=src/nomina/data/encoder sapbert-mini=checkpoints/sapbert-mini NEW=FOLDER --pairs NEW:default --work WORK

``OUT/align.json`` is what ``train_embedding.py`` wrote. Writes ``results/dev_four.json``, or that of ``--name``. An
encoder of BERT's type takes some ten minutes on two cores: in WORK lie the answers of each that is done, by its
weights, so that a run that was cut off goes on.
``--pairs A:B``: whether A is better than B, on the mean of the four sets, mentions of each drawn anew, and on each set
(McNemar). These files do not say which document a mention is of. So the mean is tested once more with all mentions of
the same text drawn together, as they are right or wrong together.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from common import record
from dev_sets import CORPORA, DevSets, accuracy
from sapbert_align import say

from nomina import encoders
from nomina.encoders.base import WEIGHTS
from nomina.evaluation.significance import PairedBootstrap, mcnemar, paired_bootstrap_of_sets

SAMPLES = 10_000


def main() -> None:
    """Measure, compare, record."""
    arguments = options().parse_args()
    found = json.loads(arguments.averages.read_text(encoding="utf-8"))
    figures, dev, right = found["figures"], DevSets(arguments.data), {}
    for name, folder in (given.split("=", 1) for given in arguments.encoders):
        right[name] = answers(dev, Path(folder), arguments.work)
        figures[name] = accuracy(right[name])
        say({name: figures[name]})
    pairs = {}
    for a, b in (pair.split(":") for pair in arguments.pairs):
        pairs[f"{a}:{b}"] = compared(right[a], right[b], dev)
        say({f"{a}:{b}": pairs[f"{a}:{b}"]})
    trained = {**found["versions"], "commit": arguments.trained_at, "command": arguments.trained_by}
    counts = {corpus: {"names": len(one.names), "mentions": len(one.mentions)} for corpus, one in dev.sets.items()}
    metrics: dict[str, Any] = {"figures": figures, "counts": counts}
    if pairs:
        metrics |= {"pairs": pairs, "samples": SAMPLES}
    seed = "of each variant in train_embedding.py" + ("; 0: pairs" if pairs else "")
    record(arguments.name, metrics, seed=seed, trained=trained)


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--averages", type=Path, required=True)
    parser.add_argument("--trained-at", required=True, help="the commit that the weights were trained at")
    parser.add_argument("--trained-by", required=True, action="append", help="a command that ran there")
    parser.add_argument("--name", default="dev_four", help="of the result (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="folder for answers of encoders that are done")
    parser.add_argument("--pairs", nargs="*", default=[], metavar="A:B", help="names of encoders to compare")
    parser.add_argument("encoders", nargs="*", metavar="NAME=FOLDER")
    return parser


def answers(dev: DevSets, folder: Path, work: Path | None) -> dict[str, list[bool]]:
    """Whether each mention is right, out of ``work`` if the same weights have answered before."""
    weights = next(path for path in (folder / "model.onnx", folder / WEIGHTS) if path.exists())
    kept = work / f"{hashlib.sha256(weights.read_bytes()).hexdigest()}.json" if work else None
    if kept and kept.exists():
        found: dict[str, list[bool]] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    found = dev.right(encoders.load(folder))
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(".tmp")
        temporary.write_text(json.dumps(found), encoding="utf-8")
        temporary.replace(kept)
    return found


def compared(a: dict[str, list[bool]], b: dict[str, list[bool]], dev: DevSets) -> dict[str, Any]:
    """Whether two encoders differ, at 1, in points: on the mean of the sets, and on each."""
    places = [f"{corpus}@1" for corpus in CORPORA]
    texts = [[parts for parts, _ in dev.sets[corpus].mentions] for corpus in CORPORA]
    alone = [(a[place], b[place], range(len(a[place]))) for place in places]
    together = [(a[place], b[place], same) for place, same in zip(places, texts, strict=True)]
    facts: dict[str, Any] = {
        "mentions": bootstrapped(paired_bootstrap_of_sets(alone, samples=SAMPLES)),
        "texts": bootstrapped(paired_bootstrap_of_sets(together, samples=SAMPLES)),
    }
    for place in places:
        test = mcnemar(a[place], b[place])
        facts[place] = {"only_a": test.only_a, "only_b": test.only_b, "p": test.p_exact}
    return facts


def bootstrapped(test: PairedBootstrap) -> dict[str, Any]:
    """The difference and its interval in points, and p."""
    low, high = test.interval
    return {"difference": round(100 * test.difference, 3), "interval": [round(100 * low, 3), round(100 * high, 3)],
            "p": test.p}  # fmt: skip


if __name__ == "__main__":
    main()
