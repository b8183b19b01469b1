r"""Measure encoders on the four development sets of ``dev_sets.py``, and record them beside what a GPU measured.

    python experiments/dev_figures.py --data DATA --averages OUT/align.json --trained-at COMMIT --trained-by COMMAND \
        default=src/nomina/data/encoder sapbert-mini=checkpoints/sapbert-mini

``OUT/align.json`` is what ``train_embedding.py`` wrote. Writes ``results/dev_four.json``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from common import record
from dev_sets import DevSets
from sapbert_align import say

from nomina import encoders


def main() -> None:
    """Measure, record."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--averages", type=Path, required=True)
    options.add_argument("--trained-at", required=True, help="the commit that train_embedding.py ran at")
    options.add_argument("--trained-by", required=True, help="the command that ran there")
    options.add_argument("encoders", nargs="+", metavar="NAME=FOLDER")
    arguments = options.parse_args()
    found = json.loads(arguments.averages.read_text(encoding="utf-8"))
    figures, dev = found["figures"], DevSets(arguments.data)
    for name, folder in (given.split("=", 1) for given in arguments.encoders):
        figures[name] = dev.accuracy(encoders.load(folder))
        say({name: figures[name]})
    trained = {**found["versions"], "commit": arguments.trained_at, "command": arguments.trained_by}
    counts = {corpus: {"names": len(one.names), "mentions": len(one.mentions)} for corpus, one in dev.sets.items()}
    record(
        "dev_four",
        {"figures": figures, "counts": counts},
        seed="of each variant in train_embedding.py",
        trained=trained,
    )


if __name__ == "__main__":
    main()
