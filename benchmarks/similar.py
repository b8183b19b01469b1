"""Near names of other concepts over a whole KB: seconds, and how many of the nearest are found, by budget.

``python benchmarks/similar.py KB... --output FILE [--names N] [--commit C]``.

Times are a core's seconds: of making the lists, of finding the most similar synonym of every name, and per name of
finding the five nearest names of other concepts, for N names drawn. ``found``: the share of the five nearest by all
lists that are found; ``first``: the share of names of which the nearest one is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nomina.kb.store import KnowledgeBase
from nomina.text import normalise
from nomina.training.names import Concepts
from nomina.training.preference.similar import BUDGET, Similar

K = 5
BUDGETS = (1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What came out, and a core's seconds."""
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def measure(path: str, names: int) -> dict[str, Any]:
    """The figures of one KB."""
    kb = KnowledgeBase.open(path)
    concepts = Concepts.of(kb)
    keys = [normalise(concepts.texts[row]) for row in concepts.row.tolist()]
    similar, building = timed(lambda: Similar(keys, concepts.concept))
    _, synonyms = timed(similar.synonyms)
    # Whole concepts are drawn, as names of a concept are looked for side by side.
    rng, drawn, chosen = np.random.default_rng(0), 0, []
    for start, stop in rng.permutation(list(similar.concepts())).tolist():
        chosen.append((start, stop))
        drawn += stop - start
        if drawn >= names:
            break
    true, each = timed(partial(_others, similar, chosen, None))
    figures: dict[str, Any] = {
        "kb": kb.manifest.name,
        "names": len(keys),
        "asked": drawn,
        "lists_s": round(building, 2),
        "synonyms_s": round(synonyms, 2),
        "all_lists_us": round(1e6 * each / drawn),
        "budgets": {},
    }
    for budget in BUDGETS:
        found, each = timed(partial(_others, similar, chosen, budget))
        there = true >= 0
        hits = (true[:, :, None] == found[:, None, :]).any(axis=2) & there
        figures["budgets"][budget] = {
            "us": round(1e6 * each / drawn),
            "found": round(float(hits.sum() / there.sum()), 3),
            "first": round(float((true[:, 0] == found[:, 0])[there[:, 0]].mean()), 3),
        }
    return figures


def _others(similar: Similar, spans: Sequence[tuple[int, int]], budget: int | None) -> NDArray[np.int64]:
    return np.concatenate([similar.others_of(span, K, budget) for span in spans])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kb", nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--names", type=int, default=400)
    parser.add_argument("--commit", default="")
    given = parser.parse_args(arguments)
    facts = {
        "commit": given.commit,
        "command": f"python benchmarks/similar.py {' '.join(given.kb)} --names {given.names}",
        "machine": {"processor": platform.processor() or platform.machine(), "cpu cores": os.cpu_count()},
        "python": platform.python_version(),
        "numpy": np.__version__,
        "k": K,
        "default_budget": BUDGET,
        "kbs": [measure(path, given.names) for path in given.kb],
    }
    given.output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
