"""What a user may ask of a training, checked before any work is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data_files import is_file
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.files import check_writable
from maxmargin.losses import find_loss
from maxmargin.overwriting import check_replaces_checkpoint
from maxmargin.problem import check_bias, is_number
from maxmargin.rows.expand import Expansion, Kmers, find_expansion
from maxmargin.solve import Keeping, Limits
from maxmargin.solvers import find_solver


def check_together(kernel: Any, approx: str | None, probability: bool, warm: Any, checkpoint: Any) -> None:
    """Refuse options that have no meaning beside each other."""
    if kernel is None and approx is not None:
        raise ParameterError(f"approx={approx!r} is of a kernel, and none was given: kernel='gaussian' say")
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
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ParameterError(f"seed={seed!r} must be a whole number, 0 or above")
    return int(seed)
