"""Self-align an encoder in several ways at once on one GPU; the best is kept and packed.

    python experiments/train_embedding.py --data DATA --out OUT

A small encoder leaves most of a GPU idle, so several variants train at once, each with the clock to itself.
Averages of weights are tried as well: from the best single model on, the one that helps most is added as long as one
does; the base and the models of ``--also`` may be in it. What comes out is ``OUT/align.tar.00N`` (the chosen model and
all logs, in parts; put together with ``cat``) and ``OUT/align.json``; the chosen model lies in ``--work``/align/best.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

import torch
import transformers
from dev_sets import DevSets
from safetensors.torch import load_file, save
from sapbert_align import device_of, say, versions

from nomina.encoders import load
from nomina.encoders.base import WEIGHTS
from nomina.encoders.bert import BertEncoder

HERE = Path(__file__).resolve().parent
STAGE = "align"
PART = 15 * 2**20
MOST_PARTS = 4

ALIGN = {
    "recipe": ["--no-merge", "--every", "1000"],
    "recipe-5e-5": ["--no-merge", "--lr", "5e-5", "--every", "1000"],
    "recipe-2e-5": ["--no-merge", "--lr", "2e-5", "--every", "1000"],
    "ms": ["--repeat", "3", "--noise", "0.3"],
    "ms-hard": ["--repeat", "3", "--noise", "0.3", "--hard", "0.3", "--seed", "1"],
    "infonce-hard": ["--repeat", "3", "--noise", "0.3", "--hard", "0.3", "--loss", "infonce", "--seed", "2"],
    "ms-noisy": ["--repeat", "3", "--noise", "0.6", "--seed", "3", "--lr", "1e-4"],
    "infonce-noisy": ["--repeat", "3", "--noise", "0.6", "--loss", "infonce", "--seed", "4", "--lr", "1e-4"],
    "infonce-warm": ["--repeat", "3", "--noise", "0.3", "--loss", "infonce", "--seed", "5", "--temperature", "0.1"],
}
"""``recipe`` is the plain one; the others join concepts, repeat diseases, add noise; ``hard``: also near concepts."""


def main() -> None:
    """Train, try averages, pack."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, default=Path("/tmp/nomina-training"))
    options.add_argument("--minutes", type=float, default=6.0)
    options.add_argument("--deadline", type=float, default=500, help="seconds after which trainings are cut off")
    options.add_argument("--only", nargs="*", help="variants")
    options.add_argument("--also", type=Path, nargs="*", default=[], help="models that may be averaged in, too")
    options.add_argument("--limit", type=int, help="only so many concepts and rows, to try things out")
    options.add_argument("--extra", default="", help="further options of every variant")
    arguments = options.parse_args()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    say(versions(device_of("auto")))
    arguments.out.mkdir(parents=True, exist_ok=True)
    folder = arguments.work / STAGE
    variants = {name: ALIGN[name] for name in arguments.only or ALIGN}
    train(arguments, folder, variants)
    trained = [name for name in variants if (folder / name / WEIGHTS).exists()]
    figures = evaluate(arguments, folder, trained)
    pack(arguments, STAGE, folder, choose(folder, figures), figures)


