"""Validation of kernel parameters: γ, σ, degree and coef0."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.rows import Dense, Rows, count_columns, count_rows
from maxmargin.errors import ParameterError
from maxmargin.system.values import is_number


def check_gamma(gamma: Any) -> None:
    """Raise ParameterError unless γ is a positive number, "scale" or "auto"."""
    if isinstance(gamma, str) and gamma in ("auto", "scale"):
        return
    if not checked_number("gamma", gamma, ' or "scale" or "auto"') > 0.0:
        raise ParameterError(f'gamma={gamma!r} must be above 0, or "scale" or "auto"')


def checked_gamma(gamma: Any, rows: Rows, weights: np.ndarray | None = None) -> float:
    """Return γ as a number; "scale" uses the weighted variance of the rows."""
    check_gamma(gamma)
    d = max(count_columns(rows), 1)
    if gamma == "auto":
        return 1.0 / d
    if gamma == "scale":
        variance = variance_of(rows, weights)
        return 1.0 / (d * variance) if variance > 0.0 else 1.0
    return float(gamma)


def gamma_of(sigma: Any) -> float:
    """Return γ of a Gaussian of width σ."""
    if not 1e-100 < checked_number("sigma", sigma) < 1e100:
        raise ParameterError(f"sigma={sigma!r} must be above 0, and within 1e±100: the width of the Gaussian")
    return 0.5 / float(sigma) ** 2


def checked_number(name: str, value: Any, otherwise: str = "") -> float:
    """Return the value as a float; raise ParameterError if it is not a finite number."""
    if not is_number(value) or not np.isfinite(value):
        raise ParameterError(f"{name}={value!r} must be a finite number{otherwise}")
    return float(value)


def checked_degree(degree: Any) -> int:
    """Return the degree as an int; raise ParameterError if it is not a positive integer."""
    if checked_number("degree", degree) != np.floor(degree):
        raise ParameterError(f"degree={degree!r} must be a whole number, 1 or above")
    if degree < 1:
        raise ParameterError(f"degree={degree!r} must be 1 or above: a polynomial of degree 0 is the same everywhere")
    return int(degree)


def variance_of(rows: Rows, weights: np.ndarray | None = None) -> float:
    """Return the variance of all values, including zeros that are not stored; a weight of 2 counts as two rows."""
    n, d = count_rows(rows), count_columns(rows)
    if isinstance(rows, Dense) and weights is None and n * d:
        mean = float(rows.values.sum(dtype=np.float64)) / (n * d)
        return float(np.square(rows.values - mean, dtype=np.float64).sum()) / (n * d)
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(np.sum(weights)) * d
    if not total > 0.0:
        return 0.0
    if isinstance(rows, Dense):
        mean = float(np.sum(weights @ rows.values)) / total
        return float(weights @ np.sum(np.square(rows.values - mean, dtype=np.float64), axis=1)) / total
    shares = np.repeat(weights, np.diff(rows.indptr))
    mean = float(shares @ rows.values) / total
    missing = total - float(np.sum(shares))
    return (float(shares @ np.square(rows.values - mean, dtype=np.float64)) + missing * mean**2) / total
