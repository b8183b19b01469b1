"""The scores of given names: exact, without a search (GenBioEL, 2.1)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nomina.generation.generator import Generator, Memory
from nomina.generation.probabilities import log_probabilities
from nomina.generation.search import Batch, room
from nomina.generation.starts import Ints
from nomina.generation.trie import Trie

_TOGETHER = 16  # names of a mention that are scored side by side


def score_candidates(
    generator: Generator, trie: Trie, batch: Batch, rows: Ints, most: int | None = None
) -> NDArray[np.float32]:
    """The sums of given names, which a search among them alone would find with as many beams: exact, and no search.

    Args:
        generator: what scores tokens.
        trie: where the rows' paths are.
        batch: n mentions.
        rows: (n, c) of each mention, -1 where there are fewer.
        most: tokens of a name at most, its end included; None: as many as the decoder has positions for.

    Returns:
        float32, (n, c); -inf where there is no row, or one that is retired, has no path or is too long.
    """
    asked = rows.ravel()
    if trie.alive is not None:
        asked = np.where((asked >= 0) & trie.alive.rows[asked], asked, -1)
    tokens, lengths = trie.paths(asked)
    longest = room(generator, batch)
    fit = lengths <= (longest if most is None else min(most, longest))
    tokens, lengths = tokens[np.repeat(fit, lengths)], np.where(fit, lengths, 0)
    paths = np.zeros((rows.size, int(lengths.max(initial=0))), np.int64)
    paths[np.arange(paths.shape[1]) < lengths[:, None]] = tokens
    there = torch.from_numpy(lengths.reshape(rows.shape)).to(batch.ids.device)
    names = torch.from_numpy(paths.reshape(*rows.shape, paths.shape[1])).to(batch.ids.device)
    found: NDArray[np.float32] = score_paths(generator, batch, names, there).cpu().numpy()
    return found


def score_paths(generator: Generator, batch: Batch, paths: Tensor, lengths: Tensor) -> Tensor:
    """The summed log-probabilities of c names for each of n mentions, which share what is computed of the mention.

    Args:
        generator: what scores tokens.
        batch: n mentions.
        paths: int64, (n, c, l): tokens, the end included; any token behind a name.
        lengths: int64, (n, c): tokens of each name; of a name without any the sum is -inf.

    Returns:
        float32, (n, c).
    """
    sums = torch.where(lengths > 0, 0.0, -torch.inf)
    if not paths.numel():
        return sums
    with torch.inference_mode():
        memory = generator.encode(batch.ids, batch.mask)
        # By length, so that few steps are made for names that have ended.
        ordered, order = lengths.sort(1, descending=True)
        paths = paths.gather(1, order[..., None].expand_as(paths))
        found = [
            _written(generator, memory, batch, part, until)
            for part, until in zip(torch.split(paths, _TOGETHER, 1), torch.split(ordered, _TOGETHER, 1), strict=True)
        ]
        return sums + torch.zeros_like(sums).scatter(1, order, torch.cat(found, 1))


def _written(generator: Generator, memory: Memory, batch: Batch, paths: Tensor, lengths: Tensor) -> Tensor:
    """As ``score_paths``, of a few names; 0 for one without tokens."""
    sums, most = torch.zeros(lengths.shape, device=lengths.device), int(lengths.max())
    if not most:
        return sums
    decoding = generator.decoding(memory, batch.prefixes, batch.prefix_mask, lengths.shape[1], most)
    logits = decoding.logits[:, None].expand(-1, lengths.shape[1], -1)
    for place in range(most):
        if place:
            logits = decoding.step(paths[:, :, place - 1])
        tokens = paths[:, :, place]
        steps = log_probabilities(logits, tokens[..., None])[..., 0]
        sums += torch.where(place < lengths, steps, 0.0)
    return sums
