"""Data frames of every kind give the rows of the array that they hold, or are refused by the name of the column."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import maxmargin
from maxmargin import DataError
from maxmargin.data.frames import frame_names
from maxmargin.data.take import take

VALUES = np.arange(12.0).reshape(4, 3) - 5.0
NAMES = ["age", "income", "height"]


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas with Arrow types": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": polars_frame,
    "Arrow table": pa.table,
    "Arrow record batch": pa.RecordBatch.from_pydict,
}
TYPES = ["float16", "float32", "float64", "int8", "int64", "uint16", "bool"]


def frame(kind, values=VALUES, **other):
    columns = {name: list(values[:, place]) for place, name in enumerate(NAMES)}
    return FRAMES[kind](columns | other)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_its_rows_and_names(kind):
    found = frame(kind)
    np.testing.assert_array_equal(take(found).values, VALUES)
    assert frame_names(found) == NAMES


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", FRAMES)
def test_columns_of_every_number_type_are_taken(kind, dtype):
    values = np.abs(VALUES).astype(dtype)
    columns = {name: values[:, place] for place, name in enumerate(NAMES)}
    if kind == "pandas with Arrow types" and dtype == "float16":
        pytest.skip("pandas does not convert this type")
    rows = take(FRAMES[kind](columns)).values
    np.testing.assert_array_equal(rows, values.astype(np.float64))
    assert rows.flags.c_contiguous
    if kind in ("pandas", "polars", "Arrow table"):  # the others change the types of whole numbers
        assert rows.dtype == (np.float32 if dtype == "float32" else np.float64)


@pytest.mark.parametrize("column", [
    pd.Categorical([1, 2, 2, 1]), pd.array([1, 2, 2, 1], dtype="Int64"), pd.array([True] * 4, dtype="boolean"),
    pd.Series([1, 2.5, Decimal(3), np.float32(4)], dtype=object), pd.arrays.SparseArray([0.0, 0.0, 1.0, 2.0]),
], ids=lambda column: str(column.dtype))  # fmt: skip
def test_columns_of_pandas_that_hold_numbers_are_taken(column):
    found = frame("pandas", income=column)
    np.testing.assert_array_equal(take(found).values[:, 1], np.array([float(value) for value in column]))


def test_a_frame_of_sparse_columns_gives_sparse_rows():
    found = pd.DataFrame(VALUES, columns=NAMES).astype(pd.SparseDtype(float, 0.0))
    assert len(take(found).values) == np.count_nonzero(VALUES)
    assert frame_names(found) == NAMES


@pytest.mark.parametrize("column", [
    [1.0, None, 2.0, 3.0], [1.0, float("nan"), 2.0, 3.0], [1, None, 2, 3], [True, None, True, False],
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", FRAMES)
def test_a_missing_value_is_named_by_row_and_column(kind, column):
    with pytest.raises(DataError, match=re.escape("X: row 1 (counted from 0), column 'income' is missing")) as caught:
        take(frame(kind, income=column))
    assert "\n" not in str(caught.value)


WRONG = [
    (["red"] * 4, "column 'income' holds text ('red' in row 0): encode it"),
    ([datetime.date(2020, 1, 1)] * 4, "column 'income' holds "),
    ([datetime.datetime(2020, 1, 1)] * 4, "column 'income' holds dates or times"),
    ([[1.0]] * 4, "column 'income' holds "),
    ([1.0, 2.0, 3.0, float("inf")], "row 3 (counted from 0), column 'income' is inf"),
]


@pytest.mark.parametrize(("column", "message"), WRONG, ids=lambda item: str(item)[:24])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_without_numbers_is_named(kind, column, message):
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        take(frame(kind, income=column))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", [pd.Categorical(["red"] * 4), pd.array(["1"] * 4, dtype="string")], ids=str)
def test_categories_of_text_are_named(column):
    with pytest.raises(DataError, match="column 'income' holds text"):
        take(frame("pandas", income=column))


@pytest.mark.parametrize("make", [
    lambda: pd.DataFrame(VALUES, columns=["a", "b", "b"]), lambda: pa.table(list(VALUES.T), names=["a", "b", "b"]),
], ids=["pandas", "Arrow"])  # fmt: skip
def test_columns_of_the_same_name_are_refused(make):
    for use in (lambda X: maxmargin.train(X, [0, 1, 0, 1]), lambda X: maxmargin.SVC().fit(X, [0, 1, 0, 1])):
        with pytest.raises(DataError, match=r"'b' 2 times\): rename them") as caught:
            use(make())
        assert "\n" not in str(caught.value)


def test_a_lazy_frame_is_refused_with_the_remedy():
    with pytest.raises(DataError, match=r"call collect\(\)"):
        take(pytest.importorskip("polars").LazyFrame({"a": [1.0, 2.0]}))


def test_a_frame_without_columns_is_like_an_array_without_columns():
    assert take(pd.DataFrame(index=range(4))).values.shape == (4, 0)


@pytest.mark.parametrize("kind", FRAMES)
def test_models_train_and_predict_on_frames(kind):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    found = frame(kind, X)
    for settings in ({}, {"kernel": "gaussian"}):
        model = maxmargin.train(found, y, encode="none", **settings).model
        expected = maxmargin.train(X, y, **settings).model
        np.testing.assert_array_equal(model.decide(found), expected.decide(X))
        np.testing.assert_array_equal(model.predict(found), expected.predict(X))
