"""An evaluation report as one HTML page that fetches nothing: tables, figures, and a list of the errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

from nomina.evaluation import render_curves as curves
from nomina.evaluation import render_plots as plots
from nomina.evaluation import render_tables as tables
from nomina.evaluation.render_svg import element, style
from nomina.evaluation.render_tables import Table
from nomina.evaluation.render_values import count, percent, writable
from nomina.evaluation.shape import Report


class Section(NamedTuple):
    """A part of the page: its anchor, its heading, and what is under it as markup."""

    name: str
    heading: str
    content: str


def html(report: Report) -> str:
    """The report as a self-contained page.

    Nothing is fetched, and the page's security policy forbids it. Tables and figures need no script. Texts of the
    corpus and of the KB reach the page escaped, or as JSON that the script shows as text alone.

    Args:
        report: Of ``evaluate``, or read back with ``Report.from_json``.
    """
    sections = [section for section in _sections(report) if section.content]
    nav = [*sections, *([Section("errors", "Errors", "")] if report.errors else [])]
    page = Template(_part("report.html")).substitute(
        title=escape(tables.title(report)),
        style=_part("report.css"),
        script=_part("report.js") if report.errors else "",
        head=_head(report),
        nav="".join(element("li", element("a", escape(each.heading), href=f"#{each.name}")) for each in nav),
        sections="".join(map(_section, sections)),
        errors=_errors(report),
        data=_island({"errors": report.as_json()["errors"], "groups": _groups(report)}),
    )
    return writable(page)


def _part(name: str) -> str:
    return files("nomina.evaluation").joinpath("page", name).read_text("utf-8")


def _groups(report: Report) -> list[dict[str, object]]:
    """The groups of strata and their strata, by which errors are chosen."""
    return [
        {"key": group, "title": tables.group_title(group), "names": list(tables.counts_of(report, group))}
        for group in tables.groups(report)
    ]


def _island(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _head(report: Report) -> str:
    warnings = [element("p", element("strong", "Warning."), " ", escape(each)) for each in tables.warnings(report)]
    shown = [element("div", *warnings, class_="warning", role="note")] if warnings else []
    return "".join([_headline(report), *shown])


def _headline(report: Report) -> str:
    system, corpus = report.systems[0], report.corpus
    bounds = system.primary.interval
    sure = f"95% interval {percent(bounds[0])} to {percent(bounds[1])}" if bounds else "no interval"
    counts = f"{count(corpus.mentions)} mentions in {count(corpus.documents)} documents"
    return element(
        "p",
        element("span", f"{percent(system.primary.value, 2)}%", class_="value"),
        element("span", f"{escape(system.primary.metric)} of {escape(system.name)}; {sure}; {counts}", class_="what"),
        class_="headline",
    )


def _sections(report: Report) -> list[Section]:
    legend = plots.legend(report)
    return [
        Section("result", "Result", _grid([_figure(plots.primary(report)), _table(tables.primary(report))])),
        Section("comparisons", "Comparisons", _comparisons(report)),
        Section("accuracy", "Accuracy", _accuracy(report)),
        Section("strata", "Strata", _strata(report, legend)),
        Section("confidence", "Confidence", _confidence(report, legend)),
        Section("corpus", "Corpus", _grid([_table(tables.corpus(report)), _table(tables.made(report))])),
    ]


def _section(section: Section) -> str:
    heading = element("h2", escape(section.heading), id=f"{section.name}-heading")
    return element("section", heading, section.content, id=section.name, aria_labelledby=f"{section.name}-heading")


def _comparisons(report: Report) -> str:
    table = tables.comparisons(report)
    return _figure(plots.differences(report)) + _table(table) if table else ""


def _accuracy(report: Report) -> str:
    shown = (*tables.by_policy(report), tables.nil(report), tables.end_to_end(report))
    return _grid([_table(table) for table in shown], "grid wide")


_STRATA = (
    "Bars: the primary figure in percent; lines: 95% intervals; n: mentions. Few mentions make wide intervals: read"
    " them before the bars."
)
_RISK = "The most confident answers first: how many of them are wrong. A curve near the bottom knows what it knows."
_RELIABILITY = (
    "How often answers of about the same confidence are right, and how many mentions have it (n). On the dashed line,"
    " confidence is what it says; a score that is no probability has no such line."
)


def _strata(report: Report, legend: str) -> str:
    groups = tables.groups(report)
    if not groups:
        return ""
    shown = [_stratum_figure(report, group, f"strata-{i}") for i, group in enumerate(groups)]
    numbers = [_table(table) for table in tables.strata(report, intervals=True)]
    details = element("details", element("summary", "The same figures as tables"), _grid(numbers, "grid wide"))
    return _note(_STRATA) + legend + element("div", *shown, class_="columns") + details


def _stratum_figure(report: Report, group: str, name: str) -> str:
    drawn, there = len(plots.drawn(report, group)), len(tables.counts_of(report, group))
    if not drawn:
        return ""
    part = f" (the {count(drawn)} largest of {count(there)})" if drawn < there else ""
    return _figure(plots.bars(report, group, name), tables.group_title(group) + part)


def _confidence(report: Report, legend: str) -> str:
    parts = ""
    if risk := curves.risk_coverage(report):
        parts += element("h3", "Risk and coverage") + _note(_RISK) + legend + _figure(risk)
    diagrams = [
        _figure(diagram, system.name)
        for i, system in enumerate(report.systems)
        if (diagram := curves.reliability(system, i))
    ]
    if diagrams:
        parts += element("h3", "Reliability") + _note(_RELIABILITY) + _grid(diagrams)
    return parts


def _errors(report: Report) -> str:
    if not report.errors:
        return ""
    summary = _grid([_table(tables.error_kinds(report)), _table(tables.error_places(report))])
    name = escape(report.systems[0].name)
    return Template(_part("errors.html")).substitute(summary=summary, system=name, count=count(report.errors_total))


def _grid(parts: Sequence[str], kind: str = "grid") -> str:
    """Parts side by side where there is room."""
    return element("div", *(element("div", part) for part in parts if part), class_=kind)


def _figure(svg: str, caption: str = "") -> str:
    if not svg:
        return ""
    return element("figure", element("figcaption", escape(caption)) if caption else "", svg)


def _note(text: str) -> str:
    return element("p", escape(text), class_="note")


def _table(table: Table | None) -> str:
    """A table in a box that scrolls where it is wider than the page."""
    if table is None:
        return ""
    heads = element("tr", *(element("th", escape(head), scope="col") for head in table.columns))
    rows = (_row(table, i, row) for i, row in enumerate(table.rows))
    caption = element("caption", escape(table.title))
    shown = element("table", caption, element("thead", heads), element("tbody", *rows))
    box = element("div", shown, class_="scroll", role="region", aria_label=table.title, tabindex="0")
    return box + (_note(table.note) if table.note else "")


def _row(table: Table, i: int, row: tuple[str, ...]) -> str:
    swatch = element("span", class_=f"square {style(i)}", aria_hidden="true") if table.swatches else ""
    first = element("th", swatch, escape(row[0]), scope="row")
    return element("tr", first, *map(_cell, row[1:]))


def _cell(text: str) -> str:
    """A figure; its interval stands under it."""
    figure, bracket, bounds = text.partition(" [")
    return element("td", escape(figure), element("small", escape(f"[{bounds}")) if bracket else "")
