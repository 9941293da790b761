"""The kernels, one in each file, and their registry `KERNELS`, used by `train` and by model files.

    linear        ⟨x, z⟩
    polynomial    (γ⟨x, z⟩ + r)^p         all degrees up to p; with r = 0 exactly p
    gaussian      exp(−γ‖x − z‖²)         γ, or σ where γ = 1/(2σ²)
    sigmoid       tanh(γ⟨x, z⟩ + r)       indefinite: the problem is not convex and has no certificate
    precomputed   a kernel matrix given by the user
    a callable    f(X, Z), which returns the matrix of all K(x, z)

A new kernel is one file with one frozen dataclass, and one call of `register`. Its fields are its parameters.
"""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from maxmargin.data.columns import centre_of
from maxmargin.data.rows import Csr, Rows, count_columns
from maxmargin.errors import ParameterError
from maxmargin.kernels.functions.base import Kernel
from maxmargin.kernels.functions.custom import Custom
from maxmargin.kernels.functions.gaussian import Gaussian
from maxmargin.kernels.functions.linear import Linear
from maxmargin.kernels.functions.parameters import (
    check_gamma,
    checked_degree,
    checked_gamma,
    checked_number,
    gamma_of,
    variance_of,
)
from maxmargin.kernels.functions.polynomial import Polynomial
from maxmargin.kernels.functions.precomputed import Precomputed, check_square
from maxmargin.kernels.functions.sigmoid import Sigmoid
from maxmargin.system.budget import check_columns
from maxmargin.system.values import same_class

__all__ = [
    "KERNELS",
    "LIBSVM_NAMES",
    "MOST_DEGREE",
    "NAMES",
    "Custom",
    "Gaussian",
    "Kernel",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "check_gamma",
    "check_square",
    "checked_degree",
    "checked_gamma",
    "checked_number",
    "find_kernel",
    "gamma_of",
    "has_parameter",
    "kernel_centre",
    "kernel_metadata",
    "kernel_names",
    "kernel_of",
    "register",
    "variance_of",
]

MOST_DEGREE = 10_000  # largest degree of a polynomial in a model file: the cost grows with the degree
PARAMETERS = ("gamma", "degree", "coef0")  # parameters that users can set; σ is converted to γ of a Gaussian
PIECES = ("name", "by_products", "definite", "fill", "diagonal", "error")

KERNELS: dict[str, Any] = {}
NAMES: dict[str, str] = {}  # aliases
LIBSVM_NAMES: dict[str, str] = {}  # names in LIBSVM model files, for the kernels that LIBSVM has


def register(kind: type, *, aliases: tuple[str, ...] = (), libsvm: str | None = None) -> type:
    """Register a kernel for `train`, for model files and, under the name `libsvm`, for LIBSVM model files.

    Raises ParameterError if an attribute or method is missing. Registering the same class again replaces the old entry.
    """
    name = getattr(kind, "name", None)
    for piece in PIECES:
        if not hasattr(kind, piece):
            raise ParameterError(
                f"kernel {name or kind.__name__} lacks {piece}: see maxmargin.kernels.functions.Kernel"
            )
    if not is_dataclass(kind):
        raise ParameterError(f"kernel {name} is no dataclass: its fields are its parameters")
    for one in fields(kind):
        if one.name not in PARAMETERS:
            raise ParameterError(
                f"kernel {name} has the parameter {one.name}, which no user can give: {', '.join(PARAMETERS)} they can"
            )
    if name in KERNELS and not same_class(KERNELS[name], kind):
        raise ParameterError(f"kernel {name} is taken by {KERNELS[name].__qualname__}: give yours another name")
    KERNELS[str(name)] = kind
    NAMES.update(dict.fromkeys(aliases, str(name)))
    if libsvm is not None:
        LIBSVM_NAMES[str(name)] = libsvm
    return kind


