"""From saved predictions and gold to a report: pair, judge, count, compare."""

from __future__ import annotations

import contextlib
import gc
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nomina._version import __version__
from nomina.errors import UsageError
from nomina.evaluation.baselines import exact_match, tfidf, train_lookup
from nomina.evaluation.end_to_end import end_to_end as end_to_end_scores
from nomina.evaluation.figures import comparisons, system
from nomina.evaluation.ids import LEAST_COVERAGE, IdMap, is_nil
from nomina.evaluation.match import Item, Paired, Place, items_of, pair
from nomina.evaluation.metrics import pairs
from nomina.evaluation.mistakes import mistakes
from nomina.evaluation.outcome import Outcome, outcome
from nomina.evaluation.protocols import Protocol, prepare, protocol_of, rewritten
from nomina.evaluation.shape import Comparison, Corpus, EndToEnd, Knowledge, Made, Mistake, Report, System, Training
from nomina.evaluation.significance import SAMPLES
from nomina.evaluation.strata import Stratum, strata
from nomina.kb.store import KnowledgeBase
from nomina.types import Document, Prediction

__all__ = ["Report", "evaluate"]

EXACT, TRAIN, TFIDF = "exact match", "train look-up", "TF-IDF"
"""Names of the baselines in a report."""
_MUCH_TIED = 0.01
_MUCH_DROPPED = 0.1
_NAMES_A_CONCEPT = 1.2  # under it lists of names seldom hold a concept twice


class _Ground(NamedTuple):
    """What all systems are judged on."""

    protocol: Protocol
    kb: KnowledgeBase | None
    ids: IdMap
    documents: list[Document]
    items: list[Item]
    dropped: frozenset[Place]
    anywhere: bool


class _Judged(NamedTuple):
    """What one system gets; its predictions are let go, as those of all systems together would fill the memory."""

    outcome: Outcome
    end_to_end: EndToEnd | None
    warnings: tuple[str, ...]


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Looking for garbage among millions of new objects that all stay doubles the time of reading and scoring them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_no_collections()
def evaluate(
    predictions: Iterable[Prediction],
    gold: Iterable[Document],
    kb: KnowledgeBase | None = None,
    protocol: str = "clean-raw",
    *,
    train: Iterable[Document] | None = None,
    against: Mapping[str, Iterable[Prediction]] | None = None,
    name: str = "model",
    baselines: bool = True,
    end_to_end: bool = False,
    seed: int = 0,
    samples: int = SAMPLES,
    corpus_path: str = "",
    train_path: str = "",
    command: str = "",
) -> Report:
    """How good predictions are, beside baselines and other systems, with intervals, strata and mistakes.

    Args:
        predictions: What is judged, one for each mention of gold, in any order.
        gold: Documents with the right answers.
        kb: What was linked to; without it ids are compared as they are, and exact match and TF-IDF are left out.
        protocol: A name of ``protocols.PROTOCOLS``.
        train: What a system was trained on: for strata and the look-up baseline.
        against: Other systems' predictions for the same gold, by name.
        baselines: Whether exact match, train look-up and TF-IDF are run beside it.
        end_to_end: Whether mentions were found in raw text: predictions may stand anywhere; there are no baselines.
        name: What the report calls the system.
        seed: Of all resampling.
        samples: Resamples of a bootstrap.
        corpus_path: What the report calls gold.
        train_path: And the training data.
        command: How the report was asked for.

    Raises:
        UsageError: no such protocol, no gold to judge by, predictions that are not for this gold, names given twice.
    """
    ground, counts = _ground(list(gold), kb, protocol_of(protocol), end_to_end, corpus_path)
    learnt = None if train is None else [rewritten(document, ground.protocol) for document in train]
    groups, others = _strata(ground, learnt), _others(name, against or {})
    found, shown, total = _first(name, predictions, ground, groups)
    judged = {name: found} | {each: _judged(each, made, ground)[0] for each, made in others.items()}
    corpus = _corpus(ground, corpus_path)
    warnings = (*_of_gold(corpus, counts, protocol), *(told for each in judged.values() for told in each.warnings))
    judged |= {each: _judged(each, made, ground)[0] for each, made in _baselines(ground, learnt, baselines)}
    return Report(
        protocol=protocol,
        corpus=corpus,
        kb=None if kb is None else _knowledge(kb),
        train=None if learnt is None else Training(train_path, len(learnt), sum(len(d.mentions) for d in learnt)),
        dropped=counts,
        missing=int(found.outcome.missing.sum()),
        warnings=warnings,
        systems=_systems(judged, ground, groups, seed, samples),
        comparisons=_compared(judged, ground, seed, samples),
        errors=shown,
        errors_total=total,
        made=Made(command, _versions(), seed),
    )


