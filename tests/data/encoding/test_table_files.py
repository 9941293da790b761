"""Tables in files: how CSV files are written, memory, prediction by name, and what is refused."""

import bz2
import gzip
import lzma
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import maxmargin
from maxmargin.cli import run
from maxmargin.data.encoding.request import Request
from maxmargin.data.files import Files
from maxmargin.data.open_source import kind_of
from maxmargin.data.table_parts import part_of_table
from maxmargin.data.tables.csv_dialect import dialect_of
from maxmargin.errors import DataError, FileError, MaxmarginError
from maxmargin.status import Status
from maxmargin.system.budget import Budget


def shop(n=900, seed=0):
    rng = np.random.default_rng(seed)
    price, colour = np.round(rng.gamma(2.0, 10.0, n), 2), rng.choice(["red", "green", "dark, blue"], n)
    day = pd.to_datetime("2025-03-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    score = 0.1 * (price - 20.0) + 2.0 * (colour == "red") - 1.0 + 0.5 * rng.normal(size=n)
    table = pd.DataFrame({"price": price, "colour": colour, "day": day.strftime("%Y-%m-%d"), "sold": score > 0})
    table["sold"] = np.where(table["sold"], "yes", "no")
    table.loc[rng.random(n) < 0.1, "price"] = np.nan
    return table


WAYS = {
    "plain.csv": lambda t, p: t.to_csv(p, index=False),
    "semicolons.csv": lambda t, p: t.to_csv(p, index=False, sep=";"),
    "commas.csv": lambda t, p: t.to_csv(p, index=False, sep=";", decimal=","),
    "tabs.tsv": lambda t, p: t.to_csv(p, index=False, sep="\t"),
    "bars.txt": lambda t, p: t.to_csv(p, index=False, sep="|"),
    "mark.csv": lambda t, p: t.to_csv(p, index=False, encoding="utf-8-sig"),
    "utf16.csv": lambda t, p: t.to_csv(p, index=False, encoding="utf-16"),
    "windows.csv": lambda t, p: t.to_csv(p, index=False, lineterminator="\r\n"),
    "quoted.csv": lambda t, p: t.to_csv(p, index=False, quoting=1),
    "named.svm": lambda t, p: t.to_csv(p, index=False),
    "packed.csv.gz": lambda t, p: p.write_bytes(gzip.compress(t.to_csv(index=False).encode())),
    "packed.csv.bz2": lambda t, p: p.write_bytes(bz2.compress(t.to_csv(index=False).encode())),
    "packed.csv.xz": lambda t, p: p.write_bytes(lzma.compress(t.to_csv(index=False).encode())),
    "packed.csv.zst": lambda t, p: p.write_bytes(pa.compress(t.to_csv(index=False).encode(), "zstd", asbytes=True)),
    "rows.parquet": lambda t, p: parquet.write_table(pa.Table.from_pandas(t, preserve_index=False), p),
    "index.parquet": lambda t, p: t[t["colour"] != "none"].iloc[::-1].to_parquet(p),
    "rows.arrow": lambda t, p: feather.write_feather(pa.Table.from_pandas(t, preserve_index=False), p),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_way_of_writing_a_table_gives_the_same_model(name, tmp_path):
    table, path = shop(), tmp_path / name
    WAYS[name](table, path)
    known = maxmargin.train(table, label="sold", tol=1e-7).model
    result = maxmargin.train(path, label="sold", tol=1e-7)
    assert result.status is Status.CONVERGED
    assert result.model.d == known.d
    np.testing.assert_allclose(result.model.w, known.w, atol=2e-3)
    assert np.mean(result.model.predict(table) == table["sold"]) > 0.85


@pytest.mark.parametrize("name", ["plain.csv", "packed.csv.gz", "rows.parquet", "rows.arrow"])
def test_a_table_that_does_not_fit_in_memory_gives_the_same_model(name, tmp_path, monkeypatch):
    table, path = shop(4000), tmp_path / name
    WAYS[name](table, path)
    known = maxmargin.train(path, label="sold", tol=1e-7).model
    monkeypatch.setattr("maxmargin.data.files.COPIES", 1000.0)
    result = maxmargin.train(path, label="sold", memory="8MB", tol=1e-6)
    assert "passes" in result.model.training
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.model.w, known.w, atol=2e-2)
    assert np.array_equal(result.model.predict(table), known.predict(table))


def test_a_column_that_turns_out_to_be_text_or_numbers_is_read_again(tmp_path):
    late, rng = 60_000, np.random.default_rng(0)
    size = [*map(str, rng.integers(0, 5, late)), *["large", "small"] * 20]
    empty = [""] * late + ["3.5", "4.5"] * 20
    y = rng.integers(0, 2, late + 40)
    pd.DataFrame({"size": size, "late": empty, "x": rng.normal(size=late + 40), "label": y}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    encoder = maxmargin.train(tmp_path / "rows.csv", tol=0.5, max_epochs=5).model.training["encoder"]
    kinds = {column["name"]: column["kind"] for column in encoder["columns"]}
    assert kinds == {"size": "category", "late": "number", "x": "number"}


def test_a_file_without_names_gets_some(tmp_path):
    (tmp_path / "iris.data").write_text("5.1,3.5,setosa\n7.0,3.2,versicolor\n6.1,2.9,versicolor\n4.9,3.1,setosa\n")
    assert kind_of(tmp_path / "iris.data") == "csv"
    assert maxmargin.train(tmp_path / "iris.data", label="c3").model.classes.tolist() == ["setosa", "versicolor"]
    assert dialect_of(tmp_path / "iris.data").names == ["c1", "c2", "c3"]


def test_libsvm_text_is_recognised_whatever_its_name(tmp_path):
    (tmp_path / "rows.csv").write_text("1 1:0.5 3:2\n-1 2:1\n1\n")
    assert kind_of(tmp_path / "rows.csv") == "text"


def test_the_command_line_remembers_the_label_and_matches_columns_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = shop()
    table.to_csv("shop.csv", index=False)
    assert run(["train", "shop.csv", "--label", "sold", "-q"]) == 0
    out = capsys.readouterr().out
    assert "colour  category  one-hot: 3 values" in out
    assert run(["score", "shop.safetensors", "shop.csv", "--json"]) == 0
    scored = capsys.readouterr().out
    mixed = table[["sold", "day", "colour", "price"]].assign(extra=1)
    mixed.to_csv("mixed.tsv", index=False, sep="\t")
    assert run(["score", "shop.safetensors", "mixed.tsv", "--json"]) == 0
    assert capsys.readouterr().out == scored
    assert run(["predict", "shop.safetensors", "shop.csv", "-o", "one.txt"]) == 0
    table.drop(columns="sold").to_parquet("bare.parquet")
    assert run(["predict", "shop.safetensors", "bare.parquet", "-o", "two.txt"]) == 0
    assert (tmp_path / "one.txt").read_text() == (tmp_path / "two.txt").read_text()
    table.drop(columns="colour").assign(color="red").to_csv("less.csv", index=False)
    assert run(["predict", "shop.safetensors", "less.csv"]) == 1
    assert "trained with 'colour', missing here; not known are 'color'" in capsys.readouterr().err
    table.assign(colour="pink").to_csv("pink.csv", index=False)
    assert run(["predict", "shop.safetensors", "pink.csv", "-o", "three.txt"]) == 0
    assert "900 unknown values in 'colour'" in capsys.readouterr().err
    maxmargin.write("rows.svm", [[1.0, 2.0]], [1])
    assert run(["predict", "shop.safetensors", "rows.svm"]) == 1
    assert "is no table" in capsys.readouterr().err


def test_a_table_is_inspected_and_converted_with_its_encoder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shop().to_csv("shop.csv", index=False)
    assert run(["inspect", "shop.csv", "--label", "sold"]) == 0
    assert "colour  category  one-hot: 3 values" in capsys.readouterr().out
    assert run(["convert", "shop.csv", "shop.arrow", "--label", "sold", "-q"]) == 0
    assert run(["train", "shop.arrow", "-m", "blocks", "-q"]) == 0
    assert run(["train", "shop.csv", "--label", "sold", "-m", "table", "-q"]) == 0
    capsys.readouterr()
    said = []
    for model, file in (("blocks", "shop.csv"), ("table", "shop.csv"), ("table", "shop.arrow")):
        assert run(["score", model, file]) == 0
        said.append(capsys.readouterr().out)
    assert len(set(said)) == 1


def test_a_race_runs_on_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shop().to_csv("shop.csv", index=False)
    given = ["--solvers", "dual_coordinate,newton", "--loss", "squared_hinge", "--test", "shop.csv", "--label", "sold"]
    assert run(["race", "shop.csv", *given, "-q"]) == 0
    assert "newton" in capsys.readouterr().out


def test_standard_input_is_a_file_too(tmp_path):
    shop().to_csv(tmp_path / "shop.csv", index=False)
    program = "from maxmargin.cli import main; main()"
    with (tmp_path / "shop.csv").open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", program, "train", "-", "--label", "sold", "-q"],
            stdin=stream, capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "standard-input.safetensors").exists()


WRONG = {
    "continuous": ("a,label\n" + "".join(f"{k % 7},{k / 7}\n" for k in range(60)), "too many for classes.*regress"),
    "ragged": ("a,b,label\n1,2,x\n1,2\n3,4,y\n", "has 2 fields"),
    "quote": ('a,label\n1,x\n"2,y\n3,x\n', "fields|quote|never ends"),
    "twice": ("a,a,label\n1,2,x\n2,1,y\n", "same name"),
    "no label": ("a,b\n1,2\n3,4\n", "no column is called label"),
    "one class": ("a,label\n1,x\n2,x\n", "1 class only"),
    "no label in a row": ("a,label\n1,x\n2,\n3,y\n", "has no label"),
    "constants": ("a,label\n1,x\n1,y\n", "features are missing"),
    "infinite": ("a,label\n1,x\ninf,y\n3,x\n", "is infinite"),
    "latin": ("a,label\ncaf\xe9,x\nth\xe9,y\n".encode("latin1"), "UTF-8"),
    "empty": ("a,label\n", "no rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_in_one_line(name, tmp_path):
    content, message = WRONG[name]
    path = tmp_path / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((DataError, FileError), match=message) as caught:
        maxmargin.train(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_number_column_with_text_at_prediction_names_the_value(tmp_path):
    shop().to_csv(tmp_path / "shop.csv", index=False)
    model = maxmargin.train(tmp_path / "shop.csv", label="sold").model
    model.save(tmp_path / "m")
    shop().assign(price="cheap").to_csv(tmp_path / "bad.csv", index=False)
    assert run(["predict", str(tmp_path / "m"), str(tmp_path / "bad.csv")]) == 1
    with pytest.raises(MaxmarginError, match=r"column 'price'.*cheap"):
        model.predict(shop().assign(price="cheap"))


def test_the_sample_of_long_rows_keeps_to_the_memory_limit(tmp_path):
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcdefgh "), (3000, 4000))
    table = pd.DataFrame({"note": ["".join(row) for row in letters], "label": rng.integers(0, 2, 3000)})
    table.to_csv(tmp_path / "rows.csv", index=False)
    files = Files(tmp_path / "rows.csv", memory=Budget(4 << 20), request=Request())
    [one] = files.tables
    found = part_of_table(one, 0, Request(label="label"), {})
    assert found.rows == 3000
    assert found.sample.num_rows >= 100
    assert found.sample.nbytes <= 4 << 20
