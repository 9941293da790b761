"""Probabilities of rows that do not fit in memory: calibrated on held-out folds, as in memory."""

import numpy as np
import pytest

import maxmargin
from maxmargin.data.folds import folds_of_rows
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.take import take
from maxmargin.errors import RefusedError
from maxmargin.models.probabilities import FOLDS, fit_sigmoid, fit_sigmoid_in_parts
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import TwoClasses
from maxmargin.problems.held_out import CountFolds, ScoreHeldOut
from maxmargin.problems.losses import find_loss
from maxmargin.status import Status
from maxmargin.training.held_out import without


def table(n=20_000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * np.array([1.0, 30.0, 700.0, 0.1, 5.0])[:d], 4)
    scores = X @ (np.ones(d) / X.std(axis=0)) + 2.0 * rng.normal(size=n)
    return X, np.digitize(scores, [-1.0, 1.5])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("calibration")
    X, y = table()
    maxmargin.write(path / "two.svm", X, np.minimum(y, 1))
    maxmargin.write(path / "three.svm", X, y)
    return path


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    """Files of a megabyte do not fit in 4 MiB."""
    monkeypatch.setattr("maxmargin.data.files.COPIES", 100.0)


def all_parts(rows):
    """The rows of an executor as one part."""
    return rows.part(0, rows.facts.n, ())


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_probabilities_are_close_to_those_in_memory(folder, tmp_path, name, loss):
    file = folder / f"{name}.svm"
    given = {"loss": loss, "probability": True, "class_weight": {0: 2.0}, "tol": 1e-5}
    found = maxmargin.train(file, memory="4MiB", threads=1, **given)
    whole = maxmargin.train(file, **given)
    assert found.status is Status.CONVERGED
    assert "passes" in found.model.training
    X, _ = table()
    here, there = found.model.probabilities(X[:500]), whole.model.probabilities(X[:500])
    assert np.max(np.abs(here - there)) < 0.02  # the folds differ
    assert here.sum(axis=1) == pytest.approx(1.0)
    found.model.save(tmp_path / "model.safetensors")
    loaded = maxmargin.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.probabilities(X[:500]), here)
    again = maxmargin.train(file, memory="4MiB", threads=1, **given)
    assert np.array_equal(again.model.sigmoids, found.model.sigmoids)


def test_all_folds_share_the_passes(folder):
    plain = maxmargin.train(folder / "two.svm", memory="4MiB", threads=1, loss="squared_hinge")
    found = maxmargin.train(folder / "two.svm", memory="4MiB", threads=1, loss="squared_hinge", probability=True)
    assert found.model.training["passes"] <= 2 * plain.model.training["passes"] + 6  # six fits one by one take more
    assert found.certificate.primal == plain.certificate.primal


def test_a_path_calibrates_every_c(folder):
    results = maxmargin.path(
        folder / "two.svm", Cs=[0.1, 1.0], memory="4MiB", threads=1, loss="squared_hinge", probability=True
    )
    assert all(result.model.sigmoids.shape == (1, 2) for result in results)
    assert "passes" in results[0].model.training


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_a_problem_without_a_fold_is_that_of_the_other_rows(loss):
    X, y = table(400, 3)
    y, weights = np.minimum(y, 1), np.random.default_rng(1).uniform(0.1, 2.0, 400)
    rows = MemoryRows(take(X), y, weights)
    left = folds_of_rows(all_parts(rows), FOLDS) != 2
    problem = without(PassProblem(rows, TwoClasses(find_loss(loss), 0.3, None, np.array([0, 1]))), 1, 2, FOLDS)
    rest = PassProblem(MemoryRows(take(X[left]), y[left], weights[left]), TwoClasses(find_loss(loss), 0.3, 1), "free")
    v = np.array([0.2, 0.01, -0.001, 0.1])
    what = {"epsilon": 0.5} if loss == "hinge" else {}
    here, there = problem.evaluate(v, matrix=True, **what), rest.evaluate(v, matrix=True, **what)
    assert problem.value(here) == pytest.approx(rest.value(there), rel=1e-12)
    assert here.matrix == pytest.approx(there.matrix, rel=1e-9)
    assert problem.gradient(here) == pytest.approx(rest.gradient(there), rel=1e-9)
    assert problem.certificate(here).primal >= rest.value(there)
    assert problem.certificate(here).dual == pytest.approx(rest.certificate(there).dual, rel=1e-9)


