"""The tables of an evaluation report, as texts: what the Markdown and the HTML rendering both show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from nomina.evaluation.render_values import NOTHING, count, interval, p_value, percent, with_interval, words
from nomina.evaluation.shape import At, Nil, Report, Score, StratumFigure, System

SHORT = ("1", "5")
"""The k of a compact table."""

POLICIES = {
    "any": "a right id among the candidates of rank k or better; ties count as one rank",
    "strict": "the first k candidates in order, ties cut: what a user who takes the first gets",
    "expected": "the chance of being among the first k if ties came in random order",
}
_SINGLE = ("MRR", "Distinct pairs", "Answered", "AURC", "Missing")
_SINGLE_NOTE = (
    "MRR: mean of 1 / the least k that is right under strict. Distinct pairs: each (mention text, gold) counted once."
    " Answered: an abstention on a mention that has a concept is wrong. AURC: area under the risk-coverage curve, lower"
    " is better. Missing: mentions without a prediction, which count as wrong. –: no answer has so many candidates."
)
_KINDS_NOTE = (
    "wrong: another concept; abstained: the right one, but withheld; nil: a concept where there is none; missing: no"
    " prediction."
)
_PLACES = ((1, 1, "rank 1 (tied or withheld)"), (2, 2, "rank 2"), (3, 5, "rank 3 to 5"), (6, 10, "rank 6 to 10"))
_GROUPS = {
    "genbioel": "Sub-populations (GenBioEL, table 8)",
    "seen": "Seen in training",
    "similarity": "Similarity to the nearest gold name (TF-IDF)",
    "name": "Shared names",
    "form": "Form of the mention",
    "length": "Length of the mention",
    "type": "Type of the mention",
}


class Table(NamedTuple):
    """The first column names the row; ``note`` says what the figures are; ``swatches``: the rows are the systems."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    swatches: bool = False


def title(report: Report) -> str:
    """What was evaluated, on what, under which protocol."""
    on = f" on {report.corpus.path}" if report.corpus.path else ""
    return f"{report.systems[0].name}{on}, {report.protocol}"


def warnings(report: Report) -> list[str]:
    """What a reader of the figures must know first; empty where all is well."""
    coverage = report.corpus.coverage
    found = [*report.warnings, coverage.warning if coverage else None]
    return [text for text in dict.fromkeys(found) if text]


def primary(report: Report) -> Table:
    """The one figure of the protocol, of every system."""
    figures = [(system.name, system.primary) for system in report.systems]
    rows = tuple((name, percent(each.value, 2), interval(each.interval)) for name, each in figures)
    heads = ("System", report.systems[0].primary.metric, "95% interval")
    note = "In percent; 95% interval by drawing documents anew (bootstrap)."
    return Table("Primary figure", heads, rows, note, swatches=True)


def metrics(report: Report) -> Table:
    """Accuracy (recall) at 1 and 5 by each policy, then the single figures."""
    cells = [(policy, k) for policy in POLICIES for k in _ks(report, policy) if k in SHORT]
    rows = tuple(
        (system.name, *(percent(_by_k(system, policy).get(k), 2) for policy, k in cells), *_single(system))
        for system in report.systems
    )
    heads = ("System", *(f"{policy} @{k}" for policy, k in cells), *_SINGLE)
    meanings = "; ".join(f"{policy}: {meaning}" for policy, meaning in POLICIES.items())
    return Table("Accuracy and recall at k", heads, rows, f"In percent. {meanings}. {_SINGLE_NOTE}", swatches=True)


def by_policy(report: Report) -> list[Table]:
    """What ``metrics`` shows as one table a policy, with every k and the intervals, and one of the single figures."""
    found = [_policy(report, policy, meaning) for policy, meaning in POLICIES.items()]
    rows = tuple((system.name, *_single(system)) for system in report.systems)
    return [*found, Table("Single figures", ("System", *_SINGLE), rows, _SINGLE_NOTE, swatches=True)]


