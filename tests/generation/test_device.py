"""The trie as tensors: against the look-ups of numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nomina.errors import UsageError
from nomina.generation.grown import GrownTrie
from nomina.generation.layers import layered
from nomina.generation.trie import FlatTrie

torch = pytest.importorskip("torch", reason="needs the extra train")
pytestmark = pytest.mark.extras

from nomina.generation.device import DeviceTrie, Marked  # noqa: E402

END = 1


def trie_of(paths: list[list[int]], first_row: int = 0) -> FlatTrie:
    flat = np.array([token for path in paths for token in [*path, END]])
    lengths = np.array([len(path) + 1 for path in paths])
    return FlatTrie(layered(flat, lengths, first_row + np.arange(len(paths))))


def many(n: int) -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [rng.integers(2, 40, rng.integers(1, 6)).tolist() for _ in range(n)]


def edges_of(trie: DeviceTrie, nodes: np.ndarray, width: int, marked: Marked | None) -> list[list[tuple[int, int]]]:
    edges, there = trie.children(torch.from_numpy(nodes)[:, None], width, marked)
    tokens, targets = trie.tokens(edges)[:, 0], trie.targets(edges)[:, 0]
    return [
        list(zip(t[k].tolist(), n[k].tolist(), strict=True))
        for t, n, k in zip(tokens, targets, there[:, 0], strict=True)
    ]


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize("retired", [False, True])
@pytest.mark.parametrize("restricted", [False, True])
def test_children_are_those_of_numpy(grown: bool, retired: bool, restricted: bool) -> None:
    paths = many(1500)
    trie = GrownTrie(trie_of(paths[:1400]), trie_of(paths[1400:], 1400)) if grown else trie_of(paths)
    rng = np.random.default_rng(1)
    if retired:
        trie.retire(rng.random(1500) < 0.7)
    within = trie.within(rng.random(1500) < 0.5) if restricted else None
    device = DeviceTrie(trie, "cpu", 40)
    nodes = np.arange(-1, trie.size)
    tokens, targets, offsets = trie.children(nodes, within)
    expected = [
        list(zip(tokens[a:b].tolist(), targets[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(offsets)
    ]
    assert sum(map(len, expected)) > 500
    assert edges_of(device, nodes, max(device.widths) + 3, device.marked(within, len(nodes))) == expected
    leaves = trie.rows_of(nodes[1:])[1]
    if not retired:
        assert device.are_leaves(torch.from_numpy(nodes[1:])).tolist() == (np.diff(leaves) > 0).tolist()


def test_widths_are_the_most_children_of_each_depth() -> None:
    device = DeviceTrie(trie_of([[5], [5, 6], [5, 7], [8, 9], [8, 9, 9]]), "cpu", 10)
    # Root: 5, 8. Behind 5: the end, 6, 7; behind 8: 9. Behind "8 9": the end, 9. Then the end alone.
    assert device.widths == (2, 3, 2, 1)
    assert device.depth == 4


def test_depths_of_a_grown_trie() -> None:
    main, delta = trie_of([[5, 6], [7]]), trie_of([[5, 6, 7, 8]], 2)
    device = DeviceTrie(GrownTrie(main, delta), "cpu", 10)
    assert device.root == main.size
    assert device.depths(np.array([device.root, device.root + 1, device.root + 4])).tolist() == [0, 1, 4]
    assert device.depths(np.arange(main.size)).tolist() == [0, 1, 1, 2, 2, 3]
    assert device.depth == 5


def test_each_mention_has_its_own_restriction() -> None:
    trie = trie_of([[5], [6], [7]])
    first, second = trie.within(np.array([True, False, False])), trie.within(np.array([False, True, True]))
    device = DeviceTrie(trie, "cpu", 10)
    marked = device.marked([first, second, None, first], 4)
    assert marked is not None
    assert len(marked.nodes) == 3
    found = edges_of(device, np.zeros(4, np.int64), 3, marked)
    assert [[token for token, _ in each] for each in found] == [[5], [6, 7], [5, 6, 7], [5]]


def test_joined_restrictions_stay_with_their_mentions_and_unused_ones_go() -> None:
    trie = trie_of([[5], [6], [7]])
    first, second, third = (trie.within(np.arange(3) == row) for row in range(3))
    device = DeviceTrie(trie, "cpu", 10)
    several = device.marked([first, second, third], 3)
    assert several is not None
    kept = Marked(several.nodes, several.which[[2, 0]])
    one = device.marked(third, 2)
    found = device.joined([kept, None, one, one], [2, 1, 2, 2])
    assert found is not None
    assert len(found.nodes) == 2 + 1 + 1
    tokens = [[token for token, _ in each] for each in edges_of(device, np.zeros(7, np.int64), 3, found)]
    assert tokens == [[7], [5], [5, 6, 7], [7], [7], [7], [7]]
    assert device.joined([None, None], [2, 3]) is None


def test_no_restriction_is_no_table() -> None:
    device = DeviceTrie(trie_of([[5]]), "cpu", 10)
    assert device.marked(None, 3) is None
    assert device.marked([None, None], 2) is None


def test_tokens_that_the_decoder_does_not_score() -> None:
    with pytest.raises(UsageError, match="make it with its tokenizer"):
        DeviceTrie(trie_of([[5], [12]]), "cpu", 12)
