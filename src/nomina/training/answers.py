"""Names as answers: the very tokens that a KB's trie has of them, so that what is learnt can be written. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nomina.errors import RecipeError
from nomina.generation.prompt import Prompt
from nomina.generation.spelling import Spelling
from nomina.training.examples import Ints
from nomina.training.names import Concepts

_CHUNK = 1 << 16


def answers(prompt: Prompt) -> Callable[[Sequence[str]], list[list[int]]]:
    """What gives the tokens of raw names without the end; none of a name that has no path in a trie (``Spelling``).

    Args:
        prompt: of the generator; the last token of its sources is the one that ends names.
    """
    end = prompt.tokenizer.id_to_token(prompt.tail[-1]) or ""
    spelling = Spelling(prompt.tokenizer, end, prompt.before, prompt.lower)

    def tokens(names: Sequence[str]) -> list[list[int]]:
        flat, lengths = spelling.tokens(names)
        listed, stops = flat.tolist(), np.cumsum(lengths)
        starts = stops - lengths
        ends = np.maximum(stops - 1, starts)
        return [listed[start:stop] for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)]

    return tokens


def answers_of(texts: Sequence[str], rows: Ints, prompt: Prompt) -> list[list[int]]:
    """The tokens of the names of some rows, without the end.

    Raises:
        RecipeError: one of them cannot be written; see ``writable``.
    """
    found = answers(prompt)([texts[row] for row in rows.tolist()])
    if not all(found):
        raise RecipeError("the model has no token of a name that it is to write: leave such names out")
    return found


def writable(concepts: Concepts, prompt: Prompt) -> Concepts:
    """Without the names that cannot be written."""
    can, rows, tokens = np.zeros(len(concepts.texts), np.bool_), np.unique(concepts.row), answers(prompt)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        can[chunk] = [bool(name) for name in tokens([concepts.texts[row] for row in chunk.tolist()])]
    return concepts.chosen(can[concepts.row])