def kernel_names() -> str:
    """Return the names of all kernels with their aliases, for messages."""
    known = {name: ", ".join(alias for alias, meant in NAMES.items() if meant == name) for name in KERNELS}
    return ", ".join(f"{name} ({aliases})" if aliases else name for name, aliases in known.items())


def has_parameter(kernel: Any, name: str) -> bool:
    """Return whether the kernel of that name has that parameter; False for a callable or an unknown name."""
    kind = KERNELS.get(NAMES.get(kernel, kernel)) if isinstance(kernel, str) else None
    return kind is not None and name in {one.name for one in fields(kind)}


def find_kernel(
    kernel: Any,
    rows: Rows,
    *,
    gamma: Any = "scale",
    sigma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
    weights: np.ndarray | None = None,
) -> Kernel:
    """Return the kernel of that name or callable, for these rows; γ may be "scale", 1/(d var X), or "auto", 1/d."""
    if callable(kernel):
        return Custom(kernel)
    name = NAMES.get(kernel, kernel) if isinstance(kernel, str) else kernel
    if not isinstance(name, str) or name not in KERNELS:
        raise ParameterError(f"kernel={kernel!r} is not known: choose {kernel_names()} or a function")
    kind = KERNELS[name]
    if isinstance(rows, Csr) and kind.by_products:
        check_columns(count_columns(rows))
    if hasattr(kind, "check_rows"):
        kind.check_rows(rows)
    given = {one.name for one in fields(kind)}
    values: dict[str, float] = {}
    if "gamma" in given:
        by_width = sigma is not None and kind is Gaussian
        values["gamma"] = gamma_of(sigma) if by_width else checked_gamma(gamma, rows, weights)
    if "degree" in given:
        values["degree"] = checked_degree(degree)
    if "coef0" in given:
        values["coef0"] = checked_number("coef0", coef0)
    return kind(**values)  # type: ignore[no-any-return]


def kernel_centre(kernel: Kernel, rows: Rows, balanced: bool) -> np.ndarray | None:
    """Return a vector that can be subtracted from all examples without changing the problem; None if there is none.

    It shifts columns far from 0. A Gaussian depends only on differences. With a linear kernel the shift changes only b,
    if the coefficients sum to 0 (`balanced`).
    """
    free = isinstance(kernel, Gaussian) or (isinstance(kernel, Linear) and balanced)
    return centre_of(rows) if free and count_columns(rows) else None


def kernel_metadata(kernel: Kernel) -> dict[str, Any]:
    """Return the name and the parameters of a kernel, for a model file."""
    if isinstance(kernel, Custom):
        raise ParameterError("a model with a kernel that is a Python function cannot be saved: no file holds code")
    return {"name": kernel.name, **asdict(kernel)}  # type: ignore[call-overload]


def kernel_of(metadata: dict[str, Any]) -> Kernel:
    """Build the kernel from the result of `kernel_metadata`."""
    rest = {name: value for name, value in metadata.items() if name != "name"}
    if not isinstance(metadata.get("name"), str) or metadata["name"] not in KERNELS:
        raise ValueError(f"the kernel is not one of {', '.join(KERNELS)}")
    for name, value in rest.items():
        checked_number(name, value)
    if rest.get("gamma", 0.0) < 0.0:
        raise ValueError(f"gamma of the kernel is {rest['gamma']}, below 0")
    degree = rest.get("degree", 1)
    if type(degree) is not int or not 1 <= degree <= MOST_DEGREE:
        raise ValueError(f"degree of the kernel is {degree}, not a whole number from 1 to {MOST_DEGREE}")
    return KERNELS[metadata["name"]](**rest)  # type: ignore[no-any-return]


register(Linear, libsvm="linear")
register(Polynomial, aliases=("poly",), libsvm="polynomial")
register(Gaussian, aliases=("rbf",), libsvm="rbf")
register(Sigmoid, libsvm="sigmoid")
register(Precomputed, libsvm="precomputed")
