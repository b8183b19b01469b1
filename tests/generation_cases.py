"""A made-up generator whose decoder is a few matrix products, and the scores of all names by brute force."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nomina.generation.generator import Decoding, Generator, Memory
from nomina.generation.layers import layered
from nomina.generation.manifest import Writing
from nomina.generation.search import Batch
from nomina.generation.trie import FlatTrie

PAD, END = 0, 1


class Small(Generator):
    """A recurrent decoder: its state is mixed with each token, and all that was written counts.

    ``keen`` makes probabilities peaked, as those of a trained model.
    """

    kind = "small"

    def __init__(self, vocabulary: int, seed: int = 0, keen: float = 3.0, width: int = 16) -> None:
        dice = torch.Generator().manual_seed(seed)
        words = torch.randn(vocabulary, width, generator=dice)
        mixing = torch.randn(width, width, generator=dice) / width**0.5
        out = torch.randn(width, vocabulary, generator=dice) * keen / width**0.5
        self.module = nn.ParameterDict({"words": words, "mixing": mixing, "out": out})
        self.vocabulary, self.longest = vocabulary, 64
        self.writing = Writing(PAD, None, END, (PAD,))
        self.asked = self.steps = 0

    def encode(self, ids: Tensor, mask: Tensor) -> Memory:
        self.asked += len(ids)
        found = self.module["words"][ids] * mask[..., None]
        return Memory(found.sum(1, keepdim=True), mask[:, :1])

    def decoding(self, memory: Memory, prefixes: Tensor, prefix_mask: Tensor, beams: int, most: int) -> Decoding:
        return SmallDecoding(self, memory, prefixes, prefix_mask, beams)

    def mixed(self, state: Tensor, tokens: Tensor) -> Tensor:
        return torch.tanh(state @ self.module["mixing"] + self.module["words"][tokens])

    def options(self) -> dict[str, Any]:
        return {}

    def weights(self) -> dict[str, Tensor]:
        return {}

    def _config(self) -> str:
        return ""

    @classmethod
    def load(cls, folder: Any, writing: Any, **options: Any) -> Any:
        raise NotImplementedError


def taught(generator: Small, names: Sequence[Sequence[int]], rounds: int = 250) -> None:
    """Train it to write names of which it reads the tokens, one of them or none left out."""
    dice = torch.Generator().manual_seed(0)
    ids, mask = noisy(names, dice)
    length = ids.shape[1] + 1
    targets = torch.tensor([[*name, *[END] * (length - len(name))] for name in names])
    counts = torch.tensor([len(name) + 1 for name in names])
    best = torch.optim.Adam(generator.module.parameters(), 0.02)
    for _ in range(rounds):
        ids, mask = noisy(names, dice)
        decoding = generator.decoding(generator.encode(ids, mask), targets[:, :0], mask[:, :0], 1, length)
        steps = [decoding.logits, *(decoding.step(targets[:, i : i + 1])[:, 0] for i in range(length - 1))]
        losses = nn.functional.cross_entropy(torch.stack(steps, 2), targets, reduction="none")
        best.zero_grad()
        losses[torch.arange(length) < counts[:, None]].mean().backward()
        best.step()
    generator.module.requires_grad_(False)


def noisy(names: Sequence[Sequence[int]], dice: torch.Generator) -> tuple[Tensor, Tensor]:
    """The tokens of names as sources, half of those of two or more without one token."""
    longest = max(map(len, names))
    ids = torch.tensor([[*name, *[PAD] * (longest - len(name))] for name in names])
    lengths = torch.tensor([len(name) for name in names])
    mask = torch.arange(longest) < lengths[:, None]
    lost = (torch.rand(len(names), generator=dice) * lengths).long()
    chosen = (torch.rand(len(names), generator=dice) < 0.5) & (lengths > 1)
    return ids, mask & ~(chosen[:, None] & (torch.arange(longest) == lost[:, None]))


class SmallDecoding(Decoding):
    def __init__(self, generator: Small, memory: Memory, prefixes: Tensor, mask: Tensor, beams: int) -> None:
        self.generator = generator
        state = memory.hidden[:, 0]
        for column in range(prefixes.shape[1]):
            state = torch.where(mask[:, column, None], generator.mixed(state, prefixes[:, column]), state)
        self.logits = state @ generator.module["out"]
        self.state = state[:, None].expand(-1, beams, -1)

    def step(self, tokens: Tensor) -> Tensor:
        self.generator.steps += 1
        self.state = self.generator.mixed(self.state, tokens)
        return self.state @ self.generator.module["out"]

    def keep(self, mentions: Tensor) -> None:
        self.state = self.state[mentions]

    def join(self, others: Sequence[SmallDecoding]) -> None:
        self.state = torch.cat([self.state, *(other.state for other in others)])

    def reorder(self, parents: Tensor) -> None:
        self.state = self.state.gather(1, parents[..., None].expand(-1, -1, self.state.shape[-1]))


def trie_of(paths: Sequence[Sequence[int]], rows: Sequence[int] | None = None, first_row: int = 0) -> FlatTrie:
    """Of paths without their end."""
    flat = np.array([token for path in paths for token in [*path, END]], np.int64)
    lengths = np.array([len(path) + 1 for path in paths], np.int64)
    owners = first_row + np.arange(len(paths)) if rows is None else np.array(rows)
    return FlatTrie(layered(flat, lengths, owners))


def names_of(n: int, vocabulary: int, seed: int = 0, longest: int = 6) -> list[tuple[int, ...]]:
    """Distinct made names, many of which begin alike."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[int, ...], None] = {}
    while len(found) < n:
        length = rng.integers(1, longest)
        tokens = 2 + rng.integers(0, (vocabulary - 2) ** rng.random(length), endpoint=False).astype(int)
        found[tuple(np.minimum(tokens, vocabulary - 1).tolist())] = None
    return list(found)


