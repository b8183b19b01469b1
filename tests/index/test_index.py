"""Exact indexes against all cosines by numpy in float64: rows, scores, order, filters, damage."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nomina.arrays import read
from nomina.errors import UsageError
from nomina.index import INDEXES
from nomina.index.base import NO_ROW, ScanningIndex
from nomina.index.building import index_class
from nomina.index.exact import ExactIndex, HalfIndex
from nomina.index.int8 import Int8Index
from nomina.index.product import IntegerProduct, _model

EXACT = [ExactIndex, HalfIndex, Int8Index]
TOLERANCE = {ExactIndex: 1e-6, HalfIndex: 1e-3, Int8Index: 1e-4}
"""How far the cosine of a stored row may be from that of the row given; large because of rows of two numbers."""


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def made(kind: type, vectors: np.ndarray, folder: Path) -> ScanningIndex:
    path = folder / kind.__name__
    half = len(vectors) // 2
    kind.write(path, [kind.planes(vectors[:half]), kind.planes(vectors[half:])], *vectors.shape)
    arrays = read(path)
    assert kind.is_whole(arrays, *vectors.shape)
    assert not kind.is_whole(arrays, vectors.shape[0] + 1, vectors.shape[1])
    assert not kind.is_whole(arrays[:-1], *vectors.shape)
    return kind(arrays)


def oracle(index: ScanningIndex, queries: np.ndarray, k: int, within=None) -> tuple[list, list]:
    """The answer from all cosines of the rows as they are stored."""
    stored = index.vectors(np.arange(index.size)).astype(np.float64)
    lengths = np.linalg.norm(stored, axis=1)
    cosines = np.round((queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ stored.T / lengths, 7)
    rows = np.arange(index.size) if within is None else np.flatnonzero(within)
    orders = [rows[np.lexsort((rows, -line[rows]))][:k] for line in cosines]
    return [order.tolist() for order in orders], [line[order] for line, order in zip(cosines, orders, strict=True)]


def check(index: ScanningIndex, queries: np.ndarray, k: int, within=None) -> None:
    hits = index.search(queries, k, within)
    assert hits.rows.shape == hits.scores.shape == (len(queries), k)
    assert (hits.rows.dtype, hits.scores.dtype) == (np.int64, np.float32)
    for rows, scores, best, cosines in zip(*hits, *oracle(index, queries, k, within), strict=True):
        assert scores[: len(best)] == pytest.approx(cosines, abs=2.1e-6)
        assert (rows[len(best) :] == NO_ROW).all()
        assert np.isneginf(scores[len(best) :]).all()
        pairs = list(zip((-scores[: len(best)]).tolist(), rows[: len(best)].tolist(), strict=True))
        assert pairs == sorted(pairs)
        assert len(set(rows[: len(best)].tolist())) == len(best)
        if len(best) > 1 and np.abs(np.diff(cosines)).min() > 1e-5:
            assert rows[: len(best) - 1].tolist() == best[:-1]


@pytest.mark.parametrize("kind", EXACT)
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 60),
    dim=st.integers(1, 40),
    k=st.integers(1, 70),
    filtered=st.booleans(),
)
def test_the_best_k_are_those_of_all_cosines(kind, tmp_path_factory, seed, size, dim, k, filtered) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng.normal(size=(size, dim)))
    within = rng.random(size) < 0.4 if filtered else None
    check(made(kind, vectors, tmp_path_factory.mktemp("index")), rng.normal(size=(3, dim)), k, within)


@pytest.mark.parametrize("kind", EXACT)
def test_many_rows_in_clusters(kind, tmp_path, monkeypatch) -> None:
    """Names of a terminology lie close together: the k-th and the next differ in the fourth decimal."""
    monkeypatch.setattr("nomina.index.base._MOST", 512)
    monkeypatch.setattr("nomina.index.base._LEAST", 512)
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(40, 96))
    vectors = unit(centres[rng.integers(0, 40, 6000)] + 0.15 * rng.normal(size=(6000, 96)))
    queries = unit(centres[:7] + 0.1 * rng.normal(size=(7, 96)))
    index = made(kind, vectors, tmp_path)
    for k in (1, 10, 300):
        check(index, queries, k)
        check(index, queries, k, rng.random(6000) < 0.02)
    truth = ExactIndex([vectors]).search(queries, 10)
    found = index.search(queries, 10)
    overlap = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(truth.rows, found.rows, strict=True)])
    assert overlap >= (0.98 if kind is HalfIndex else 1.0)


@pytest.mark.parametrize("kind", EXACT)
def test_what_is_stored_is_near_to_what_was_given(kind, tmp_path) -> None:
    vectors = unit(np.random.default_rng(2).normal(size=(50, 384)))
    index = made(kind, vectors, tmp_path)
    error = np.abs(index.vectors(np.arange(50)) - vectors).max()
    assert error <= {ExactIndex: 0, HalfIndex: 1.3e-4, Int8Index: 4e-6}[kind]


@pytest.mark.parametrize("kind", EXACT)
def test_equal_vectors_tie_at_one_and_stand_by_row(kind, tmp_path) -> None:
    vectors = unit(np.random.default_rng(3).normal(size=(300, 32)))
    vectors[[40, 7, 299]] = vectors[123]
    hits = made(kind, vectors, tmp_path).search(vectors[[123]] * 5, 5)
    assert hits.rows[0, :4].tolist() == [7, 40, 123, 299]
    assert hits.scores[0, :4].tolist() == [1.0] * 4
    assert hits.scores[0, 4] < 1


@pytest.mark.parametrize("kind", EXACT)
def test_a_query_alone_and_among_500(kind, tmp_path) -> None:
    rng = np.random.default_rng(4)
    vectors, queries = unit(rng.normal(size=(2000, 64))), unit(rng.normal(size=(500, 64)))
    index = made(kind, vectors, tmp_path)
    together = index.search(queries, 5)
    for i in (0, 17, 256, 499):
        alone = index.search(queries[[i]], 5)
        assert alone.rows[0].tolist() == together.rows[i].tolist()
        assert alone.scores[0].tolist() == together.scores[i].tolist()


@pytest.mark.parametrize("kind", EXACT)
def test_a_row_of_zeros_is_near_nothing(kind, tmp_path) -> None:
    vectors = unit(np.random.default_rng(6).normal(size=(20, 8)))
    vectors[3] = 0
    hits = made(kind, vectors, tmp_path).search(vectors[:5], 20)
    assert (hits.scores[hits.rows == 3] == 0).all()
    assert (hits.scores[3] == 0).all()


@pytest.mark.parametrize("kind", EXACT)
def test_no_rows_no_queries_nothing_within(kind, tmp_path) -> None:
    vectors = unit(np.random.default_rng(7).normal(size=(9, 8)))
    index = made(kind, vectors, tmp_path)
    assert [part.shape for part in index.search(vectors[:0], 4)] == [(0, 4)] * 2
    assert (index.search(vectors, 4, np.zeros(9, np.bool_)).rows == NO_ROW).all()
    empty = made(kind, vectors[:0], tmp_path)
    assert (empty.search(vectors, 2).rows == NO_ROW).all()


@pytest.mark.parametrize("kind", EXACT)
def test_what_does_not_fit_is_one_line(kind, tmp_path) -> None:
    vectors = unit(np.random.default_rng(8).normal(size=(9, 8)))
    index = made(kind, vectors, tmp_path)
    with pytest.raises(UsageError, match=r"queries of shape \(9, 7\) where \(n, 8\) is expected"):
        index.search(vectors[:, :7], 1)
    with pytest.raises(UsageError, match=r"a filter of shape \(8,\) for 9 rows"):
        index.search(vectors, 1, np.ones(8, np.bool_))
    with pytest.raises(UsageError, match="k must be 1 or more, not 0"):
        index.search(vectors, 0)


def test_pages_of_a_large_file_are_handed_back_and_read_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("nomina.index.int8._RESIDENT", 0)
    rng = np.random.default_rng(9)
    vectors, queries = unit(rng.normal(size=(5000, 64))), unit(rng.normal(size=(6, 64)))
    index = made(Int8Index, vectors, tmp_path)
    assert index._mapping is not None
    first = index.search(queries, 10)
    assert np.array_equal(index.search(queries, 10).rows, first.rows)
    monkeypatch.setattr("nomina.index.int8._RESIDENT", 1 << 40)
    assert np.array_equal(made(Int8Index, vectors, tmp_path).search(queries, 10).rows, first.rows)


def test_the_planes_make_the_numbers() -> None:
    vectors = np.array([[1, -1, 0.5, 1 / 32512], [0, 0, 0, 0]], np.float32)
    scale, high, low = Int8Index.planes(vectors)
    assert scale.tolist() == [pytest.approx(1 / 32512), 1]
    assert (high.astype(int)[0] - 128).tolist() == [127, -127, 64, 0]
    assert low[0].tolist() == [0, 0, -128, 1]  # 16256 = 64 * 256 - 128
    assert high[1].tolist() == [128] * 4
    assert Int8Index([scale, high, low]).vectors(np.array([0]))[0] == pytest.approx(vectors[0], abs=1e-7)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 70), st.integers(1, 9))
@settings(max_examples=25)
def test_the_integer_product_is_that_of_numpy(seed, rows, dim, columns) -> None:
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 256, (rows, dim), np.uint8)
    other = rng.integers(-127, 128, (dim, columns)).astype(np.int8)
    scale = rng.random((rows, 1), np.float32)
    expected = (one.astype(np.int64) - 128) @ other.astype(np.int64)
    for product in (IntegerProduct(128, 1), IntegerProduct(128, 1, signed=False)):
        assert np.array_equal(product(one, other, np.ones_like(scale)), expected)
        assert product(one, other, scale) == pytest.approx(scale * expected, rel=1e-6)


def test_a_product_that_saturates_is_not_used(monkeypatch) -> None:
    one, other, scale = np.full((3, 64), 255, np.uint8), np.full((64, 2), 127, np.int8), np.ones((3, 1), np.float32)
    assert np.array_equal(IntegerProduct(128, 1)(one, other, scale), np.full((3, 2), 64 * 127 * 127))
    monkeypatch.setattr(IntegerProduct, "_is_exact", lambda self, zero: False)
    product = IntegerProduct(128, 1)
    assert not product.signed
    assert np.array_equal(product(one, other, scale), np.full((3, 2), 64 * 127 * 127))


@pytest.mark.extras
def test_the_model_of_the_product_is_valid_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    onnx.checker.check_model(onnx.load_from_string(_model(128, signed=False)))
    model = onnx.load_from_string(_model(128))
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMulInteger", "Cast", "Mul"]


def test_the_table_names_indexes_and_nothing_else_is_one() -> None:
    assert [index_class(name) for name in ("float32", "float16", "int8")] == EXACT
    with pytest.raises(UsageError, match="no index 'annoy'; there are: float32, float16, int8, faiss-flat"):
        index_class("annoy")
    assert list(INDEXES)[:3] == ["float32", "float16", "int8"]
