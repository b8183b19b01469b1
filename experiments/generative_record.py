"""Record what ``generative.py`` and ``angel.py`` brought back from a GPU as one result.

    python experiments/generative_record.py OUT/*/*.json --name generative --trained-at COMMIT

Of each training the options that matter, the speed, and the figures of development and test sets; the logs of single
steps are left out. Writes ``results/NAME.json``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from common import record

OPTIONS = (
    "batch", "lr", "minutes", "epochs", "smoothing", "noise", "bare", "window", "repeat", "similar", "no_context",
    "target", "top", "names", "copies", "mix", "mix_of", "beta", "likelihood", "others", "layers",
)  # fmt: skip
"""Of the command line; what a stage does not have is left out."""
ELSEWHERE = {
    "pretrain": ("epochs", "target", "top", "names", "no_context", "mix", "mix_of"),
    "names": ("no_context",),
    "finetune": ("minutes", "bare", "repeat", "similar", "layers"),
    "corpus": ("minutes", "repeat", "others"),
}
"""What the command line of a stage has and does not use."""
MODELS = ("base", "model")
OF_CORPORA = ("finetune", "corpus")
"""The stages that train on a corpus."""
TOLD = ("no_prompt", "similarity")
"""What makes one command line of a stage another and is no fact of a training."""
TOLD_OF_CORPORA = ("seeds", "test")


def main() -> None:
    """Read, record."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("logs", type=Path, nargs="+")
    options.add_argument("--name", default="generative")
    options.add_argument("--trained-at", required=True, help="the commit that the trainings ran at")
    arguments = options.parse_args()
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(arguments.logs)}
    versions = next(iter(found.values()))["versions"]
    if any(one["versions"] != versions for one in found.values()):
        raise SystemExit("the logs are of different machines: record them apart")
    commands = [command(one["options"]) for one in found.values()]
    seed = seeds([one["options"] for one in found.values()])
    trained = {**versions, "commit": arguments.trained_at, "commands": commands, "seed": seed}
    record(arguments.name, {name: training(one) for name, one in found.items()}, seed=seed, trained=trained)


def seeds(options: list[dict[str, Any]]) -> int | str:
    """The seed of all trainings, in words where they have several; a stage that takes none draws from 0."""
    each = {seed for given in options for seed in (given["seeds"] if given["stage"] in OF_CORPORA else [0])}
    return each.pop() if len(each) == 1 else ", ".join(map(str, sorted(each)))


def training(found: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a training."""
    given = found["options"]
    facts: dict[str, Any] = {"stage": given["stage"], "corpus": given["corpus"] if "runs" in found else ""}
    facts |= {key: given[key] for key in used(given) if given.get(key) is not None}
    facts |= {key: Path(given[key]).name for key in MODELS if given.get(key) not in (None, "None")}
    facts |= {key: found[key] for key in ("steps", "examples_per_s", "pairs_per_s", "seconds") if key in found}
    if "runs" in found:
        return facts | {"runs": found["runs"]}
    lines = [line for line in found["log"] if any("acc@1" in key for key in line)]
    return facts | {"before": lines[0], "after": lines[-1]}


def used(given: dict[str, Any]) -> list[str]:
    """The options that a stage uses; one with similar targets goes on from a model that has its layers."""
    without = [key for key, of in (("copies", "noise"), ("mix_of", "mix")) if not given.get(of)]
    without += ["layers"] if given.get("similar") else []
    return [key for key in OPTIONS if key not in (*ELSEWHERE[given["stage"]], *without)]


def command(given: dict[str, Any]) -> str:
    """The command line of a training; of folders their names."""
    script = "angel.py" if "only" in given else "generative.py"
    said = [f"python experiments/{script} {given['stage']}"]
    first, last = (("corpus", "only"), TOLD_OF_CORPORA) if given["stage"] in OF_CORPORA else ((), ())
    for key in (*first, *MODELS, *used(given), *TOLD, *last):
        value = given.get(key)
        if value not in (None, "None", False, 0.0, ""):
            shown = " ".join(map(str, value)) if isinstance(value, list) else Path(str(value)).name
            said.append(f"--{key.replace('_', '-')}" + ("" if value is True else f" {shown}"))
    return " ".join(said)


if __name__ == "__main__":
    main()
