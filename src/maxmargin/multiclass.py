"""More than two classes: one two-class problem for each, that class against the rest.

Two classes are one problem, and take the same way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Event

import numpy as np

from maxmargin.data.labels import show, sides, signs
from maxmargin.loop.solve import Callback, Keeping, Limits, Outcome, check_keeping, solve
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import Problem, check_both_classes
from maxmargin.solvers.base import Solver


def one_against_rest(
    problem: Problem,
    classes: np.ndarray,
    codes: np.ndarray,
    solver: Solver,
    limits: Limits,
    *,
    seed: int,
    callback: Callback | None,
    interrupt: Event,
    keeping: Keeping,
    starts: Sequence[Point] | None,
) -> list[Outcome]:
    """Solve each two-class problem; an interrupt leaves the remaining ones where they start."""
    shares, count = time_shares(limits, len(sides(classes))), len(sides(classes))
    for part, side in enumerate(sides(classes)) if count > 1 else ():
        check_keeping(versus_rest(problem, classes, codes, side), solver, seed, own_file(keeping, part, count))
    return [
        solve(
            versus_rest(problem, classes, codes, side),
            solver,
            next(shares),
            seed=seed,
            callback=callback,
            interrupt=interrupt,
            keeping=own_file(keeping, part, count),
            warm=None if starts is None else starts[part],
        )
        for part, side in enumerate(sides(classes))
    ]


def versus_rest(problem: Problem, classes: np.ndarray, codes: np.ndarray, side: int) -> Problem:
    """The problem in which class number `side` is positive and all others are negative."""
    if len(classes) == 2:
        return problem
    y = signs(codes, side)
    check_both_classes(y, problem.C)
    return problem.relabelled(y, f"{show(classes[side])} against the rest")


def time_shares(limits: Limits, parts: int) -> Iterator[Limits]:
    """The limits of each problem: an equal share of what time is left, so that none goes without."""
    began = time.perf_counter()
    for remaining in range(parts, 0, -1):
        if limits.max_seconds is None:
            yield limits
        else:
            left = limits.max_seconds - (time.perf_counter() - began)
            yield replace(limits, max_seconds=max(left, 0.0) / remaining)


def own_file(keeping: Keeping, part: int, parts: int) -> Keeping:
    """Each problem's own checkpoint: the file itself for one problem, numbered beside it for several."""
    path = keeping.checkpoint
    if path is None or parts == 1:
        return keeping
    return replace(keeping, checkpoint=path.with_name(f"{path.name}.{part}"))