def batch_of(n: int, vocabulary: int, seed: int = 0) -> Batch:
    """Made sources of different lengths, and prefixes of different lengths."""
    rng = np.random.default_rng(seed)
    ids, lengths = rng.integers(2, vocabulary, (n, 7)), rng.integers(2, 8, n)
    mask = np.arange(7) < lengths[:, None]
    prefix_mask = np.arange(4) >= rng.integers(0, 4, n)[:, None]
    prefixes = np.where(prefix_mask, rng.integers(2, vocabulary, (n, 4)), PAD)
    return Batch(*map(torch.from_numpy, (np.where(mask, ids, PAD), mask, prefixes, prefix_mask)))


@torch.inference_mode()
def every_sum(
    generator: Generator, batch: Batch, paths: Sequence[Sequence[int]], renormalise: FlatTrie | None = None
) -> np.ndarray:
    """Summed log-probability of every name, (n, names), one at a time; among the trie's children where one is given."""
    memory = generator.encode(batch.ids, batch.mask)
    found = np.zeros((len(batch.ids), len(paths)))
    for j, path in enumerate(paths):
        decoding = generator.decoding(memory, batch.prefixes, batch.prefix_mask, 1, len(path) + 1)
        logits = decoding.logits
        for i, token in enumerate([*path, END]):
            if renormalise is not None:
                allowed = renormalise.children(np.array([renormalise.follow(path[:i])])).tokens
                logits = torch.full_like(logits, -torch.inf).index_copy(1, torch.tensor(allowed), logits[:, allowed])
            found[:, j] += logits.log_softmax(-1)[:, token].double().numpy()
            if token != END:
                logits = decoding.step(torch.full((len(logits), 1), token))[:, 0]
    return found


@torch.inference_mode()
def best_first(generator: Generator, batch: Batch, trie: FlatTrie, i: int, k: int) -> list[tuple[int, float]]:
    """The k best leaves of mention i and their sums: always goes on with the best unfinished name. Exact."""
    one = Batch(*(part[i : i + 1] for part in batch))
    memory = generator.encode(one.ids, one.mask)
    heap: list[tuple[float, int, tuple[int, ...]]] = [(0.0, trie.root, ())]
    found: list[tuple[int, float]] = []
    while heap and len(found) < k:
        minus, node, tokens = heapq.heappop(heap)
        if tokens and tokens[-1] == END:
            found.append((node, -minus))
            continue
        decoding = generator.decoding(memory, one.prefixes, one.prefix_mask, 1, len(tokens) + 1)
        logits = decoding.logits[0]
        for token in tokens:
            logits = decoding.step(torch.tensor([[token]]))[0, 0]
        scores = logits.log_softmax(-1).tolist()
        following = trie.children(np.array([node]))
        for token, target in zip(following.tokens.tolist(), following.nodes.tolist(), strict=True):
            heapq.heappush(heap, (minus - scores[token], target, (*tokens, token)))
    return found
