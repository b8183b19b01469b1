"""Precision, recall and F1 of predictions made from raw text: their spans are found, not given.

A prediction is its first candidate; one that abstains, or has no candidate, is none. It is right where the candidate's
id is one of gold's, of any part. Gold mentions without a concept are not asked for: a prediction there is a false one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from nomina.evaluation.ids import IdMap, is_nil
from nomina.evaluation.match import Item, Paired
from nomina.evaluation.metrics import harmonic, ratio
from nomina.evaluation.shape import EndToEnd, Score
from nomina.types import Span

Spans = tuple[Span, ...]
Left = TypeVar("Left")
Right = TypeVar("Right")


class _Placed(NamedTuple):
    """A prediction with the ids of its concept, or a gold mention with the ids of all its parts."""

    spans: Spans
    ids: frozenset[str]


def end_to_end(paired: Paired, ids: IdMap) -> EndToEnd:
    """The three scores, each over all documents together (micro-averaged).

    ``mention``: spans are the same and the id is right. ``overlap``: they share a character and the id is right.
    ``document``: the distinct concepts of a document, wherever they stand. Pairs are made one to one.
    """
    said, meant, wanted = _said(paired, ids), _meant(paired.items), _wanted(paired.items)
    exact = sum(_pairs(said[document], mentions, _in_place) for document, mentions in meant.items())
    overlap = sum(_pairs(said[document], mentions, _near) for document, mentions in meant.items())
    concepts = {document: dict.fromkeys(each.ids for each in placed) for document, placed in said.items()}
    found = sum(_pairs(list(concepts.get(document, ())), golds, _meets) for document, golds in wanted.items())
    predicted, gold = sum(map(len, said.values())), sum(map(len, meant.values()))
    return EndToEnd(
        mention=_score(exact, predicted, gold),
        overlap=_score(overlap, predicted, gold),
        document=_score(found, sum(map(len, concepts.values())), sum(map(len, wanted.values()))),
    )


def _score(right: int, predicted: int, gold: int) -> Score:
    return harmonic(ratio(right, predicted), ratio(right, gold))


def _said(paired: Paired, ids: IdMap) -> dict[str, list[_Placed]]:
    """What was predicted, by document."""
    here = (prediction for item in paired.items for prediction in item.predictions)
    found: dict[str, list[_Placed]] = defaultdict(list)
    for prediction in {id(each): each for each in (*here, *paired.elsewhere)}.values():
        if prediction.candidates and not prediction.abstained and not is_nil(prediction.candidates[0].entity_id):
            concept = ids.candidate(prediction.candidates[0].entity_id)
            found[prediction.document_id].append(_Placed(prediction.mention.spans, concept))
    return found


def _meant(items: Iterable[Item]) -> dict[str, list[_Placed]]:
    """Gold mentions that have a concept, by document."""
    found: dict[str, list[_Placed]] = defaultdict(list)
    for item in items:
        if item.gold:
            found[item.document_id].append(_Placed(item.mention.spans, frozenset[str]().union(*item.gold)))
    return found


def _wanted(items: Iterable[Item]) -> dict[str, list[frozenset[str]]]:
    """The distinct parts of gold, by document."""
    found: dict[str, dict[frozenset[str], None]] = defaultdict(dict)
    for item in items:
        found[item.document_id].update(dict.fromkeys(item.gold))
    return {document: list(golds) for document, golds in found.items()}


def _in_place(said: _Placed, gold: _Placed) -> bool:
    return said.spans == gold.spans and not said.ids.isdisjoint(gold.ids)


def _near(said: _Placed, gold: _Placed) -> bool:
    return not said.ids.isdisjoint(gold.ids) and _share(said.spans, gold.spans)


def _share(one: Spans, other: Spans) -> bool:
    return any(start < end2 and start2 < end for start, end in one for start2, end2 in other)


def _meets(said: frozenset[str], gold: frozenset[str]) -> bool:
    return not said.isdisjoint(gold)


def _pairs(said: Sequence[Left], golds: Sequence[Right], fits: Callable[[Left, Right], bool]) -> int:
    """The most pairs, one to one, that can be made of what fits, whatever the order (augmenting paths)."""
    near = [[i for i, each in enumerate(said) if fits(each, gold)] for gold in golds]
    taken: dict[int, int] = {}

    def placed(j: int, tried: set[int]) -> bool:
        free = next((i for i in near[j] if i not in taken), None)
        if free is not None:
            taken[free] = j
            return True
        for i in near[j]:
            if i not in tried:
                tried.add(i)
                if placed(taken[i], tried):
                    taken[i] = j
                    return True
        return False

    return sum(placed(j, set()) for j in range(len(golds)))
