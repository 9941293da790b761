"""The grid of a search: every γ of the kernel with every C, from simple to flexible."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.examples import Examples
from maxmargin.errors import ParameterError
from maxmargin.kernels.functions import find_kernel, has_parameter
from maxmargin.problems.linear import checked_weights
from maxmargin.regularisation_path import CS, checked
from maxmargin.settings.parameters import is_given
from maxmargin.settings.settings import Settings
from maxmargin.system.values import is_number
from maxmargin.tuning.table import Candidate

KERNEL_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMA_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)  # of γ = 1/(d var X)


def grid(Cs: Any, gammas: Any, settings: Settings, data: Examples | None, folds: int) -> list[Candidate]:
    """Return the candidates: every γ with every C."""
    every = gammas_of(gammas, settings, data)
    return [Candidate(C, g, [None] * folds) for g in every for C in Cs_of(Cs, settings.kernel is not None)]


def Cs_of(Cs: Any, with_kernel: bool) -> list[float]:
    """Return the values of C, rising."""
    return sorted(set(checked(Cs if Cs is not None else KERNEL_CS if with_kernel else CS)))


def gammas_of(gammas: Any, settings: Settings, data: Examples | None) -> list[float | None]:
    """Return the values of γ, rising; None alone if the kernel has no γ, or there is no kernel."""
    tunable = settings.kernel is not None and has_parameter(settings.kernel, "gamma")
    if gammas is not None:
        if not tunable:
            raise ParameterError("gammas need a kernel with gamma: add kernel='gaussian'")
        return list[float | None](checked_gammas(gammas))
    if not tunable or data is None:
        return [None]
    kernel = kernel_of(settings, data)
    fixed = is_given("gamma", settings.gamma) or is_given("sigma", settings.sigma) or kernel.name != "gaussian"
    return [kernel.gamma] if fixed else [kernel.gamma * factor for factor in GAMMA_FACTORS]


def kernel_of(settings: Settings, data: Examples) -> Any:
    """Return the kernel of these settings; a regression without one has the linear kernel."""
    counts = None if settings.weights is None else checked_weights(settings.weights, np.zeros(data.n))
    return find_kernel(
        settings.kernel or "linear", data.rows, gamma=settings.gamma, sigma=settings.sigma, degree=settings.degree,
        coef0=settings.coef0, weights=counts,
    )  # fmt: skip


def checked_gammas(gammas: Any) -> list[float]:
    """Return the given values of γ, rising; raise unless there is one and all are positive numbers."""
    values = list(gammas) if np.iterable(gammas) and not isinstance(gammas, str) else [gammas]
    for value in values:
        if not (is_number(value) and 0.0 < value < np.inf):
            raise ParameterError(f"gammas holds {value!r}: each gamma must be a positive number")
    if not values:
        raise ParameterError("gammas is empty: give at least one gamma")
    return sorted({float(value) for value in values})
