"""The formulations C-SVC, ε-SVR, one-class, ν-SVC and ν-SVR as arrays of the common kernel problem (see kernel.py)."""

from __future__ import annotations

import numpy as np

from maxmargin.data.labels import show
from maxmargin.errors import ParameterError
from maxmargin.problems.kernel import Formulation
from maxmargin.system.values import is_number


def c_svc(y: np.ndarray, C: np.ndarray, bias: str = "free") -> Formulation:
    """Classification with labels ±1 and a C for each example."""
    n, ends = len(y), C * y
    lo, hi = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    return Formulation("C-SVC", np.arange(n), np.ones(n), -y, lo, hi, no_groups(n), bias_sums(bias), np.zeros(n))


def epsilon_svr(z: np.ndarray, C: np.ndarray, epsilon: float, bias: str = "free") -> Formulation:
    """Regression with targets z; errors up to ε cost nothing."""
    n, sums = len(z), bias_sums(bias)
    nothing = np.zeros(n)
    return Formulation(
        "epsilon-SVR",
        np.tile(np.arange(n), 2),
        np.ones(2 * n),
        np.concatenate([epsilon - z, -epsilon - z]),
        np.concatenate([nothing, -C]),
        np.concatenate([C, nothing]),
        no_groups(2 * n),
        sums,
        np.zeros(2 * n),
    )


def one_class(weights: np.ndarray, nu: float) -> Formulation:
    """Novelty detection: a region that contains all but about a fraction ν of the examples."""
    check_nu(nu)
    n, total = len(weights), nu * float(np.sum(weights))
    start = filled(weights, total)
    nothing = np.zeros(n)
    return Formulation(
        "one-class", np.arange(n), np.ones(n), nothing, nothing, weights, no_groups(n), np.array([total]), start
    )


def nu_svc(y: np.ndarray, weights: np.ndarray, nu: float, classes: tuple[object, object] = (-1, 1)) -> Formulation:
    """Classification with labels ±1. The fraction of margin errors is at most ν, that of support vectors at least ν."""
    check_nu(nu)
    n, half = len(y), 0.5 * nu * float(np.sum(weights))
    start = np.zeros(n)
    for sign in (1, -1):
        own = y == sign
        room = float(np.sum(weights[own]))
        if half > room * (1.0 + 1e-12):
            rare, largest = show(classes[sign > 0]), largest_nu(y, weights)
            raise ParameterError(
                f"nu={nu!r} is infeasible: class {rare} is too rare for it; the largest feasible nu is {largest:.6g}"
            )
        start[own] = filled(weights[own], half)
    group = (y < 0).astype(np.intp)
    nothing = np.zeros(n)
    return Formulation("nu-SVC", np.arange(n), y, nothing, nothing, weights, group, np.array([half, half]), start)


def largest_nu(y: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest ν for which both classes have enough weight."""
    return 2.0 * min(float(np.sum(weights[y == sign])) for sign in (1, -1)) / float(np.sum(weights))


def nu_svr(z: np.ndarray, C: np.ndarray, nu: float) -> Formulation:
    """Regression with targets z. About a fraction ν of the examples is outside the tube, whose ε follows from ν."""
    check_nu(nu)
    n, half = len(z), 0.5 * nu * float(np.sum(C))
    start = filled(C, half)
    return Formulation(
        "nu-SVR",
        np.tile(np.arange(n), 2),
        np.repeat([1.0, -1.0], n),
        np.concatenate([-z, z]),
        np.zeros(2 * n),
        np.tile(C, 2),
        np.repeat([0, 1], n),
        np.array([half, half]),
        np.tile(start, 2),
    )


def bias_sums(bias: str) -> np.ndarray:
    """Return the sums of the groups: one group with sum 0 for a free bias, none without."""
    if bias not in ("free", "none"):
        raise ParameterError(f"bias={bias!r} is not for kernels: choose free or none, or add a constant to the kernel")
    return np.zeros(1) if bias == "free" else np.zeros(0)


def no_groups(size: int) -> np.ndarray:
    """Return the group of each variable: all are in group 0."""
    return np.zeros(size, dtype=np.intp)


def filled(room: np.ndarray, total: float) -> np.ndarray:
    """Fill the variables one after the other up to their bounds until they sum to `total`."""
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return np.clip(total - before, 0.0, room)


def check_nu(nu: float) -> None:
    """Raise unless 0 < ν ≤ 1."""
    if not (is_number(nu) and 0.0 < nu <= 1.0):
        raise ParameterError(f"nu={nu!r} must be above 0 and at most 1: a fraction of the examples")
