"""What a user may ask of a training, checked before any work is done.

Every value is checked, used or not. A parameter that has no meaning beside the others is refused with the reason and a
way out: nothing that a user gives is silently ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.expand import Expansion, Kmers, find_expansion
from maxmargin.data.files import check_way, is_file
from maxmargin.errors import ParameterError
from maxmargin.kernels.approximation import Approximation, check_components, checked_approximation
from maxmargin.kernels.functions import NAMES, check_gamma, checked_degree, checked_number, gamma_of, has_parameter
from maxmargin.loop.saving import Keeping
from maxmargin.loop.stopping import Limits
from maxmargin.parameters import PARAMETERS, is_given
from maxmargin.problems.formulations import check_nu
from maxmargin.problems.linear import check_bias, penalty
from maxmargin.problems.losses import find_loss
from maxmargin.solvers import find_solver
from maxmargin.system.atomic_files import check_writable
from maxmargin.system.budget import Budget, checked_memory
from maxmargin.system.overwriting import check_replaces_checkpoint
from maxmargin.system.threads import thread_count
from maxmargin.system.values import check_column, check_flag, is_number, is_whole

TASKS = ("classify", "regress", "novelty")
NOVELTY_NU = 0.5  # scikit-learn's default

Values = Mapping[str, Any]
Rule = Callable[[str, Values], str]


class Settings:
    """The checked values of one call of `train`, as attributes under their names, and what follows from them."""

    def __init__(self, values: Values) -> None:
        self.values = dict(values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def changed(self, **values: Any) -> Settings:
        """The same with other values."""
        return Settings({**self.values, **values})

    @cached_property
    def limits(self) -> Limits:
        """When to stop."""
        return checked_limits(self.tol, self.max_seconds, self.max_epochs)

    @cached_property
    def keeping(self) -> Keeping:
        """Where the run is kept."""
        return checked_keeping(self.checkpoint, self.resume, self.force)

    @cached_property
    def thread_count(self) -> int:
        """How many threads to use."""
        return thread_count(self.threads)

    @cached_property
    def budget(self) -> Budget | None:
        """The memory that was allowed, if any was named."""
        return checked_memory(self.memory)

    @cached_property
    def expansion(self) -> Expansion | None:
        """What makes rows longer, if anything does."""
        return find_expansion(self.expand)

    @cached_property
    def approximation(self) -> Approximation | None:
        """The features that approximate the kernel, if any do."""
        return checked_approximation(self.approx, self.components, self.landmarks)

    @property
    def uses_kernel(self) -> bool:
        """Whether a kernel matrix is trained on: regression and novelty detection always are."""
        return is_exact_kernel(self.values)

    @property
    def formulation(self) -> str:
        """What is trained with a kernel, in LIBSVM's words."""
        if self.task == "novelty":
            return "one-class"
        if self.task == "regress":
            return "epsilon-SVR" if self.nu is None else "nu-SVR"
        return "C-SVC" if self.nu is None else "nu-SVC"

    def penalty(self, n: int) -> float:
        """C for n examples."""
        return penalty(n, self.C, self.lam)

    def summary(self) -> dict[str, Any]:
        """What every model says of its training."""
        return {
            "task": self.task, "options": self.options or {}, "bias": self.bias, "tol": float(self.tol),
            "seed": int(self.seed), "weighted": self.weights is not None or self.class_weight is not None,
        }  # fmt: skip


def checked_settings(values: Values) -> Settings:
    """The settings of a call; refuses a wrong value, used or not, and a parameter without meaning in this call."""
    check_values(values)
    check_rules(values)
    settings = Settings(values)
    _ = settings.keeping  # refuses a file that it may not replace
    return settings


def settings_of(function: str, X: Any, given: Values, **defaults: Any) -> Settings:
    """The same for a function that passes on what it is given, and has some defaults of its own."""
    for name in given:
        if name not in PARAMETERS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    declared = {name: parameter.default for name, parameter in PARAMETERS.items()}
    return checked_settings({**declared, **defaults, **given, "X": X})


