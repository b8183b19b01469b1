"""Synonyms-aware fine-tuning (GenBioEL, 2.3): which name of its concept a mention is to be written as.

Names are a KB's only. A KB that holds the corpus's own mentions as names, as the published dictionaries do, has the
mention itself for its most similar "synonym", and nothing is learnt from it: fine-tune on one without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nomina.errors import RecipeError
from nomina.generation.prompt import Prompt, Prompted
from nomina.linkers.postings import Postings, build, occurrences
from nomina.text import normalise
from nomina.training.examples import Ints
from nomina.training.names import Concepts
from nomina.training.pieces import Drawn, Examples, Pieces

Target = Literal["tfidf", "shortest", "random"]
NameSet = Literal["all", "shortest", "random"]


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """How targets are chosen; the defaults are the paper's.

    Attributes:
        target: "tfidf", the names most similar to the mention by character 3-grams; "shortest"; "random", one for each
            mention (table 4).
        top: of "tfidf", so many names, of which each epoch draws one.
        seed: of all that is random.
    """

    target: Target = "tfidf"
    top: int = 1
    seed: int = 0


def name_set(concepts: Concepts, kind: NameSet, seed: int = 0) -> Concepts:
    """The names that may be written: all, or of each concept the shortest or one at random (table 4)."""
    if kind == "all":
        return concepts
    if kind == "random":
        worth = np.random.default_rng([seed, 3]).random(len(concepts.row))
    else:
        worth = np.array([len(concepts.texts[row]) for row in concepts.row.tolist()], np.float64)
    order = np.lexsort((np.arange(len(worth)), worth, concepts.concept))
    _, first = np.unique(concepts.concept[order], return_index=True)
    chosen = np.zeros(len(worth), np.bool_)
    chosen[order[first]] = True
    return concepts.chosen(chosen)


class Similarity:
    """The cosine of texts by character 3-grams, weighted by TF-IDF over all names of a KB.

    Args:
        keys: the look-up key of each name.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._postings: Postings = build(keys)
        self._kept: dict[str, dict[int, float]] = {}

    def __call__(self, one: str, other: str) -> float:
        """Between 0 and 1, of two look-up keys."""
        left, right = sorted((self._vector(one), self._vector(other)), key=len)
        return sum(weight * right.get(gram, 0.0) for gram, weight in left.items())

    def _vector(self, key: str) -> dict[int, float]:
        if key not in self._kept:
            found, known = occurrences([key]), self._postings.grams
            places = np.searchsorted(known, found.grams).clip(max=max(len(known) - 1, 0))
            # A gram that no name has still makes a mention longer.
            unseen = math.log1p(self._postings.size)
            idf = np.where(known[places] == found.grams, self._postings.idf[places], unseen)
            weights = found.times * idf[found.gram]
            scaled = weights / max(float(np.sqrt((weights**2).sum())), 1e-9)
            self._kept[key] = dict(zip(found.grams[found.gram].tolist(), scaled.tolist(), strict=True))
        return self._kept[key]


def targets_of(mentions: Sequence[str], gold: Sequence[Ints], concepts: Concepts, options: TargetOptions) -> list[Ints]:
    """The rows of the names that each mention may be written as, best first; of a tie the first of the KB.

    Args:
        mentions: texts, abbreviations written out.
        gold: the concepts of each: any of them is right.
        concepts: the names that may be written.
        options: See there.

    Raises:
        RecipeError: a mention's concepts have no name.
    """
    first = np.searchsorted(concepts.concept, np.arange(len(concepts.ids) + 1))
    rng = np.random.default_rng([options.seed, 4])
    similar = Similarity([normalise(text) for text in concepts.texts]) if options.target == "tfidf" else None
    known: dict[tuple[str, tuple[int, ...]], Ints] = {}
    found = []
    for text, own in zip(mentions, gold, strict=True):
        rows = np.concatenate([concepts.row[first[c] : first[c + 1]] for c in own.tolist()] or [np.zeros(0, np.int64)])
        if not len(rows):
            raise RecipeError("the concepts of a mention have no name in the KB: leave such mentions out")
        if options.target == "random":
            found.append(rng.choice(rows, 1))
            continue
        key = normalise(text), tuple(own.tolist())
        if key not in known:
            known[key] = _best(key[0], rows, concepts.texts, similar)[: options.top if similar else 1]
        found.append(known[key])
    return found


def _best(mention: str, rows: Ints, texts: Sequence[str], similar: Similarity | None) -> Ints:
    """Rows by similarity to a mention, else by length; each once."""
    rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
    if similar is None:
        worth = np.array([len(texts[row]) for row in rows.tolist()], np.float64)
    else:
        worth = -np.array([similar(mention, normalise(texts[row])) for row in rows.tolist()])
    best: Ints = rows[np.argsort(np.round(worth, 6), kind="stable")]
    return best


class MentionExamples(Examples):
    """Mentions of a corpus with the names that they are to be written as; an epoch has each mention once.

    Args:
        prompted: the tokens of each mention.
        targets: the rows of the names that each may be written as.
        texts: the name of each row.
        prompt: how names are tokenised.
        seed: of the choice among several targets.

    Raises:
        RecipeError: there are no mentions.
    """

    def __init__(
        self, prompted: Sequence[Prompted], targets: Sequence[Ints], texts: Sequence[str], prompt: Prompt, seed: int = 0
    ) -> None:
        if not prompted:
            raise RecipeError("there is no mention to train on")
        self.pieces, self.count, self._seed = Pieces(), len(prompted), seed
        self._source = self.pieces.add(found.source for found in prompted)
        self._prefix = self.pieces.add(found.prefix for found in prompted)
        rows = np.unique(np.concatenate(list(targets)))
        names = prompt.tokens([" ".join(texts[row].lower().split()) for row in rows.tolist()], prompt.before)
        first = self.pieces.add(names)
        self._many = np.array([len(several) for several in targets])
        self._from = np.cumsum(self._many) - self._many
        self._targets = first + np.searchsorted(rows, np.concatenate(list(targets)))

    def drawn(self, epoch: int) -> Callable[[Ints], Drawn]:
        """See ``Examples.drawn``: by number the mentions in their order."""
        chance = np.random.default_rng([self._seed, epoch, 5]).random(self.count)
        target = self._targets[self._from + (chance * self._many).astype(np.int64)]

        def examples(numbers: Ints) -> Drawn:
            column = numbers[:, None]
            return Drawn(self._source + column, self._prefix + column, target[numbers][:, None])

        return examples
