"""Synonyms-aware fine-tuning (GenBioEL, 2.3): which name of its concept a mention is to be written as.

Names are a KB's only. A KB that holds the corpus's own mentions as names, as the published dictionaries do, has the
mention itself for its most similar "synonym", and nothing is learnt from it: fine-tune on one without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nomina.errors import RecipeError
from nomina.generation.prompt import Prompt, Prompted
from nomina.text import normalise
from nomina.training.answers import answers_of
from nomina.training.examples import Ints
from nomina.training.names import Concepts
from nomina.training.pieces import Drawn, Examples, Pieces
from nomina.training.similarity import SIMILARITIES, Similarity, similarity_of

Target = Literal["tfidf", "encoder", "sentence", "shortest", "random"]
NameSet = Literal["all", "shortest", "random"]

_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """How targets are chosen; the defaults are the paper's.

    Attributes:
        target: the names most similar to the mention, by one of ``SIMILARITIES`` ("tfidf": character 3-grams);
            "shortest"; "random", one for each mention (table 4).
        top: of similar names so many, of which each epoch draws one (ANGEL, figure A: 1, 3 or 5).
        seed: of all that is random.
        similarity: the folder of the encoder that says what is similar, where the target asks for one.
    """

    target: Target = "tfidf"
    top: int = 1
    seed: int = 0
    similarity: str = ""


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


def targets_of(mentions: Sequence[str], gold: Sequence[Ints], concepts: Concepts, options: TargetOptions) -> list[Ints]:
    """The rows of the names that each mention may be written as, best first; of a tie the first of the KB.

    Args:
        mentions: texts, abbreviations written out.
        gold: the concepts of each: any of them is right.
        concepts: the names that may be written.
        options: See there.

    Raises:
        ArtifactError: the folder of the similarity holds no encoder.
        RecipeError: a mention's concepts have no name, or the similarity needs a folder.
    """
    owned = _owned(concepts, {tuple(own.tolist()) for own in gold})
    keys = [(normalise(text), tuple(own.tolist())) for text, own in zip(mentions, gold, strict=True)]
    if options.target == "random":
        rng = np.random.default_rng([options.seed, 4])
        return [rng.choice(owned[own], 1) for _, own in keys]
    asked = dict(zip(reversed(keys), reversed(mentions), strict=True))
    rows_of = [owned[own] for _, own in asked]
    worth = _worth(list(asked.values()), rows_of, concepts.texts, options)
    top = options.top if options.target in SIMILARITIES else 1
    best = {
        key: rows[np.argsort(np.round(values, _DECIMALS), kind="stable")][:top]
        for key, rows, values in zip(asked, rows_of, worth, strict=True)
    }
    return [best[key] for key in keys]


def _owned(concepts: Concepts, groups: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Ints]:
    """The rows that some concepts have together, each once, in order."""
    first = np.searchsorted(concepts.concept, np.arange(len(concepts.ids) + 1))
    found = {}
    for own in groups:
        rows = np.concatenate([np.zeros(0, np.int64), *(concepts.row[first[c] : first[c + 1]] for c in own)])
        if not len(rows):
            raise RecipeError("the concepts of a mention have no name in the KB: leave such mentions out")
        found[own] = rows[np.sort(np.unique(rows, return_index=True)[1])]
    return found


def _worth(
    mentions: Sequence[str], rows: Sequence[Ints], texts: Sequence[str], options: TargetOptions
) -> list[NDArray[np.float64]]:
    """What the rows of each mention are sorted by, the best lowest: their similarity to it, or their lengths."""
    names = [[texts[row] for row in own.tolist()] for own in rows]
    if options.target not in SIMILARITIES:
        return [np.array([len(name) for name in own], np.float64) for own in names]
    similar: Similarity = similarity_of(options.target, texts, options.similarity)
    return [-values for values in similar(mentions, names)]


class MentionExamples(Examples):
    """Mentions of a corpus with the names that they are to be written as; an epoch has each mention once.

    Args:
        prompted: the tokens of each mention.
        targets: the rows of the names that each may be written as.
        texts: the name of each row.
        prompt: how names are tokenised.
        seed: of the choice among several targets.

    Raises:
        RecipeError: there are no mentions, or a target cannot be written.
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
        first = self.pieces.add(answers_of(texts, rows, prompt))
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
