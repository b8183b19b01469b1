"""Phrases that the dictionary misses, judged by an encoder: which of them name a concept of the KB, and which one.

Names near a phrase are compared with it word by word: where they differ, each word of the one must have a counterpart
of a near vector in the other ("auditory" and "hearing" before "abnormality"). "Lower limbs" is near "short lower limbs"
and does not name it. What is left has a probability by its cosine and by how far the words are from their counterparts.
Of phrases that overlap the likeliest stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from nomina.artifact import Artifact
from nomina.counterparts import NAME_WORD, PHRASE_WORD, Counterparts
from nomina.errors import ArtifactError
from nomina.kb.store import Owner, Subset
from nomina.linkers.base import NO_ROW, Level, Rule
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.fitted import read_fitted, write_fitted
from nomina.name_words import NameWords
from nomina.span_words import (
    KnownWords,
    Term,
    are_opposites,
    comparable,
    eponyms,
    is_abnormality,
    is_narrower,
    is_restricting,
    is_unsaid,
    terms,
)
from nomina.spans import Proposal, propose
from nomina.types import SCOPES, Candidate, Document, Mention, Prediction

MODEL = "spans.json"
"""The file beside an exported encoder, which its fingerprint does not cover (see ``nomina.linkers.calibration``)."""

VERSION = 1
FEATURES = ("constant", "cosine", "missing")

PHENOTYPES = "HP:0000118"
"""Where a KB has this concept, phrases are read as concepts under it: not as modes of inheritance or modifiers."""

_NAMES = 24  # near a phrase, that are compared with it
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class SpanModel:
    """What ``experiments/span_model.py`` fitted for an encoder.

    Attributes:
        weights: of ``FEATURES``.
        threshold: the least probability of a phrase that is given out.
    """

    weights: tuple[float, ...]
    threshold: float

    def probability(self, cosine: float, missing: float) -> float:
        """The chance that a phrase names a concept: by the cosine with its name, and what its words lack to 1."""
        constant, nearness, lack = self.weights
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, constant + nearness * cosine + lack * missing))))

    def least_cosine(self) -> float:
        """The cosine under which no phrase reaches the threshold, even one that lacks nothing."""
        constant, nearness, _ = self.weights
        return (math.log(self.threshold / (1 - self.threshold)) - constant) / nearness

    @classmethod
    def read(cls, model: Artifact) -> SpanModel | None:
        """What lies beside an exported encoder; None where nothing does.

        Raises:
            ArtifactError: the file is damaged, of another version or was fitted for another encoder.
        """
        found = read_fitted(model, MODEL, "model of spans", VERSION)
        if found is None:
            return None
        weights, threshold = found.get("weights", ()), found.get("threshold")
        if not (_are_weights(weights) and isinstance(threshold, float) and 0 < threshold < 1):
            raise ArtifactError(f"{model.folder / MODEL} is damaged: remove it, or fit it again")
        return cls(tuple(weights), threshold)

    def write(self, model: Artifact) -> None:
        """Put it beside an exported encoder."""
        write_fitted(model, MODEL, VERSION, asdict(self))


def _are_weights(values: Any) -> bool:  # noqa: ANN401
    if not isinstance(values, list) or len(values) != len(FEATURES):
        return False
    return all(type(value) is float and math.isfinite(value) for value in values) and values[1] > 0 >= values[2]


class Hit(NamedTuple):
    """A name near a phrase whose words have their counterparts: its row, its cosine, and what its words lack to 1."""

    row: int
    cosine: float
    missing: float


class Rated(NamedTuple):
    """A name that a phrase may be: the probability of that, the cosine, the row."""

    probability: float
    cosine: float
    row: int


class Judged(NamedTuple):
    """A phrase and the names that it may be, likeliest first."""

    proposal: Proposal
    rated: tuple[Rated, ...]

    @property
    def probability(self) -> float:
        """Of the likeliest name; 0 where there is none."""
        return self.rated[0].probability if self.rated else 0.0


class SpanLinker:
    """Finds and links the phrases of a text that the dictionary has nothing for.

    Args:
        linker: its dictionary and its encoder, which is opened when the first phrase is judged.
        model: see ``SpanModel``.
        within: which rows and concepts may be answered.
    """

    def __init__(self, linker: CascadeLinker, model: SpanModel, within: Subset | None = None) -> None:
        self.linker, self.model, self.within = linker, model, within
        self.known = KnownWords(linker.kb)
        self._name_terms = lru_cache(maxsize=1 << 15)(lambda row: terms(linker.kb.names[row].split()))
        self._under = lru_cache(maxsize=1 << 8)(lambda concept: linker.kb.subset((concept,)).rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpanLinker, (self.linker, self.model, self.within)

    def link(
        self, documents: Sequence[Document], *, k: int = 5, threshold: float | None = None, level: Level = "concept"
    ) -> list[list[Prediction]]:
        """Predictions of phrases that touch no mention of their document; by document, in order of start.

        Scores are cosines, as everywhere under the rule; candidates stand by probability, so that a further one may
        have a higher score. Which phrases are found does not depend on a ``threshold`` of the caller's: a prediction
        is an abstention where the cosine of its first candidate is lower.
        """
        phrases = [propose(d.text, [(m.start, m.end) for m in d.mentions], self.known) for d in documents]
        hits = iter(self.hits([p for found in phrases for p in found], self.model.least_cosine()))
        given = []
        for document, found in zip(documents, phrases, strict=True):
            judged = [self._judged(proposal, next(hits)) for proposal in found]
            chosen = select([one for one in judged if one.probability >= self.model.threshold])
            given.append([self._prediction(document, one, k, threshold or 0.0, level) for one in chosen])
        return given

    def hits(self, proposals: Sequence[Proposal], least: float) -> list[list[Hit]]:
        """The names of a cosine of at least ``least`` whose words and a phrase's have counterparts; by phrase."""
        phrases = {proposal.words: proposal.terms for proposal in proposals}
        if not phrases:
            return []
        self._counterparts.learn(term.word for phrase in phrases.values() for term in phrase)
        names = dict(zip(phrases, self._counterparts.names_for(list(phrases.values())), strict=True))
        possible = {p.queries: p.words for p in proposals if len(names[p.words])}
        reach = self.linker.embedding.may_reach([(queries, names[words]) for queries, words in possible.items()], least)
        asked = [queries for queries, may_reach in zip(possible, reach, strict=True) if may_reach]
        found = {
            queries: [Hit(*compared) for compared in self._compared(phrases[possible[queries]], rows)]
            for queries, rows in self._near(asked, least).items()
        }
        return [found.get(proposal.queries, []) for proposal in proposals]

    def _compared(self, phrase: Sequence[Term], near: Mapping[int, float]) -> Iterator[tuple[int, float, float]]:
        """The near names whose words and a phrase's have counterparts, with their cosine and what they lack."""
        for row, cosine in near.items():
            missing = self._missing(phrase, row, near)
            if missing is not None:
                yield row, cosine, missing

    @cached_property
    def _counterparts(self) -> Counterparts:
        embedding = self.linker.embedding
        names = NameWords(self.linker.kb, embedding.encoder, embedding.fingerprint, self.known)
        return Counterparts(names, embedding.encoder, self._allowed.rows)

    @cached_property
    def _allowed(self) -> Subset:
        """Rows and concepts that a phrase may be."""
        kb = self.linker.kb
        given = self.within or kb.subset()
        if PHENOTYPES not in kb:
            return given
        under = kb.subset((PHENOTYPES,))
        return Subset(given.rows & under.rows, given.entities & under.entities)

    def owners(self, row: int) -> list[Owner]:
        """The concepts of a row that a phrase may be, the surest first; the root of phenotypes is none."""
        owners = [
            owner
            for owner in self.linker.kb.owners_of(row)
            if self._allowed.entities[owner.number] and owner.entity_id != PHENOTYPES
        ]
        return sorted(owners, key=lambda owner: (SCOPES.index(owner.name.scope), owner.number))

    def _near(self, asked: Iterable[tuple[str, ...]], least: float) -> dict[tuple[str, ...], dict[int, float]]:
        """Rows near what is asked for a phrase, and the higher cosine of each."""
        texts = list(dict.fromkeys(query for queries in asked for query in queries))
        if not texts:
            return {}
        ranking = self.linker.embedding.nearest(texts, _NAMES, self._allowed.rows)
        near = {
            text: [(row, score) for row, score in zip(rows, scores, strict=True) if row != NO_ROW and score >= least]
            for text, rows, scores in zip(texts, ranking.rows.tolist(), ranking.scores.tolist(), strict=True)
        }
        return {q: dict(sorted((pair for query in q for pair in near[query]), key=lambda pair: pair[1])) for q in asked}

    def _missing(self, terms: Sequence[Term], row: int, near: Iterable[int]) -> float | None:
        """What the words in which a name differs lack to 1 in sum; None where one of either side has no counterpart.

        Counterparts are looked for among the words in which they differ: "short" is not "lower" in "lower limbs".
        """
        said, named = comparable(terms, self._name_terms(row))
        phrase, name = unshared(said, named), unshared(named, said)
        name = [term for term in name if not is_unsaid(term)]
        if not phrase and (not name or self._is_implied(row, terms, name, near)):
            return 0.0
        if not phrase or not name or not self.may_differ(row, phrase, name):
            return None
        left, right = (self._counterparts.vectors([term.word for term in each]) for each in (name, phrase))
        cosines = left @ right.T
        if cosines.max(axis=1).min() < NAME_WORD or cosines.max(axis=0).min() < PHRASE_WORD:
            return None
        return float((1 - cosines.max(axis=1)).sum())

    def may_differ(self, row: int, phrase: Sequence[Term], name: Sequence[Term]) -> bool:
        """Whether no word in which a phrase and a name differ narrows down, is somebody's name or says the opposite."""
        if any(is_abnormality(term) or is_restricting(term) for term in (*phrase, *name)):
            return False
        if not eponyms(self.linker.kb.names[row].split()).isdisjoint(term.word for term in name):
            return False
        return not any(are_apart(one.word, other.word) for one in name for other in phrase)

    def _is_implied(self, row: int, phrase: Sequence[Term], more: Sequence[Term], near: Iterable[int]) -> bool:
        """Whether what a name says more than a phrase is an organ that the phrase cannot but mean: a heart's murmur.

        So it is where all near names with the words of the phrase are of concepts under that of the name, and one of
        them goes without the organ: "late systolic murmur" under "systolic heart murmur".
        """
        if not all(self.known.is_part(term.word) for term in more):
            return False
        with_phrase = [other for other in near if not unshared(phrase, self._name_terms(other))]
        without_organ = [other for other in with_phrase if len(unshared(more, self._name_terms(other))) == len(more)]
        return bool(without_organ) and any(
            self._under(owner.entity_id)[with_phrase].all() for owner in self.owners(row)
        )

    def _judged(self, proposal: Proposal, hits: Sequence[Hit]) -> Judged:
        if not hits or self.linker.dictionary.lexicon.lookup(proposal.text):
            return Judged(proposal, ())
        rated = [
            Rated(self.model.probability(hit.cosine, hit.missing), hit.cosine, hit.row)
            for hit in hits
            if self.owners(hit.row)
        ]
        return Judged(proposal, tuple(sorted(rated, key=lambda one: (-one.probability, one.row))))

    def _prediction(self, document: Document, one: Judged, k: int, floor: float, level: Level) -> Prediction:
        offered: list[Candidate] = []
        seen: set[int] = set()
        rank, before = 0, None
        for place, (probability, cosine, row) in enumerate(one.rated, start=1):
            given, score = round(probability, _DECIMALS), round(cosine, _DECIMALS)
            for owner in self.owners(row):
                if level == "concept" and owner.number in seen:
                    continue
                seen.add(owner.number)
                if given != before:
                    rank, before = (len(offered) + 1 if level == "concept" else place), given
                label = Rule.EMBEDDING.label
                offered.append(Candidate(owner.entity_id, owner.preferred, owner.name.text, score, rank, label, row))
        kept = tuple(candidate for candidate in offered if candidate.rank <= k)
        return Prediction(
            document.id,
            Mention(one.proposal.spans, one.proposal.text),
            kept,
            ambiguous=len(kept) > 1 and kept[1].rank == 1,
            abstained=kept[0].score < floor,
            probability=round(one.probability, _DECIMALS),
        )


def are_apart(name: str, phrase: str) -> bool:
    """Whether a word of a name cannot stand beside one of a phrase, however near their vectors are."""
    return are_opposites(name, phrase) or is_narrower(name, phrase)


def unshared(terms: Sequence[Term], others: Sequence[Term]) -> list[Term]:
    """Those of which the others do not have all families."""
    shared = {part for other in others for part in other.families}
    return [term for term in terms if not shared.issuperset(term.families)]


def select(judged: Sequence[Judged]) -> list[Judged]:
    """The likeliest of phrases that overlap, in order of start.

    Of an enumeration the listed parts overlap nothing but their own words, as they share the last one.
    """
    kept: list[Judged] = []
    for one in sorted(judged, key=lambda each: (-each.probability, each.proposal.spans)):
        start, end = one.proposal.spans[0]
        if all(end <= first or last <= start for first, last in (other.proposal.spans[0] for other in kept)):
            kept.append(one)
    return sorted(kept, key=lambda each: (each.proposal.spans[0][0], -each.proposal.spans[-1][1]))
