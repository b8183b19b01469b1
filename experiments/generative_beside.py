"""What is trained beside a fine-tuning of ``generative.py``, batch by batch (``--mix``, ``--mix-of``).

- dictionary: the names of the corpus's dictionary as pre-training text: a name is written for its synonyms
- names: the same of all diseases and findings of the open terminologies
- lay: the same of HPO's concepts that have a lay name (``lay.tsv.xz``)
- metric: SapBERT's loss over pairs of the dictionary's synonyms, on the generator's encoder; a name's vector is the
  mean of the last layer over its tokens
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from align_data import rows
from generative_eval import Dictionary
from torch import Tensor, nn

from nomina.encoders.base import token_ids
from nomina.generation.generator import Generator
from nomina.generation.prompt import Prompt
from nomina.text import normalise
from nomina.training.align import AlignOptions, SelfAlignment
from nomina.training.examples import Pairs, TokenTable
from nomina.training.kb_text import KbText, Named, TextOptions
from nomina.training.loop import Objective
from nomina.training.seq2seq import Seq2SeqOptions, Seq2SeqTraining

BESIDE = ("dictionary", "names", "lay", "metric")
LENGTH = 32
"""Tokens of a name under the metric loss."""
PAIRS = 4
"""Pairs of a batch of it, for each mention of the fine-tuning's batches: it learns from what stands side by side."""


def beside(
    arguments: argparse.Namespace,
    generator: Generator,
    dictionary: Dictionary,
    prompt: Prompt,
    options: Seq2SeqOptions,
    say: Any,  # noqa: ANN401
) -> Objective[Any]:
    """The objective that ``--mix-of`` names; ``options`` are the fine-tuning's."""
    if arguments.mix_of == "metric":
        return EncoderAlignment(generator, [one.names for one in concepts_of(dictionary)], options)
    named = {"dictionary": lambda: concepts_of(dictionary), "names": lambda: diseases(arguments.data)}
    made = named.get(arguments.mix_of, lambda: lay(arguments.data))()
    text = KbText(made, prompt, TextOptions(bare=float(arguments.no_context), seed=options.seed))
    say(f"{text.count} names to mix in")
    return Seq2SeqTraining(generator, text, options)


def concepts_of(dictionary: Dictionary) -> Iterator[Named]:
    """The concepts of a corpus's dictionary, without the corpus's mentions."""
    concepts = dictionary.concepts
    ends = np.searchsorted(concepts.concept, np.arange(len(concepts.ids) + 1))
    for first, end in pairwise(ends.tolist()):
        yield Named([concepts.texts[row] for row in concepts.row[first:end].tolist()])


def diseases(data: Path) -> Iterator[Named]:
    """The concepts of the open terminologies that are diseases or findings."""
    areas = {identifier: area for identifier, area, _ in rows(data / "concepts.tsv.xz")}
    return grouped(row for row in rows(data / "names.tsv.xz") if areas[row[0]] == "d")


def lay(data: Path) -> Iterator[Named]:
    """HPO's concepts that have a lay name, with all their names."""
    return grouped(rows(data / "lay.tsv.xz"))


def grouped(pairs: Iterable[list[str]]) -> Iterator[Named]:
    """Concepts out of rows of an id and a name."""
    names: dict[str, list[str]] = defaultdict(list)
    for identifier, name in pairs:
        names[identifier].append(name)
    return map(Named, names.values())


class EncoderAlignment(SelfAlignment):
    """A generator's encoder under SapBERT's metric loss; the generator's module is what is trained.

    Args:
        generator: one with an encoder of Hugging Face in front of its decoder.
        concepts: the names of each.
        options: of the fine-tuning, whose batch size and seed are taken.
    """

    def __init__(self, generator: Generator, concepts: list[list[str]], options: Seq2SeqOptions) -> None:
        texts: list[str] = []
        numbers = []
        for names in concepts:
            numbers.append(range(len(texts), len(texts) + len(names)))
            texts += map(normalise, names)
        table = TokenTable.of(tokenised(generator), texts)
        pairs = Pairs.of(numbers, seed=options.seed)
        how = AlignOptions(PAIRS * options.batch_size, seed=options.seed)
        super().__init__(tokenised(generator), table, pairs, len(texts), how)
        self.generator = generator

    def _encoded(self, batch: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        left, right, concept = torch.from_numpy(batch)
        chosen = torch.cat([left, right])
        ids, mask = self.table.batch(chosen)
        hidden = self.generator.encode(ids, mask).hidden.float()
        vectors = nn.functional.normalize((hidden * mask.unsqueeze(-1)).sum(dim=1), dim=-1)
        return vectors, torch.cat([concept, concept]).to(vectors.device, non_blocking=True), chosen


def tokenised(generator: Generator) -> Any:  # noqa: ANN401
    """What a table of tokens needs of an encoder, of a generator's."""

    def tokenise(texts: list[str]) -> list[list[int]]:
        ids = token_ids(generator.tokenizer, texts, special=True)
        return [row[: LENGTH - 1] + row[-1:] if len(row) > LENGTH else row for row in ids]

    return SimpleNamespace(
        module=generator.module,
        length=LENGTH,
        pad_id=generator.writing.pad_id,
        device=generator.device,
        tokenise=tokenise,
    )
