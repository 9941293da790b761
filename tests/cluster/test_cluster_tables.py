"""Tables on a cluster: the encoder of one machine, whatever holds the rows, kept in the model."""

import json

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import run
from maxmargin.cluster.facts import Columns, columns_of_files
from maxmargin.cluster.intake import rows_on_cluster
from maxmargin.cluster.partition import Partition
from maxmargin.data.encoding.request import Request
from maxmargin.data.files import Files
from maxmargin.errors import DataError, ParameterError
from maxmargin.status import Status

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def shop(n=900, seed=0):
    """Numbers with holes, categories, dates, text, an id and a label, as a data frame."""
    rng = np.random.default_rng(seed)
    words = np.array(["good", "bad", "slow", "fast", "warm", "cold"])
    note = [" ".join(one) for one in rng.choice(words, (n, 6))]
    day = pd.to_datetime("2025-03-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    table = pd.DataFrame({
        "price": np.round(rng.gamma(2.0, 10.0, n), 2), "colour": rng.choice(["red", "green", "blue"], n),
        "day": day, "note": note, "id": [f"p{k:05d}" for k in range(n)],
    })  # fmt: skip
    score = 0.1 * (table["price"] - 20.0) + 2.0 * (table["colour"] == "red") - 1.0 + 0.5 * rng.normal(size=n)
    table["sold"] = np.where(score > 0, "yes", "no")
    table.loc[rng.random(n) < 0.1, "price"] = np.nan
    table.loc[rng.random(n) < 0.1, "colour"] = None
    return table


def written(table, folder, write, count=3):
    """The parts of a table in files."""
    for number, rows in enumerate(np.array_split(np.arange(len(table)), count)):
        write(table.iloc[rows], folder / f"part-{number}")
    return folder / "part-*"


