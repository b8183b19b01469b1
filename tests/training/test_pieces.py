"""Sequences out of pieces: tokens, lengths, padding."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nomina.training.pieces import EMPTY, Pieces

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=8)


@given(ROWS, st.lists(st.lists(st.integers(0, 8), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(1, 4))
def test_a_sequence_is_its_pieces_one_after_the_other(rows, chosen, to):
    pieces = Pieces()
    assert pieces.add(rows) == 1
    wanted = [[token for i in row if i <= len(rows) for token in [[], *rows][i]] for row in chosen]
    numbers = np.array([[i if i <= len(rows) else EMPTY for i in row] for row in chosen])
    table, lengths = pieces.table(numbers, -1, to)
    assert pieces.lengths(numbers).tolist() == lengths.tolist() == [len(row) for row in wanted]
    assert table.shape[1] % to == 0
    assert table.shape[1] - max(1, *map(len, wanted)) < to
    width = table.shape[1]
    assert table.tolist() == [row + [-1] * (width - len(row)) for row in wanted]


def test_pieces_may_be_added_when_some_have_been_used():
    pieces = Pieces()
    one = pieces.add([[1, 2]])
    assert pieces.table(np.array([[one]]), 0)[0].tolist() == [[1, 2]]
    two = pieces.add([[3], [4, 5]])
    assert (two, len(pieces)) == (2, 4)
    assert pieces.table(np.array([[two + 1, one], [EMPTY, two]]), 0)[0].tolist() == [[4, 5, 1, 2], [3, 0, 0, 0]]