def _policy(report: Report, policy: str, meaning: str) -> Table:
    ks = _ks(report, policy)
    rows = tuple(
        (
            system.name,
            *(with_interval(_by_k(system, policy).get(k), system.intervals.get(f"{policy}@{k}"), 2) for k in ks),
        )
        for system in report.systems
    )
    return Table(words(policy), ("System", *(f"@{k}" for k in ks)), rows, f"{words(meaning)}.", swatches=True)


def _ks(report: Report, policy: str) -> list[str]:
    return _distinct(k for system in report.systems for k in _by_k(system, policy))


def _by_k(system: System, policy: str) -> At:
    found = system.metrics
    return {"any": found.any, "strict": found.strict, "expected": found.expected}[policy]


def _single(system: System) -> tuple[str, ...]:
    found = system.metrics
    figures = (found.mrr, found.distinct, found.answered, system.aurc)
    return (*(percent(each, 2) for each in figures), count(system.missing))


def nil(report: Report) -> Table | None:
    """How well mentions without a concept are told from those with one; None where no system says."""
    rows = tuple(
        (system.name, count(system.nil.gold), count(system.nil.predicted), *_score(system.nil))
        for system in report.systems
        if system.nil
    )
    heads = ("System", "NIL in gold", "NIL predicted", "Precision", "Recall", "F1")
    note = "Mentions that the corpus gives no concept, and those for which the system says so. In percent."
    return Table("Mentions without a concept (NIL)", heads, rows, note) if rows else None


def end_to_end(report: Report) -> Table | None:
    """Precision, recall and F1 of finding and linking; None where mentions were given."""
    rows: list[tuple[str, ...]] = []
    for system in report.systems:
        if found := system.end_to_end:
            levels = {"mention": found.mention, "overlap": found.overlap, "document": found.document}
            rows += [(f"{system.name}: {level}", *_score(score)) for level, score in levels.items()]
    note = (
        "In percent. mention: the span and an id are right; overlap: the spans overlap and an id is right; document:"
        " the distinct ids of each document."
    )
    heads = ("System and level", "Precision", "Recall", "F1")
    return Table("Found and linked in raw text", heads, tuple(rows), note) if rows else None


def _score(found: Nil | Score) -> tuple[str, str, str]:
    return percent(found.precision), percent(found.recall), percent(found.f1)


def comparisons(report: Report) -> Table | None:
    """Each pair of systems on the same mentions; None where nothing is compared."""
    rows = tuple(
        (
            f"{pair.a} − {pair.b}",
            with_interval(pair.difference, pair.interval, 2),
            p_value(pair.p_bootstrap),
            p_value(pair.p_mcnemar),
            p_value(pair.p_mcnemar_holm),
            count(pair.only_a),
            count(pair.only_b),
            p_value(pair.angel.p),
        )
        for pair in report.comparisons
    )
    heads = (
        "Pair a − b", "Difference", "p bootstrap", "p McNemar", "p McNemar, Holm", "only a right", "only b right",
        "p ANGEL",
    )  # fmt: skip
    note = (
        "Differences of the primary figure in points. The document bootstrap and McNemar's exact test decide; Holm's"
        " correction is for all pairs of this table. ANGEL's t-test over 100 resamples is for parity only: its p"
        " shrinks with their number."
    )
    return Table("Paired comparisons", heads, rows, note) if rows else None


def strata(report: Report, *, intervals: bool) -> list[Table]:
    """One table a group of strata: a stratum's count, then each system's figure.

    Args:
        report: The report.
        intervals: Whether all systems show them, or only the first.
    """
    return [_group(report, group, intervals) for group in groups(report)]


def groups(report: Report) -> list[str]:
    """The groups of strata, in the order of the report."""
    return _distinct(part.group for system in report.systems for part in system.strata)


