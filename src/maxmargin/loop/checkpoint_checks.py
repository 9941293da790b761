"""Checks that the content of a checkpoint fits this problem, made before compiled code uses it.

Each check raises a ValueError that names the wrong part. The caller adds the name of the file.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from maxmargin.data.passes import scores
from maxmargin.problems.certificate import Certificate, primal_of
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.status import Status

INDICES = {"order": 0, "batch": 0, "active": 0, "waiting": -1}  # arrays of row numbers, and the lowest one allowed
COUNTS = {"position": "order", "kept": "order", "pairs": "S"}  # numbers, and the array whose length each may not exceed
LIKE = {
    "alpha_before": "alpha", "w_before": "w", "margins": "alpha", "room": "alpha", "surplus": "alpha",
    "shortfall": "alpha", "total": "v", "lag": "v", "total_a": "a", "lag_a": "a",
}  # arrays that are empty at the start, and the array whose length each takes later  # fmt: skip
OF_THE_DATA = {"used"}  # arrays that depend only on the data
PASS_NUMBERS = {
    "b": 0.0, "bias_curvature": 0.0, "width": 0.0, "visited": 0, "nnz": 0, "input_d": 0, "passes": 0,
}  # numbers of a streamed run, each with a value of its type  # fmt: skip
LARGEST_COUNT = 1 << 53  # float64 does not represent every larger integer
BOX_ROUNDING = 1e-9  # how far an α may be outside its box, relative to the largest α: certificates clip, sums round
OBJECTIVE_ROUNDING = 1e-6  # relative difference allowed in a recomputed objective, whose order of summation may differ


def check_state(fresh: Any, arrays: dict[str, np.ndarray], numbers: dict[str, Any], problem: Any) -> None:
    """Check that the state of a solver has the parts, types and lengths of a fresh one."""
    found = {*arrays, *numbers}
    if found != {item.name for item in fields(fresh)}:
        raise ValueError(f"its state has the parts {', '.join(sorted(found))}")
    for name, array in arrays.items():
        check_array(name, array, fresh, problem)
    for name, number in numbers.items():
        check_number(name, number, getattr(fresh, name))
    check_together(arrays, numbers, dual_variables(problem))


def check_together(arrays: dict[str, np.ndarray], numbers: dict[str, Any], variables: int) -> None:
    """Check that parts which compiled code uses together are consistent."""
    lengths = {name: len(array) for name, array in arrays.items()}
    for name, array_name in COUNTS.items():
        if numbers.get(name, 0) > lengths.get(array_name, variables):
            raise ValueError(f"{name} is {numbers[name]}")
    if 0 < numbers.get("position", 0) < numbers.get("kept", 0):
        raise ValueError(f"kept is {numbers['kept']} after {numbers['position']} visits")
    if lengths.get("violations", 0) < lengths.get("order", 0) and "violations" in lengths:
        raise ValueError("violations is shorter than order")
    if numbers.get("count", 0) and not lengths.get("total", 1):
        raise ValueError("total is empty")
    if "active" in arrays:
        check_working_set(arrays["active"], arrays["batch"])
        if lengths["highest"] != lengths["lowest"]:
            raise ValueError("highest and lowest differ in length")


def check_working_set(active: np.ndarray, batch: np.ndarray) -> None:
    """Check that the active variables are in order, and that the batch is a subset of them without repetitions."""
    if np.any(np.diff(active) <= 0):
        raise ValueError("active is not in order")
    if len(np.unique(batch)) < len(batch) or not np.all(np.isin(batch, active)):
        raise ValueError("batch is not a part of active")


def check_array(name: str, array: np.ndarray, fresh: Any, problem: Any) -> None:
    """Check that an array is finite and has the type and the shape of the array in a fresh state."""
    start = getattr(fresh, name)
    like = start if isinstance(start, np.ndarray) else np.zeros(0)
    if array.dtype != like.dtype or array.ndim != like.ndim:
        raise ValueError(f"{name} has the type {array.dtype} and {array.ndim} dimensions")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} is not finite")
    if name in INDICES:
        check_indices(name, array, like, dual_variables(problem))
    elif name != "violations" and array.shape not in shapes(name, like, fresh, problem):
        raise ValueError(f"{name} has the shape {array.shape}")
    elif name in OF_THE_DATA and not np.array_equal(array, like):
        raise ValueError(f"{name} is of other data")


def shapes(name: str, like: np.ndarray, fresh: Any, problem: Any) -> set[tuple[int, ...]]:
    """Return the shapes that an array may have: the one at the start or, if it is empty then, those it takes later."""
    if like.size:
        return {like.shape}
    if name in LIKE:
        twin = "used" if name == "total" and hasattr(fresh, "used") else LIKE[name]
        return {(0,), getattr(fresh, twin).shape}
    if isinstance(problem, KernelProblem):
        return {(0,), (max(len(problem.formulation.sums), 1),)}
    return {(0,), (problem.n,), (problem.d,), (problem.d + 1,)}


def check_indices(name: str, array: np.ndarray, like: np.ndarray, variables: int) -> None:
    """Check that row numbers belong to existing rows."""
    if len(array) > max(variables, len(like)) or (name == "waiting" and len(array) != len(like)):
        raise ValueError(f"{name} has {len(array)} entries")
    if array.size and (array.min() < INDICES[name] or array.max() >= variables):
        raise ValueError(f"{name} names examples that do not exist")


def check_number(name: str, number: Any, fresh: Any) -> None:
    """Check that a number has the type of a fresh one, and that a count is not negative."""
    if type(number) is not type(fresh) or number != number:  # noqa: PLR0124 - only nan differs from itself
        raise ValueError(f"{name} is {number!r}")
    if type(number) is int and not min(fresh, 0) <= number <= LARGEST_COUNT:
        raise ValueError(f"{name} is {number!r}")


def check_loop(loop: dict[str, Any], fresh: dict[str, Any]) -> None:
    """Check the types of the loop's fields, and that the status at the end is a known one."""
    if set(loop) != set(fresh):
        raise ValueError(f"its loop has the parts {', '.join(sorted(loop))}")
    for name, value in loop.items():
        check_number(name, value, fresh[name])
    if loop["ended"]:
        Status(loop["ended"])