def _first(
    name: str, predictions: Iterable[Prediction], ground: _Ground, groups: Sequence[Stratum]
) -> tuple[_Judged, tuple[Mistake, ...], int]:
    """The system asked about, the first of its mistakes, and how many there are; its predictions are let go."""
    found, items = _judged(name, predictions, ground)
    return found, *mistakes(items, found.outcome, ground.protocol.primary, ground.documents, ground.kb, groups)


def _compared(judged: Mapping[str, _Judged], ground: _Ground, seed: int, samples: int) -> tuple[Comparison, ...]:
    outcomes = {each: one.outcome for each, one in judged.items()}
    return comparisons(outcomes, ground.items, ground.protocol.primary, seed=seed, samples=samples)


def _systems(
    judged: Mapping[str, _Judged], ground: _Ground, groups: Sequence[Stratum], seed: int, samples: int
) -> tuple[System, ...]:
    rule = ground.protocol.primary
    return tuple(
        system(each, one.outcome, ground.items, rule, groups, seed=seed, samples=samples, end_to_end=one.end_to_end)
        for each, one in judged.items()
    )


def _ground(
    gold: list[Document], kb: KnowledgeBase | None, protocol: Protocol, anywhere: bool, path: str
) -> tuple[_Ground, dict[str, int]]:
    """What is judged on, and what the protocol dropped.

    Raises:
        UsageError: gold has nothing to judge by.
    """
    where = path or "the gold file"
    if not any(mention.gold for document in gold for mention in document.mentions):
        has = "mention with an id" if any(document.mentions for document in gold) else "mention"
        raise UsageError(f"{where} has no {has}: nothing to judge predictions by")
    documents, dropped = prepare(gold, protocol, kb)
    ids = IdMap(kb, splits=protocol.splits_ids)
    items = items_of(documents, ids)
    if not any(item.gold for item in items):
        left = ", ".join(f"{number:,} {why}" for why, number in dropped.items()) or "all of them are NIL"
        raise UsageError(f"{where} has no mention with a concept that {protocol.name} asks for ({left})")
    return _Ground(protocol, kb, ids, documents, items, _places(gold) - _places(documents), anywhere), dict(dropped)


def _places(documents: Iterable[Document]) -> frozenset[Place]:
    return frozenset((document.id, mention.spans) for document in documents for mention in document.mentions)


def _strata(ground: _Ground, learnt: list[Document] | None) -> list[Stratum]:
    train = None if learnt is None else items_of(learnt, ground.ids)
    return strata(ground.items, ground.kb, train, ground.documents)


def _others(name: str, against: Mapping[str, Iterable[Prediction]]) -> Mapping[str, Iterable[Prediction]]:
    """The other systems.

    Raises:
        UsageError: one has the name of the first, or one of them that of a baseline.
    """
    for each in (name, *against):
        if each in (EXACT, TRAIN, TFIDF) or (each == name and name in against):
            raise UsageError(f"two systems are named {each!r}: give one another name")
    return against


def _judged(name: str, predictions: Iterable[Prediction], ground: _Ground) -> tuple[_Judged, list[Item]]:
    """What a system gets, and its items."""
    paired = pair(
        ground.documents, predictions, ground.ids, name=name, dropped=ground.dropped, anywhere=ground.anywhere
    )
    found = outcome(paired.items, ground.ids, ground.protocol.form)
    spans = end_to_end_scores(paired, ground.ids) if ground.anywhere else None
    return _Judged(found, spans, tuple(_warnings(name, paired, found, ground))), paired.items


