"""scale=True: features divided by their largest absolute value, in training, and again in every prediction."""

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
from maxmargin.models.scaling import divisors_in, saved

UNEVEN = np.array([1e-3, 1.0, 1e4, 50.0, 7.0])
WAYS = {
    "linear": {},
    "logistic": {"loss": "logistic"},
    "kernel": {"kernel": "gaussian"},
    "probabilities": {"kernel": "gaussian", "probability": True},
    "approximate": {"kernel": "gaussian", "approx": "nystrom", "components": 20},
    "expanded": {"expand": "poly2"},
    "regression": {"task": "regress", "kernel": "gaussian"},
    "novelty": {"task": "novelty", "kernel": "gaussian"},
}


@pytest.fixture
def data():
    X, y = overlapping(n=80)
    X = X * UNEVEN
    X[:, 4] = 0.0
    X[X < 0.0] = 0.0
    return X, y.astype(int)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_model_is_that_of_scaled_rows(data, way, form, tmp_path):
    X, y = data
    found = maxmargin.train(form(X), y, scale=True, **WAYS[way])
    scaler = MaxAbsScaler().fit(form(X))
    expected = maxmargin.train(scaler.transform(form(X)), y, **WAYS[way])
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-12)
    found.model.save(tmp_path / "m")
    loaded = maxmargin.load(tmp_path / "m")
    for model in (found.model, loaded):
        np.testing.assert_allclose(
            model.decide(form(X)), expected.model.decide(scaler.transform(form(X))), rtol=1e-9, atol=1e-9
        )


def test_what_is_given_is_not_changed(data):
    X, y = data
    X = sparse.csr_array(X)
    before = X.copy()
    maxmargin.train(X, y, scale=True)
    np.testing.assert_array_equal(X.toarray(), before.toarray())


def test_a_path_scales_too(data):
    X, y = data
    results = maxmargin.path(X, y, Cs=[0.1, 1.0], scale=True)
    np.testing.assert_allclose(
        results[1].model.decide(X), maxmargin.train(X, y, scale=True).model.decide(X), rtol=1e-2, atol=1e-2
    )


def test_fewer_and_more_features_are_met_as_without_scaling(data):
    X, y = data
    model = maxmargin.train(X, y, scale=True).model
    assert model.decide(X[:, :3]).shape == (80,)
    with pytest.raises(MaxmarginError, match="6 features, but the model was trained with 5"):
        model.decide(np.ones((2, 6)))


def test_the_command_line_scales_and_predicts(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = data
    maxmargin.write("data.svm", X, y)
    assert run(["train", "data.svm", "--scale", "-q", "-m", "m"]) == 0
    assert run(["predict", "m", "data.svm", "--what", "decisions", "-o", "out"]) == 0
    np.testing.assert_allclose(np.loadtxt("out"), maxmargin.train(X, y, scale=True).model.decide(X), rtol=1e-9)
    capsys.readouterr()
    assert run(["inspect", "m"]) == 0
    said = capsys.readouterr().out
    assert "scale            each feature by its largest absolute value" in said
    Path("t.csv").write_text("a,b,y\n1,20,u\n3,40,v\n2,10,u\n7,9,v\n")
    assert run(["train", "t.csv", "--scale", "-q"]) == 1
    assert "scaled already" in capsys.readouterr().err
    assert run(["train", "t.csv", "--scale", "--encode", "none", "-q"]) == 0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"expand": "kmers:2"}, "counts of words"),
    ],
)
def test_what_cannot_be_scaled_is_refused(data, tmp_path, given, reason):
    X, y = data
    maxmargin.write(tmp_path / "data.svm", X, y)
    with pytest.raises(MaxmarginError, match=reason):
        maxmargin.train(tmp_path / "data.svm", scale=True, **given)


def test_a_model_that_scales_is_not_exported(data, tmp_path):
    X, y = data
    for write, way in ((maxmargin.write_liblinear_model, "linear"), (maxmargin.write_libsvm_model, "kernel")):
        with pytest.raises(MaxmarginError, match="do not scale rows"):
            write(maxmargin.train(X, y, scale=True, **WAYS[way]).model, tmp_path / "m")
    with pytest.raises(MaxmarginError, match="do not scale rows"):
        maxmargin.train(X, y, scale=True).model.to_sklearn()


DAMAGED = [
    None, 3, {}, {"count": 5}, {"count": -1, "divisors": ""}, {"count": True, "divisors": ""},
    {"count": 5, "divisors": "?"}, {"count": 5, "divisors": "AAAA"}, {"count": 1 << 40, "divisors": ""},
    {**saved(np.ones(4)), "count": 5}, {**saved(np.ones(6)), "count": 5}, saved(np.zeros(5)), saved(np.full(5, np.nan)),
]  # fmt: skip


@pytest.mark.parametrize("found", DAMAGED, ids=[str(k) for k in range(len(DAMAGED))])
def test_damaged_divisors_are_refused(found):
    with pytest.raises(ValueError, match="scale"):
        divisors_in(found)


def test_a_file_with_damaged_divisors_is_refused(data, tmp_path):
    X, y = data
    model = maxmargin.train(X, y, scale=True).model
    model.training["scale"]["divisors"] = "AAAA"
    model.save(tmp_path / "m")
    with pytest.raises(maxmargin.FileError, match="scale"):
        maxmargin.load(tmp_path / "m")


def test_divisors_are_kept_exactly():
    divisors = np.random.default_rng(0).lognormal(size=1000)
    np.testing.assert_array_equal(divisors_in(json.loads(json.dumps(saved(divisors)))), divisors)