def train(arguments: argparse.Namespace, folder: Path, variants: dict[str, list[str]]) -> None:
    """Train all variants at once, their output line by line with their name before it; cut off at the deadline."""
    common = [
        "--data",
        str(arguments.data),
        "--base",
        str(arguments.data / "minilm"),
        "--minutes",
        str(arguments.minutes),
    ]
    if arguments.limit:
        common += ["--limit", str(arguments.limit)]
    started, processes = time.monotonic(), {}
    for name, own in variants.items():
        out = folder / name
        out.mkdir(parents=True, exist_ok=True)
        line = [
            sys.executable,
            str(HERE / "sapbert_align.py"),
            *common,
            "--out",
            str(out),
            "--checkpoints",
            f"{out}-checkpoints",
        ]
        processes[name] = subprocess.Popen(
            [*line, *own, *arguments.extra.split()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
        )
    readers = [threading.Thread(target=relay, args=(n, p, folder), daemon=True) for n, p in processes.items()]
    for reader in readers:
        reader.start()
    for process in processes.values():
        try:
            process.wait(max(arguments.deadline - (time.monotonic() - started), 1))
        except subprocess.TimeoutExpired:
            process.kill()
    for reader in readers:
        reader.join(5)


def relay(name: str, process: subprocess.Popen[str], folder: Path) -> None:
    """Print and keep a variant's output."""
    assert process.stdout is not None
    with (folder / f"{name}.txt").open("w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            if '"loss"' not in line or '000, "seconds"' in line:
                say(f"[{name}] {line.rstrip()}")


def evaluate(arguments: argparse.Namespace, folder: Path, trained: list[str]) -> dict[str, dict[str, float]]:
    """Development figures of all models, and of the averages of two or more of them that were tried."""
    dev = DevSets(arguments.data, arguments.limit)
    BertEncoder(arguments.data / "minilm", "mean", 25).save(folder / "base")
    for path in arguments.also:
        shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
    alone = ["base", *(path.name for path in arguments.also), *trained]
    figures: dict[str, dict[str, float]] = {}

    def measured(name: str) -> float:
        encoder = load(folder / name)
        encoder.module.to(device_of("auto"))
        figures[name] = dev.accuracy(encoder)
        say(f"{name}: {json.dumps(figures[name])}")
        return figures[name]["dev"]

    best = max(alone, key=measured)
    for _ in range(len(alone) - 1):
        members = best.split("+")
        wider = ["+".join([*members, name]) for name in alone if name not in members]
        for name in wider:
            mean_of(folder, tuple(name.split("+")))
        found = max(wider, key=measured)
        if figures[found]["dev"] <= figures[best]["dev"]:
            break
        best = found
    return figures


def mean_of(folder: Path, names: tuple[str, ...]) -> None:
    """Write the average of several models' weights as one more."""
    out = folder / "+".join(names)
    shutil.copytree(folder / names[0], out, dirs_exist_ok=True)
    states = [load_file(folder / name / WEIGHTS) for name in names]
    mean = {
        key: torch.stack([state[key].float() for state in states]).mean(dim=0).half()
        if states[0][key].is_floating_point()
        else states[0][key]
        for key in states[0]
    }
    (out / WEIGHTS).write_bytes(save(mean, metadata={"format": "pt"}))


def choose(folder: Path, figures: dict[str, dict[str, float]]) -> list[str]:
    """The best on the development sets, copied to ``best``."""
    name = max(figures, key=lambda n: figures[n]["dev"])
    say(f"best: {name}")
    shutil.rmtree(folder / "best", ignore_errors=True)
    shutil.copytree(folder / name, folder / "best")
    return ["best"]


def pack(
    arguments: argparse.Namespace, stage: str, folder: Path, chosen: list[str], figures: dict[str, dict[str, float]]
) -> None:
    """One tar of models and logs in parts, and the figures beside it."""
    archive = arguments.work / f"{stage}.tar"
    with tarfile.open(archive, "w") as tar:
        for name in chosen:
            tar.add(folder / name, arcname=f"{stage}/{name}")
        for log in [*folder.glob("*.txt"), *folder.glob("*/log.json")]:
            tar.add(log, arcname=f"{stage}/logs/{log.relative_to(folder).as_posix().replace('/', '-')}")
    with archive.open("rb") as stream:
        for number in range(MOST_PARTS + 1):
            part = stream.read(PART)
            if part:
                (arguments.out / f"{stage}.tar.{number:03}").write_bytes(part)
    facts: dict[str, Any] = {"versions": versions(device_of("auto")), "chosen": chosen, "figures": figures}
    (arguments.out / f"{stage}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
