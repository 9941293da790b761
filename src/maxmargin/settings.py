"""What a user may ask of a training, checked before any work is done.

Every value is checked, used or not. A parameter that has no meaning beside the others is refused with the reason and a
way out: nothing that a user gives is silently ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.expand import Expansion, Kmers, find_expansion
from maxmargin.data.files import check_way, is_file
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.kernels.approximation import check_components
from maxmargin.kernels.functions import NAMES, check_gamma, checked_degree, checked_number, gamma_of, has_parameter
from maxmargin.loop.solve import Keeping, Limits
from maxmargin.parameters import PARAMETERS, is_given
from maxmargin.problems.linear import check_bias
from maxmargin.problems.losses import find_loss
from maxmargin.solvers import find_solver
from maxmargin.system.atomic_files import check_writable
from maxmargin.system.budget import checked_memory
from maxmargin.system.overwriting import check_replaces_checkpoint
from maxmargin.system.threads import thread_count
from maxmargin.system.values import check_column, check_flag, is_number, is_whole

Values = Mapping[str, Any]
Rule = Callable[[str, Values], str]


def check_callback(name: str, value: Any) -> None:
    """A function, or none."""
    if value is not None and not callable(value):
        raise ParameterError(f"{name}={value!r} must be a function of one Record, or None")


def check_options(name: str, value: Any) -> None:
    """A dictionary, or none."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterError(f'{name}={value!r} must be a dictionary, such as {{"batch": 32}}')


def check_solver(name: str, value: Any) -> None:
    """A name."""
    if not isinstance(value, str):
        raise ParameterError(f"{name}={value!r} must be the name of a solver, or auto")


def check_kernel(name: str, value: Any) -> None:
    """A name, a function, or none."""
    if not (value is None or isinstance(value, str) or callable(value)):
        raise ParameterError(f"{name}={value!r} must be the name of a kernel, a function f(X, Z), or None")


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "solver": check_solver,
    "kernel": check_kernel,
    "gamma": lambda _, value: check_gamma(value),
    "sigma": lambda _, value: None if value is None else gamma_of(value),
    "degree": lambda _, value: checked_degree(value),
    "coef0": checked_number,
    "cache": lambda _, value: checked_cache(value),
    "probability": check_flag,
    "components": check_components,
    "landmarks": check_components,
    "bias_scale": lambda _, value: check_bias("regularised", value),
    "options": check_options,
    "threads": lambda _, value: thread_count(value),
    "seed": lambda _, value: checked_seed(value),
    "callback": check_callback,
    "resume": check_flag,
    "force": check_flag,
    "memory": lambda _, value: checked_memory(value),
    "label": check_column,
    "zero_based": check_flag,
    "on_bad_line": lambda _, value: check_way(value),
    "expand": lambda _, value: find_expansion(value),
}  # the others are checked where they are used, which is always


def of_kernels(*kernels: str) -> Rule:
    """A rule for what only these kernels have."""

    def rule(name: str, values: Values) -> str:
        kernel = values["kernel"]
        if kernel is None:
            return f"{name} needs a kernel: add kernel={kernels[0]!r}"
        if isinstance(kernel, str) and (NAMES.get(kernel, kernel) in kernels or has_parameter(kernel, name)):
            return ""
        called = "a function" if callable(kernel) else repr(kernel)
        return f"{name} has no meaning for kernel={called}: leave it out, or take kernel={kernels[0]!r}"

    return rule


def of_exact_kernels(name: str, values: Values) -> str:
    """A rule for what only a kernel has that is not approximated."""
    if values["kernel"] is None:
        return f"{name} needs a kernel: add kernel='gaussian'"
    approx = values["approx"]
    return f"{name} has no meaning for approx={approx!r}: leave it out" if approx is not None else ""


def beside(other: str, remedy: str, *wanted: Any) -> Rule:
    """A rule for what needs another parameter, with one of these values if there are any."""

    def rule(name: str, values: Values) -> str:
        found = values[other]
        fine = isinstance(found, str) and found in wanted if wanted else is_given(other, found)
        return "" if fine else f"{name} needs {remedy}"

    return rule


def of_a_solver(name: str, values: Values) -> str:
    """The rule for options, which belong to a solver: named, or the one that all kernels have."""
    known = is_given("solver", values["solver"]) or (values["kernel"] is not None and values["approx"] is None)
    return "" if known else f"{name} needs a solver by name: options belong to one"


def of_files(name: str, values: Values) -> str:
    """A rule for what says how files are read."""
    return "" if is_file(values["X"]) else f"{name} is for files, and X is none: leave it out"


def one_of_two(name: str, values: Values) -> str:
    """The rule for sigma, which is another way to say gamma."""
    if is_given("gamma", values["gamma"]):
        return f"{name} and gamma say the same thing, γ = 1/(2σ²): give one of them"
    return of_kernels("gaussian")(name, values)


