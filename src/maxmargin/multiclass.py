"""Training that consists of several two-class problems: each class against the rest, or each pair of classes.

Two classes are one problem, solved by the same functions. Linear and streamed problems are one class against the rest,
and share all rows. Problems with a kernel are pairs of classes, as in LIBSVM, and have the rows of two classes each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from threading import Event, Lock
from typing import Any

import numpy as np

from maxmargin.data.labels import show, signs
from maxmargin.errors import DataError
from maxmargin.loop.loop import Callback
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.saving import Keeping
from maxmargin.loop.solve import check_keeping, solve
from maxmargin.loop.stopping import Limits
from maxmargin.loop.succession import Succession
from maxmargin.problems.certificate import Point
from maxmargin.problems.linear import WITHOUT_WEIGHT, Problem, check_both_classes
from maxmargin.solvers.base import Solver
from maxmargin.system.overwriting import check_replaces_checkpoint
from maxmargin.system.threads import blas_on_one_thread, in_turn, on_threads


@dataclass(frozen=True)
class Run:
    """The solver, limits and other settings with which each problem of a training is solved.

    `succession` decides whether another solver goes on with a problem before the tolerance is met.
    """

    solver: Solver
    limits: Limits
    seed: int = 0
    callback: Callback | None = None
    interrupt: Event | None = None
    keeping: Keeping = field(default_factory=Keeping)
    succession: Succession | None = None

    def solve(self, problem: Any, warm: Point | None = None) -> Outcome:
        """Solve one problem, from `warm` if given."""
        return solve(
            problem, self.solver, self.limits, seed=self.seed, callback=self.callback, interrupt=self.interrupt,
            keeping=self.keeping, warm=warm, succession=self.succession,
        )  # fmt: skip


class SharedRun(Run):
    """A Run whose problems share the passes over the rows, and tell each other when they end or fail."""

    def solve(self, problem: Any, warm: Point | None = None) -> Outcome:
        """Solve one problem, from `warm` if given."""
        try:
            return super().solve(problem, warm)
        except BaseException:
            problem.fail()
            raise
        finally:
            problem.leave()


def solve_all(
    problems: Iterable[Any],
    count: int,
    run: Run,
    *,
    starts: Sequence[Point] | None = None,
    workers: int = 1,
    kept: Callable[[int, Any, Outcome], Any] | None = None,
) -> list[Any]:
    """Solve `count` problems, `workers` of them in parallel. An interrupt leaves the remaining ones unsolved.

    Each problem gets an equal share of the time that is left when it begins, and its own checkpoint. `kept` returns the
    part of an outcome to keep, and is called as soon as the problem is solved; by default the whole outcome is kept.
    """
    shares, waiting, lock = time_shares(run.limits, count), enumerate(problems), Lock()
    outcomes: list[Any] = [None] * count
    check_kept(problems, count, run)
    callback = in_turn(run.callback) if run.callback and workers > 1 else run.callback

    def solve_next(_: int) -> None:
        with lock:
            following, limits = next(waiting, None), next(shares)
        if following is None:  # another thread got an error instead of a problem
            return
        part, problem = following
        if limits.max_seconds is not None:
            limits = replace(limits, max_seconds=limits.max_seconds * min(workers, count - part))
        keeping = own_file(run.keeping, part, count)
        own = run
        if limits is not run.limits or callback is not run.callback or keeping is not run.keeping:
            own = replace(run, limits=limits, callback=callback, keeping=keeping)
        outcome = own.solve(problem, None if starts is None else starts[part])
        outcomes[part] = outcome if kept is None else kept(part, problem, outcome)

    with blas_on_one_thread:
        on_threads(workers, solve_next, range(count), at_once=isinstance(run, SharedRun))
    return outcomes


def check_kept(problems: Iterable[Any], count: int, run: Run) -> None:
    """Check before any work is done that only checkpoints are replaced; for a sequence of problems, only their own."""
    if run.keeping.checkpoint is None or count == 1:
        return
    for part in range(count):
        own = own_file(run.keeping, part, count)
        if isinstance(problems, Sequence):
            check_keeping(problems[part], run.solver, run.seed, own)
        else:
            assert own.checkpoint is not None
            check_replaces_checkpoint(own.checkpoint, own.force)


def each_against_rest(problem: Problem, classes: np.ndarray, codes: np.ndarray) -> Sequence[Problem]:
    """Return the problems in which each class in turn is positive and all others are negative; one for two classes."""
    if len(classes) == 2:
        return [problem]
    counts = np.bincount(codes, problem.C > 0.0, len(classes))
    if not np.all(counts):
        raise DataError(WITHOUT_WEIGHT)
    return OneAgainstRest(problem, classes, codes)


@dataclass(frozen=True, eq=False)
class OneAgainstRest(Sequence[Problem]):
    """One problem for each class, made on access: all labels at once would take n numbers for each class."""

    problem: Problem
    classes: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, place: Any) -> Any:
        side = range(len(self))[place]
        return self.problem.relabelled(signs(self.codes, side), f"{show(self.classes[side])} against the rest")


@dataclass(frozen=True, eq=False)
class Pair:
    """Two classes, the first one positive: the row numbers of their examples, the labels ±1, and a name.

    If there are more classes, the examples of the first one come first. `spans` are the places of both in the order of
    `by_class`.
    """

    members: np.ndarray
    y: np.ndarray
    classes: tuple[Any, Any]
    name: str
    spans: tuple[slice, slice]


def pairs_of(classes: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Iterator[Pair]:
    """Yield each pair of classes. Refuse a class without a positive weight."""
    order, spans = by_class(codes, len(classes))
    if len(classes) == 2:
        check_both_classes(y := np.where(codes == 0, 1.0, -1.0), weights)
        yield Pair(order, y, (classes[0], classes[1]), "", (spans[0], spans[1]))
        return
    if not np.all(np.bincount(codes, weights > 0.0, len(classes))):
        raise DataError(WITHOUT_WEIGHT)
    for i, j in combinations(range(len(classes)), 2):
        first, second = order[spans[i]], order[spans[j]]
        y = np.ones(len(first) + len(second))
        y[len(first) :] = -1.0
        name = f"{show(classes[i])} against {show(classes[j])}"
        yield Pair(np.concatenate([first, second]), y, (classes[i], classes[j]), name, (spans[i], spans[j]))


def by_class(codes: np.ndarray, count: int) -> tuple[np.ndarray, list[slice]]:
    """Return the row numbers sorted by class, and the span of each class among them.

    Two classes are not sorted: both need all rows, and their first span is all of them.
    """
    if count == 2:
        return np.arange(len(codes)), [slice(0, len(codes)), slice(0, 0)]
    ends = np.bincount(codes, minlength=count).cumsum().tolist()
    return codes.argsort(kind="stable"), [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False)]


def time_shares(limits: Limits, parts: int) -> Iterator[Limits]:
    """Yield the limits of each problem, with an equal share of the time that is left."""
    began = time.perf_counter()
    for remaining in range(parts, 0, -1):
        yield limits.after(time.perf_counter() - began, part=1.0 / remaining)


def own_file(keeping: Keeping, part: int, parts: int) -> Keeping:
    """Return the checkpoint of one problem: the given file, with a number appended if there are several problems."""
    path = keeping.checkpoint
    if path is None or parts == 1:
        return keeping
    return replace(keeping, checkpoint=path.with_name(f"{path.name}.{part}"))
