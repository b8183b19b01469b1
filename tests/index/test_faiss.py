"""faiss against the exact index: rows and scores, so that a wrong metric shows."""

import numpy as np
import pytest

from nomina.arrays import read
from nomina.errors import MissingExtra
from nomina.index.base import NO_ROW
from nomina.index.exact import ExactIndex
from nomina.index.faiss import FlatIndex, HnswIndex, IvfPqIndex, _faiss

KINDS = [FlatIndex, HnswIndex, IvfPqIndex]


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(60, 32))
    found = centres[rng.integers(0, 60, 4000)] + 0.5 * rng.normal(size=(4000, 32))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module", params=KINDS)
def index(request, vectors, tmp_path_factory):
    pytest.importorskip("faiss")
    path = tmp_path_factory.mktemp("faiss") / "index"
    request.param.write(path, ExactIndex([vectors]))
    arrays = read(path)
    assert request.param.is_whole(arrays, *vectors.shape)
    assert not request.param.is_whole(arrays, 3999, 32)
    return request.param(arrays)


def queries(vectors):
    rng = np.random.default_rng(2)
    return (vectors[rng.integers(0, 4000, 50)] + 0.1 * rng.normal(size=(50, 32))).astype(np.float32)


def overlap(one, other):
    return np.mean([len(set(a[a >= 0]) & set(b[b >= 0])) / (b >= 0).sum() for a, b in zip(one, other, strict=True)])


@pytest.mark.extras
def test_rows_and_scores_are_those_of_the_exact_index(index, vectors):
    """Queries are of any length here: a distance in place of a product, or a product unscaled, gives other scores."""
    exact, found = ExactIndex([vectors]).search(3 * queries(vectors), 10), index.search(3 * queries(vectors), 10)
    assert found.rows.shape == (50, 10)
    assert found.rows.dtype == np.int64
    approximate = isinstance(index, IvfPqIndex)
    assert overlap(found.rows, exact.rows) >= (0.6 if approximate else 0.99)
    assert found.scores[:, 0] == pytest.approx(exact.scores[:, 0], abs=0.1 if approximate else 2e-6)
    if isinstance(index, FlatIndex):
        assert np.array_equal(found.rows, exact.rows)


@pytest.mark.extras
def test_only_rows_within(index, vectors):
    within = np.arange(4000) % 4 == 0
    exact, found = (each.search(queries(vectors), 5, within) for each in (ExactIndex([vectors]), index))
    assert within[found.rows[found.rows != NO_ROW]].all()
    assert overlap(found.rows, exact.rows) >= (0.6 if isinstance(index, IvfPqIndex) else 0.97)
    none = index.search(queries(vectors), 5, np.zeros(4000, np.bool_))
    assert (none.rows == NO_ROW).all()


@pytest.mark.extras
def test_stored_vectors(index, vectors):
    rows = np.array([3999, 0, 17])
    error = np.abs(index.vectors(rows) - vectors[rows]).max()
    assert error < (0.4 if isinstance(index, IvfPqIndex) else 1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3])
def test_few_rows(kind, size, vectors, tmp_path):
    pytest.importorskip("faiss")
    kind.write(tmp_path / "index", ExactIndex([vectors[:size]]))
    hits = kind(read(tmp_path / "index")).search(vectors[:1], 5)
    assert hits.rows[0, 0] == 0
    assert (hits.rows[0, size:] == NO_ROW).all()


def test_without_faiss_the_message_is_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r'pip install "nomina\[faiss\]"'):
        _faiss()
