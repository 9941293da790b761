"""The path over C of rows that do not fit in memory: all C in the same passes, each with its own certificate."""

import numpy as np
import pytest
from problems import EVERY_LOSS

import maxmargin
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.status import Status
from maxmargin.training import file_passes
from maxmargin.training.by_passes import groups_of

CS = [10.0, 0.01, 1.0, 1.0, 0.1]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 6)) * np.array([1.0, 30.0, 1000.0, 0.1, 5.0, 200.0]) + 2.0
    y = np.digitize((X - 2.0) @ (1.0 / X.std(axis=0)) + rng.normal(size=len(X)), [-1.0, 1.0])
    path = tmp_path_factory.mktemp("path")
    maxmargin.write(path / "two.svm", X, np.minimum(y, 1))
    maxmargin.write(path / "three.svm", X[:15_000], y[:15_000])
    return path


def from_disk(file, **options):
    return maxmargin.path(file, memory="5MB", threads=1, **options)


@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_every_c_reaches_what_memory_reaches_in_the_passes_of_one(data, loss):
    results = from_disk(data / "two.svm", Cs=CS, loss=loss, tol=1e-5)
    assert [result.model.training["C"] for result in results] == CS
    for C, result in zip(CS, results, strict=True):
        whole = maxmargin.train(data / "two.svm", C=C, loss=loss, tol=1e-7)
        assert result.status is Status.CONVERGED
        assert result.certificate.relative_gap <= 1e-5
        assert result.certificate.dual <= whole.certificate.primal
        assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=1.1e-5)
        assert result.model.predict(np.zeros((1, 6)))[0] in (0, 1)
    longest = max(len(result.history) for result in results)
    assert results[0].model.training["passes"] <= 2 * longest + 4  # not the sum over all C
    assert results[0].history[0].problem == "C=10"


def test_several_classes_in_groups_that_fit_in_memory(data, monkeypatch):
    at_once = []
    monkeypatch.setattr(file_passes, "problems_at_once", lambda *_: at_once.append(1) or 6)  # two C of three classes
    Cs = [0.01, 0.1, 1.0]
    results = from_disk(data / "three.svm", Cs=Cs, loss="squared_hinge", tol=1e-5)
    assert at_once == [1]
    assert results[0].model.training["passes"] < results[-1].model.training["passes"]
    for C, result in zip(Cs, results, strict=True):
        whole = maxmargin.train(data / "three.svm", C=C, loss="squared_hinge", tol=1e-7)
        assert result.model.w.shape == (3, 6)
        assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=1.1e-5)


def test_later_groups_start_from_the_last_result(data, monkeypatch):
    monkeypatch.setattr(file_passes, "problems_at_once", lambda *_: 1)
    results = from_disk(data / "two.svm", Cs=[1.0, 1.001], loss="logistic", tol=1e-7)
    first, second = (len(result.history) for result in results)
    assert second <= first
    again = from_disk(data / "two.svm", Cs=[1.0, 1.001], loss="logistic", tol=1e-7)
    assert all(np.array_equal(one.model.w, two.model.w) for one, two in zip(results, again, strict=True))


def test_groups_are_of_about_equal_size():
    assert groups_of([1.0, 2.0, 3.0, 4.0], 3) == [[1.0, 2.0], [3.0, 4.0]]
    assert groups_of([1.0, 2.0, 3.0], 0) == [[1.0], [2.0], [3.0]]
    assert groups_of([1.0, 2.0, 3.0], 9) == [[1.0, 2.0, 3.0]]


def test_a_callback_ends_it_with_the_values_that_had_started(data, monkeypatch):
    monkeypatch.setattr(file_passes, "problems_at_once", lambda *_: 2)
    results = from_disk(data / "two.svm", Cs=[0.01, 0.1, 1.0], loss="logistic", callback=lambda record: True)
    assert [result.model.training["C"] for result in results] == [0.01, 0.1]
    assert all(np.isfinite(result.certificate.primal) for result in results)


def test_wide_files_with_hinge_take_dual_steps_for_one_c_after_the_other(tmp_path):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((1500, 450)) < 0.9, 0.0, rng.normal(size=(1500, 450)))
    maxmargin.write(tmp_path / "wide.svm", X, np.where(X[:, 0] + X[:, 1] > 0, 1, -1))
    results = maxmargin.path(tmp_path / "wide.svm", Cs=[0.1, 0.01], memory="4MiB", threads=1)
    assert [result.solver for result in results] == ["cached_loops"] * 2
    assert [result.model.training["C"] for result in results] == [0.1, 0.01]
    for result in results:
        whole = maxmargin.train(tmp_path / "wide.svm", C=result.model.training["C"])
        assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": [1.0, np.inf]}, "each C must be a positive number"),
        ({"solver": "cached_loops"}, "trains for one C at a time"),
        ({"kernel": "gaussian"}, "path is for linear models"),
        ({"lam": 1.0}, "path takes no lam"),
    ],
)
def test_what_a_path_cannot_do_is_refused(data, options, message):
    with pytest.raises((ParameterError, RefusedError), match=message):
        from_disk(data / "two.svm", **options)
