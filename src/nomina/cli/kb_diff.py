"""``nomina kb diff``: what happened to the concepts between two versions or releases of a KB."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nomina.kb.diff import Change


@click.command()
@click.argument("old")
@click.argument("new")
@click.option("--format", type=click.Choice(["table", "jsonl"]), help="By default a table on a terminal, else jsonl.")
def diff(old: str, new: str, format: str | None) -> None:
    """Say which concepts were added, renamed, retired or merged from OLD to NEW (files or names such as hpo)."""
    from nomina.kb.diff import KINDS, diff
    from nomina.kb.sources import resolve_kb

    line = _for_programs if (format or ("table" if sys.stdout.isatty() else "jsonl")) == "jsonl" else _for_people
    counts = Counter[str]()
    for change in diff(resolve_kb(old), resolve_kb(new)):
        counts[change.change] += 1
        click.echo(line(change))
    click.echo(", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS), err=True)


def _for_programs(change: Change) -> str:
    return json.dumps({key: value for key, value in change._asdict().items() if value is not None}, ensure_ascii=False)


def _for_people(change: Change) -> str:
    remark = f"  (was {change.before})" if change.before else f"  -> {change.into}" if change.into else ""
    return f"{change.change:<8}  {change.id:<16}  {change.name}{remark}"
