"""Packed numbers against the plain ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.generation.starts import Starts

STEPS = st.lists(st.sampled_from([0, 0, 1, 1, 1, 2, 900, 65_535, 65_536, 100_000]), max_size=300)


@given(STEPS, st.data())
def test_numbers_are_found_again_and_so_is_the_place_of_each(steps, data) -> None:
    numbers = np.cumsum([0, *steps]).astype(np.uint32)
    starts = Starts.of(numbers)
    assert starts.size == len(numbers)
    assert starts.at(np.arange(len(numbers))).tolist() == numbers.tolist()
    start = data.draw(st.integers(0, len(numbers)))
    stop = data.draw(st.integers(start, len(numbers)))
    assert starts.span(start, stop).tolist() == numbers[start:stop].tolist()
    asked = np.unique(np.concatenate([numbers, numbers + 1, numbers + 70_000])).astype(np.int64)
    assert starts.last_up_to(asked).tolist() == (np.searchsorted(numbers, asked, "right") - 1).tolist()


@pytest.mark.parametrize(("at", "top"), [(None, 1), (0, 64), (62, 64), (63, 1), (64, 128), (198, 200)])
def test_only_what_does_not_fit_is_written_out(at: int | None, top: int) -> None:
    steps = np.ones(199, np.int64)
    if at is not None:
        steps[at] = 65_536
    starts = Starts.of(np.cumsum(np.append(0, steps)).astype(np.uint32))
    assert len(starts.top) == top
    assert starts.offsets.nbytes == 2 * (200 - top + 1)


def test_numbers_beyond_32_bits() -> None:
    numbers = np.array([0, 1 << 33, (1 << 33) + 1], np.uint64)
    assert Starts.of(numbers).at(np.arange(3)).tolist() == numbers.tolist()
