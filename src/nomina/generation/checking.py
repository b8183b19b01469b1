"""Whether what a generator was made of goes together: else it would rank wrongly, or nothing, without a word."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import torch

from nomina.errors import ArtifactError
from nomina.generation.generator import Generator


def check(generator: Generator, folder: str | Path) -> None:
    """Look at special tokens, tokenizer and weights; ``folder`` is named in messages.

    Raises:
        ArtifactError: special tokens, or tokens of the tokenizer, that the model does not have; weights that are no
            finite numbers.
    """
    writing, known = generator.writing, generator.vocabulary
    special = [writing.pad_id, writing.bos_id or 0, writing.eos_id, *writing.start]
    if not all(0 <= token < known for token in special):
        raise ArtifactError(
            f"{folder} names special tokens that the model, which has {known:,} tokens, does not have: name a folder"
            " that has been saved"
        )
    highest = max(generator.tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
    if highest >= known:
        raise ArtifactError(
            f"{folder} has a tokenizer with token {highest:,}, where the model knows {known:,} tokens: put the"
            " tokenizer there that it was trained with"
        )
    for name, weight in chain(generator.module.named_parameters(), generator.module.named_buffers()):
        if not torch.isfinite(weight).all():
            raise ArtifactError(f"{folder} has weights that are no finite numbers ({name}): train or fetch it again")
