"""Pairs a second of self-alignment (SapBERT) on one GPU, with and without compiling.

    python benchmarks/training.py --data DATA --minutes 0.7 [--out benchmarks/results/training.json]

``DATA`` is what ``experiments/open_names.py`` writes, with the encoder in ``DATA/minilm``. Every row is a training of
``experiments/sapbert_align.py`` in a process of its own: batches of 512 pairs (1,024 names of at most 25 tokens, of
like length), bf16, multi-similarity with hard mining. The clock counts steps only; the first steps of a compiled
module, while it compiles, are among them. A row of fewer than 100 steps is no measurement: it is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROWS = {"plain": [], "compiled": ["--compile"]}
FEWEST = 100
"""Steps that a row needs."""


def main() -> None:
    """Train, one row after the other; write the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--minutes", type=float, default=0.7, help="of each row")
    options.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "training.json")
    options.add_argument("--commit", help="where the tree is no checkout")
    options.add_argument("--extra", default="", help="further options of every training")
    arguments = options.parse_args()
    rows = {name: measured(arguments, own) for name, own in ROWS.items()}
    for name in [name for name, row in rows.items() if row.get("steps", FEWEST) < FEWEST]:
        print(f"{name}: {rows.pop(name)['steps']} steps are no measurement, give it more --minutes")
    facts = {
        "name": "training",
        "command": f"python benchmarks/training.py --data DATA --minutes {arguments.minutes}",
        "commit": arguments.commit,
        "machine": {"processor": platform.processor() or platform.machine(), "cpu cores": os.cpu_count()},
        "rows": rows,
    }
    arguments.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def measured(arguments: argparse.Namespace, own: list[str]) -> dict[str, Any]:
    """Speed over the whole row and over its second half, and where it ran."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(ROOT / "experiments" / "sapbert_align.py"), "--data", str(arguments.data)]
        line += ["--base", str(arguments.data / "minilm"), "--out", folder, "--minutes", str(arguments.minutes)]
        done = subprocess.run([*line, "--every", "1000000", *own, *arguments.extra.split()], check=False)
        if done.returncode:
            return {"failed": done.returncode}
        log = json.loads((Path(folder) / "log.json").read_text(encoding="utf-8"))
    speeds = [entry["steps_per_s"] for entry in log["log"] if "steps_per_s" in entry]
    late = speeds[len(speeds) // 2 :]
    return {
        "pairs_per_s": log["pairs_per_s"],
        "pairs_per_s_later": round(sum(late) / len(late) * log["options"]["batch"]),
        "steps": log["steps"],
        "seed": log["options"]["seed"],
        "batch": log["options"]["batch"],
        "versions": log["versions"],
    }


if __name__ == "__main__":
    main()
