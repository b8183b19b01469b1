"""The arrays of a trie in torch: the same steps, in a fixed number of operations whatever the nodes are."""

from __future__ import annotations

import numpy as np
import pytest

from nomina.generation.grown import GrownTrie
from nomina.generation.layers import layered
from nomina.generation.trie import FlatTrie, Trie

torch = pytest.importorskip("torch", reason="needs the extra train")
pytestmark = pytest.mark.extras

END = 1


def trie_of(paths: np.ndarray, first_row: int) -> FlatTrie:
    flat = np.hstack([paths, np.full((len(paths), 1), END)])
    return FlatTrie(layered(flat.reshape(-1), np.full(len(flat), flat.shape[1]), first_row + np.arange(len(flat))))


def stepped(trie: Trie, nodes: np.ndarray, tokens: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """``Trie.step`` with what ``Trie.edges`` gives."""
    found = trie.edges()
    first, token, targets = (torch.from_numpy(part) for part in (found.first, found.tokens, found.targets))
    asked, mask = torch.from_numpy(tokens), torch.from_numpy(allowed)
    node = torch.from_numpy(nodes)
    inner = node.clamp(min=0)
    edge = first[inner].long().clamp(max=len(token) - 1)
    left = (first[inner + 1] - first[inner]).long()
    known = (left > 0) & (node >= 0)
    for _ in range(found.widest.bit_length()):
        half = left >> 1
        edge = edge + half * (token[edge + half] <= asked)
        left = left - half
    behind = (edge - found.plain).clamp(min=0)
    target = torch.where(edge < found.plain, edge + 1, targets[behind].long()) if len(targets) else edge + 1
    return torch.where(known & (token[edge] == asked) & mask[target], target, -1).numpy()


@pytest.mark.parametrize("grown", [False, True])
def test_steps_are_those_of_numpy(grown: bool) -> None:
    rng = np.random.default_rng(0)
    paths = rng.integers(2, 60, (3000, 3)) * np.array([1, 1, 900])
    trie: Trie = GrownTrie(trie_of(paths[:2900], 0), trie_of(paths[2900:], 2900)) if grown else trie_of(paths, 0)
    within = trie.within(rng.random(3000) < 0.5)
    nodes = np.append(rng.integers(-1, trie.size, 5000), np.full(500, trie.root))
    tokens = rng.integers(0, 60, len(nodes)) * rng.choice([1, 900], len(nodes))
    tokens[::9] = END
    expected = trie.step(nodes, tokens, within)
    assert (expected >= 0).sum() > 200
    assert stepped(trie, nodes, tokens, within.nodes).tolist() == expected.tolist()
