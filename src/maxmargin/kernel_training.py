"""Kernel machines from rows: one machine, or one for each pair of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations
from threading import Event, Lock
from typing import Any

import numpy as np

from maxmargin.data.labels import show
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows, count_stored
from maxmargin.data.take import read_only, take
from maxmargin.errors import ParameterError
from maxmargin.kernels.functions import Kernel, Precomputed
from maxmargin.kernels.points import matrix_of
from maxmargin.loop.solve import Callback, Keeping, Limits, Outcome, solve
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.probabilities import FOLDS, fit_sigmoid, folds_of
from maxmargin.multiclass import own_file, time_shares
from maxmargin.problems.certificate import summed
from maxmargin.problems.kernel import Formulation, KernelProblem
from maxmargin.problems.linear import check_both_classes
from maxmargin.solvers.base import Solver
from maxmargin.status import Status
from maxmargin.system.overwriting import check_replaces_checkpoint
from maxmargin.system.threads import blas_on_one_thread, free_memory, in_turn, on_threads

NOT_KEPT = Keeping()
MANY = 4  # pairs of classes for each thread, so that they are trained side by side,
LARGE = 100_000  # if a pair has so many values: of small ones more is Python than computing
TOLERABLE = 1e-3  # relative gap of the fits from which only probabilities are learnt
Make = Callable[
    [np.ndarray, np.ndarray, tuple[Any, Any], bool], Formulation
]  # of ±1, strengths, classes; whether a part


@dataclass(frozen=True)
class Run:
    """How a machine is to be trained, whatever it is."""

    solver: Solver
    limits: Limits
    cache: float | None = None
    threads: int = 1
    seed: int = 0
    callback: Callback | None = None
    interrupt: Event | None = None
    keeping: Keeping = NOT_KEPT

    def solve(self, rows: Rows, kernel: Kernel, formulation: Formulation, name: str = "") -> Outcome:
        """Train one machine."""
        problem = KernelProblem(rows, kernel, formulation, self.cache, threads=self.threads, name=name)
        return solve(
            problem, self.solver, self.limits, seed=self.seed, callback=self.callback, interrupt=self.interrupt,
            keeping=self.keeping,
        )  # fmt: skip

    def one_of(self, workers: int) -> Run:
        """The same for one machine of several side by side: a thread and a share of the cache; callbacks take turns."""
        cache = (free_memory() / 4 if self.cache is None else self.cache) / workers
        return replace(self, threads=1, cache=cache, callback=in_turn(self.callback) if self.callback else None)

    def summary(self, rows: Rows, formulation: str, outcomes: list[Outcome]) -> dict[str, Any]:
        """What a model says about its training."""
        return {
            "formulation": formulation, "solver": self.solver.name, "tol": float(self.limits.tol), "seed": self.seed,
            "n": count_rows(rows), "d": count_columns(rows), "nnz": count_stored(rows),
            "epochs": sum(outcome.epochs for outcome in outcomes),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Pair:
    """Two classes, the first one positive: the row numbers of their examples, those rows, and a C or weight for each.

    Of these examples `make` makes a machine.
    """

    members: np.ndarray
    rows: Rows
    y: np.ndarray
    strengths: np.ndarray
    classes: tuple[Any, Any]
    kernel: Kernel
    make: Make
    name: str

    def solve(self, run: Run, chosen: np.ndarray | None = None, name: str = "") -> Outcome:
        """Train on the chosen ones, or on all; coefficients are in their places among the rows of the pair."""
        every = np.arange(len(self.y)) if chosen is None else chosen
        formulation = self.make(self.y[every], self.strengths[every], self.classes[::-1], chosen is not None)
        rows = self.rows if chosen is None else subset(self.rows, chosen, self.kernel)
        return spread(run.solve(rows, self.kernel, formulation, name or self.name), formulation, every, len(self.y))

    def held_out(self, run: Run) -> tuple[np.ndarray, list[Outcome]]:
        """The decision value of each example by a machine that was not trained on its fold, and those machines."""
        folds, values = folds_of(np.where(self.strengths > 0.0, self.y, 0.0)), np.empty(len(self.y))
        shares, outcomes = time_shares(run.limits, FOLDS), []
        for fold in range(FOLDS):
            own, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            present = np.unique(self.y[rest[self.strengths[rest] > 0.0]])
            if len(present) < 2:
                values[own] = np.sum(present)
                continue
            name = f"{self.name} without fold {fold + 1} of {FOLDS}".strip()
            outcome = self.solve(replace(run, limits=next(shares)), rest, name)
            outcomes.append(outcome)
            function = function_of(self.rows, self.kernel, outcome, {"d": count_columns(self.rows)})
            values[own] = function.decide(pick(self.rows, own), run.threads)
        return values, outcomes


def pairs_of_classes(
    rows: Rows, classes: np.ndarray, codes: np.ndarray, kernel: Kernel, strengths: np.ndarray, make: Make
) -> Iterator[Pair]:
    """Each pair of classes, one at a time."""
    for i, j in combinations(range(len(classes)), 2):
        members = np.flatnonzero((codes == i) | (codes == j))
        y = np.where(codes[members] == i, 1.0, -1.0)
        check_both_classes(y, strengths[members])
        name = "" if len(classes) == 2 else f"{show(classes[i])} against {show(classes[j])}"
        some = rows if len(members) == len(codes) else subset(rows, members, kernel)
        yield Pair(members, some, y, strengths[members], (classes[i], classes[j]), kernel, make, name)


def one_against_one(
    pairs: Iterable[Pair], count: int, n: int, run: Run, kernel: Kernel, values_a_pair: float
) -> list[Outcome]:
    """Train the machine of each pair, many large ones side by side; an interrupt leaves the rest at the start."""
    side_by_side = count >= MANY * run.threads and kernel.by_products and values_a_pair >= LARGE
    workers = run.threads if side_by_side else 1
    shares, waiting, lock = time_shares(run.limits, count), enumerate(pairs), Lock()
    outcomes: list[Any] = [None] * count
    run = run if workers == 1 else run.one_of(workers)
    for part in range(count):
        if (own := own_file(run.keeping, part, count).checkpoint) is not None:
            check_replaces_checkpoint(own, run.keeping.force)

    def train_next(_: int) -> None:
        with lock:
            part, pair = next(waiting)
            limits = next(shares)
        if limits.max_seconds is not None:
            limits = replace(limits, max_seconds=limits.max_seconds * min(workers, count - part))
        own = replace(run, limits=limits, keeping=own_file(run.keeping, part, count))
        outcomes[part] = placed(pair.solve(own), pair.members, n)

    with blas_on_one_thread if workers > 1 else nullcontext():
        on_threads(workers, train_next, range(count))
    return outcomes


def calibrated(pairs: Iterable[Pair], count: int, run: Run) -> tuple[np.ndarray | None, list[Outcome]]:
    """A and B of each pair, from five machines more, and those; None if one of them never began."""
    limits = replace(run.limits, tol=max(run.limits.tol, TOLERABLE))
    shares = time_shares(limits, count)
    found, outcomes = [], list[Outcome]()
    for pair in pairs:
        values, own = pair.held_out(replace(run, limits=next(shares), keeping=NOT_KEPT))
        outcomes += own
        if any(outcome.epochs == 0 and outcome.status is not Status.CONVERGED for outcome in own):
            return None, outcomes
        counted = pair.strengths > 0.0
        found.append(fit_sigmoid(values[counted], pair.y[counted] > 0.0))
    return np.array(found), outcomes


def subset(rows: Rows, members: np.ndarray, kernel: Kernel) -> Rows:
    """Some rows; of a precomputed kernel their columns too."""
    if not isinstance(kernel, Precomputed):
        return pick(rows, members)
    if isinstance(rows, Csr):
        return take(matrix_of(rows)[members][:, members])
    return Dense(read_only(rows.values[np.ix_(members, members)]))


def spread(outcome: Outcome, formulation: Formulation, members: np.ndarray, n: int) -> Outcome:
    """The same outcome, its coefficients in their places among more rows; of ν-SVC divided by ρ, as LIBSVM does."""
    rho = -outcome.w[-1] if formulation.kind == "nu-SVC" else 1.0
    scale = 1.0 / rho if rho > 0.0 else 1.0
    coefficients, alpha = scale * outcome.w[: len(members)], scale * np.abs(outcome.alpha)
    return placed(replace(outcome, w=coefficients, b=scale * outcome.b, alpha=alpha), members, n)


def placed(outcome: Outcome, members: np.ndarray, n: int) -> Outcome:
    """The same outcome, of some of n rows."""
    w, alpha = np.zeros(n), np.zeros(n)
    w[members], alpha[members] = outcome.w, outcome.alpha
    return replace(outcome, w=w, alpha=alpha)


def model_of(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    kernel: Kernel,
    parts: list[Outcome],
    training: dict[str, Any],
    sigmoids: np.ndarray | None = None,
    centre: np.ndarray | None = None,
) -> KernelModel:
    """The support vectors of all pairs, those of each class together."""
    used = np.any([part.w != 0.0 for part in parts], axis=0)
    support = np.concatenate([np.flatnonzero(used & (codes == c)) for c in range(len(classes))])
    place = {pair: k for k, pair in enumerate(combinations(range(len(classes)), 2))}
    dual_coef = np.zeros((len(classes) - 1, len(support)))
    for c in range(len(classes)):
        own = codes[support] == c
        for other in range(len(classes)):
            if other != c:
                part = parts[place[min(c, other), max(c, other)]]
                dual_coef[other - (other > c), own] = part.w[support[own]]
    certificate = summed(part.certificate for part in parts)
    counts = np.bincount(codes[support], minlength=len(classes))
    b = np.array([part.b for part in parts])
    return KernelModel(
        classes,
        support_vectors(rows, support, kernel),
        support,
        counts,
        dual_coef,
        b,
        kernel,
        certificate,
        training,
        sigmoids,
        centre,
    )


def support_vectors(rows: Rows, support: np.ndarray, kernel: Kernel) -> Rows:
    """The support vectors; of a precomputed kernel their row numbers say all."""
    return Dense(np.zeros((len(support), 0))) if isinstance(kernel, Precomputed) else pick(rows, support)


def function_of(
    rows: Rows, kernel: Kernel, outcome: Outcome, training: dict[str, Any], centre: np.ndarray | None = None
) -> KernelFunction:
    """The support vectors of one machine; behind its coefficients there may be its width."""
    n = count_rows(rows)
    coefficients, width = outcome.w[:n], float(np.sum(outcome.w[n:]))
    support = np.flatnonzero(coefficients)
    some, b = coefficients[support], float(outcome.b)
    return KernelFunction(
        support_vectors(rows, support, kernel), support, some, b, width, kernel, outcome.certificate, training, centre
    )


def check_settings(loss: str, C: float) -> None:
    """Kernels are for hinge and a finite C."""
    if loss != "hinge":
        raise ParameterError(f"loss={loss!r} is not for kernels: they are trained with loss='hinge'")
    if np.isinf(C):
        raise ParameterError("C=inf is not for kernels: take a large finite C, 1e6 say")
