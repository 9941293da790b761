"""Regression and one class as files: ours, and LIBSVM's."""

import json

import numpy as np
import pytest
from scipy import sparse

import maxmargin
from maxmargin import SVR, FileError, MaxmarginError, NuSVR, OneClassSVM
from maxmargin.cli import run

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
z = np.sin(X[:, 0]) + 0.1 * X[:, 1]
test = rng.normal(size=(30, 3))
FORMULATIONS = [SVR(C=3.0, gamma=0.5), NuSVR(C=3.0, gamma=0.5), OneClassSVM(nu=0.3, gamma=0.5)]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: type(formulation).__name__)
def test_a_function_comes_back_from_either_file(formulation, storage, tmp_path):
    model = formulation.fit(storage(X), z).model_
    model.save(tmp_path / "ours")
    again = maxmargin.load(tmp_path / "ours")
    assert np.array_equal(again.decide(storage(test)), model.decide(storage(test)))
    assert (again.width, again.certificate, again.training) == (model.width, model.certificate, model.training)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "ours").read_bytes()
    maxmargin.write_libsvm_model(model, tmp_path / "theirs")
    read = maxmargin.load(tmp_path / "theirs")
    assert read.decide(sparse.csr_matrix(test)) == pytest.approx(model.decide(storage(test)), abs=1e-12)
    assert np.array_equal(read.predict(sparse.csr_matrix(test)) > 0, model.predict(storage(test)) > 0)
    assert read.formulation == model.formulation


def test_a_file_of_libsvm_is_read_as_a_person_would_read_it(tmp_path):
    (tmp_path / "model").write_text(
        "svm_type epsilon_svr\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 1\n"
        "nr_class 2\ntotal_sv 2\nrho -0.25\nSV\n0.5 1:1 2:2\n-1.5 2:3\n"
    )
    x = np.array([2.0, -1.0])
    expected = 0.5 * (0.5 * (x[0] + 2 * x[1]) + 1) ** 2 - 1.5 * (0.5 * 3 * x[1] + 1) ** 2 + 0.25
    assert maxmargin.load(tmp_path / "model").predict(x[None, :])[0] == pytest.approx(expected)


def test_a_file_that_does_not_hold_together_is_refused(tmp_path):
    model = SVR(gamma=0.5).fit(X, z).model_
    model.coefficients = model.coefficients[1:]
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match="model: the model's arrays do not fit together"):
        maxmargin.load(tmp_path / "model")
    with pytest.raises(MaxmarginError, match="a model of epsilon-SVR has no probabilities"):
        model.probabilities(X)
    (tmp_path / "cut").write_text("svm_type nu_svr\nkernel_type linear\ntotal_sv 2\nrho 0\nSV\n1 1:1\n")
    with pytest.raises(FileError, match="total_sv is 2, but 1 lines follow SV: the model is not whole"):
        maxmargin.load(tmp_path / "cut")
    (tmp_path / "nan").write_text("svm_type nu_svr\nkernel_type linear\nrho 0\nSV\nnan 1:1\n")
    with pytest.raises(FileError, match="no finite numbers"):
        maxmargin.load(tmp_path / "nan")
    (tmp_path / "row").write_text("svm_type nu_svr\nkernel_type precomputed\nrho 0\nSV\n1 0:0\n")
    with pytest.raises(FileError, match="counted from 1"):
        maxmargin.load(tmp_path / "row")
    (tmp_path / "other").write_text("svm_type best_svr\nkernel_type linear\nSV\n")
    with pytest.raises(FileError, match="svm_type best_svr is not known"):
        maxmargin.load(tmp_path / "other")


@pytest.mark.parametrize("d", [5, 3000])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_a_file_of_libsvm_takes_rows_that_are_wider_than_its_vectors(tmp_path, storage, d):
    """The file does not say how many features there were; those that no support vector has still count in ‖x − z‖²."""
    (tmp_path / "model").write_text(
        "svm_type epsilon_svr\nkernel_type rbf\ngamma 0.5\ntotal_sv 2\nrho 0\nSV\n1 1:1 2:2\n-2 3:1\n"
    )
    x, vectors = np.zeros((2, d)), np.zeros((2, d))
    vectors[0, :2], vectors[1, 2] = (1, 2), 1
    x[0, 0], x[1, d - 1] = 1.5, 0.5
    expected = np.exp(-0.5 * ((x[:, None] - vectors[None]) ** 2).sum(axis=2)) @ [1, -2]
    assert maxmargin.load(tmp_path / "model").decide(storage(x)) == pytest.approx(expected)


def test_a_function_without_support_vectors_is_a_constant(tmp_path):
    model = SVR(epsilon=100.0).fit(X, z).model_
    assert len(model.support) == 0
    model.save(tmp_path / "ours")
    maxmargin.write_libsvm_model(model, tmp_path / "theirs")
    for name in ("ours", "theirs"):
        assert maxmargin.load(tmp_path / name).predict(test) == pytest.approx(np.full(30, model.b))


def test_labels_that_are_names_are_no_targets(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SVR().fit(X, z).model_.save("svr.safetensors")
    maxmargin.write("names.svm", X, ["a", "b"] * 40)
    assert run(["score", "svr.safetensors", "names.svm"]) == 1
    assert "its labels are text, 'a' say: epsilon-SVR is scored against numbers" in capfd.readouterr().err


def test_on_the_command_line(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    maxmargin.write("data.svm", X, z)
    svr = SVR(C=10.0, gamma=0.5).fit(X, z)
    svr.model_.save("svr.safetensors")
    assert run(["predict", "svr.safetensors", "data.svm"]) == 0
    found = np.array(capfd.readouterr().out.split(), dtype=float)
    assert found == pytest.approx(svr.predict(X), abs=1e-9)
    assert run(["score", "svr.safetensors", "data.svm", "--json"]) == 0
    figures = json.loads(capfd.readouterr().out)
    assert figures["r2"] == pytest.approx(svr.score(X, z))
    assert figures["mse"] == pytest.approx(np.mean((found - z) ** 2))
    assert run(["inspect", "svr.safetensors", "--json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["kind"], facts["formulation"], facts["features"]) == ("kernel function", "epsilon-SVR", 3)
    usual = OneClassSVM(nu=0.3, gamma=0.5).fit(X)
    maxmargin.write_libsvm_model(usual.model_, "usual.model")
    maxmargin.write("both.svm", X, usual.predict(X))
    assert run(["score", "usual.model", "both.svm", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["accuracy"] == 1.0
    assert run(["inspect", "usual.model"]) == 0
    assert "one-class" in capfd.readouterr().out