WRITERS = {
    "csv": lambda part, path: part.to_csv(path.with_suffix(".csv"), index=False),
    "parquet": lambda part, path: part.to_parquet(path.with_suffix(".parquet"), index=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_give_the_encoder_of_one_machine(name, client, tmp_path):
    files = written(shop(), tmp_path, WRITERS[name])
    wanted = {"label": "sold", "kinds": {"colour": "text"}, "drop": ["day"], "tol": 1e-7}
    known = maxmargin.train(files, **wanted).model
    result = maxmargin.train(files, client=client, **wanted)
    found = result.model
    assert result.status is Status.CONVERGED
    assert json.dumps(found.training["encoder"]) == json.dumps(known.training["encoder"])
    np.testing.assert_allclose(found.w, known.w, atol=2e-3)
    found.save(tmp_path / "m")
    assert np.array_equal(maxmargin.load(tmp_path / "m").predict(shop(seed=1)), found.predict(shop(seed=1)))


def frames(table, count=3):
    return [table.iloc[rows] for rows in np.array_split(np.arange(len(table)), count)]


GIVEN = {
    "a Dask data frame": lambda t: (dd.from_pandas(t, npartitions=3), "sold"),
    "categories": lambda t: (dd.from_pandas(t.assign(colour=t["colour"].astype("category")), npartitions=3), "sold"),
    "labels beside it": lambda t: (dd.from_pandas(t.drop(columns="sold"), npartitions=3), da.from_array(
        t["sold"].to_numpy().astype(str), chunks=300)),
    "delayed blocks": lambda t: (
        [(dask.delayed(one.drop(columns="sold")), dask.delayed(one["sold"])) for one in frames(t)], None),
    "a partition without rows": lambda t: (
        [(dask.delayed(one.drop(columns="sold")), dask.delayed(one["sold"])) for one in [*frames(t), t[:0]]], None),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_data_frames_give_the_encoder_of_one_machine_but_for_rounding(name, client):
    table = shop()
    X, y = GIVEN[name](table)
    known = maxmargin.train(table, "sold", tol=1e-7).model
    found = maxmargin.train(X, y, client=client, tol=1e-7).model
    for one, other in zip(found.training["encoder"]["columns"], known.training["encoder"]["columns"], strict=True):
        assert alike({**one, "grams": None}, {**other, "grams": None})
    np.testing.assert_allclose(found.w, known.w, atol=2e-3)
    assert np.array_equal(found.predict(table), known.predict(table))


def alike(one, other):
    """Whether two columns are equal, numbers up to rounding."""
    return one.keys() == other.keys() and all(
        one[name] == (pytest.approx(other[name], rel=1e-9) if isinstance(other[name], float) else other[name])
        for name in one
    )


def test_numbers_as_they_are_remain_so(client):
    table = shop()[["price", "sold"]].dropna()
    frame = dd.from_pandas(table, npartitions=2)
    raw = maxmargin.train(frame, "sold", client=client, encode="none").model
    assert "encoder" not in raw.training
    np.testing.assert_allclose(raw.w, maxmargin.train(table[["price"]].to_numpy(), table["sold"]).model.w, rtol=1e-2)


def sizes(n=300):
    """Numbers and a label, as a data frame."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"height": rng.normal(size=n), "width": 3.0 * rng.normal(size=n), "depth": rng.normal(size=n)})
    return table.assign(sold=np.where(table["height"] - table["width"] > 0, "yes", "no"))


@pytest.mark.parametrize("name", [*WRITERS, "data frame", "blocks"])
def test_columns_of_numbers_are_matched_by_their_names(name, client, tmp_path):
    table, given = sizes(), {"client": client, "encode": "none"}
    if name in WRITERS:
        found = maxmargin.train(written(table, tmp_path, WRITERS[name]), label="sold", **given).model
    elif name == "data frame":
        found = maxmargin.train(dd.from_pandas(table, npartitions=3), label="sold", **given).model
    else:
        blocks = [(one.drop(columns="sold"), one["sold"]) for one in (table[:100], table[100:200], table[200:])]
        found = maxmargin.train([tuple(map(dask.delayed, one)) for one in blocks], **given).model
    assert found.training["columns"] == ["height", "width", "depth"]
    assert found.training.get("label_column") == (None if name == "blocks" else "sold")
    turned = table[["depth", "sold", "height", "width"]]
    assert np.array_equal(found.predict(turned), found.predict(table[found.training["columns"]].to_numpy()))
    assert np.mean(found.predict(turned) == table["sold"]) > 0.9
    with pytest.raises(DataError, match="width"):
        found.predict(table[["height", "depth"]])


def test_columns_of_numbers_in_another_order_are_refused(client, tmp_path):
    table = sizes()
    table[:150].to_csv(tmp_path / "part-0.csv", index=False)
    table[["width", "height", "depth", "sold"]][150:].to_csv(tmp_path / "part-1.csv", index=False)
    with pytest.raises(DataError, match="partition 1 has 'width' as column 0, partition 0 'height': give all the same"):
        maxmargin.train(tmp_path / "part-*", label="sold", client=client, encode="none")


def test_a_partition_that_is_streamed_tells_its_columns(tmp_path):
    sizes().to_csv(tmp_path / "t.csv", index=False)
    files = Files(tmp_path / "t.csv", label="sold")
    assert Partition(0, files=files).executor(1).facts.n == 300
    assert columns_of_files(files) == Columns(["height", "width", "depth"], "sold")


def test_files_without_names_have_none(client, tmp_path):
    X, y = sizes().iloc[:, :3].to_numpy(), np.arange(300) % 2
    for part in range(2):
        maxmargin.write(tmp_path / f"part-{part}.svm", X[part::2], y[part::2])
    assert "columns" not in maxmargin.train(tmp_path / "part-*", client=client).model.training


def changed(number, **columns):
    return [one.assign(**columns) if k == number else one for k, one in enumerate(frames(shop()))]


TROUBLE = {
    "a column less": (lambda: [*frames(shop())[:2], frames(shop())[2].drop(columns="price")], "it lacks 'price'"),
    "a column more": (lambda: changed(1, extra=1.0), "it has 'extra' besides"),
    "text for numbers": (lambda: changed(2, price="cheap"), "'price' holds text, and numbers in"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_parts_that_differ_are_refused_in_one_line_that_names_both(name, client, tmp_path):
    make, message = TROUBLE[name]
    for number, part in enumerate(make()):
        part.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    blocks = [(dask.delayed(one.drop(columns="sold")), dask.delayed(one["sold"])) for one in make()]
    for X, given in (
        (tmp_path / "part-*", {"label": "sold", "client": client}),
        (tmp_path / "part-*", {"label": "sold"}),
        (blocks, {"client": client}),
    ):
        with pytest.raises(DataError, match=message) as caught:
            maxmargin.train(X, **given)
        assert "\n" not in str(caught.value)


def test_a_number_column_that_is_text_in_a_later_part_is_text(client, tmp_path):
    table = shop().assign(size=[*["3"] * 300, *["large", "small"] * 300])
    files = written(table, tmp_path, WRITERS["csv"])
    for given in ({}, {"client": client}):
        encoder = maxmargin.train(files, label="sold", columns=["size"], **given).model.training["encoder"]
        assert next(one for one in encoder["columns"] if one["name"] == "size")["kind"] == "category"


def test_a_column_that_is_empty_in_a_part_is_what_the_others_say(client, tmp_path):
    first, *others = frames(shop())
    parts = [first.assign(price=None, day=None, colour=None), *others]
    for number, part in enumerate(parts):
        part.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    kinds = {"price": "number", "day": "date", "colour": "category"}
    for given in ({}, {"client": client}):
        encoder = maxmargin.train(tmp_path / "part-*", label="sold", **given).model.training["encoder"]
        assert kinds.items() <= {one["name"]: one["kind"] for one in encoder["columns"]}.items()
        assert all(one["missing"] for one in encoder["columns"] if one["name"] in kinds)


def test_wishes_about_columns_are_for_tables(client, tmp_path):
    maxmargin.write(tmp_path / "rows.svm", [[1.0, 2.0], [2.0, 1.0]], [1, -1])
    with pytest.raises(ParameterError, match="names a column of a table"):
        maxmargin.train(tmp_path / "rows.svm", client=client, drop=["a"])
    with pytest.raises(ParameterError, match="there is no column 'prise'"):
        maxmargin.train(dd.from_pandas(shop(), npartitions=2), "sold", client=client, drop=["prise"])


def test_a_partition_is_encoded_again_after_the_loss_of_its_actor(client):
    rows = rows_on_cluster(dd.from_pandas(shop(), npartitions=2), "sold", None, client, request=Request())
    before, d = rows.sample(900, np.random.default_rng(0)), rows.facts.d
    rows.make([0, 1], None)
    assert rows.origin.encoder.d == d
    after = rows.sample(900, np.random.default_rng(0))
    assert np.array_equal(np.sort(before.labels), np.sort(after.labels))
    rows.close()


def test_the_command_line_encodes_on_a_cluster(client, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(shop(), tmp_path, WRITERS["csv"])
    address = client.scheduler.address
    assert run(["train", "part-*.csv", "--label", "sold", "--cluster", address, "-m", "m", "-q"]) == 0
    assert "colour  category" in capsys.readouterr().out
    assert run(["score", "m", "part-0.csv"]) == 0
    assert "accuracy 9" in capsys.readouterr().out
