"""Models of tables: what they remember of the table, and what an interrupt leaves behind."""

import copy
import pickle
import signal

import numpy as np
import pandas as pd
import pytest

import maxmargin
from maxmargin.cli import run
from maxmargin.data.encoding import encoder as encoder_module
from maxmargin.data.encoding.encoder import encoder_of
from maxmargin.data.encoding.statistics import TableStatistics
from maxmargin.errors import ParameterError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers().to_csv("rows.csv", index=False)
    return tmp_path


def numbers(n=200):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return table.assign(won=np.where(table["a"] > table["b"], "yes", "no"))


def test_a_model_of_numbers_as_they_are_remembers_the_label(here, capsys):
    assert run(["train", "rows.csv", "--label", "won", "--encode", "none", "-m", "m", "-q"]) == 0
    numbers()[["won", "c", "b", "a"]].to_csv("mixed.csv", index=False)
    numbers().drop(columns="won").to_csv("bare.csv", index=False)
    capsys.readouterr()
    said = set()
    for name in ("rows.csv", "mixed.csv", "bare.csv"):
        assert run(["predict", "m", name]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1
    for name in ("rows.csv", "mixed.csv"):
        assert run(["score", "m", name]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 2
    model = maxmargin.load("m")
    assert np.array_equal(model.predict(numbers()), model.predict(numbers()[["won", "b", "c", "a"]]))
    numbers().rename(columns={"a": "A"}).to_csv("other.csv", index=False)
    assert run(["score", "m", "other.csv"]) == 1
    assert "trained with 'a', missing here; not known are 'A'" in capsys.readouterr().err


def test_several_tables_of_numbers_as_they_are_are_matched_by_name(here):
    numbers(50).to_csv("part-1.csv", index=False)
    numbers(60).to_csv("part-2.csv", index=False)
    training = maxmargin.train("part-*.csv", label="won", encode="none").model.training
    assert training["columns"] == ["a", "b", "c"]
    assert training["label_column"] == "won"


def test_a_model_decodes_its_encoder_once_and_counts_anew(here, monkeypatch):
    maxmargin.train("rows.csv", label="won").model.save("m")
    loaded = maxmargin.load("m")
    decoded = []
    monkeypatch.setattr(encoder_module, "encoder_of", lambda found: decoded.append(1) or encoder_of(found))
    models = [loaded, copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))]
    for model in models * 3:
        assert np.array_equal(model.decide(numbers()), loaded.decide(numbers()))
    assert len(decoded) <= len(models)


@pytest.mark.parametrize("given", [
    {"encode": "never"}, {"kinds": {"a": "colour"}}, {"kinds": "a=number"}, {"drop": "a"}, {"columns": 3},
])  # fmt: skip
def test_wrong_wishes_are_refused_by_every_door(given, here):
    for door in (maxmargin.read, maxmargin.train):
        with pytest.raises(ParameterError, match=next(iter(given))):
            door("rows.csv", label="won", **given)


@pytest.mark.parametrize("option", [["--drop", "a"], ["--columns", "a"], ["--as", "a=number"]])
@pytest.mark.parametrize("command", [["train"], ["inspect"]])
def test_columns_are_not_named_for_rows_without_columns(command, option, here, capsys):
    maxmargin.write("rows.svm", [[1.0, 2.0], [2.0, 1.0]], [1, -1])
    assert run([*command, "rows.svm", *option]) == 1
    assert "'a' names a column of a table: rows.svm is none" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["train", "rows.csv", "-m", "m"], ["convert", "rows.csv", "m.arrow"], ["inspect", "rows.csv"]]
)
def test_an_interrupt_in_the_pass_of_statistics_leaves_nothing_behind(command, here, monkeypatch, capsys):
    before = set(here.iterdir())
    add = TableStatistics.add

    def interrupted(*given):
        add(*given)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TableStatistics, "add", interrupted)
    assert run([*command, "--label", "won"]) == 1
    said = capsys.readouterr()
    assert said.err.strip().splitlines()[-1] == "maxmargin: interrupted"
    assert "saved" not in said.out
    assert set(here.iterdir()) == before


def test_a_model_of_a_table_is_described_by_its_columns(here, capsys):
    for encode in ("auto", "none"):
        assert run(["train", "rows.csv", "--label", "won", "--encode", encode, "-m", encode, "-q"]) == 0
    capsys.readouterr()
    assert run(["inspect", "auto"]) == 0
    said = capsys.readouterr().out
    assert "columns: 3 features, label 'won'\n  a  number    standardised" in said
    assert "encoder" not in said
    assert run(["inspect", "none"]) == 0
    assert "columns          a, b, c\n" in capsys.readouterr().out


def test_a_model_and_data_that_do_not_belong_together_are_refused(here, capsys):
    maxmargin.write("rows.svm", [[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [3.0, 0.0]], [1, -1, 1, -1])
    pd.DataFrame({"town": ["Bern", "Basel"] * 30, "label": [0, 1] * 30}).to_csv("towns.csv", index=False)
    for file, model in (("rows.svm", "vectors"), ("towns.csv", "towns")):
        assert run(["train", file, "-m", model, "-q"]) == 0
    capsys.readouterr()
    for model, file, message in (
        ("vectors", "towns.csv", "column 'town' holds 'Bern', which is not a number: give numbers"),
        ("towns", "rows.svm", "is no table, and the model was trained on one with 'town'"),
        ("towns", "rows.csv", "trained with 'town', missing here; not known are 'a', 'b', 'c'"),
        ("towns", "none.csv", "none.csv: cannot read: No such file"),
        ("vectors", "none.csv", "none.csv: cannot read: No such file"),
    ):
        for command in ("score", "predict"):
            assert run([command, model, file, *(["--label", "won"] if file == "rows.csv" else [])]) == 1
            said = capsys.readouterr().err
            assert message in said
            assert said.count("\n") == 1
