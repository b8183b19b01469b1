"""How far two annotators agree: on which spans are mentions, and on what they mean.

Of each document that both have begun, mentions are compared by their spans. One that a linker proposed and one of the
two has not decided yet is left out, and counted; one that only one of them has added is a mention for him alone.

F1 of spans is 2 both / (2 both + only A + only B): how many stretches of text are no mention is not known, so that
kappa is not defined for all spans, and F1 is what it comes near to (Hripcsak and Rothschild, JAMIA 2005). Where both
decided a proposed mention, that is known, and kappa (Cohen, Educ. Psychol. Meas. 1960) is (p_o - p_e) / (1 - p_e).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nomina.enumerations import joined
from nomina.evaluation.ids import is_nil
from nomina.review import views
from nomina.review.project import Project
from nomina.review.records import Gold
from nomina.types import Span

Label = frozenset[frozenset[str]]
"""What a mention means: parts that are all needed, each with ids any of which will do; empty: no concept."""


class Side(NamedTuple):
    """Whose decisions are compared: all of a project, or some annotators' of it."""

    project: Project
    annotators: Sequence[str] = ()


class Opinion(NamedTuple):
    """What one side says of one stretch of text: ``gold`` is None where it is no mention; ``is_open``: nothing yet."""

    spans: tuple[Span, ...]
    is_open: bool
    gold: Gold | None
    name: str | None


class Disagreement(NamedTuple):
    """A stretch of text of which the sides say something else; ``gold`` is None where it is no mention for a side."""

    document_id: str
    spans: tuple[Span, ...]
    text: str
    first: Opinion | None
    second: Opinion | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two sides agree.

    Attributes:
        documents: that both have begun.
        left_out: documents that are in one project only, have another text there, or that one side has not begun.
        undecided: mentions that one side has not decided, left out.
        both: spans that are mentions for both.
        only_first: spans that are mentions for the first side alone.
        only_second: the same of the second.
        same: of those of both, how many mean the same.
        proposed: mentions that a linker proposed and both decided.
        span_f1: of spans; None where neither side has a mention.
        concepts: ``same`` as a share of ``both``; None where there is none.
        concept_kappa: Cohen's kappa of what shared spans mean, each distinct gold being a category.
        mention_kappa: of whether proposed mentions are mentions; both kappas are None where chance alone agrees fully.
    """

    documents: int
    left_out: int
    undecided: int
    both: int
    only_first: int
    only_second: int
    same: int
    proposed: int
    span_f1: float | None
    concepts: float | None
    concept_kappa: float | None
    mention_kappa: float | None


def label_of(gold: Gold) -> Label:
    """Gold as it is compared: order and NIL ids do not count."""
    parts = (frozenset(id for id in part if not is_nil(id)) for part in gold)
    return frozenset(part for part in parts if part)


def kappa(first: Sequence[object], second: Sequence[object]) -> float | None:
    """Cohen's kappa of two labellings of the same things; None without things, or where chance alone agrees fully."""
    total = len(first)
    if not total:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) * total
    ours, theirs = Counter(first), Counter(second)
    expected = sum(count * theirs[label] for label, count in ours.items())
    return None if expected == total * total else (observed - expected) / (total * total - expected)


def agreement(first: Side, second: Side) -> tuple[Agreement, list[Disagreement]]:
    """Compare two sides; the figures, and all they disagree on in the order of the first project.

    Raises:
        UsageError: an annotator that has decided nothing in the project.
    """
    for side in (first, second):
        views.check_annotators(side.project, side.annotators)
    there = {each.id: each for each in views.texts(second.project)}
    left_out, undecided, documents = len(there), 0, 0
    pairs: list[tuple[Opinion | None, Opinion | None]] = []
    found: list[Disagreement] = []
    for text in views.texts(first.project):
        other = there.get(text.id)
        ours = None if other is None or other.text != text.text else _opinions(first, text.number)
        theirs = None if other is None or ours is None else _opinions(second, other.number)
        left_out += other is None
        if ours is None or theirs is None:
            continue
        left_out -= 1
        documents += 1
        for a, b in _paired(ours, theirs):
            if (a and a.is_open) or (b and b.is_open):
                undecided += 1
                continue
            pairs.append((a, b))
            if _differ(a, b) and (shown := a or b):
                found.append(Disagreement(text.id, shown.spans, joined(text.text, shown.spans), a, b))
    return _counted(pairs, documents, left_out, undecided), found


def _opinions(side: Side, number: int) -> dict[str, Opinion] | None:
    """What a side says of each mention of a document; None where it has decided nothing in it."""
    seen = views.mentions(side.project, number, side.annotators)
    if all(each.annotator is None for each in seen):
        return None
    return {
        each.key: Opinion(
            each.spans, each.state == "open", each.gold if each.state == "decided" else None, each.name
        )
        for each in seen
        if each.is_own
    }  # fmt: skip


def _paired(ours: dict[str, Opinion], theirs: dict[str, Opinion]) -> Iterator[tuple[Opinion | None, Opinion | None]]:
    for key in sorted(ours.keys() | theirs.keys(), key=lambda key: (ours.get(key) or theirs[key]).spans):
        yield ours.get(key), theirs.get(key)


def _gold(opinion: Opinion | None) -> Gold | None:
    return None if opinion is None else opinion.gold


def _differ(a: Opinion | None, b: Opinion | None) -> bool:
    ours, theirs = _gold(a), _gold(b)
    if ours is None or theirs is None:
        return ours is not theirs
    return label_of(ours) != label_of(theirs)


def _counted(
    pairs: Sequence[tuple[Opinion | None, Opinion | None]], documents: int, left_out: int, undecided: int
) -> Agreement:
    marked = [(_gold(a), _gold(b)) for a, b in pairs]
    shared = [(label_of(a), label_of(b)) for a, b in marked if a is not None and b is not None]
    only_first = sum(a is not None and b is None for a, b in marked)
    only_second = sum(b is not None and a is None for a, b in marked)
    same, both = sum(a == b for a, b in shared), len(shared)
    proposed = [(a.gold is not None, b.gold is not None) for a, b in pairs if a and b]
    spans = 2 * both + only_first + only_second
    return Agreement(
        documents,
        left_out,
        undecided,
        both,
        only_first,
        only_second,
        same,
        len(proposed),
        2 * both / spans if spans else None,
        same / both if both else None,
        kappa([a for a, _ in shared], [b for _, b in shared]),
        kappa([a for a, _ in proposed], [b for _, b in proposed]),
    )