def counts_of(report: Report, group: str) -> dict[str, int]:
    """The strata of a group, in the order of the report, with how many mentions each has."""
    return {part.name: part.count for system in report.systems for part in system.strata if part.group == group}


def figures_of(system: System, group: str) -> dict[str, StratumFigure]:
    """A system's figures of the strata of a group, by their names."""
    return {part.name: part for part in system.strata if part.group == group}


def group_title(group: str) -> str:
    """What a group of strata is called."""
    return _GROUPS.get(group, words(group))


def _group(report: Report, group: str, intervals: bool) -> Table:
    columns = [figures_of(system, group) for system in report.systems]
    rows = [
        (name, count(n), *(_figure(figures.get(name), intervals or i == 0) for i, figures in enumerate(columns)))
        for name, n in counts_of(report, group).items()
    ]
    heads = ("Stratum", "Mentions", *(system.name for system in report.systems))
    return Table(group_title(group), heads, tuple(rows))


def _figure(part: StratumFigure | None, interval: bool) -> str:
    return with_interval(part.value, part.interval if interval else None) if part else NOTHING


def error_kinds(report: Report) -> Table | None:
    """How many errors of the first system there are of each kind; None where there are none."""
    kinds = Counter(error.kind for error in report.errors)
    rows = tuple((kind, count(n)) for kind, n in kinds.most_common())
    part = len(report.errors) < report.errors_total
    first = f"The first {count(len(report.errors))} of {count(report.errors_total)} errors. " if part else ""
    return Table("Errors by kind", ("Kind", "Errors"), rows, first + _KINDS_NOTE) if rows else None


def error_places(report: Report) -> Table | None:
    """Where the right concept stood among the candidates of the errors; None where there are no errors."""
    places = Counter(map(_place, (error.rank_of_gold for error in report.errors)))
    order = [*(name for _, _, name in _PLACES), "rank 11 or more", "not among the candidates"]
    rows = tuple((name, count(places[name])) for name in order if places[name])
    return Table("Where the right concept was", ("Place", "Errors"), rows) if rows else None


def _place(rank: int | None) -> str:
    if rank is None:
        return "not among the candidates"
    return next((name for low, high, name in _PLACES if low <= rank <= high), "rank 11 or more")


def corpus(report: Report) -> Table:
    """What was evaluated on: counts, coverage, what was left out, the KB and the training documents."""
    found, kb, train = report.corpus, report.kb, report.train
    rows = [
        ("corpus", found.path),
        ("documents", count(found.documents)),
        ("mentions", count(found.mentions)),
        ("mentions without a concept (NIL)", count(found.nil)),
        ("distinct (mention text, gold) pairs", count(found.distinct_pairs)),
    ]
    if found.coverage:
        rows.append(("gold that the KB has", f"{percent(found.coverage.in_kb)}%"))
        rows += [(f"gold found by rule “{rule}”", count(n)) for rule, n in found.coverage.by_rule.items()]
    rows.append(("mentions without a prediction", count(report.missing)))
    rows += [(f"left out: {what}", count(n)) for what, n in report.dropped.items()]
    if kb:
        rows += [("KB", f"{kb.name} ({kb.fingerprint})"), ("KB concepts", count(kb.concepts))]
        rows.append(("KB names", count(kb.names)))
    if train:
        rows += [("training corpus", train.path), ("training documents", count(train.documents))]
        rows.append(("training mentions", count(train.mentions)))
    return _facts("Corpus and knowledge base", rows)


def made(report: Report) -> Table:
    """How the report came about."""
    found = report.made
    rows = [("command", found.command), ("seed", str(found.seed)), *found.versions.items()]
    if found.commit:
        rows.append(("commit", found.commit))
    return _facts("How this was made", rows)


def _facts(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Without those that nobody told, as the path of a corpus that was made in memory."""
    return Table(title, ("What", "Value"), tuple(row for row in rows if row[1]))


def _distinct(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))
