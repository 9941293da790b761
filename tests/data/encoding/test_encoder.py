"""What each kind of column of a table becomes, in files and data frames alike."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import maxmargin
from maxmargin.data.encoding.columns import Category, Date, LeftOut, Number, Text
from maxmargin.data.encoding.encoder import encoder_of
from maxmargin.data.encoding.frames import encoded_frame, fit_to_frame
from maxmargin.data.encoding.request import Request
from maxmargin.data.rows import Csr, Dense, matrix_of
from maxmargin.errors import DataError


def people(n=600, seed=0):
    """A table with numbers, categories, dates, text, holes, an id and a constant, and a rule for the label."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(18, 90, n).astype(float), rng.choice(["Bern", "Basel", "Zug, lower"], n)
    words = np.array(
        ["good food", "bad food and slow service", "slow", "a very good place to be", "nothing to say here"]
    )
    notes = rng.choice(words, n)
    day = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    score = 0.05 * (age - 50) + (town == "Bern") + (day.month == 7)
    score += np.where(np.char.find(notes.astype(str), "good") >= 0, 1.0, -1.0)
    income = np.where(score + 0.3 * rng.normal(size=n) > 0, ">50K", "<=50K")
    table = pd.DataFrame({
        "id": [f"p{k:05d}" for k in range(n)], "age": age, "town": town,
        "note": [f"{note} {k}" for k, note in enumerate(notes)],
        "day": day.strftime("%Y-%m-%d"), "country": "CH", "income": income,
    })  # fmt: skip
    table.loc[rng.random(n) < 0.1, "age"] = np.nan
    table.loc[rng.random(n) < 0.05, "town"] = None
    return table


def fitted(table, **wanted):
    return fit_to_frame(table.drop(columns="income"), table["income"], Request(**wanted))


def values(encoder, frame):
    """The encoded rows of a frame as a dense array."""
    X = matrix_of(encoded_frame(encoder, frame))
    return X if isinstance(X, np.ndarray) else X.toarray()


def column(encoder, name):
    return next(one for one in encoder.columns if one.name == name)


def test_each_column_becomes_what_it_holds():
    encoder = fitted(people())
    kinds = {one.name: type(one) for one in encoder.columns}
    assert kinds == {"id": LeftOut, "age": Number, "town": Category, "note": Text, "day": Date, "country": LeftOut}
    assert "an id" in column(encoder, "id").why
    assert "'CH'" in column(encoder, "country").why
    assert len(encoder.names) == encoder.d == len(set(encoder.names))
    assert {"age", "age (missing)", "town=Bern", "town=(missing)", "day: Monday"} <= set(encoder.names)


def test_numbers_are_standardised_and_the_mean_stands_for_missing_ones():
    table = people()
    encoder = fitted(table)
    X = values(encoder, table)
    age, absent = (X[:, encoder.names.index(name)] for name in ("age", "age (missing)"))
    missing = table["age"].isna().to_numpy()
    assert np.array_equal(absent, missing.astype(float))
    assert np.all(age[missing] == 0.0)
    assert abs(age[~missing].mean()) < 1e-12
    assert age[~missing].std() == pytest.approx(1.0)
    number = column(encoder, "age")
    assert np.allclose(age[~missing] * number.scale + number.mean, table["age"][~missing])


def test_far_numbers_do_not_set_the_scale():
    frame = pd.DataFrame({"x": np.append(np.arange(1000.0) / 999.0, [1e12, -1e9])})
    encoder = fit_to_frame(frame, None, Request())
    assert column(encoder, "x").scale < 1.0
    assert np.all(np.abs(values(encoder, frame)) < 10.0)


def test_columns_of_0_and_1_and_of_mostly_zeros_keep_their_zeros():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"flag": rng.integers(0, 2, 500), "amount": np.where(rng.random(500) < 0.8, 0.0, 7.0 + rng.random(500))}
    )
    encoder = fit_to_frame(frame, None, Request())
    X = matrix_of(encoded_frame(encoder, frame))
    X = X if isinstance(X, np.ndarray) else X.toarray()
    assert np.array_equal(X[:, 0], frame["flag"])
    assert np.array_equal(X[:, 1] == 0.0, frame["amount"] == 0.0)


