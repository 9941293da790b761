"""scale=True for files that do not fit in memory: the model, its certificate and its scale are those of memory."""

import json
from pathlib import Path

import numpy as np
import pytest
from problems import overlapping
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler

import maxmargin
from maxmargin import MaxmarginError
from maxmargin.cli import run
from maxmargin.data.files import Files
from maxmargin.data.open_source import open_source
from maxmargin.data.scaling import divisors_from, divisors_of, sizes_of_source
from maxmargin.data.take import take
from maxmargin.models.scaling import divisors_in
from maxmargin.system.budget import LEAST, Budget

UNEVEN = np.array([1e-3, 1.0, 1e4, 50.0, 7.0])
WAYS = {
    "dual steps": {"solver": "cached_loops"},
    "blocks": {"solver": "block_minimization"},
    "interior point": {"solver": "interior_point"},
    "newton": {"solver": "newton", "loss": "squared_hinge"},
    "chosen": {"memory": "16MB"},
    "chosen, smooth": {"memory": "16MB", "loss": "logistic"},
    "probabilities": {"solver": "cocoa", "probability": True},
    "expanded": {"solver": "cached_loops", "expand": "poly2"},
}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=300)
    X = X * UNEVEN
    X[:, 1] = 0.0
    X[X < 0.0] = 0.0
    X[:150, 2] = 0.0  # its values are in later blocks only
    maxmargin.write("data.svm", X, y.astype(int))
    return X, y.astype(int)


@pytest.fixture(autouse=True)
def too_large(monkeypatch):
    """Let rows never fit."""
    monkeypatch.setattr(Files, "too_large", lambda files: True)


def objective(model, X, y, loss="hinge"):
    """Return P of the model on rows that are scaled by hand."""
    rows = MaxAbsScaler().fit_transform(sparse.csr_array(X))
    scores = rows @ model.w[0] + model.intercept[0]
    m = np.where(y == model.classes[1], scores, -scores)
    value = {"hinge": np.maximum(1 - m, 0), "squared_hinge": np.maximum(1 - m, 0) ** 2, "logistic": np.logaddexp(0, -m)}
    return 0.5 * model.w[0] @ model.w[0] + value[loss].sum()


@pytest.mark.parametrize("way", WAYS)
def test_the_model_is_that_of_memory(data, way, monkeypatch, tmp_path):
    X, y = data
    given = WAYS[way]
    found = maxmargin.train("data.svm", scale=True, tol=1e-5, **given)
    assert "passes" in found.model.training
    assert found.certificate.relative_gap <= 1e-5
    kept = {name: value for name, value in given.items() if name in ("loss", "expand")}
    expected = maxmargin.train(X, y, scale=True, tol=1e-5, **kept)
    assert np.array_equal(divisors_in(found.model.training["scale"]), divisors_of(take(X)))
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=3e-5)
    assert found.certificate.dual <= expected.certificate.primal
    np.testing.assert_allclose(found.model.decide(X), expected.model.decide(X), atol=0.05)
    if "expand" not in given:
        assert found.certificate.primal == pytest.approx(
            objective(found.model, X, y, given.get("loss", "hinge")), rel=1e-9
        )
    found.model.save(tmp_path / "m")
    assert np.array_equal(maxmargin.load(tmp_path / "m").decide(X), found.model.decide(X))


def test_more_classes_are_scaled_too(data):
    X, _ = data
    y = np.arange(len(X)) % 3
    maxmargin.write("three.svm", X, y)
    expected = maxmargin.train(X, y, scale=True, tol=1e-5)
    for solver in ("cached_loops", "interior_point"):
        found = maxmargin.train("three.svm", scale=True, tol=1e-5, solver=solver)
        assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=5e-5)


@pytest.mark.parametrize("dense", [True, False])
def test_the_divisors_are_those_of_all_blocks(data, dense):
    X, y = data
    np.save("data.npy", X)
    source = open_source(*(("data.npy", y) if dense else ("data.svm",)), capacity=400)
    assert len(list(source.blocks())) > 3
    assert np.array_equal(divisors_from(sizes_of_source(source, Budget(LEAST))), divisors_of(take(X)))
    assert sizes_of_source(source, Budget(LEAST), lambda: True) is None


def test_a_path_and_a_search_scale_too(data):
    X, y = data
    alone = maxmargin.train("data.svm", scale=True, C=1.0, solver="interior_point")
    path = maxmargin.path("data.svm", Cs=[0.1, 1.0], scale=True)
    assert path[1].certificate.primal == pytest.approx(alone.certificate.primal, rel=3e-4)
    assert path[1].model.training["scale"] == alone.model.training["scale"]
    tuned = maxmargin.tune("data.svm", Cs=[0.1, 1.0, 10.0], folds=3, scale=True)
    assert tuned.model.training["scale"] == alone.model.training["scale"]
    raw = maxmargin.tune("data.svm", Cs=[0.1, 1.0, 10.0], folds=3)
    assert tuned.candidates[0].scores != raw.candidates[0].scores
    assert np.mean(tuned.model.predict(X) == y) == pytest.approx(tuned.chosen.mean, abs=0.1)


def test_a_run_goes_on_only_with_the_same_scale(data, tmp_path):
    given = {"solver": "cached_loops", "checkpoint": tmp_path / "run"}
    maxmargin.train("data.svm", scale=True, max_epochs=2, **given)
    found = maxmargin.train("data.svm", scale=True, resume=True, **given)
    assert found.certificate.relative_gap <= 1e-4
    with pytest.raises(MaxmarginError, match="is of another run"):
        maxmargin.train("data.svm", resume=True, **given)


def test_encoded_tables_are_refused(data):
    Path("t.csv").write_text("a,b,y\n" + "1,20,u\n3,40,v\n" * 20)
    with pytest.raises(MaxmarginError, match="scaled already"):
        maxmargin.train("t.csv", scale=True)
    assert "scale" in maxmargin.train("t.csv", scale=True, encode="none").model.training


def test_a_pass_that_is_stopped_says_so(data):
    with pytest.raises(MaxmarginError, match="stopped before all rows were read once: give it more time"):
        maxmargin.train("data.svm", scale=True, max_seconds=1e-9)


def test_the_command_line_scales_a_streamed_file(data, capsys):
    X, _ = data
    assert run(["train", "data.svm", "--scale", "--json", "-m", "m"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert not any("--scale" in hint for hint in said["hints"])
    assert run(["predict", "m", "data.svm", "--what", "decisions", "-o", "out"]) == 0
    np.testing.assert_allclose(np.loadtxt("out"), maxmargin.load("m").decide(X), rtol=1e-9)


def test_too_many_features_are_refused_before_they_take_memory(data):
    Path("wide.svm").write_text("1 1:1\n-1 2147483647:1\n")
    with pytest.raises(MaxmarginError, match="too little for 2,147,483,647 features"):
        maxmargin.train("wide.svm", scale=True, memory="100MB")
    X = sparse.csr_array((np.ones(2), [0, 1 << 27], [0, 1, 2]), shape=(2, (1 << 27) + 1))
    with pytest.raises(MaxmarginError, match="scale is for at most 67,108,864 features"):
        maxmargin.train(X, [0, 1], scale=True)
