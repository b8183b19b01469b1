"""What a round of negative-aware training starts with, computed once and kept: its pairs, what the reference says.

A round (ANGEL 3.2) is: a model ranks names for the training mentions, pairs are made of what it got wrong, and it is
trained on them with itself, as it was, as the frozen reference. One round is the default. In another one the reference
is either the same one or, refreshed, what the last round made: give ``kept_reference`` the generator that it is to be.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nomina.generation.generator import Generator
from nomina.generation.grown import GrownTrie
from nomina.generation.trie import FlatTrie
from nomina.kb.store import KnowledgeBase
from nomina.training.names import Concepts
from nomina.training.preference.examples import PairExamples
from nomina.training.preference.kept import fingerprint, kept
from nomina.training.preference.mining import Mentions, MineOptions, Progress, mine
from nomina.training.preference.objective import Floats, reference_of
from nomina.training.preference.pairs import Pairs


def kept_pairs(
    path: Path,
    generator: Generator,
    kb: KnowledgeBase,
    trie: FlatTrie | GrownTrie,
    concepts: Concepts,
    mentions: Mentions,
    options: MineOptions | None = None,
    progress: Progress | None = None,
    within: NDArray[np.bool_] | None = None,
) -> Pairs:
    """``mine``, or what it has written to ``path`` for the same weights, KB, mentions and options.

    Raises:
        ArtifactError: the file cannot be written.
        RecipeError: see ``mine``.
    """
    options = options or MineOptions()
    parts = told(kb, concepts, mentions, options, within)
    return Pairs(
        *kept(
            path,
            fingerprint(generator.module, parts),
            lambda: mine(generator, kb, trie, concepts, mentions, options, progress, within),
        )
    )


def told(
    kb: KnowledgeBase,
    concepts: Concepts,
    mentions: Mentions,
    options: MineOptions,
    within: NDArray[np.bool_] | None,
) -> list[object]:
    """What pairs depend on beside a model's weights, for ``fingerprint``."""
    lists = [[one.source for one in mentions.prompted], [one.prefix for one in mentions.prompted], mentions.gold]
    flat = chain.from_iterable(map(_flat, lists))
    return [kb.fingerprint, options, list(mentions.keys), concepts.row, *flat, within]


def kept_reference(
    path: Path, generator: Generator, pairs: PairExamples, batch_size: int = 64, *, bf16: bool = False
) -> Floats:
    """``reference_of``, or what it has written to ``path`` for the same weights and pairs.

    Raises:
        ArtifactError: the file cannot be written.
    """
    sequences = np.hstack([pairs.source, pairs.prefix, pairs.chosen, pairs.rejected])
    table, lengths = pairs.pieces.table(sequences, generator.pad_id)
    made_of = fingerprint(generator.module, [bf16, table, lengths, pairs.pieces.lengths(pairs.source)])
    (reference,) = kept(path, made_of, lambda: [reference_of(generator, pairs, batch_size, bf16=bf16)])
    return reference


def _flat(lists: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: ANN401
    """Lists of numbers as one array, and their lengths."""
    lengths = np.array([len(one) for one in lists], np.int64)
    return np.concatenate([np.zeros(0, np.int64), *(np.asarray(one, np.int64) for one in lists)]), lengths
