"""Pairs as tokens: a mention in its context, how its answer begins, a right and a wrong answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nomina.errors import RecipeError
from nomina.generation.prompt import Prompt, Prompted
from nomina.training.answers import answers_of
from nomina.training.examples import Ints
from nomina.training.kb_text import KbText
from nomina.training.pieces import Pieces
from nomina.training.preference.pairs import Pairs


@dataclass(frozen=True, slots=True)
class PairExamples:
    """n pairs as numbers of pieces; each (n, some).

    Attributes:
        pieces: what sequences are made of.
        source: what is read.
        prefix: how both answers begin.
        chosen, rejected: the names, without their ends.

    Raises:
        RecipeError: there are no pairs.
    """

    pieces: Pieces
    source: Ints
    prefix: Ints
    chosen: Ints
    rejected: Ints

    def __post_init__(self) -> None:
        if not self.count:
            raise RecipeError("there is no pair of a right and a wrong name to learn from")

    @property
    def count(self) -> int:
        """How many."""
        return len(self.source)

    def take(self, which: Ints) -> PairExamples:
        """Some of them."""
        parts = (self.source, self.prefix, self.chosen, self.rejected)
        return PairExamples(self.pieces, *(part[which] for part in parts))

    @classmethod
    def of_mentions(
        cls, prompted: Sequence[Prompted], pairs: Pairs, texts: Sequence[str], prompt: Prompt
    ) -> PairExamples:
        """Pairs of mentions of a corpus.

        Args:
            prompted: the tokens of each mention.
            pairs: see there.
            texts: the name of each row.
            prompt: how names are tokenised.

        Raises:
            RecipeError: there are no pairs, or a name of one cannot be written.
        """
        pieces = Pieces()
        source, prefix = (pieces.add(list(part)) for part in zip(*prompted, strict=True))
        rows, place = np.unique(np.stack([pairs.chosen, pairs.rejected]), return_inverse=True)
        chosen, rejected = pieces.add(answers_of(texts, rows, prompt)) + place.reshape(2, -1, 1)
        column = pairs.mention[:, None]
        return cls(pieces, source + column, prefix + column, chosen, rejected)

    @classmethod
    def of_names(cls, text: KbText, others: Ints) -> PairExamples:
        """Pairs of a KB's names: each as a mention of its own, its target, and similar names of other concepts.

        The source of a name is that of the first epoch, in all epochs: what a reference makes of it is computed once.

        Args:
            text: the names, best with ``similar`` targets.
            others: wrong names of each, (n, k), -1 where there are fewer; see ``Similar.others``.
        """
        numbers, column = np.nonzero(others >= 0)
        drawn = text.drawn(0)(text.places(0)[numbers])
        rejected = text.names(others[numbers, column])[:, None]
        return cls(text.pieces, drawn.source, drawn.prefix, drawn.target, rejected)