def check_values(values: Values) -> None:
    """Refuse a wrong value, whether it is used or not."""
    for name, check in CHECKS.items():
        check(name, values[name])
    penalty(1, values["C"], values["lam"])
    checked_limits(values["tol"], values["max_seconds"], values["max_epochs"])
    checked_approximation(values["approx"], values["components"], values["landmarks"])
    if values["solver"] != "auto":
        find_solver(values["solver"], values["options"], kernel=is_exact_kernel(values))


def check_rules(values: Values) -> None:
    """Refuse a parameter that has no meaning in this call."""
    for name, rules in RULES.items():
        if is_given(name, values[name]):
            for rule in rules:
                if reason := rule(name, values):
                    raise ParameterError(reason)


# Values


def one_of(*known: str) -> Callable[[str, Any], None]:
    """A check for names."""

    def check(name: str, value: Any) -> None:
        if not (isinstance(value, str) and value in known):
            raise ParameterError(f"{name}={value!r} is not known: choose one of {', '.join(known)}")

    return check


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


def check_epsilon(name: str, value: Any) -> None:
    """A number, 0 or above."""
    if not (is_number(value) and 0.0 <= value < np.inf):
        raise ParameterError(f"{name}={value!r} must be a number, 0 or above: how far off costs nothing")


def check_class_weight(name: str, value: Any) -> None:
    """balanced, a number for each class, or none."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name}={value!r} must be 'balanced', a dictionary {{label: weight}}, or None")
    for label, weight in value.items():
        if not (is_number(weight) and 0.0 <= weight < np.inf):
            raise ParameterError(f"{name} of class {label!r} is {weight!r}: it must be a number, 0 or above")


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "task": one_of(*TASKS),
    "loss": lambda _, value: find_loss(value),
    "nu": lambda _, value: None if value is None else check_nu(value),
    "epsilon": check_epsilon,
    "bias": lambda _, value: check_bias(value),
    "bias_scale": lambda _, value: check_bias("regularised", value),
    "class_weight": check_class_weight,
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
}  # weights and warm are checked against the rows, the others in check_values


# Rules


def is_exact_kernel(values: Values) -> bool:
    """Whether a kernel matrix is trained on: regression and novelty detection always are."""
    return values["task"] != "classify" or (values["kernel"] is not None and values["approx"] is None)


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
    if is_exact_kernel(values):
        return ""
    if values["kernel"] is None:
        return f"{name} needs a kernel: add kernel='gaussian'"
    return f"{name} has no meaning for approx={values['approx']!r}: leave it out"


def beside(other: str, remedy: str, *wanted: Any) -> Rule:
    """A rule for what needs another parameter, with one of these values if there are any."""

    def rule(name: str, values: Values) -> str:
        found = values[other]
        fine = isinstance(found, str) and found in wanted if wanted else is_given(other, found)
        return "" if fine else f"{name} needs {remedy}"

    return rule


def of_tasks(*tasks: str) -> Rule:
    """A rule for what only these tasks have."""

    def rule(name: str, values: Values) -> str:
        task = values["task"]
        ways = " or ".join(map(repr, tasks))
        return "" if task in tasks else f"{name} has no meaning for task={task!r}: leave it out, or take task={ways}"

    return rule


def not_beside_nu(name: str, values: Values) -> str:
    """A rule for what ν takes the place of."""
    return "" if values["nu"] is None else f"{name} has no meaning beside nu, which takes its place: leave one out"


def c_or_nu(name: str, values: Values) -> str:
    """The rule for C and lam: of ν-SVR both count, of other formulations ν takes their place."""
    if values["task"] == "novelty":
        return f"{name} has no meaning for task='novelty': nu says how many outliers there may be"
    return not_beside_nu(name, values) if values["task"] == "classify" else ""


def without_kernel(name: str, values: Values) -> str:
    """The rule for expand, which makes features for a linear model."""
    return (
        f"{name} makes features for a linear model: not together with a kernel" if values["kernel"] is not None else ""
    )


def sequences_from_files(name: str, values: Values) -> str:
    """The rule for words of sequences, which only files hold."""
    if isinstance(find_expansion(values[name]), Kmers) and not is_file(values["X"]):
        return f"{name}={values[name]!r} counts words of sequences: name a file with a label and a sequence a line"
    return ""


def with_probabilities(name: str, values: Values) -> str:
    """The rule for probability, which linear models have with another loss."""
    exact = values["kernel"] is not None and values["approx"] is None
    return "" if exact else f"{name} is for kernels: a linear model has probabilities with loss='logistic'"


def linear_start(name: str, values: Values) -> str:
    """The rule for warm starts."""
    exact = is_exact_kernel(values)
    return f"{name} is for linear models: with a kernel, resume from a checkpoint instead" if exact else ""


def can_be_kept(name: str, values: Values) -> str:
    """The rule for checkpoints."""
    return (
        "a run whose kernel is a Python function cannot be kept: no file holds code"
        if callable(values["kernel"])
        else ""
    )


def finite_c(name: str, values: Values) -> str:
    """The rule for an infinite C."""
    infinite = penalty(1, values["C"], values["lam"]) == np.inf
    return "C=inf is not for kernels: take a large finite C, 1e6 say" if infinite and is_exact_kernel(values) else ""


def hinge_with_kernels(name: str, values: Values) -> str:
    """The rule for losses."""
    value = values[name]
    exact = is_exact_kernel(values)
    return f"{name}={value!r} is not for kernels: they are trained with loss='hinge'" if exact else ""


def bias_with_kernels(name: str, values: Values) -> str:
    """The rule for biases: ν formulations and novelty detection have a free one."""
    if values["task"] == "novelty":
        return f"{name} has no meaning for task='novelty': leave it out"
    return not_beside_nu(name, values)


def of_a_solver(name: str, values: Values) -> str:
    """The rule for options, which belong to a solver: named, or the one that all kernels have."""
    known = is_given("solver", values["solver"]) or is_exact_kernel(values)
    return "" if known else f"{name} needs a solver by name: options belong to one"


def of_files(name: str, values: Values) -> str:
    """A rule for what says how files are read."""
    return "" if is_file(values["X"]) else f"{name} is for files, and X is none: leave it out"


def one_of_two(name: str, values: Values) -> str:
    """The rule for sigma, which is another way to say gamma."""
    if is_given("gamma", values["gamma"]):
        return f"{name} and gamma say the same thing, γ = 1/(2σ²): give one of them"
    return of_kernels("gaussian")(name, values)


CLASSIFY = of_tasks("classify")
RULES: dict[str, tuple[Rule, ...]] = {
    "loss": (CLASSIFY, hinge_with_kernels),
    "C": (c_or_nu, finite_c),
    "lam": (c_or_nu, finite_c),
    "nu": (of_exact_kernels,),
    "epsilon": (of_tasks("regress"), not_beside_nu),
    "bias": (bias_with_kernels,),
    "bias_scale": (beside("bias", "bias='regularised': the constant feature has that size", "regularised"),),
    "class_weight": (CLASSIFY,),
    "expand": (CLASSIFY, without_kernel, sequences_from_files),
    "gamma": (of_kernels("gaussian", "polynomial", "sigmoid"),),
    "sigma": (one_of_two,),
    "degree": (of_kernels("polynomial"),),
    "coef0": (of_kernels("polynomial", "sigmoid"),),
    "cache": (of_exact_kernels,),
    "probability": (CLASSIFY, with_probabilities),
    "approx": (CLASSIFY, beside("kernel", "a kernel: add kernel='gaussian'")),
    "components": (beside("approx", "approx='nystrom' or 'fourier'"),),
    "landmarks": (beside("approx", "approx='nystrom'", "nystrom"),),
    "options": (of_a_solver,),
    "warm": (linear_start,),
    "checkpoint": (can_be_kept,),
    "force": (beside("checkpoint", "checkpoint=PATH: that is the file it may replace"),),
    "memory": (of_files,),
    "label": (of_files,),
    "zero_based": (of_files,),
    "on_bad_line": (of_files,),
}


def checked_limits(tol: float, max_seconds: float | None, max_epochs: float | None) -> Limits:
    """Limits that can be reached."""
    if not (is_number(tol) and 0 < tol < np.inf):
        raise ParameterError(f"tol={tol!r} must be a number above 0: the relative duality gap to reach, 1e-4 say")
    for name, value in (("max_seconds", max_seconds), ("max_epochs", max_epochs)):
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
