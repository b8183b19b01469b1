"""A cascade of linkers, the cheap ones first, whose answers are combined as was learnt on development mentions.

The default, ``CascadeLinker``, is dictionary and encoder by fixed rules; this one is for a corpus of one's own.
"""

from __future__ import annotations

import json
from pathlib import Path

from nomina.artifact import MANIFEST

KIND = "cascade"
"""Of the saved folder."""


def is_cascade(folder: str | Path) -> bool:
    """Whether a folder holds a saved cascade."""
    try:
        return bool(json.loads(Path(folder, MANIFEST).read_text(encoding="utf-8"))["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError):
        return False
