"""Precision, recall and F1 of predictions made from raw text: their spans are found, not given.

A prediction is its first candidate; one that abstains, or has no candidate, is none. It is right where the candidate's
id is one of gold's, of any part. Gold mentions without a concept are not asked for: a prediction there is a false one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nomina.evaluation.ids import IdMap, is_nil
from nomina.evaluation.match import Item, Paired
from nomina.evaluation.metrics import harmonic, ratio
from nomina.evaluation.shape import EndToEnd, Score
from nomina.types import Span

Spans = tuple[Span, ...]


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
    exact = sum(len(mentions) - len(_unpaired(said[document], mentions)[1]) for document, mentions in meant.items())
    overlap = sum(_overlapping(said[document], mentions) for document, mentions in meant.items())
    concepts = {document: dict.fromkeys(each.ids for each in placed) for document, placed in said.items()}
    found = sum(_met(concepts.get(document, ()), golds) for document, golds in wanted.items())
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


def _unpaired(said: Iterable[_Placed], meant: Iterable[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    """Predictions and gold that are left when those of the same spans and a common id are paired."""
    left, missed = list(said), []
    for gold in meant:
        for i, each in enumerate(left):
            if each.spans == gold.spans and each.ids & gold.ids:
                del left[i]
                break
        else:
            missed.append(gold)
    return left, missed


def _overlapping(said: Sequence[_Placed], meant: Sequence[_Placed]) -> int:
    """How many pairs share a character and an id; those of the same spans are made first."""
    left, missed = _unpaired(said, meant)
    pairs = len(meant) - len(missed)
    for gold in missed:
        for i, each in enumerate(left):
            if each.ids & gold.ids and _share(each.spans, gold.spans):
                del left[i]
                pairs += 1
                break
    return pairs


def _share(one: Spans, other: Spans) -> bool:
    return any(start < end2 and start2 < end for start, end in one for start2, end2 in other)


def _met(said: Iterable[frozenset[str]], golds: Iterable[frozenset[str]]) -> int:
    """How many pairs of a predicted concept and a part of gold have a common id."""
    left, pairs = list(said), 0
    for gold in golds:
        for i, concept in enumerate(left):
            if concept & gold:
                del left[i]
                pairs += 1
                break
    return pairs
