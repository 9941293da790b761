"""Rules for combining the parameters of `train`. A rule returns the reason to refuse a given parameter, or ""."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from maxmargin.data.collections import is_on_cluster
from maxmargin.data.expand import Kmers, find_expansion
from maxmargin.data.files import is_file
from maxmargin.data.frames import is_frame
from maxmargin.kernels.functions import NAMES, has_parameter
from maxmargin.problems.linear import penalty
from maxmargin.problems.losses import losses_with_probabilities
from maxmargin.settings.parameters import is_given

Values = Mapping[str, Any]
Rule = Callable[[str, Values], str]


def is_exact_kernel(values: Values) -> bool:
    """Whether training uses a kernel matrix: always for regression and novelty detection."""
    return values["task"] != "classify" or (values["kernel"] is not None and values["approx"] is None)


def of_kernels(recommended: str) -> Rule:
    """Return the rule for a parameter that only some kernels have, such as the recommended one."""

    def rule(name: str, values: Values) -> str:
        kernel = values["kernel"]
        if kernel is None:
            return f"{name} needs a kernel: add kernel={recommended!r}"
        if has_parameter(kernel, name) or (isinstance(kernel, str) and NAMES.get(kernel, kernel) == recommended):
            return ""
        called = "a function" if callable(kernel) else repr(kernel)
        return f"{name} has no meaning for kernel={called}: leave it out, or take kernel={recommended!r}"

    return rule


def of_exact_kernels(name: str, values: Values) -> str:
    """Refuse a parameter that only kernels without approximation have."""
    if is_exact_kernel(values):
        return ""
    if values["kernel"] is None:
        return f"{name} needs a kernel: add kernel='gaussian'"
    return f"{name} has no meaning for approx={values['approx']!r}: leave it out"


def beside(other: str, remedy: str, *wanted: Any) -> Rule:
    """Return the rule for a parameter that needs another one, with one of the `wanted` values if there are any."""

    def rule(name: str, values: Values) -> str:
        found = values[other]
        fine = isinstance(found, str) and found in wanted if wanted else is_given(other, found)
        return "" if fine else f"{name} needs {remedy}"

    return rule


def of_tasks(*tasks: str) -> Rule:
    """Return the rule for a parameter that only these tasks have."""

    def rule(name: str, values: Values) -> str:
        task = values["task"]
        ways = " or ".join(map(repr, tasks))
        return "" if task in tasks else f"{name} has no meaning for task={task!r}: leave it out, or take task={ways}"

    return rule


def not_beside_nu(name: str, values: Values) -> str:
    """Refuse a parameter that ν replaces, if ν is given."""
    return "" if values["nu"] is None else f"{name} has no meaning beside nu, which takes its place: leave one out"


def c_or_nu(name: str, values: Values) -> str:
    """Refuse C and lam where ν replaces them, and for novelty detection. ν-SVR has both C and ν."""
    if values["task"] == "novelty":
        return f"{name} has no meaning for task='novelty': nu says how many outliers there may be"
    return not_beside_nu(name, values) if values["task"] == "classify" else ""


def without_kernel(name: str, values: Values) -> str:
    """Refuse `expand`, which makes features for a linear model, together with a kernel."""
    without = values["kernel"] is None
    return "" if without else f"{name} makes features for a linear model: not together with a kernel"


def sequences_from_files(name: str, values: Values) -> str:
    """Refuse to count words of sequences in arrays: only files hold sequences."""
    if isinstance(find_expansion(values[name]), Kmers) and not is_file(values["X"]):
        return f"{name}={values[name]!r} counts words of sequences: name a file with a label and a sequence a line"
    return ""


def of_features(name: str, values: Values) -> str:
    """Refuse to scale what has no features of different sizes: a kernel matrix, or counts of words."""
    if values["kernel"] == "precomputed":
        return f"{name} has no meaning for kernel='precomputed': scale the rows before you compute the kernel"
    counts = isinstance(find_expansion(values["expand"]), Kmers)
    return f"{name} is not for counts of words ({values['expand']}): leave it out" if counts else ""


def without_own_probabilities(name: str, values: Values) -> str:
    """Refuse `probability` for a loss whose models have probabilities anyway."""
    loss = values["loss"]
    own = loss in losses_with_probabilities()
    return f"{name} has no effect for {loss=}, whose models have probabilities anyway: leave it out" if own else ""


def linear_start(name: str, values: Values) -> str:
    """Refuse a warm start with a kernel."""
    exact = is_exact_kernel(values)
    return f"{name} is for linear models: with a kernel, resume from a checkpoint instead" if exact else ""


def can_be_kept(name: str, values: Values) -> str:
    """Refuse a checkpoint if the kernel is a Python function."""
    code = callable(values["kernel"])
    return "a run whose kernel is a Python function cannot be kept: no file holds code" if code else ""


def finite_c(name: str, values: Values) -> str:
    """Refuse an infinite C with a kernel."""
    infinite = penalty(1, values["C"], values["lam"]) == np.inf
    return "C=inf is not for kernels: take a large finite C, 1e6 say" if infinite and is_exact_kernel(values) else ""


def hinge_with_kernels(name: str, values: Values) -> str:
    """Refuse losses other than hinge with a kernel."""
    refused = f"{name}={values[name]!r} is not for kernels: they are trained with loss='hinge'"
    return refused if is_exact_kernel(values) else ""


def bias_with_kernels(name: str, values: Values) -> str:
    """Refuse `bias` in ν formulations and novelty detection, whose bias is always free."""
    if values["task"] == "novelty":
        return f"{name} has no meaning for task='novelty': leave it out"
    return not_beside_nu(name, values)


def of_a_solver(name: str, values: Values) -> str:
    """Refuse `options` unless the solver is known: it is named, or it is the only solver for kernels."""
    known = is_given("solver", values["solver"]) or is_exact_kernel(values)
    return "" if known else f"{name} needs a solver by name: options belong to one"


def of_files(name: str, values: Values) -> str:
    """Refuse a parameter for reading files if X is not a file."""
    return "" if is_file(values["X"]) else f"{name} is for files, and X is none: leave it out"


def of_tables(name: str, values: Values) -> str:
    """Refuse a parameter for tables if X is neither a file nor a data frame."""
    there = is_file(values["X"]) or is_frame(values["X"])
    return "" if there else f"{name} is for tables, and X is none: leave it out"


def of_encoded(name: str, values: Values) -> str:
    """Refuse a parameter for encoded tables without encoding."""
    return "" if values["encode"] != "none" else f"{name} has no meaning for encode='none': leave one out"


def numbers_or_files(name: str, values: Values) -> str:
    """Refuse the name of a column or a file if X has neither columns nor files."""
    named = isinstance(values[name], (str, os.PathLike))
    if not named or is_file(values["X"]) or is_on_cluster(values["X"]):
        return ""
    return f"{name}={values[name]!r} names a column or a file, and X is an array: give one number for each example"


def one_of_two(name: str, values: Values) -> str:
    """Refuse sigma together with gamma, or without a Gaussian kernel."""
    if is_given("gamma", values["gamma"]):
        return f"{name} and gamma say the same thing, γ = 1/(2σ²): give one of them"
    return of_kernels("gaussian")(name, values)


def of_clusters(name: str, values: Values) -> str:
    """Refuse a parameter of clusters without one."""
    there = is_given("client", values["client"]) or is_on_cluster(values["X"])
    return "" if there else f"{name} is for a cluster: add client= (--cluster), or leave it out"


CLASSIFY = of_tasks("classify")
RULES: dict[str, tuple[Rule, ...]] = {
    "loss": (CLASSIFY, hinge_with_kernels),
    "C": (c_or_nu, finite_c),
    "lam": (c_or_nu, finite_c),
    "nu": (of_exact_kernels,),
    "epsilon": (of_tasks("regress"), not_beside_nu),
    "bias": (bias_with_kernels,),
    "bias_scale": (beside("bias", "bias='regularised': the constant feature has that size", "regularised"),),
    "weights": (numbers_or_files,),
    "class_weight": (CLASSIFY,),
    "expand": (CLASSIFY, without_kernel, sequences_from_files),
    "scale": (of_features,),
    "gamma": (of_kernels("gaussian"),),
    "sigma": (one_of_two,),
    "degree": (of_kernels("polynomial"),),
    "coef0": (of_kernels("polynomial"),),
    "cache": (of_exact_kernels,),
    "probability": (CLASSIFY, without_own_probabilities),
    "approx": (CLASSIFY, beside("kernel", "a kernel: add kernel='gaussian'")),
    "components": (beside("approx", "approx='nystrom' or 'fourier'"),),
    "landmarks": (beside("approx", "approx='nystrom'", "nystrom"),),
    "options": (of_a_solver,),
    "warm": (linear_start,),
    "checkpoint": (can_be_kept,),
    "force": (beside("checkpoint", "checkpoint=PATH: that is the file it may replace"),),
    "timeout": (of_clusters,),
    "memory": (of_files,),
    "label": (of_tables,),
    "encode": (of_tables,),
    "columns": (of_tables, of_encoded),
    "drop": (of_tables, of_encoded),
    "kinds": (of_tables, of_encoded),
    "zero_based": (of_files,),
    "on_bad_line": (of_files,),
}