def check_record(record: dict[str, Any]) -> None:
    """Check that a line of history has finite times, and certificates that hold numbers."""
    for name in ("epochs", "seconds"):
        if type(record[name]) not in (float, int) or not 0.0 <= record[name] < LARGEST_COUNT:
            raise ValueError(f"history has {name} = {record[name]!r}")
    check_objectives(record["certificate"])
    check_objectives(record["best"])


def check_objectives(certificate: dict[str, Any]) -> None:
    """Check that a certificate holds numbers; they may be infinite."""
    for name, value in certificate.items():
        if type(value) is not float or value != value:  # noqa: PLR0124 - only nan differs from itself
            raise ValueError(f"a certificate has {name} = {value!r}")


def check_best(w: np.ndarray, b: float, alpha: np.ndarray, certificate: Certificate, problem: Any) -> None:
    """Check that the best model has arrays of the right lengths, finite numbers, and α inside its box."""
    kernel = isinstance(problem, KernelProblem)
    check_vector("best.w", w, problem.n if kernel else problem.d)
    check_vector("best.alpha", alpha, dual_variables(problem))
    low, high = (problem.formulation.lo, problem.formulation.hi) if kernel else (0.0, problem.loss.upper(problem.C))
    slack = BOX_ROUNDING * float(np.max(np.abs(alpha), initial=0.0))
    if np.any(alpha < low - slack) or np.any(alpha > high + slack):
        raise ValueError("best.alpha is outside its box")
    if not np.isfinite(b) or np.isnan(certificate.gap):
        raise ValueError(f"its best model has b = {b} and the gap {certificate.gap}")
    if not kernel and problem.bounded:
        check_certificate(w, b, alpha, certificate, problem)


def check_vector(name: str, vector: np.ndarray, length: int) -> None:
    """Check that a vector holds `length` finite float64 numbers."""
    if vector.dtype != np.float64 or vector.shape != (length,) or not np.all(np.isfinite(vector)):
        raise ValueError(f"{name} has the type {vector.dtype} and the shape {vector.shape}, or is not finite")


def check_certificate(w: np.ndarray, b: float, alpha: np.ndarray, claimed: Certificate, problem: Problem) -> None:
    """Check the claimed objectives against those of the model, computed from the rows."""
    primal = problem.primal(w, b, problem.y * (scores(problem.rows, w, problem.threads) + b))
    dual = problem.dual(alpha, *primal_of(problem, alpha))
    slack = OBJECTIVE_ROUNDING * max(abs(primal), abs(dual))
    if claimed.primal < primal - slack or claimed.dual > dual + slack:
        raise ValueError(f"it claims the objectives {claimed.primal:g} and {claimed.dual:g}: {primal:g} and {dual:g}")


def dual_variables(problem: Any) -> int:
    """Return the number of dual variables: one for each example, or those of a kernel formulation."""
    return len(problem.formulation.lo) if isinstance(problem, KernelProblem) else int(problem.n)


def check_passes(tensors: dict[str, np.ndarray], metadata: dict[str, Any], top: float) -> None:
    """Check that a streamed run has an α in [0, top] and a mark for each example, and finite weights and numbers."""
    alpha, w, marks = tensors["alpha"], tensors["w"], tensors["marks"]
    check_vector("alpha", alpha, alpha.size)
    check_vector("w", w, w.size)
    if marks.dtype != np.uint8 or marks.shape != alpha.shape or not marks.size:
        raise ValueError(f"marks has the type {marks.dtype} and the shape {marks.shape}")
    if np.any(alpha < 0.0) or np.any(alpha > top):
        raise ValueError("alpha is outside its box")
    for name, fresh in PASS_NUMBERS.items():
        check_number(name, metadata[name], fresh)
        if not 0.0 <= metadata[name] < np.inf and name != "b":
            raise ValueError(f"{name} is {metadata[name]!r}")
    if not np.isfinite(metadata["b"]):
        raise ValueError(f"b is {metadata['b']!r}")
    if {"shifted", "centre"} & set(tensors):
        check_shift(tensors["shifted"], tensors["centre"], len(w))


def check_shift(columns: np.ndarray, centre: np.ndarray, d: int) -> None:
    """Check that the shifted columns are in order, and that each has one nonzero number to subtract."""
    if columns.dtype != np.int64 or columns.ndim != 1 or not columns.size:
        raise ValueError(f"shifted has the type {columns.dtype} and the shape {columns.shape}")
    check_vector("centre", centre, columns.size)
    if columns[0] < 0 or columns[-1] >= d or np.any(np.diff(columns) <= 0) or not np.all(centre):
        raise ValueError("shifted names columns that do not exist, or not in order, or centre holds a 0")
