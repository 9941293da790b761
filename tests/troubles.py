"""Data that make trouble: copies, constants, units far apart, weights of zero; each gives X, y and weights."""

import numpy as np


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
