"""An evaluation report as Markdown: compact tables that read well on a terminal too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import fill

from nomina.evaluation import render_tables as tables
from nomina.evaluation.render_tables import Table
from nomina.evaluation.render_values import writable
from nomina.evaluation.shape import Report

_WIDTH = 100
_SPECIAL = re.compile(r"[\\|*`]|<(?=[A-Za-z/!?])|(?<=\])[(:\[]")


def markdown(report: Report) -> str:
    """The report as Markdown: the primary figure first, then the rest, then what it was measured on.

    Args:
        report: Of ``evaluate``, or read back with ``Report.from_json``.

    Returns:
        Text that ends with a line break. Names of systems, strata and files stay text: what Markdown would take for
        markup is escaped.
    """
    shown = [
        tables.primary(report),
        tables.metrics(report),
        tables.nil(report),
        tables.end_to_end(report),
        tables.comparisons(report),
        _strata(report),
        tables.error_kinds(report),
        tables.error_places(report),
        tables.corpus(report),
        tables.made(report),
    ]
    parts = [f"# {_escaped(tables.title(report))}"]
    parts += [f"> **Warning:** {_escaped(warning)}" for warning in tables.warnings(report)]
    parts += [_section(table) for table in shown if table is not None]
    return writable("\n\n".join(parts) + "\n")


def _strata(report: Report) -> Table | None:
    """The tables of all groups in one, each under a row with its title."""
    found = tables.strata(report, intervals=False)
    if not found:
        return None
    heads = found[0].columns
    empty = ("",) * (len(heads) - 1)
    rows = [row for table in found for row in ((f"{table.title}:", *empty), *table.rows)]
    return Table("Strata", heads, tuple(rows), "The primary figure, in percent.")


def _section(table: Table) -> str:
    rows = [[_escaped(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(table.columns))]
    rule = "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])])
    lines = [f"## {_escaped(table.title)}", "", _line(rows[0], widths), f"|{rule}|"]
    lines += [_line(row, widths) for row in rows[1:]]
    return "\n".join([*lines, *(["", fill(table.note, _WIDTH)] if table.note else [])])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """On one line, with a backslash before what would be markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))
