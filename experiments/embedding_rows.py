"""All rows of ``embedding.py`` whose encoders are there: ``python experiments/embedding_rows.py MODELS [--only NAME]``.

``MODELS`` holds a folder for each encoder: ``raw`` and ``tuned-<corpus>`` (``embedding_models.py``), ``aligned``
(``sapbert_align.py``), ``rescnn`` (``distil.py``), ``default`` (the one in the package). Missing ones are left
out, and rows that are there already; what else is said, like ``--work``, goes to ``embedding.py``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from common import ROOT

CLEAN = ("ncbi:clean-kb", "bc5cdr-d:clean-kb")
PUBLISHED = ("ncbi:as-published", "bc5cdr-d:as-published", "askapatient:as-published")
RAW = "SapBERT on MiniLM, before self-alignment"


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows of one encoder; ``against``: title and folder of those that it is compared with."""

    name: str
    title: str
    folder: str
    rows: tuple[str, ...]
    against: tuple[tuple[str, str], ...] = ()
    tiers: bool = False


TUNED = "ResCNN, fine-tuned on the corpus"
PLANS = (
    Plan("raw", RAW, "raw", CLEAN + PUBLISHED),
    Plan("tuned", TUNED, "tuned-ncbi", ("ncbi:clean-kb", "ncbi:as-published")),
    Plan("tuned", TUNED, "tuned-bc5cdr-d", ("bc5cdr-d:clean-kb", "bc5cdr-d:as-published")),
    Plan("aligned", "SapBERT on MiniLM, self-aligned", "aligned", CLEAN + PUBLISHED, ((RAW, "raw"),)),
    Plan("rescnn", "ResCNN, distilled", "rescnn", CLEAN + PUBLISHED, (("SapBERT on MiniLM, self-aligned", "aligned"),)),
    Plan("default", "embedded default, encoder alone", "default", CLEAN),
    Plan("default-tiers", "embedded default", "default", CLEAN, tiers=True),
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
        if not (arguments.models / plan.folder).is_dir():
            print(f"{plan.name}: there is no {arguments.models / plan.folder}", flush=True)
            continue
        subprocess.run([sys.executable, *command(plan, arguments.models), *others], cwd=ROOT, check=True)


def command(plan: Plan, models: Path) -> list[str]:
    """The command line of ``embedding.py``."""
    against = [f"{title}={models / folder}" for title, folder in plan.against if (models / folder).is_dir()]
    given = [str(models / plan.folder), "--name", plan.name, "--title", plan.title, "--rows", *plan.rows]
    given += ["--tiers"] if plan.tiers else []
    given += ["--against", *against] if against else []
    return ["experiments/embedding.py", *given]


if __name__ == "__main__":
    main()
