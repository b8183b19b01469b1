"""Print the options of the fine-tuning that is best on the development set, of those tried.

    python experiments/generative_choice.py OUT/try-*-ncbi/*.json

The first seed of each counts; of equals the first.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

KEYS = ("batch", "lr", "epochs", "smoothing", "top", "noise", "copies", "mix", "mix_of")


def main() -> None:
    """Read, choose, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("logs", type=Path, nargs="+")
    tried = [json.loads(path.read_text(encoding="utf-8")) for path in options.parse_args().logs]
    given = max((one for one in tried if one.get("runs")), key=best)["options"]
    print(*(f"--{key.replace('_', '-')} {given[key]}" for key in KEYS))


def best(found: dict[str, Any]) -> float:
    """What the development set says of the weights that it chose."""
    figure: float = found["runs"][0]["best"]["dev"]
    return figure


if __name__ == "__main__":
    main()