def test_a_sample_keeps_the_folds_of_its_rows():
    X, y = table(300, 3)
    rows = MemoryRows(take(np.column_stack([X, np.arange(300)])), y)
    part = rows.sample(100, np.random.default_rng(0))
    every = folds_of_rows(all_parts(rows), FOLDS)
    assert np.array_equal(folds_of_rows(part, FOLDS), every[part.rows.values[:, 3].astype(int)])
    assert np.min(np.bincount(every, minlength=FOLDS)) > 30


def test_scores_are_those_of_the_model_without_the_fold():
    X, y = table(200, 3)
    weights = np.where(np.arange(200) % 7 == 0, 0.0, 1.0)
    rows = MemoryRows(take(X), y, weights)
    v = np.random.default_rng(0).normal(size=(FOLDS, 4))
    folds = folds_of_rows(all_parts(rows), FOLDS)
    assert rows.reduce([ScoreHeldOut(np.arange(3), v, "scores")])[0][0][0] == 200
    expected = np.sum(X * v[folds, :3], axis=1) + v[folds, 3]
    assert rows.vector("scores") == pytest.approx(expected)
    assert np.array_equal(rows.vector("class numbers"), np.where(weights > 0, y, -1))
    [(counts,)] = rows.reduce([CountFolds(np.arange(3), FOLDS)])
    assert counts[2, 1] == np.count_nonzero((folds == 2) & (y == 1) & (weights > 0))


def test_a_sigmoid_in_parts_is_that_of_all_values():
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000)
    first = values + rng.normal(size=1000) > 0.3
    parts = [(values[k : k + 100], first[k : k + 100]) for k in range(0, 1000, 100)]
    assert fit_sigmoid_in_parts(lambda: parts) == pytest.approx(fit_sigmoid(values, first), rel=1e-8)


def test_a_class_whose_rows_are_all_in_one_fold(tmp_path):
    X, _ = table(2000, 3)
    y = np.zeros(2000, dtype=int)
    y[7] = 1
    maxmargin.write(tmp_path / "rare.svm", X, y)
    result = maxmargin.train(tmp_path / "rare.svm", loss="squared_hinge", memory="4MiB", probability=True, threads=1)
    assert np.all(np.isfinite(result.model.probabilities(X)))


def test_an_interrupt_leaves_a_model_without_probabilities(folder):
    calls = []

    def in_a_fold(record):
        calls.append(record.problem)
        return "without fold" in record.problem or None

    result = maxmargin.train(
        folder / "two.svm", memory="4MiB", threads=1, loss="squared_hinge", probability=True, callback=in_a_fold
    )
    assert result.status is Status.INTERRUPTED
    assert result.certificate.relative_gap <= 1e-4
    stopped = maxmargin.train(
        folder / "two.svm", memory="4MiB", threads=1, loss="squared_hinge", probability=True, callback=lambda _: True
    )
    assert stopped.status is Status.INTERRUPTED
    assert stopped.model.sigmoids is None


def test_dual_steps_refuse_it(folder):
    with pytest.raises(RefusedError, match="cached_loops has no probability: take solver='auto'"):
        maxmargin.train(folder / "two.svm", solver="cached_loops", probability=True)


def test_logistic_models_from_disk_have_probabilities_of_their_own(folder):
    found = maxmargin.train(folder / "three.svm", memory="4MiB", threads=1, loss="logistic", tol=1e-6)
    whole = maxmargin.train(folder / "three.svm", loss="logistic", tol=1e-6)
    X, _ = table()
    assert found.model.probabilities(X[:300]) == pytest.approx(whole.model.probabilities(X[:300]), abs=1e-3)
