"""How many AskAPatient mentions cannot be right where a name of two concepts counts for one of them.

    python experiments/shared_names.py --data DATA

So ``generative.py`` and ``angel.py`` read the labels when the trainings of ``RESULTS.md`` were made: the last concept
kept the name. ``DATA``: as of ``generative_data.py --folds 10``. Writes ``results/shared_names.json``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from align_data import rows
from common import record
from generative_eval import ids_of, items

FOLDS = 10
SPLITS = ("dev", "test")


def main() -> None:
    """Count, record, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    found = counts(options.parse_args().data)
    print(found)
    record("shared_names", found, seed=0)


def counts(data: Path, folds: int = FOLDS) -> dict[str, object]:
    """The names of several concepts, and of each fold's splits the mentions, and those whose concepts were all lost."""
    labels = [(name, ids_of(ids)) for ids, name in rows(data / "aap.txt.xz")]
    kept = {id for ids in dict(labels).values() for id in ids}
    lost = {id for _, ids in labels for id in ids} - kept
    names = sorted({name for name, ids in labels if ids & lost})
    found = {}
    for split in SPLITS:
        asked = [items(data, f"aap-{fold}", split) for fold in range(folds)]
        found[split] = {
            "mentions": [len(fold) for fold in asked],
            "lost": [sum(item.gold <= lost for item in fold) for fold in asked],
        }
    return {"names": names, "concepts": len(lost), **found}


if __name__ == "__main__":
    main()
