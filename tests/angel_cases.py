"""A tiny corpus and its dictionary, as ``generative_data.py`` writes them."""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from pathlib import Path

NAMES = {
    "1": ("heart attack", "attack of the heart"),
    "2": ("short stature", "stature short"),
    "3": ("seizure", "the seizure", "attack seizure"),
    "4": ("breast cancer", "cancer of the breast"),
}


def write_corpus(folder: Path, mentions: Iterable[tuple[str, str, str, str, str]]) -> Path:
    """The dictionary of ``NAMES`` and mentions: split, text to the left, mention, text to the right, ids."""
    folder.mkdir()
    lines = {"aap.txt.xz": [f"{id}\t{name}" for id, names in NAMES.items() for name in names]}
    lines["contexts.tsv.xz"] = ["\t".join(("aap-0", *mention)) for mention in mentions]
    for name, each in lines.items():
        with lzma.open(folder / name, "wt", encoding="utf-8") as stream:
            stream.write("\n".join(each) + "\n")
    return folder