def _baselines(
    ground: _Ground, learnt: list[Document] | None, wanted: bool
) -> Iterator[tuple[str, Iterable[Prediction]]]:
    """Exact match and TF-IDF where there is a KB, train look-up where there are training data."""
    if not wanted or ground.anywhere:
        return
    documents, kb, form = ground.documents, ground.kb, ground.protocol.form
    if kb is not None:
        yield EXACT, exact_match(documents, kb, form)
    if learnt is not None:
        yield TRAIN, train_lookup(documents, learnt, kb, ground.ids)
    if kb is not None:
        yield TFIDF, tfidf(documents, kb, form)


def _knowledge(kb: KnowledgeBase) -> Knowledge:
    return Knowledge(kb.manifest.name, kb.fingerprint, len(kb), kb.manifest.counts.names)


def _corpus(ground: _Ground, path: str) -> Corpus:
    golds = (item.mention.gold for item in ground.items)
    return Corpus(
        path=path,
        documents=len(ground.documents),
        mentions=len(ground.items),
        nil=sum(not item.gold for item in ground.items),
        distinct_pairs=int(pairs(ground.items).max()) + 1,
        coverage=ground.ids.coverage(golds),
    )


def _of_gold(corpus: Corpus, dropped: Mapping[str, int], protocol: str) -> Iterator[str]:
    """What a reader has to know of the gold before believing any figure."""
    if corpus.coverage and corpus.coverage.warning:
        yield corpus.coverage.warning
    left_out = sum(dropped.values())
    share = left_out / max(left_out + corpus.mentions, 1)
    if share > _MUCH_DROPPED:
        told = ", ".join(f"{number:,} {why}" for why, number in dropped.items())
        yield f"{protocol} drops {share:.1%} of the mentions ({told}): the figures are of the rest"


def _warnings(name: str, paired: Paired, found: Outcome, ground: _Ground) -> Iterator[str]:
    """What a reader has to know before believing the figures of a system."""
    missing = int(found.missing.sum())
    if missing and not ground.anywhere:
        yield f"{name} has no prediction for {missing:,} of {len(ground.items):,} mentions: they count as wrong"
    predictions = [each for item in paired.items for each in item.predictions if each.candidates]
    firsts = [each.candidates[0].entity_id for each in predictions if not is_nil(each.candidates[0].entity_id)]
    if ground.kb is not None and firsts:
        known = np.mean([any(part in ground.ids for part in ground.ids.candidate(id)) for id in firsts])
        if known < LEAST_COVERAGE:
            yield f"only {known:.1%} of what {name} predicts is in the KB {ground.kb.manifest.name}: is it the same KB?"
    joined = max((1 + sum(map(id.count, "|+")) for id in firsts), default=1)
    if ground.kb is None and joined > 1:
        yield f"{name} predicts up to {joined} ids joined in one, each of which may hit: name the KB with --kb"
    tied = float((found.any[:, 0] - found.expected[:, 0])[~found.nil_gold].mean())
    if tied > _MUCH_TIED:
        yield (
            f"{name} leaves candidates tied in the first rank: 'any' gives ties whole, by lot its acc@1 is"
            f" {100 * tied:.1f} points lower (see expected)"
        )
    several = ground.kb is None or len(ground.kb.names) > _NAMES_A_CONCEPT * len(ground.kb)
    if ground.protocol.form == "name" and several and found.depth > 1 and not any(map(_repeats, predictions)):
        yield (
            f"{name} seems to rank concepts, not names: under {ground.protocol.name} its figures beyond k = 1 are not"
            " comparable with published ones (see nomina link --level name)"
        )


def _repeats(prediction: Prediction) -> bool:
    """Whether a concept stands there twice, as it does in lists of names."""
    return len({candidate.entity_id for candidate in prediction.candidates}) < len(prediction.candidates)


def _versions() -> dict[str, str]:
    return {"nomina": __version__, "numpy": np.__version__, "python": platform.python_version()}
