"""The generator in ``checkpoints``: which model it is made of, and what its int8 rows reach.

    python experiments/checkpoint_generator.py choose --data DATA --work WORK --models MODELS
        --of pre-long ft-ncbi-long-0 ft-bc5cdr-long-0
    python experiments/checkpoint_generator.py check --data DATA --work WORK [--checkpoint checkpoints/NAME]
        [--whole MODELS/NAME]

Mentions without their texts, 5 beams, all names. ``choose`` measures models on development sets, all on all, and says
which has the best mean at 1; ``results/checkpoint_choice.json``. ``check`` measures the checkpoint on development and
test sets and, with ``--whole``, how far it is on development sets from the weights that it was packed from;
``results/checkpoint_generator.json``. Without, it prints its figures beside those recorded there, and changes nothing.
Answers are kept in ``WORK``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from common import RESULTS, ROOT, parser, record
from generative_answers import BEAMS, Asking, Task, accuracy, places
from generative_eval import CLEAN, PUBLISHED

CHECKPOINT = ROOT / "checkpoints" / "genbioel-mini"
SETS = (("ncbi", CLEAN), ("ncbi", PUBLISHED), ("bc5cdr", CLEAN), ("aap-0", CLEAN))
MOST = 0.2
"""Points at 1 that int8 rows may differ by on a development set."""


def main() -> None:
    """Measure, record, print."""
    options = parser(__doc__)
    options.add_argument("what", choices=["choose", "check"])
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--models", type=Path, help="of choose")
    options.add_argument("--of", nargs="+", default=[], help="of choose: their folders there")
    options.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="of check (default: %(default)s)")
    options.add_argument("--whole", type=Path, help="of check: what it was packed from")
    arguments = options.parse_args()
    (choose if arguments.what == "choose" else check)(arguments)


def choose(arguments: argparse.Namespace) -> None:
    """Which model is best for whoever links to any KB: NCBI disease counts once."""
    found = {model: figures(arguments, arguments.models / model, "dev") for model in arguments.of}
    chosen = max(found, key=lambda model: mean(found[model]))
    record("checkpoint_choice", {"dev": found, "mean": {m: mean(f) for m, f in found.items()}, "chosen": chosen})
    print(chosen)


def check(arguments: argparse.Namespace) -> None:
    """The checkpoint's figures, and how far they are from those of the weights that it was packed from."""
    folder = arguments.checkpoint
    metrics: dict[str, Any] = {split: figures(arguments, folder, split) for split in ("dev", "test")}
    metrics["checkpoint"] = folder.name
    metrics["bytes"] = sum(path.stat().st_size for path in folder.iterdir())
    if not arguments.whole:
        print(*beside(metrics, recorded()), sep="\n")
        return
    whole = figures(arguments, arguments.whole, "dev")
    metrics |= {"of": arguments.whole.name, "whole": whole, "difference": apart(metrics["dev"], whole)}
    metrics["within"] = all(abs(points) <= MOST for points in metrics["difference"].values())
    print("within" if metrics["within"] else "NOT within", MOST, "points:", metrics["difference"])
    record("checkpoint_generator", metrics, beams=BEAMS)


def recorded() -> dict[str, Any]:
    """What was measured when the checkpoint was packed."""
    path = RESULTS / "checkpoint_generator.json"
    metrics: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["metrics"] if path.exists() else {}
    return metrics


def beside(metrics: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    """A line for each set: what is measured now at 1 and 5 names, and what is recorded."""
    for split in ("dev", "test"):
        for name, now in metrics[split].items():
            then = before.get(split, {}).get(name)
            told = "not recorded" if then is None else f"recorded {then['acc@1']} / {then['acc@5']}"
            yield f"{name}, {split}: {now['acc@1']} / {now['acc@5']}, {told}"


def figures(arguments: argparse.Namespace, model: Path, split: str) -> dict[str, dict[str, float]]:
    """At 1 and 5 names, by corpus and dictionary."""
    found = {}
    for corpus, form in SETS:
        task = Task(corpus, form, model)
        asking = Asking(task, split, arguments.data, arguments.work)
        found[task.name] = accuracy(places(asking.mentions, asking.full()))
        print(model.name, task.name, split, found[task.name], flush=True)
    return found


def mean(found: dict[str, dict[str, float]]) -> float:
    """Over corpora at 1, of a corpus with two dictionaries their mean."""
    by_corpus: dict[str, list[float]] = {}
    for name, each in found.items():
        by_corpus.setdefault(name.partition(" ")[0], []).append(each["acc@1"])
    return round(fmean(map(fmean, by_corpus.values())), 2)


def apart(packed: dict[str, dict[str, float]], whole: dict[str, dict[str, float]]) -> dict[str, float]:
    """Points at 1 by which one is better than the other."""
    return {name: round(each["acc@1"] - whole[name]["acc@1"], 2) for name, each in packed.items()}


if __name__ == "__main__":
    main()
