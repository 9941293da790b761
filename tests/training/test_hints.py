"""Hints: one line with the option that helps, where the data or the limits call for it, and none for healthy data."""

import json
from pathlib import Path

import numpy as np
import pytest
from problems import overlapping
from scipy import sparse

import maxmargin
from maxmargin.cli import run
from maxmargin.data.files import Files

DATA = Path(__file__).parents[3] / "shared" / "data"
rng = np.random.default_rng(0)


def healthy():
    return overlapping(n=120)


def uneven():
    X, y = healthy()
    return X * [1.0, 1.0, 1.0, 1e3, 1.0], y


def lopsided():
    X, _ = overlapping(n=300)
    return X, np.where(np.arange(300) < 4, 1, -1)


def wide():
    return rng.normal(size=(10, 400)), np.arange(10) % 2


def counts():
    X = rng.poisson(0.3, size=(200, 50)).astype(float)
    X[0, :10] = 300.0
    return X, np.arange(200) % 2


def long_tailed():
    X, y = healthy()
    X = np.abs(X) / np.abs(X).max(axis=0)
    X[1:, 2] = np.minimum(X[1:, 2], 1e-5)
    X[0, 2] = 1.0
    return X, y


CASES = {
    "healthy": (healthy, {}, []),
    "uneven": (uneven, {}, ["try --scale"]),
    "uneven and scaled": (uneven, {"scale": True}, []),
    "lopsided": (lopsided, {}, ["only 4 of 300 rows are of class 1"]),
    "lopsided and weighed": (lopsided, {"class_weight": "balanced"}, []),
    "wide": (wide, {}, ["400 features for 10 rows"]),
    "counts": (counts, {}, []),
    "long-tailed": (long_tailed, {}, []),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", ["text", "table"])
def test_a_hint_names_the_option(tmp_path, name, form):
    make, given, expected = CASES[name]
    X, y = make()
    file = tmp_path / ("d.svm" if form == "text" else "d.csv")
    if form == "text":
        maxmargin.write(file, sparse.csr_array(X), y.astype(int))
    else:
        head = ",".join([*(f"c{j}" for j in range(X.shape[1])), "y"])
        np.savetxt(file, np.column_stack([X, y]), delimiter=",", header=head, comments="", fmt="%.10g")
        given = {**given, "encode": "none"}
    hints = maxmargin.train(file, **given).hints
    assert len(hints) == len(expected)
    for hint, words in zip(hints, expected, strict=True):
        assert words in hint


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("solver", ["cached_loops", "interior_point"])
def test_a_streamed_file_gets_the_same_hints(tmp_path, monkeypatch, name, solver):
    make, given, expected = CASES[name]
    if "class_weight" in given and solver == "cached_loops":
        pytest.skip("dual steps from files take no weights of classes")
    monkeypatch.setattr(Files, "too_large", lambda files: True)
    X, y = make()
    maxmargin.write(tmp_path / "d.svm", sparse.csr_array(X), y.astype(int))
    result = maxmargin.train(tmp_path / "d.svm", solver=solver, max_epochs=30, **given)
    assert "passes" in result.model.training
    hints = [hint for hint in result.hints if "ended the training" not in hint]
    assert len(hints) == len(expected)
    for hint, words in zip(hints, expected, strict=True):
        assert words in hint


@pytest.mark.parametrize("solver", ["cached_loops", "interior_point"])
def test_a_rare_class_of_several_in_a_streamed_file_is_named(tmp_path, monkeypatch, solver):
    X, _ = overlapping(n=300)
    y = np.where(np.arange(300) < 5, 7, np.arange(300) % 2)
    maxmargin.write(tmp_path / "d.svm", X, y)
    monkeypatch.setattr(Files, "too_large", lambda files: True)
    hints = maxmargin.train(tmp_path / "d.svm", solver=solver, max_epochs=30).hints
    assert any("only 5 of 300 rows are of class 7" in hint for hint in hints)


def test_an_encoded_table_needs_no_scaling(tmp_path):
    X, y = uneven()
    np.savetxt(tmp_path / "d.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,y", comments="")
    assert maxmargin.train(tmp_path / "d.csv").hints == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_epochs": 1}, "--max-epochs 1 ended the training at a gap of "),
        ({"max_seconds": 1e-9}, "--max-seconds 1e-09 ended the training"),
    ],
)
def test_a_limit_is_named_with_its_option(given, words):
    X, y = overlapping(n=200)
    result = maxmargin.train(X, y, C=1000.0, tol=1e-12, solver="sgd", bias="none", **given)
    assert [hint.startswith(words) for hint in result.hints] == [True]
    assert "raise it, or accept a larger gap with --tol" in result.hints[0]


def test_rows_in_arrays_cost_no_search_for_hints():
    assert maxmargin.train(*uneven()).hints == []


def test_the_command_line_prints_hints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = uneven()
    maxmargin.write("d.svm", X, y.astype(int))
    assert run(["train", "d.svm", "-q"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("advice: ")] == [
        f"advice: {maxmargin.train('d.svm').hints[0]}"
    ]
    assert run(["train", "d.svm", "-q", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["hints"]) == 1


EXPECTED = {
    "heart_scale": [], "fourclass_scale": [], "german.numer_scale": [], "splice": [], "dna.scale": [],
    "svmguide1": ["--scale"], "svmguide1.t": ["--scale"], "australian": ["--scale"], "breast-cancer": ["--scale"],
    "reuters_money-fx.t": [], "rcv1_vw_1000": [], "letter.scale.t": [], "usps.t": [],
}  # fmt: skip


@pytest.mark.skipif(not DATA.is_dir(), reason=f"needs data sets beside the repository, in {DATA.name}")
@pytest.mark.parametrize("name", EXPECTED)
def test_real_data_get_a_hint_only_if_they_need_one(name):
    hints = maxmargin.train(DATA / f"{name}.xz", max_epochs=1, loss="squared_hinge", bias="regularised").hints
    hints = [hint for hint in hints if "ended the training" not in hint]
    assert len(hints) == len(EXPECTED[name])
    for hint, words in zip(hints, EXPECTED[name], strict=True):
        assert words in hint
