"""The path over C: as good as one training for each, in any order, at one reading of the data."""

import os
import signal
import time

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping

import maxmargin
from maxmargin import regularisation_path as regularisation
from maxmargin.data import examples
from maxmargin.regularisation_path import path, split


@pytest.mark.parametrize("bias", EVERY_BIAS)
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_each_c_is_certified_and_reaches_what_train_reaches(loss, bias):
    X, y = overlapping(n=300, d=6)
    Cs = [100.0, 0.01, 1.0, 1.0]
    results = path(X, y, Cs=Cs, loss=loss, bias=bias, tol=1e-7)
    assert [result.model.training["C"] for result in results] == Cs
    for C, result in zip(Cs, results, strict=True):
        alone = maxmargin.train(X, y, C=C, loss=loss, bias=bias, tol=1e-7)
        assert result.certificate.relative_gap <= 1e-7
        assert result.certificate.primal == pytest.approx(alone.certificate.primal, rel=3e-7)


def test_several_classes_weights_and_a_file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(200, 3)), axis=1)
    maxmargin.write(tmp_path / "data.svm", X, y)
    weights = rng.random(200)
    results = path(str(tmp_path / "data.svm"), Cs=[0.1, 1.0], weights=weights)
    for C, result in zip((0.1, 1.0), results, strict=True):
        alone = maxmargin.train(tmp_path / "data.svm", C=C, weights=weights)
        assert result.model.w.shape == (3, 4)
        assert result.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-4)


def test_the_rows_are_checked_once(monkeypatch):
    X, y = overlapping()
    calls = []
    monkeypatch.setattr(examples, "take_unseen", lambda X, take=examples.take_unseen: calls.append(1) or take(X))
    assert len(path(X, y, Cs=[0.1, 1.0, 10.0])) == 3
    assert len(calls) == 1


def test_warm_starts_save_epochs():
    X, y = overlapping(n=2000, d=50)
    Cs = np.logspace(-2, 1, 13)
    warm = sum(result.epochs for result in path(X, y, Cs=Cs, solver="dual_coordinate"))
    cold = sum(maxmargin.train(X, y, C=C, solver="dual_coordinate").epochs for C in Cs)
    assert warm < 0.8 * cold


def test_warm_starts_save_epochs_where_a_dual_point_says_little_of_w():
    X, y = overlapping(n=20_000, d=8)
    X = X * np.logspace(0.0, 3.0, 8)
    Cs = np.logspace(-2, 2, 9)
    warm = sum(result.epochs for result in path(X, y, Cs=Cs, solver="second_order"))
    cold = sum(maxmargin.train(X, y, C=C, solver="second_order").epochs for C in Cs)
    assert warm < 0.8 * cold


def test_a_callback_ends_it_with_what_there_is():
    X, y = overlapping(n=500)
    results = path(X, y, Cs=[0.1, 1.0, 1e5], callback=lambda record: record.epochs >= 1 and len(record.problem) == 0)
    assert len(results) == 1
    assert np.isfinite(results[0].certificate.primal)


def test_several_c_at_once_are_the_same_each_time():
    X, y = overlapping(n=500)
    Cs = np.logspace(-2, 2, 9)
    first, second = (path(X, y, Cs=Cs, threads=4) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.status is maxmargin.Status.CONVERGED
        np.testing.assert_array_equal(one.model.w, other.model.w)


def test_a_callback_ends_several_at_once_and_is_called_by_one_at_a_time():
    X, y = overlapping(n=500)
    inside, together, calls = [], [], []

    def callback(record):
        inside.append(1)
        calls.append(1)
        time.sleep(1e-3)
        together.append(len(inside))
        inside.pop()
        return len(calls) >= 3

    results = path(X, y, Cs=np.logspace(3, 6, 40), tol=1e-15, callback=callback, threads=4)
    assert set(together) == {1}
    assert 1 <= len(results) < 40
    assert all(np.isfinite(result.certificate.primal) for result in results)


def test_ctrl_c_ends_several_at_once():
    X, y = overlapping(n=3000, d=20)
    sent = []

    def interrupt(record):
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    results = path(X, y, Cs=np.logspace(2, 6, 24), tol=1e-15, callback=interrupt, threads=2)
    assert len(results) < 24
    assert maxmargin.Status.INTERRUPTED in {result.status for result in results}


def test_an_error_ends_every_stretch_and_reaches_the_caller():
    X, y = overlapping(n=500)
    seen = []

    def failing(record):
        seen.append(record)
        if len(seen) == 3:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        path(X, y, Cs=np.logspace(3, 6, 40), tol=1e-15, callback=failing, threads=4)
    assert len(seen) < 40


def test_rows_that_are_made_longer_are_trained_on_one_c_at_a_time(monkeypatch):
    X, y = overlapping(n=200, d=3)
    monkeypatch.setattr(regularisation, "split", lambda rising, parts: [rising] if parts == 1 else pytest.fail("more"))
    assert len(path(X, y, Cs=np.logspace(-2, 2, 6), expand="poly2", threads=4)) == 6


def test_stretches_hold_every_c_in_order_and_none_is_empty():
    for count in range(1, 30):
        for parts in range(1, max(count // 2, 1) + 1):
            stretches = split(list(range(count)), parts)
            assert [C for stretch in stretches for C in stretch] == list(range(count))
            assert len(stretches) == parts
            assert all(stretches)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"Cs": []}, "Cs is empty"),
        ({"Cs": [1.0, -1.0]}, "Cs holds -1.0"),
        ({"Cs": ["one"]}, "Cs holds 'one'"),
        ({"Cs": [np.inf]}, "Cs holds inf"),
        ({"Cs": [1.0], "C": 2.0}, "path takes no C"),
        ({"Cs": [1.0], "checkpoint": "x"}, "path takes no checkpoint"),
    ],
)
def test_what_is_no_path_is_said(options, words):
    with pytest.raises(maxmargin.ParameterError, match=words):
        path(*overlapping(), **options)
