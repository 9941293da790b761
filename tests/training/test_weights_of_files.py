"""Weights of files: a column of the table, or a file of numbers; in memory, from disk and on the command line."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import maxmargin
from maxmargin.cli import run
from maxmargin.data.weights import weights_in
from maxmargin.errors import DataError, MaxmarginError, ParameterError
from maxmargin.system.budget import Budget
from maxmargin.system.buffers import FileMap, memory_of

N = 12_000


def rows(n=N):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 4)) * np.array([1.0, 50.0, 900.0, 5.0]), 3)
    y = np.where(X @ np.array([1.0, 0.02, 0.001, 0.2]) + rng.normal(size=n) > 0, 1, -1)
    return X, y, np.round(rng.uniform(0.0, 3.0, n), 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights")
    X, y, weights = rows()
    table = pa.table({"a": X[:, 0], "heavy": weights, "b": X[:, 1], "label": y, "c": X[:, 2], "e": X[:, 3]})
    csv.write_csv(table, path / "rows.csv")
    parquet.write_table(table, path / "rows.parquet", row_group_size=1000)
    with pa.ipc.new_file(path / "rows.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    maxmargin.write(path / "rows.svm", X, y)
    np.save(path / "rows.npy", X)
    np.save(path / "labels.npy", y)
    np.save(path / "weights.npy", weights.astype(np.float32))
    (path / "weights.txt").write_text("\n".join(map(str, weights)))
    return path


@pytest.fixture(scope="module")
def whole():
    X, y, weights = rows()
    return {loss: maxmargin.train(X, y, weights=weights, loss=loss, tol=1e-7) for loss in ("hinge", "squared_hinge")}


@pytest.mark.parametrize("memory", [None, "4MiB"])
@pytest.mark.parametrize(
    ("file", "weights"),
    [
        ("rows.csv", "heavy"), ("rows.parquet", "heavy"), ("rows.arrow", "heavy"), ("rows.svm", "weights.txt"),
        ("rows.svm", "weights.npy"), ("rows.npy", "weights.txt"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_of_files_are_those_of_arrays(folder, whole, monkeypatch, file, weights, loss, memory):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("maxmargin.data.files.COPIES", 100.0)  # so that small files do not fit in 4 MiB
    y = "labels.npy" if file == "rows.npy" else None
    given = {"loss": loss, "tol": 1e-5, "memory": memory, "threads": 1, "encode": "none"}
    result = maxmargin.train(file, y, weights=weights, **given)
    assert ("passes" in result.model.training) == (memory is not None)
    assert result.model.d == 4  # the column of weights is no feature
    assert result.model.training["weighted"]
    assert result.certificate.primal == pytest.approx(whole[loss].certificate.primal, rel=2e-5)
    assert result.certificate.dual <= whole[loss].certificate.primal * (1 + 1e-7)


def test_a_path_and_a_race_take_them(folder, whole):
    [result] = maxmargin.path(folder / "rows.csv", Cs=[1.0], weights="heavy", tol=1e-5, encode="none")
    assert result.certificate.primal == pytest.approx(whole["hinge"].certificate.primal, rel=2e-5)
    raced = maxmargin.race(
        folder / "rows.csv", weights="heavy", solvers=["newton"], loss="squared_hinge", test=folder / "rows.csv",
        encode="none",
    )  # fmt: skip
    assert raced.facts["d"] == 4
    assert raced.laps[0].outcome.certificate.primal == pytest.approx(
        whole["squared_hinge"].certificate.primal, rel=2e-5
    )


def test_the_command_line_trains_predicts_and_scores_without_the_column(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = str(folder / "rows.csv")
    assert run(["train", table, "--weights", "heavy", "--encode", "none", "-m", "m.safetensors", "-q", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    by_file = ["train", str(folder / "rows.svm"), "--weights", str(folder / "weights.txt"), "-m", "n.safetensors"]
    assert run([*by_file, "-q", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert found["primal"] == pytest.approx(other["primal"], rel=2e-4)
    assert run(["score", "m.safetensors", table]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert run(["predict", "m.safetensors", table, "-o", "p.txt"]) == 0
    assert run(["predict", "m.safetensors", str(folder / "rows.svm"), "-o", "q.txt"]) == 0
    assert (tmp_path / "p.txt").read_text() == (tmp_path / "q.txt").read_text()
    assert run(["train", table, "--weights", "light", "-q"]) == 1
    error = capsys.readouterr().err
    assert "weights='light' is neither a column of" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("memory", [None, "4MiB"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\nx\n", r"w\.txt:3: 'x' is no number"),
        ("1\n\n2\n", r"w\.txt:2: the line is empty"),
        ("1\n-2\n", "weight 1 is -2.0: a weight must be a finite number"),
        ("1\nnan\n", "weight 1 is nan"),
        ("1\n2\n", "weight"),
    ],
)
def test_wrong_files_are_refused_with_their_place(folder, tmp_path, monkeypatch, text, message, memory):
    monkeypatch.setattr("maxmargin.data.files.COPIES", 100.0)
    (tmp_path / "w.txt").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        maxmargin.train(folder / "rows.svm", weights=tmp_path / "w.txt", memory=memory)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [("absent", "neither a column of"), ("label", "column 'label' holds the weights"), ("-a", "neither a column")],
)
def test_wrong_names_are_refused(folder, weights, message):
    with pytest.raises(MaxmarginError, match=message):
        maxmargin.train(folder / "rows.csv", weights=weights, label="label")


def test_a_negative_weight_in_a_column_is_refused_with_its_row(folder):
    with pytest.raises(DataError, match=r"column 'a', row \d+ is -"):
        maxmargin.train(folder / "rows.csv", weights="a")


def test_names_are_for_files():
    with pytest.raises(ParameterError, match="names a column or a file, and X is an array"):
        maxmargin.train([[0.0], [1.0]], [0, 1], weights="heavy")


def test_dual_steps_refuse_them(folder):
    with pytest.raises(MaxmarginError, match="cached_loops has no weights: take solver='auto'"):
        maxmargin.train(folder / "rows.csv", weights="heavy", solver="cached_loops")


@pytest.mark.parametrize("kind", ["txt", "npy"])
def test_numbers_that_exceed_the_memory_are_kept_in_a_file(tmp_path, kind):
    numbers = np.random.default_rng(0).random(300_000)
    path = tmp_path / f"w.{kind}"
    np.save(path, numbers) if kind == "npy" else np.savetxt(path, numbers, fmt="%.17g")
    small, large = weights_in([path], Budget(4 << 20)), weights_in([path, path], Budget(1 << 30))
    assert isinstance(memory_of(small), FileMap)
    assert not isinstance(memory_of(large), FileMap)
    assert np.array_equal(small, numbers)
    assert np.array_equal(large, np.concatenate([numbers, numbers]))


@pytest.mark.parametrize("array", [np.ones((3, 2)), np.array(["a"]), np.array([1.0, -1.0])])
def test_arrays_that_are_no_weights_are_refused(tmp_path, array):
    np.save(tmp_path / "w.npy", array)
    with pytest.raises(DataError, match="weight"):
        weights_in([tmp_path / "w.npy"], Budget(1 << 30))


def test_a_checkpoint_belongs_to_its_weights(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.data.files.COPIES", 100.0)
    given = {"loss": "squared_hinge", "memory": "4MiB", "checkpoint": tmp_path / "kept", "threads": 1}
    maxmargin.train(folder / "rows.csv", weights="heavy", **given)
    weights = rows()[2]
    for other in ({"weights": weights}, {"weights": "heavy", "class_weight": "balanced"}):
        with pytest.raises(MaxmarginError, match="is of another run"):
            maxmargin.train(folder / "rows.csv", resume=True, **other, **given)


@pytest.mark.parametrize("solver", ["cached_loops", "selective_blocks", "block_minimization"])
def test_an_infinite_c_is_refused_before_the_file_is_read(folder, tmp_path, monkeypatch, capsys, solver):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("maxmargin.data.text.source.TextSource.blocks", None)
    with pytest.raises(ParameterError, match=r"C=inf \(lam=0\) is not for files"):
        maxmargin.train(folder / "rows.svm", C=np.inf, solver=solver)
    assert run(["train", str(folder / "rows.svm"), "-c", "inf", "--solver", solver, "-q"]) == 1
    assert "C=inf (lam=0) is not for files" in capsys.readouterr().err