def test_rare_values_go_together_and_unknown_ones_are_counted_and_zero():
    letters = ["a"] * 300 + ["b"] * 250 + ["c"] * 3 + ["d"] * 2
    encoder = fit_to_frame(pd.DataFrame({"v": letters}), None, Request())
    assert column(encoder, "v").values == ["a", "b"]
    assert column(encoder, "v").rare == ["c", "d"]
    assert values(encoder, pd.DataFrame({"v": ["a", "d", "new", None]})).tolist() == [
        [1, 0, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert "1 unknown value in 'v'" in encoder.note()
    assert "1 missing value in 'v'" in encoder.note()


def test_two_values_make_one_feature():
    encoder = fit_to_frame(pd.DataFrame({"v": ["no", "yes"] * 60}), None, Request())
    assert encoder.names == ["v=yes"]
    assert values(encoder, pd.DataFrame({"v": ["yes", "no"]})).tolist() == [[1.0], [0.0]]


def test_dates_in_text_become_their_parts():
    days = pd.date_range("2023-05-01 06:30", periods=200, freq="29h")
    for form in ("%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ"):
        frame = pd.DataFrame({"at": days.strftime(form)})
        encoder = fit_to_frame(frame, None, Request())
        X = values(encoder, frame)
        names = [name.removeprefix("at: ") for name in encoder.names]
        found = [names[k] for k in np.flatnonzero(X[0] == 1.0)]
        assert {"May", "Monday"} <= set(found), form
        turns = X[:, names.index("hour (sine)")]
        assert np.allclose(turns, np.sin(2 * np.pi * (days.hour + days.minute / 60) / 24), atol=1e-12)
        assert np.array_equal(np.argsort(X[:, 0]), np.arange(200))
    native = fit_to_frame(pd.DataFrame({"at": days}), None, Request())
    assert isinstance(native.columns[0], Date)


def test_texts_with_the_same_words_are_alike():
    texts = ["the food was good today", "service was very slow there", "good food was there today"] * 40
    encoder = fit_to_frame(pd.DataFrame({"t": [f"{text} {k} x{k}" for k, text in enumerate(texts)]}), None, Request())
    X = matrix_of(encoded_frame(encoder, pd.DataFrame({"t": texts[:3]})))
    alike = (X @ X.T).toarray()
    assert np.allclose(np.diag(alike), 1.0)
    assert alike[0, 2] > 3.0 * alike[0, 1]
    assert any("'food'" in name for name in encoder.names)


def test_an_encoder_survives_json_and_encodes_to_the_same_bits():
    table = people()
    encoder = fitted(table)
    again = encoder_of(json.loads(json.dumps(encoder.saved())))
    one, other = (encoded_frame(each, table) for each in (encoder, again))
    assert isinstance(one, Csr)
    assert all(np.array_equal(a, b) for a, b in zip(one[:3], other[:3], strict=True))
    assert encoder.names == again.names


@pytest.mark.parametrize("damage", [
    lambda e: e.update(version=2), lambda e: e.update(columns=[]), lambda e: e["columns"].append(e["columns"][1]),
    lambda e: e["columns"][1].update(scale=0.0), lambda e: e["columns"][1].update(mean="x"),
    lambda e: e.update(dense=1),
    lambda e: e["columns"][2].update(values=["a", "a"]), lambda e: e["columns"][3].update(buckets=3),
    lambda e: e["columns"][3].update(idf="eJw="), lambda e: e["columns"][3].update(grams=[[10**9, "x"]]),
    lambda e: e["columns"][4].update(form=3), lambda e: e["columns"][0].update(kind="code"),
    lambda e: e["columns"][1].update(missing=None), lambda e: e.update(leaks="x"),
])  # fmt: skip
def test_a_damaged_encoder_is_refused(damage):
    saved = json.loads(json.dumps(fitted(people()).saved()))
    damage(saved)
    with pytest.raises(ValueError, match=r"encoder|mean is"):
        encoder_of(saved)


def test_a_frame_of_numbers_is_dense_and_one_of_text_is_sparse():
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
    assert isinstance(encoded_frame(fit_to_frame(numbers, None, Request()), numbers), Dense)
    assert isinstance(encoded_frame(fitted(people()), people()), Csr)


def test_columns_that_tell_the_label_and_row_numbers_are_found():
    table = people()
    table["leak"] = np.where(table["income"] == ">50K", 3.0, -1.0) + np.linspace(0, 0.5, len(table))
    table["word"] = np.where(table["income"] == ">50K", "rich", "poor")
    table["number"] = np.arange(len(table))
    encoder = fitted(table)
    assert set(encoder.leaks) == {"leak", "word"}
    assert isinstance(column(encoder, "number"), LeftOut)


def test_what_the_user_wants_overrules_the_choice():
    table = people()
    encoder = fitted(table, kinds={"age": "category", "town": "text", "note": "drop"}, drop=["country"])
    kinds = {one.name: one.kind for one in encoder.columns}
    assert kinds["age"] == "category"
    assert kinds["town"] == "text"
    assert kinds["note"] == kinds["country"] == "left out"
    only = fitted(table, columns=["age"])
    assert [one.name for one in only.used] == ["age"]
    with pytest.raises(maxmargin.ParameterError, match="no column 'agee'"):
        fitted(table, drop=["agee"])


@pytest.mark.parametrize("make", [
    lambda t: t, lambda t: pa.Table.from_pandas(t, preserve_index=False),
    lambda t: pytest.importorskip("polars").from_pandas(t),
    lambda t: t.assign(town=t["town"].astype("category")), lambda t: t.assign(age=t["age"].astype("Float32")),
])  # fmt: skip
def test_all_frames_give_the_same_model(make):
    table = people()
    known = maxmargin.train(table.drop(columns="income"), table["income"], tol=1e-6)
    frame = make(table)
    found = maxmargin.train(frame, label="income", tol=1e-6)
    assert found.model.d == known.model.d
    assert np.allclose(found.model.w, known.model.w, atol=1e-3)
    assert np.mean(found.model.predict(frame) == table["income"].to_numpy()) > 0.9


def test_columns_are_matched_by_name_in_any_order():
    table = people()
    model = maxmargin.train(table, label="income").model
    mixed = table[["day", "note", "age", "town", "id", "country"]].assign(extra=1)
    assert np.array_equal(model.decide(table), model.decide(mixed))
    with pytest.raises(DataError, match=r"'town'.*missing here"):
        model.predict(table.drop(columns="town").rename(columns={"age": "years"}))
    with pytest.raises(DataError, match="give a data frame"):
        model.predict(np.zeros((2, 5)))


def test_numbers_as_they_are_are_matched_by_name_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)) * 100.0, columns=list("abc"))
    y = (frame["a"] > frame["b"]).to_numpy()
    raw = maxmargin.train(frame, y, encode="none").model
    assert np.allclose(raw.w, maxmargin.train(frame.to_numpy(), y).model.w)
    assert "encoder" not in raw.training


def test_the_sample_does_not_depend_on_the_batches():
    from maxmargin.data.encoding.statistics import TableStatistics

    table = pa.Table.from_pandas(people(3000), preserve_index=False)
    found = []
    for size in (64, 1000, 5000):
        one = TableStatistics(size=500)
        for batch in table.to_batches(max_chunksize=size):
            one.add(batch)
        found.append(one)
    assert found[0].sample.equals(found[1].sample)
    assert found[1].sample.equals(found[2].sample)
    assert found[0].columns["town"].counts == found[2].columns["town"].counts


def test_dates_are_the_same_as_text_and_as_dates():
    days = pd.Series(pd.date_range("2023-05-01 06:30", periods=200, freq="29h"))
    native, text = pd.DataFrame({"at": days}), pd.DataFrame({"at": days.dt.strftime("%d.%m.%Y %H:%M:%S")})
    empty = pd.DataFrame({"at": [None, None]})
    for frame in (native, text):
        encoder = fit_to_frame(frame, None, Request())
        assert np.array_equal(values(encoder, native), values(encoder, text))
        assert not values(encoder, empty).any()
        assert "unknown" not in encoder.note()
