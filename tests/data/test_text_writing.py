"""Rows and labels written as text read back the same, bit for bit."""

import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from maxmargin.data.rows import Csr, Dense
from maxmargin.data.text import write as module
from maxmargin.data.text.read import read_text
from maxmargin.data.text.write import write_text
from maxmargin.errors import DataError, FileError


def dense(rows):
    matrix = np.zeros((rows.indptr.size - 1, rows.d))
    matrix[np.repeat(np.arange(len(matrix)), np.diff(rows.indptr)), rows.indices] = rows.values
    return matrix


def random_rows(n=50, d=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5), rng.integers(-1, 3, n)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_what_is_written_reads_back(tmp_path, suffix):
    X, y = random_rows()
    path = tmp_path / f"train.svm{suffix}"
    write_text(path, Dense(X), y)
    rows, labels = read_text(path, d=X.shape[1])
    assert np.array_equal(dense(rows), X)
    assert np.array_equal(labels, y)
    assert (path.read_bytes()[:1] not in b"-012") == bool(suffix)
    assert list(tmp_path.iterdir()) == [path]


def test_compressed_bytes_are_those_of_the_plain_file(tmp_path):
    X, y = random_rows()
    write_text(tmp_path / "a", Dense(X), y)
    write_text(tmp_path / "a.xz", Dense(X), y)
    assert lzma.decompress((tmp_path / "a.xz").read_bytes()) == (tmp_path / "a").read_bytes()


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False)), st.booleans())
def test_any_finite_value_reads_back(tmp_path_factory, X, zero_based):
    path = tmp_path_factory.getbasetemp() / "values.svm"
    write_text(path, Dense(X), np.arange(4), zero_based=zero_based)
    rows, _ = read_text(path, d=3, zero_based=zero_based)
    assert np.array_equal(dense(rows), X)


def test_float32_reads_back_as_float32(tmp_path):
    X = np.random.default_rng(3).standard_normal((20, 5)).astype(np.float32)
    write_text(tmp_path / "a", Dense(X), np.ones(20))
    assert np.array_equal(dense(read_text(tmp_path / "a")[0]).astype(np.float32), X)


def test_sparse_rows_keep_their_zeros_and_their_part_of_a_larger_array(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 2)
    values, indices = np.array([9.0, 0.0, -0.0, 1.5, 2.0, 9.0]), np.array([0, 0, 4, 2, 3, 0])
    rows = Csr(values, indices, np.array([1, 3, 3, 4, 5]), 7)
    write_text(tmp_path / "a", rows, [1, 2, 3, 4])
    assert (tmp_path / "a").read_text() == "1 1:0 5:-0\n2\n3 3:1.5\n4 4:2\n"


@pytest.mark.parametrize(
    "y", [np.array([1, -1]), np.array([0.5, 1e300]), np.array(["spam", "grün"]), np.array([True, False]),
          np.array([2**53, 0]), np.array(["+1", "x"], dtype=object), np.array([-1, 1], dtype=np.int8)]
)  # fmt: skip
def test_labels_read_back(tmp_path, y):
    write_text(tmp_path / "a", Dense(np.ones((2, 1))), y)
    assert read_text(tmp_path / "a")[1].tolist() == y.tolist()


@pytest.mark.parametrize("label", ["", "a b", "a\tb", "a\n", "a#", "a:b", "nan", "-Inf", "\ud800", np.nan, np.inf])
def test_labels_that_would_not_survive_are_refused(tmp_path, label):
    path = tmp_path / "a"
    with pytest.raises(DataError, match="of row 1 ") as caught:
        write_text(path, Dense(np.ones((2, 1))), ["fine", label] if isinstance(label, str) else [1.0, label])
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_values_that_would_not_survive_are_refused(tmp_path):
    X = np.ones((3, 2))
    X[2, 1] = np.nan
    with pytest.raises(DataError, match="row 2, column 1 holds nan"):
        write_text(tmp_path / "a", Dense(X), [1, 2, 3])
    assert not list(tmp_path.iterdir())


def test_one_label_for_each_row(tmp_path):
    with pytest.raises(DataError, match="2 labels for 3 rows"):
        write_text(tmp_path / "a", Dense(np.ones((3, 2))), [1, 2])
    with pytest.raises(DataError, match="shape"):
        write_text(tmp_path / "a", Dense(np.ones((3, 2))), [[1], [2], [3]])


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        write_text(tmp_path / "missing" / "a", Dense(np.ones((1, 1))), [1])
