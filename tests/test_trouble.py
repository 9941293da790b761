"""Data that trouble other packages: each still ends certified, whatever auto takes for it."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping
from scipy import sparse

import maxmargin


def duplicate_rows(X, y):
    return np.repeat(X, 10, axis=0), np.repeat(y, 10), None


def contradicting_rows(X, y):
    return np.vstack([X, X]), np.append(y, -y), None


def duplicate_columns(X, y):
    return np.hstack([X, X, X]), y, None


def constant_columns(X, y):
    return np.hstack([X, np.full((len(X), 1), 7.0), np.full((len(X), 1), -1e3)]), y, None


def empty_rows_and_columns(X, y):
    X = np.hstack([X, np.zeros((len(X), 2))])
    X[::7] = 0.0
    return X, y, None


def units(X, y):
    return X * np.append([1e12, 1e-12], np.ones(X.shape[1] - 2)), y, None


def all_units(X, y):
    return X * np.logspace(6, -6, X.shape[1]), y, None


def separable(X, y):
    return X + 3.0 * np.outer(y, np.ones(X.shape[1])), y, None


def weights_of_zero(X, y):
    return X, y, (np.arange(len(y)) % 3 > 0).astype(float)


TROUBLES = [
    duplicate_rows, contradicting_rows, duplicate_columns, constant_columns, empty_rows_and_columns, units, all_units,
    separable, weights_of_zero,
]  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize("wide", [False, True], ids=["long", "wide"])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_trouble_ends_certified(trouble, wide, loss, bias):
    X, y, weights = trouble(*(overlapping(n=60, d=90) if wide else overlapping(n=400, d=6)))
    for rows in (X, sparse.csr_matrix(X)):
        result = maxmargin.train(rows, y, loss=loss, bias=bias, weights=weights, max_seconds=20)
        assert result.status is maxmargin.Status.CONVERGED, (result.solver, result.certificate)


@pytest.mark.parametrize("seed", range(8))
def test_no_luck_is_needed_for_features_of_any_unit(seed):
    """At some round no row may be inside its box: the step has the units of the gradient, twenty orders too long."""
    X, y, _ = units(*overlapping(n=400, d=6, seed=seed))
    result = maxmargin.train(X, y, loss="hinge", bias="free", solver="second_order", max_seconds=20)
    assert result.status is maxmargin.Status.CONVERGED, (seed, result.certificate)
