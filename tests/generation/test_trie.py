"""Tries against the plain set of their paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trie_cases import walked

from nomina.generation.grown import GrownTrie
from nomina.generation.layers import layered
from nomina.generation.trie import FlatTrie

END = 1

# Few tokens make many shared prefixes and names alike; the last two do not fit in 16 bits, or are BART's highest.
TOKENS = st.sampled_from([0, 2, 3, 4, 50_264, 65_535, 70_000])
NAMES = st.lists(st.lists(TOKENS, min_size=1, max_size=5).map(tuple), min_size=1, max_size=30)


def trie_of(names: Iterable[tuple[int, ...]], first_row: int = 0) -> FlatTrie:
    paths = [(*name, END) for name in names]
    flat = np.array([token for path in paths for token in path], np.uint32)
    return FlatTrie(layered(flat, np.array(list(map(len, paths))), first_row + np.arange(len(paths))))


def grown_of(names: list[tuple[int, ...]], main: int) -> GrownTrie:
    return GrownTrie(trie_of(names[:main]), trie_of(names[main:], main))


def rows_by_path(names: Iterable[tuple[int, ...]], kept: Iterable[int]) -> dict[tuple[int, ...], list[int]]:
    """The oracle: the rows of each path."""
    names, found = list(names), defaultdict(list)
    for row in sorted(kept):
        found[(*names[row], END)].append(row)
    return dict(found)


def mask_of(size: int, rows: Iterable[int]) -> np.ndarray:
    mask = np.zeros(size, np.bool_)
    mask[list(rows)] = True
    return mask


@given(NAMES)
def test_the_paths_are_exactly_the_names_and_each_has_its_rows(names) -> None:
    assert walked(trie_of(names)) == rows_by_path(names, range(len(names)))


def test_a_trie_by_hand() -> None:
    arrays = trie_of([(3, 2), (3,), (2,), (3, 2)]).arrays
    # Root 0: 2 -> 1, 3 -> 2. Node 1: end -> 3. Node 2: end -> 4, 2 -> 5. Node 5: end -> 6.
    assert arrays.levels.tolist() == [0, 1, 3, 6, 7]
    assert arrays.tokens.tolist() == [2, 3, END, END, 2, END]
    assert arrays.starts.at(np.arange(8)).tolist() == [0, 2, 3, 5, 5, 5, 6, 6]
    assert (arrays.bases.tolist(), arrays.top.tolist()) == ([0], [0])
    assert (arrays.leaves.tolist(), arrays.rows.tolist()) == ([3, 4, 6, 6], [2, 1, 0, 3])
    assert [array.dtype.name for array in arrays] == ["int64", *["uint32"] * 4, "uint16", "uint16"]


def test_tokens_take_two_bytes_where_all_fit() -> None:
    assert trie_of([(50_264,), (65_535,)]).arrays.tokens.dtype == np.uint16
    assert trie_of([(50_264,), (65_536,)]).arrays.tokens.dtype == np.uint32


def test_one_name() -> None:
    trie = trie_of([(7, 8)])
    assert walked(trie) == {(7, 8, END): [0]}
    assert trie.follow([7, 8, END]) == 3
    assert trie.size == 4


def test_no_path_at_all_has_no_answers_and_is_no_error() -> None:
    trie = trie_of([])
    assert walked(trie) == {}
    assert trie.follow([7]) == -1
    assert trie.step(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
    assert trie.within(np.ones(3, np.bool_)).nodes.tolist() == [False]
    assert [part.tolist() for part in trie.paths(np.array([0, 5]))] == [[], [0, 0]]


@given(NAMES, st.lists(st.tuples(st.integers(-1, 60), TOKENS), min_size=1))
def test_a_step_leads_where_a_child_of_that_token_is(names, asked) -> None:
    trie = trie_of(names)
    nodes = np.array([min(node, trie.size - 1) for node, _ in asked])
    tokens = np.array([token for _, token in asked])
    found, following, offsets = trie.children(nodes)
    expected = []
    for i, token in enumerate(tokens.tolist()):
        of = slice(offsets[i], offsets[i + 1])
        expected.append(dict(zip(found[of].tolist(), following[of].tolist(), strict=True)).get(token, -1))
    assert trie.step(nodes, tokens).tolist() == expected


@given(NAMES, st.lists(TOKENS, max_size=6))
def test_behind_a_forced_prefix_are_the_names_that_begin_so(names, prefix) -> None:
    trie = trie_of(names)
    every = rows_by_path(names, range(len(names)))
    expected = {path[len(prefix) :]: rows for path, rows in every.items() if list(path[: len(prefix)]) == prefix}
    node = trie.follow(prefix)
    assert (walked(trie, root=node) if node >= 0 else {}) == expected
    assert (node == -1) == (expected == {})


def test_nothing_follows_no_node_and_no_leaf() -> None:
    trie = trie_of([(3, 2), (3,)])
    nodes = np.array([-1, trie.follow([3, END]), trie.follow([3]), -1])
    tokens, following, offsets = trie.children(nodes)
    assert offsets.tolist() == [0, 0, 0, 2, 2]
    assert tokens.tolist() == [END, 2]
    table = trie.allowed(nodes, 3)
    assert table.tokens.tolist() == [[-1] * 3, [-1] * 3, [END, 2, -1], [-1] * 3]
    assert table.nodes.tolist() == [[-1] * 3, [-1] * 3, [*following.tolist(), -1], [-1] * 3]
    assert table.counts.tolist() == [0, 0, 2, 0]
    assert trie.step(nodes, np.array([3, 3, 2, END])).tolist() == [-1, -1, following[1], -1]


def test_a_table_narrower_than_what_is_allowed_says_how_much_there_is() -> None:
    table = trie_of([(token,) for token in (5, 3, 9)]).allowed(np.array([0, 0]), 2)
    assert table.tokens.tolist() == [[3, 5], [3, 5]]
    assert table.counts.tolist() == [3, 3]


@given(NAMES, st.data())
def test_a_mask_leaves_exactly_the_names_of_its_rows(names, data) -> None:
    kept = data.draw(st.sets(st.integers(0, len(names) - 1)))
    trie = trie_of(names)
    within = trie.within(mask_of(len(names), kept))
    assert walked(trie, within) == rows_by_path(names, kept)
    for name in names:
        alive = any(names[row][:1] == name[:1] for row in kept)
        assert (trie.follow(name[:1], within) >= 0) == alive


@given(NAMES, st.data())
def test_an_added_trie_is_as_one_of_all_names(names, data) -> None:
    main = data.draw(st.integers(1, len(names)))
    if main == len(names):
        names = [*names, (2,)]
    retired = data.draw(st.sets(st.integers(0, len(names) - 1)))
    trie, live = grown_of(names, main), set(range(len(names))) - retired
    assert walked(trie) == rows_by_path(names, range(len(names)))
    trie.retire(mask_of(len(names), live))
    assert walked(trie) == rows_by_path(names, live)
    kept = data.draw(st.sets(st.integers(0, len(names) - 1)))
    assert walked(trie, trie.within(mask_of(len(names), kept))) == rows_by_path(names, kept & live)


@given(NAMES, st.data())
def test_steps_and_tables_of_an_added_trie_agree_with_its_children(names, data) -> None:
    trie = grown_of([*names, (2,)], data.draw(st.integers(1, len(names))))
    nodes = np.arange(-1, trie.size)
    tokens, following, offsets = trie.children(nodes)
    owners = np.repeat(nodes, np.diff(offsets))
    assert trie.step(owners, tokens).tolist() == following.tolist()
    assert (trie.step(nodes, np.full(len(nodes), 5)) == -1).all()
    table = trie.allowed(nodes, 8)
    assert table.tokens[table.tokens >= 0].tolist() == tokens.tolist()
    assert table.nodes[table.nodes >= 0].tolist() == following.tolist()


@given(NAMES, st.booleans(), st.data())
def test_the_path_of_a_row_is_its_name(names, grown, data) -> None:
    names = [*names, (2,)]
    trie = grown_of(names, data.draw(st.integers(1, len(names) - 1))) if grown else trie_of(names)
    rows = data.draw(st.lists(st.integers(0, len(names) + 1), min_size=1))
    tokens, lengths = trie.paths(np.array(rows))
    parts = np.split(tokens, np.cumsum(lengths)[:-1])
    expected = [[*names[row], END] if row < len(names) else [] for row in rows]
    assert [part.tolist() for part in parts] == expected


@given(NAMES, st.booleans(), st.data())
def test_each_mention_has_a_trie_of_its_candidates(names, grown, data) -> None:
    names = [*names, (2,)]
    trie = grown_of(names, data.draw(st.integers(1, len(names) - 1))) if grown else trie_of(names)
    retired = data.draw(st.sets(st.integers(0, len(names) - 1)))
    live = set(range(len(names))) - retired
    trie.retire(mask_of(len(names), live))
    asked = data.draw(st.lists(st.lists(st.integers(0, len(names) - 1), max_size=6), max_size=5))
    small, starts = trie.of_rows([np.array(rows, np.int64) for rows in asked])
    assert len(starts) == len(asked)
    for rows, start in zip(asked, starts.tolist(), strict=True):
        expected = rows_by_path(names, set(rows) & live)
        assert (walked(small, root=start) if start >= 0 else {}) == expected


@given(NAMES, st.booleans(), st.data())
def test_the_arrays_for_elsewhere_say_the_same(names, grown, data) -> None:
    names = [*names, (2,)]
    trie = grown_of(names, data.draw(st.integers(1, len(names) - 1))) if grown else trie_of(names)
    first, tokens, targets, plain, root, widest = trie.edges()
    assert (root, first.dtype, tokens.dtype) == (trie.root, np.int32, np.int32)
    assert widest == np.diff(first).max()
    for node in range(trie.size):
        edges = np.arange(first[node], first[node + 1])
        following = [e + 1 if e < plain else targets[e - plain] for e in edges.tolist()]
        children = trie.children(np.array([node]))
        assert (tokens[edges].tolist(), following) == (children.tokens.tolist(), children.nodes.tolist())


@given(NAMES, st.booleans(), st.data())
def test_names_longer_than_so_many_tokens(names, grown, data) -> None:
    main = data.draw(st.integers(1, len(names)))
    trie = grown_of(names, main) if grown and main < len(names) else trie_of(names)
    live = mask_of(len(names), data.draw(st.sets(st.integers(0, len(names) - 1))))
    for kept in (mask_of(len(names), range(len(names))), live):
        trie.retire(kept)
        for most in range(8):
            expected = [row for row, name in enumerate(names) if len(name) + 1 > most and kept[row]]
            assert sorted(trie.longer(most).tolist()) == expected


def test_retired_rows_share_a_leaf_with_live_ones() -> None:
    trie = trie_of([(3,), (3,), (4,)])
    trie.retire(np.array([False, True, False]))
    assert trie.rows_of(np.array([trie.follow([3, END])]))[0].tolist() == [1]
    assert trie.follow([4]) == -1


@pytest.mark.parametrize("field", ["levels", "leaves", "rows", "offsets", "tokens"])
def test_arrays_of_another_trie_are_not_whole(field: str) -> None:
    one, other = trie_of([(3, 2), (4,)]).arrays, trie_of([(3,), (4, 4, 2), (5,)]).arrays
    assert FlatTrie.is_whole(list(one), 2)
    assert not FlatTrie.is_whole(list(one._replace(**{field: getattr(other, field)})), 9)
    assert not FlatTrie.is_whole(list(one)[:-1], 2)
    assert not FlatTrie.is_whole(list(one), 1)
    assert not FlatTrie.is_whole(list(one._replace(**{field: getattr(one, field).astype(np.float32)})), 9)
    assert not FlatTrie.is_whole(list(one._replace(**{field: getattr(one, field)[:0]})), 9)
