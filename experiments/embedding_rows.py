"""All rows of ``embedding.py`` whose encoders are there: ``python experiments/embedding_rows.py MODELS [--only NAME]``.

``MODELS`` holds a folder for each encoder that is not in the repository: ``raw`` and ``tuned-<corpus>``
(``embedding_models.py``), and ``aligned``, what ``train_embedding.py`` chose. Missing ones are left out, and rows that
are there already; what else is said, like ``--work``, goes to ``embedding.py``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import labels
from common import ROOT

CLEAN = ("ncbi:clean-kb", "bc5cdr-d:clean-kb")
PUBLISHED = ("ncbi:as-published", "bc5cdr-d:as-published", "askapatient:as-published")
ABSTRACTS = CLEAN + PUBLISHED[:2]
CHEMICALS = ("bc5cdr-c:clean-kb", "bc5cdr-c:as-published")
"""Some 800,000 names: half an hour for an encoder of BERT's type on two cores."""
RAW = labels.BERTS["raw"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows of one encoder; ``against``: title and folder of the one that it is compared with."""

    name: str
    title: str
    folder: str
    rows: tuple[str, ...]
    against: tuple[str, str] | None = None
    tiers: bool = False
    alone: str = ""
    """Title of the same encoder without tiers, to be compared with."""


MINI, DEFAULT = labels.BERTS["mini"], labels.RESCNNS["attention"]
SHIPPED = {"mini": "checkpoints/sapbert-mini", "default": "src/nomina/data/encoder"}
"""Folders of encoders in the repository."""
PLANS = (
    Plan("raw", RAW, "raw", CLEAN + PUBLISHED + CHEMICALS),
    Plan("aligned", labels.BERTS["aligned"], "aligned", CLEAN + PUBLISHED, (RAW, "raw")),
    Plan("tuned", labels.TUNED, "tuned-ncbi", ("ncbi:clean-kb", "ncbi:as-published")),
    Plan("tuned", labels.TUNED, "tuned-bc5cdr-d", ("bc5cdr-d:clean-kb", "bc5cdr-d:as-published")),
    Plan("default-tiers", labels.DEFAULT, "default", ABSTRACTS, tiers=True, alone=DEFAULT),
    Plan("mini-tiers", labels.MINI_TIERS, "mini", ABSTRACTS, tiers=True, alone=MINI),
    Plan("rescnn", DEFAULT, "default", CLEAN + PUBLISHED + CHEMICALS),
    Plan("mini", MINI, "mini", CLEAN + PUBLISHED, (RAW, "raw")),
    Plan("mini", MINI, "mini", CHEMICALS, (RAW, "raw")),
)


def main() -> None:
    """Run ``embedding.py`` for each plan."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", type=Path)
    options.add_argument("--only", nargs="*", help="names of plans")
    arguments, others = options.parse_known_args()
    for plan in PLANS:
        if arguments.only and plan.name not in arguments.only:
            continue
        if not (ROOT / place(arguments.models, plan.folder)).is_dir():
            print(f"{plan.name}: there is no {place(arguments.models, plan.folder)}", flush=True)
            continue
        subprocess.run([sys.executable, *command(plan, arguments.models), *others], cwd=ROOT, check=True)


def place(models: Path, folder: str) -> Path:
    """Where an encoder is, from the root of the project."""
    return Path(SHIPPED[folder]) if folder in SHIPPED else models / folder


def command(plan: Plan, models: Path) -> list[str]:
    """The command line of ``embedding.py``."""
    given = [str(place(models, plan.folder)), "--name", plan.name, "--title", plan.title, "--rows", *plan.rows]
    given += ["--tiers"] if plan.tiers else []
    given += ["--alone", plan.alone] if plan.alone else []
    if plan.against and (ROOT / place(models, plan.against[1])).is_dir():
        given += ["--against", f"{plan.against[0]}={place(models, plan.against[1])}"]
    return ["experiments/embedding.py", *given]


if __name__ == "__main__":
    main()
