"""Checks of the value of each parameter of `train`, whether the value is used or not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.choice import KINDS
from maxmargin.data.expand import find_expansion
from maxmargin.data.files import check_way
from maxmargin.errors import ParameterError
from maxmargin.kernels.approximation import NAMES as APPROXIMATIONS
from maxmargin.kernels.functions import check_gamma, checked_degree, checked_number, gamma_of
from maxmargin.kernels.landmarks import WAYS
from maxmargin.loop.saving import Keeping
from maxmargin.problems.formulations import check_nu
from maxmargin.problems.linear import check_bias
from maxmargin.problems.losses import find_loss
from maxmargin.system.atomic_files import check_writable
from maxmargin.system.budget import checked_memory
from maxmargin.system.overwriting import check_replaces_checkpoint
from maxmargin.system.threads import thread_count
from maxmargin.system.values import check_column, check_flag, is_number, is_whole

CLUSTER = re.compile(r"local:[1-9][0-9]{0,3}|[a-z]+://.+")
TASKS = ("classify", "regress", "novelty")


def check_tol(name: str, value: Any) -> None:
    """Refuse anything but a positive finite number."""
    if not (is_number(value) and 0 < value < np.inf):
        raise ParameterError(f"{name}={value!r} must be a number above 0: the relative duality gap to reach, 1e-4 say")


def check_limit(name: str, value: Any) -> None:
    """Refuse anything but a positive number or None."""
    if value is not None and not (is_number(value) and value > 0):
        raise ParameterError(f"{name}={value!r} must be a number above 0, or None for no limit")


def check_components(name: str, value: Any) -> None:
    """Refuse anything but a positive integer."""
    if not is_whole(value) or value < 1:
        raise ParameterError(f"{name}={value!r} must be a whole number, 1 or above: 500 say")


def checked_cache(cache: Any) -> float | None:
    """Return the size of the kernel cache in bytes, from megabytes."""
    if cache is None:
        return None
    if not (is_number(cache) and 0 < cache < np.inf):
        raise ParameterError(f"cache={cache!r} must be a number of megabytes above 0, or None")
    return float(cache) * 2**20


def checked_keeping(checkpoint: str | Path | None, resume: bool, force: bool = False) -> Keeping:
    """Return where to save the run. Refuse an unwritable file and, without `force`, one that is no checkpoint."""
    if checkpoint is None:
        if resume:
            raise ParameterError("resume needs checkpoint=PATH (--checkpoint PATH): the file to go on from")
        return Keeping()
    check_writable(checkpoint)
    check_replaces_checkpoint(checkpoint, force)
    return Keeping(Path(checkpoint), resume, force)


def checked_seed(seed: Any) -> int:
    """Return the seed. Refuse anything but a nonnegative integer."""
    if not is_whole(seed) or seed < 0:
        raise ParameterError(f"seed={seed!r} must be a whole number, 0 or above")
    return int(seed)


def one_of(*known: str | None) -> Callable[[str, Any], None]:
    """Return a check that accepts only the `known` values."""

    def check(name: str, value: Any) -> None:
        if not ((value is None or isinstance(value, str)) and value in known):
            raise ParameterError(f"{name}={value!r} is not known: choose one of {', '.join(map(str, known))}")

    return check


def check_callback(name: str, value: Any) -> None:
    """Refuse anything but a function or None."""
    if value is not None and not callable(value):
        raise ParameterError(f"{name}={value!r} must be a function of one Record, or None")


def check_options(name: str, value: Any) -> None:
    """Refuse anything but a dictionary or None."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterError(f'{name}={value!r} must be a dictionary, such as {{"batch": 32}}')


def check_solver(name: str, value: Any) -> None:
    """Refuse anything but a string."""
    if not isinstance(value, str):
        raise ParameterError(f"{name}={value!r} must be the name of a solver, or auto")


def check_kernel(name: str, value: Any) -> None:
    """Refuse anything but a string, a function or None."""
    if not (value is None or isinstance(value, str) or callable(value)):
        raise ParameterError(f"{name}={value!r} must be the name of a kernel, a function f(X, Z), or None")


def check_epsilon(name: str, value: Any) -> None:
    """Refuse anything but a nonnegative finite number."""
    if not (is_number(value) and 0.0 <= value < np.inf):
        raise ParameterError(f"{name}={value!r} must be a number, 0 or above: how far off costs nothing")


def check_class_weight(name: str, value: Any) -> None:
    """Refuse anything but "balanced", a dictionary of nonnegative numbers, or None."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name}={value!r} must be 'balanced', a dictionary {{label: weight}}, or None")
    for label, weight in value.items():
        if not (is_number(weight) and 0.0 <= weight < np.inf):
            raise ParameterError(f"{name} of class {label!r} is {weight!r}: it must be a number, 0 or above")


def check_timeout(name: str, value: Any) -> None:
    """Refuse anything but a positive finite number."""
    if not (is_number(value) and 0 < value < np.inf):
        raise ParameterError(f"{name}={value!r} must be a number of seconds above 0, 600 say")


def check_client(name: str, value: Any) -> None:
    """Refuse anything but a client of Dask, the address of a scheduler, local:N, or None."""
    text = isinstance(value, str) and CLUSTER.fullmatch(value)
    if not (value is None or text or (hasattr(value, "scheduler_info") and hasattr(value, "submit"))):
        raise ParameterError(
            f"{name}={value!r} is no cluster: give a dask.distributed.Client, tcp://HOST:8786, or local:N for N workers"
        )
    if getattr(value, "asynchronous", False) is True:
        raise ParameterError(f"{name} is asynchronous, and training waits: give a Client without asynchronous=True")


def check_names(name: str, value: Any) -> None:
    """Refuse anything but names of columns or None."""
    if not (value is None or (isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value))):
        raise ParameterError(f"{name}={value!r} must be a list of column names, or None")


def check_kinds(name: str, value: Any) -> None:
    """Refuse anything but a dictionary of kinds of columns or None."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterError(f'{name}={value!r} must be a dictionary, such as {{"zip": "category"}}')
    for column, kind in (value or {}).items():
        if kind not in KINDS:
            raise ParameterError(f"{name}: {column}={kind} is no kind of column: choose one of {', '.join(KINDS)}")


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
    "approx": one_of(*APPROXIMATIONS, None),
    "components": check_components,
    "landmarks": one_of("auto", *WAYS),
    "options": check_options,
    "tol": check_tol,
    "max_seconds": check_limit,
    "max_epochs": check_limit,
    "threads": lambda _, value: thread_count(value),
    "seed": lambda _, value: checked_seed(value),
    "callback": check_callback,
    "resume": check_flag,
    "force": check_flag,
    "client": check_client,
    "timeout": check_timeout,
    "memory": lambda _, value: checked_memory(value),
    "label": check_column,
    "encode": one_of("auto", "none"),
    "columns": check_names,
    "drop": check_names,
    "kinds": check_kinds,
    "zero_based": check_flag,
    "scale": check_flag,
    "on_bad_line": lambda _, value: check_way(value),
    "expand": lambda _, value: find_expansion(value),
}  # weights and warm are checked together with the rows, the other parameters in checked_settings
