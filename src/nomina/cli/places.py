"""Paths that commands write to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class Place(click.Path):
    """A file or folder to write; ``-``, elsewhere standard output, would be a file of that name: refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """See ``click.ParamType``."""
        if str(value) == "-":
            self.fail("- is no place to write to: name a file or folder.", param, ctx)
        return super().convert(value, param, ctx)


PLACE = Place(path_type=Path)
"""The type of such an option."""
