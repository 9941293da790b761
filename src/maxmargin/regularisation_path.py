"""The path over C: train on the same rows for several C, each fit starting from the solution for the one before.

C increases, because the dual variables for a smaller C are feasible for a larger one, and w hardly moves. Work that
depends only on the rows (checking every value, computing norms) is done once. If the rows are too few to keep all
threads busy with one fit, each thread trains a consecutive range of the C values. Files that do not fit in memory, and
rows on a cluster, are trained for several C in the same passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin.data.rows import count_stored
from maxmargin.errors import ParameterError, RefusedError
from maxmargin.loop.interrupts import noticed, sharing
from maxmargin.results import Result
from maxmargin.settings.settings import settings_of
from maxmargin.solvers import STREAMING_SOLVERS
from maxmargin.system.threads import in_turn, on_threads
from maxmargin.system.values import is_number
from maxmargin.training.train import examples_for, fit_examples, fit_for_each

SMALL = 4_000_000  # stored values up to which one C does not keep all threads busy
CS = tuple(float(C) for C in np.logspace(-2, 2, 9))


def path(X: Any, y: Any = None, *, Cs: Iterable[float] = CS, **options: Any) -> list[Result]:
    """Train for every C in `Cs`. The results are in the order of `Cs`, each certified as by `train`.

    Parameters
    ----------
    X, y : as for `train`
    Cs : the values of C, in any order; by default nine from 0.01 to 100
    **options : parameters of `train` except C, lam, warm, checkpoint, resume and force; limits hold for each C

    An interrupt, or a callback that returns a true value, ends the fits in progress; several fits run at once if rows
    are few and threads are several. Values of C that had not started are missing from the list.

    Files that do not fit in memory, and rows on a cluster, are trained for all C in the same passes, or for as many as
    memory allows. Results of several C then have no `alpha`, and `record.problem` names the C.

    Examples
    --------
    >>> import maxmargin
    >>> results = maxmargin.path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], Cs=[0.1, 10.0])
    >>> [result.model.training["C"] for result in results]
    [0.1, 10.0]
    """
    for name in ("C", "lam", "warm", "checkpoint", "resume", "force"):
        if name in options:
            raise ParameterError(f"path takes no {name}: it goes from one C to the next by itself; train takes it")
    if (solver := options.get("solver")) in STREAMING_SOLVERS:
        raise RefusedError(
            f"{solver} trains for one C at a time: take solver='auto', or train(..., solver={solver!r}) for each C"
        )
    settings = settings_of("path", X, options)
    if settings.uses_kernel:
        raise ParameterError("path is for linear models: add approx='nystrom' to the kernel, or train for each C")
    values, threads, settings = checked(Cs), settings.thread_count, settings.changed(y=y)
    rising = sorted(set(values))
    if (apart := fit_for_each(settings, rising)) is not None:
        by_C = dict(zip(rising, apart, strict=False))
        return [by_C[C] for C in values if C in by_C]
    data = examples_for(settings)
    longer = any(settings.values[name] is not None for name in ("expand", "approx", "kernel"))
    few = count_stored(data.rows) <= SMALL and not longer
    workers = min(threads, max(len(rising) // 2, 1)) if few else 1
    callback = in_turn(settings.callback) if settings.callback else None
    settings = settings.changed(threads=1 if workers > 1 else threads, callback=callback)
    found: dict[float, Result] = {}
    stretches = split(rising, workers)
    with noticed() as interrupt:

        def follow(k: int) -> None:
            warm = None
            with sharing(interrupt):
                for C in stretches[k]:
                    if interrupt.is_set() and found:
                        return
                    try:
                        warm = found[C] = fit_examples(data, settings.changed(C=C, warm=warm))
                    except BaseException:
                        interrupt.set()  # stop the other threads
                        raise

        on_threads(workers, follow, range(workers))
    return [found[C] for C in values if C in found]


def split(rising: list[float], parts: int) -> list[list[float]]:
    """Split the C values into ranges of about equal training time, assuming that larger C take longer."""
    work = np.cumsum(np.arange(1, len(rising) + 1))
    ends = np.searchsorted(work, work[-1] * np.arange(parts + 1) / parts)
    return [rising[start:stop] for start, stop in zip(ends[:-1], [*ends[1:-1], len(rising)], strict=True)]


def checked(Cs: Any) -> list[float]:
    """Return the C values: at least one, each a positive number."""
    values = list(Cs) if np.iterable(Cs) and not isinstance(Cs, str) else [Cs]
    for C in values:
        if not (is_number(C) and 0 < C < np.inf):
            raise ParameterError(f"Cs holds {C!r}: each C must be a positive number")
    if not values:
        raise ParameterError("Cs is empty: give at least one C")
    return [float(C) for C in values]