RULES: dict[str, Rule] = {
    "bias_scale": beside("bias", "bias='regularised': the constant feature has that size", "regularised"),
    "gamma": of_kernels("gaussian", "polynomial", "sigmoid"),
    "sigma": one_of_two,
    "degree": of_kernels("polynomial"),
    "coef0": of_kernels("polynomial", "sigmoid"),
    "cache": of_exact_kernels,
    "components": beside("approx", "approx='nystrom' or 'fourier'"),
    "landmarks": beside("approx", "approx='nystrom'", "nystrom"),
    "options": of_a_solver,
    "force": beside("checkpoint", "checkpoint=PATH: that is the file it may replace"),
    "memory": of_files,
    "label": of_files,
    "zero_based": of_files,
    "on_bad_line": of_files,
}


def check_parameters(values: Values) -> None:
    """Refuse a value that is wrong, used or not, and a parameter that has no meaning in this call."""
    for name, check in CHECKS.items():
        check(name, values[name])
    for name, rule in RULES.items():
        if is_given(name, values[name]) and (reason := rule(name, values)):
            raise ParameterError(reason)


def check_given(function: str, X: Any, given: Values) -> None:
    """The same for a function that passes on what it is given, and knows no more parameters than there are."""
    for name in given:
        if name not in PARAMETERS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    defaults = {name: parameter.default for name, parameter in PARAMETERS.items()}
    check_parameters({**defaults, **given, "X": X})


def check_together(kernel: Any, approx: str | None, probability: bool, warm: Any, checkpoint: Any) -> None:
    """Refuse options that have no meaning beside each other."""
    if kernel is None and approx is not None:
        raise ParameterError("approx needs a kernel: add kernel='gaussian'")
    if probability and (kernel is None or approx is not None):
        raise ParameterError("probability is for kernels: a linear machine has probabilities with loss='logistic'")
    if kernel is not None and approx is None and warm is not None:
        raise ParameterError("warm is for linear machines: with a kernel, resume from a checkpoint instead")
    if callable(kernel) and checkpoint is not None:
        raise ParameterError("a run whose kernel is a Python function cannot be kept: no file holds code")


def checked_expansion(expand: str | None, kernel: Any, X: Any) -> Expansion | None:
    """What makes rows longer, if anything does."""
    expansion = find_expansion(expand)
    if expansion is not None and kernel is not None:
        raise ParameterError("expand makes features for a linear machine: not together with a kernel")
    if isinstance(expansion, Kmers) and not is_file(X):
        raise ParameterError(
            f"expand={expand!r} counts words of sequences: name a file with a label and a sequence a line"
        )
    return expansion


def check_streamed(kernel: Any, weights: Any, warm: Any) -> None:
    """Refuse what needs all rows in memory."""
    for name, value in (("kernel", kernel), ("weights", weights), ("warm", warm)):
        if value is not None:
            raise RefusedError(f"{name} is not for files that do not fit in memory: give more memory, or leave it out")


def check_names(loss: str, bias: str, solver: str, options: dict[str, Any] | None, kernel: bool = False) -> None:
    """Refuse a name that is not known before a long file is read."""
    find_loss(loss)
    check_bias(bias)
    if solver != "auto":
        find_solver(solver, options, kernel=kernel)


def checked_limits(tol: float, max_seconds: float | None, max_epochs: float | None) -> Limits:
    """Limits that can be reached."""
    if not (is_number(tol) and 0 < tol < np.inf):
        raise ParameterError(f"tol={tol!r} must be a number above 0: the relative duality gap to reach, 1e-4 say")
    for name, value in (("max_seconds (--time-limit)", max_seconds), ("max_epochs", max_epochs)):
        if value is not None and not (is_number(value) and value > 0):
            raise ParameterError(f"{name}={value!r} must be a number above 0, or None for no limit")
    return Limits(tol, max_seconds, max_epochs)


def checked_cache(cache: Any) -> float | None:
    """Megabytes as bytes."""
    if cache is None:
        return None
    if not (is_number(cache) and 0 < cache < np.inf):
        raise ParameterError(f"cache={cache!r} must be a number of megabytes above 0, or None")
    return float(cache) * 2**20


def checked_keeping(checkpoint: str | Path | None, resume: bool, force: bool = False) -> Keeping:
    """A checkpoint that can be written and replaces nothing but a checkpoint, or none."""
    if checkpoint is None:
        if resume:
            raise ParameterError("resume needs checkpoint=PATH (--checkpoint PATH): the file to go on from")
        return Keeping()
    check_writable(checkpoint)
    check_replaces_checkpoint(checkpoint, force)
    return Keeping(Path(checkpoint), resume, force)


def checked_seed(seed: Any) -> int:
    """A seed that can be written down and used again."""
    if not is_whole(seed) or seed < 0:
        raise ParameterError(f"seed={seed!r} must be a whole number, 0 or above")
    return int(seed)
