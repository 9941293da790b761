import numpy as np
import pandas as pd
import pytest
from problems import STORAGES, overlapping
from scipy import sparse

from maxmargin.data.passes import CHUNK, combination, scores, squared_norms
from maxmargin.data.rows import axpy, count_columns, count_rows, dot, inner
from maxmargin.data.take import take
from maxmargin.errors import DataError
from maxmargin.system.compiled import compiled


@compiled
def try_verbs(rows, w, out):
    for i in range(len(out)):
        out[i, 0] = dot(rows, i, w)
        out[i, 1] = inner(rows, i, len(out) - 1 - i)
        axpy(rows, i, 0.5 * i, w)


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_every_storage_gives_the_same_products(storage):
    X, _ = overlapping()
    n, d = X.shape
    w, out, expected = np.ones(d), np.empty((n, 2)), np.ones(d)
    try_verbs(take(storage(X)), w, out)
    for i in range(n):
        assert out[i, 0] == pytest.approx(X[i] @ expected, rel=1e-12, abs=1e-12)
        assert out[i, 1] == pytest.approx(X[i] @ X[n - 1 - i], rel=1e-12, abs=1e-12)
        expected += 0.5 * i * X[i]
    np.testing.assert_allclose(w, expected, rtol=1e-12)


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_passes_agree_with_numpy(storage):
    X, _ = overlapping()
    rows, w = take(storage(X)), np.arange(5.0)
    np.testing.assert_allclose(scores(rows, w), X @ w, rtol=1e-12)
    np.testing.assert_allclose(squared_norms(rows), (X * X).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(combination(rows, 5, np.arange(60.0)), np.arange(60.0) @ X, rtol=1e-12)


def test_passes_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(CHUNK // 20, 50))
    rows, w = take(X), rng.normal(size=50)
    assert np.array_equal(scores(rows, w, threads=1), scores(rows, w, threads=3))


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_nothing_is_copied(storage):
    X = storage(overlapping()[0])
    rows = take(X)
    if sparse.issparse(X):
        assert np.shares_memory(rows.values, X.data)
        assert np.shares_memory(rows.indices, X.indices)
        assert np.shares_memory(rows.indptr, X.indptr)
        assert (rows.values.dtype, rows.indices.dtype) == (X.dtype, X.indices.dtype)
    else:
        assert np.shares_memory(rows.values, X)
        assert rows.values.dtype == X.dtype


def test_read_only_and_memory_mapped_arrays_are_used_where_they_lie(tmp_path):
    X, _ = overlapping()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(take(mapped).values, mapped)
    X.flags.writeable = False
    assert np.shares_memory(take(X).values, X)
    np.testing.assert_allclose(scores(take(mapped), np.ones(5)), X.sum(axis=1))


def test_other_shapes_of_data_are_converted():
    X, _ = overlapping()
    expected = scores(take(X), np.ones(5))
    for other in (
        np.asfortranarray(X),
        X.astype(np.longdouble),
        X.astype(">f8"),
        X.tolist(),
        pd.DataFrame(X),
        sparse.coo_array(X),
        sparse.csc_matrix(X),
        X[:, ::1][::1],
    ):
        np.testing.assert_allclose(scores(take(other), np.ones(5)), expected)
    whole = take(np.arange(6).reshape(2, 3))
    assert (count_rows(whole), count_columns(whole), whole.values.dtype) == (2, 3, np.float64)


def test_repeated_and_shuffled_columns_are_summed_and_sorted_in_a_copy():
    X = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    before = X.indices.copy()
    rows = take(X)
    assert rows.indices.tolist() == [0, 2]
    assert rows.values.tolist() == [2.0, 5.0]
    assert np.array_equal(X.indices, before)


def test_values_beyond_the_last_row_are_ignored():
    X = sparse.csr_array((np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    X.data, X.indices = np.array([1.0, 2.0, np.nan]), np.array([0, 1, 7], dtype=np.int32)
    assert take(X).values.tolist() == [1.0, 2.0]
    assert len(X.data) == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_named_by_row_and_column(bad):
    X = np.ones((4, 3))
    X[2, 1] = bad
    for given in (X, sparse.csr_array(X), X.astype(np.float32)):
        with pytest.raises(DataError, match=r"row 2, column 1.*(NaN|inf)"):
            take(given)


def test_columns_out_of_range_are_refused_before_compiled_code_sees_them():
    X = sparse.csr_array(np.eye(3))
    X.indices = X.indices.copy()
    X.indices[1] = 99
    with pytest.raises(DataError, match="not a valid CSR matrix"):
        take(X)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1.0, 2.0], "1 dimension"),
        (np.ones((2, 2, 2)), "3 dimension"),
        ([["a", "b"]], "not numbers"),
        (np.ones((2, 2), dtype=complex), "complex"),
        ([[1.0], [2.0, 3.0]], "not numbers|inhomogeneous|dimension"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, words):
    with pytest.raises(DataError, match=words):
        take(X)
