"""Kernel models without one fold each: one kernel matrix for each γ, shared by all folds, pairs of classes and C.

The variables of the fold that is left out have the box [0, 0]. So all fits of a pair of classes have the same rows. If
the matrix is too large to be held, they share one cache of its rows. A fit starts from the one for the C before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.data.columns import shifted
from maxmargin.data.examples import Examples
from maxmargin.data.pick import pick
from maxmargin.data.rows import count_columns
from maxmargin.errors import DataError
from maxmargin.kernels.functions import Kernel, kernel_centre
from maxmargin.kernels.held_rows import WholeMatrix
from maxmargin.kernels.row_sums import products_of_rows
from maxmargin.loop.outcome import Outcome
from maxmargin.loop.succession import Fallback
from maxmargin.models.kernel import decision_of, winners
from maxmargin.models.kernel_function import kernel_function_of
from maxmargin.multiclass import Pair, Run, pairs_of, solve_all
from maxmargin.problems.certificate import Point
from maxmargin.problems.formulations import c_svc, epsilon_svr, largest_nu, nu_svc, nu_svr
from maxmargin.problems.kernel import Formulation, KernelProblem, is_definite
from maxmargin.problems.kernel_certificate import feasible
from maxmargin.problems.linear import WITHOUT_WEIGHT, checked_weights
from maxmargin.settings.checks import checked_cache
from maxmargin.settings.settings import Settings
from maxmargin.solvers import find_solver
from maxmargin.solvers.base import Solver
from maxmargin.system.threads import free_memory
from maxmargin.training.kernel import is_small, order_of
from maxmargin.training.kernel_task import KernelTask
from maxmargin.tuning.fit import LOOSENED, Fit, fit_of, weights_without
from maxmargin.tuning.scoring import HeldOutClassifier, HeldOutRegressor
from maxmargin.tuning.splits import Fold

MATRIX_PART = 0.1  # of the free memory, which a kernel matrix may take; those of pairs of classes take twice as much
# Part of the support vectors that are at a bound. Measured on a9a, higgs, covtype and ijcnn1: if none of them grows,
# the next C takes a fifth of the pair steps where they are 3 %, and up to twice as many where they are 27 % or more.
FEW_AT_BOUND = 0.1
NEARLY = 1.0 - 1e-9  # of a bound
MOST_EXACT = 1000  # rows up to which the last Newton steps take little time; they leave no row on the wrong side


class KernelFits:
    """Fits with one kernel, for each fold and C: one for each pair of classes, or one function for a regression."""

    def __init__(self, data: Examples, kernel: Kernel, settings: Settings, folds: list[Fold]) -> None:
        self.data, self.settings, self.folds = data, settings, folds
        self.weights = checked_weights(settings.weights, np.zeros(data.n))
        centre = kernel_centre(kernel, data.rows, balanced=settings.bias == "free")
        rows = data.rows if centre is None else shifted(data.rows, centre)
        cache = checked_cache(settings.cache)
        self.shares = 8.0 * data.n * data.n <= (MATRIX_PART * free_memory() if cache is None else cache)
        threads = settings.thread_count
        self.workers = min(threads, len(folds)) if self.shares else 1
        order = order_of(data, settings) if self.shares else None
        self.task = KernelTask(settings, rows, kernel, np.ones(data.n), threads, cache, order)
        self.solver, self.then = self.solver_for(kernel)
        self.pairs = [None] if settings.task == "regress" else list(pairs_of(data.classes, data.codes, self.weights))
        self.bases = [self.base(pair) for pair in self.pairs]

    def solver_for(self, kernel: Kernel) -> tuple[Solver, Fallback | None]:
        """Return the solver, and the one that goes on if it stalls. Pair steps on a shared matrix are the quickest."""
        settings = self.settings
        if settings.solver != "auto":
            return find_solver(settings.solver, settings.options, kernel=True), None
        smo = find_solver("smo", kernel=True)
        if settings.task == "regress" and not is_small(self.data, settings, kernel):
            return smo, None
        definite = kernel.definite
        if definite is None and self.shares:
            definite = is_definite(self.task.matrix)
        if not (definite and self.shares):
            return smo, None
        options = {"target": 0.5 * LOOSENED * settings.tol, "exact": self.data.n <= MOST_EXACT}
        return find_solver("small_smo", options, kernel=True), Fallback(smo)

    def base(self, pair: Pair | None) -> KernelProblem:
        """Return the problem of a pair of classes, or of the regression, with what all its fits share."""
        problem = self.task.of_function(self.data.targets) if pair is None else self.task.problem(pair)
        if self.workers > 1:
            problem = replace(problem, threads=1)
        for name in ("squared_norms", "norms", "longest", "row_diagonal", "bounded"):
            getattr(problem, name)
        if self.shares:
            problem.__dict__["matrix"] = self.task.matrix if pair is None else problem.matrix
            problem.__dict__["held"] = WholeMatrix(problem.matrix)
        return problem

    def fit(self, k: int, C: float, before: Fit | None, run: Run) -> Fit:
        """Train with this C without fold k, from the fit with the C before."""
        weights = C * weights_without(self.folds[k], self.data, self.weights, self.settings.class_weight)
        problems = [self.without(base, pair, weights) for base, pair in zip(self.bases, self.pairs, strict=True)]
        starts = None
        if before is not None:
            ratio, both = C / before.C, zip(problems, before.parts, strict=True)
            starts = [Point(alpha=grown(problem.formulation, part.alpha, ratio)) for problem, part in both]
        run = replace(run, solver=self.solver, succession=self.then)
        parts = solve_all(problems, len(problems), run, starts=starts)
        return fit_of(C, self.estimator(k, parts), parts)

    def without(self, base: KernelProblem, pair: Pair | None, weights: np.ndarray) -> KernelProblem:
        """Return a problem whose examples have these C, with everything else of `base`."""
        settings = self.settings
        if pair is None:
            return shared(base, self.regression(weights))
        own = weights[pair.members]
        if len(np.unique(pair.y[own > 0.0])) < 2:
            raise DataError(f"{pair.name or 'a fold'}: {WITHOUT_WEIGHT}")
        if settings.nu is None:
            return shared(base, c_svc(pair.y, own, settings.bias))
        return shared(base, nu_svc(pair.y, own, min(settings.nu, largest_nu(pair.y, own)), pair.classes))

    def regression(self, C: np.ndarray) -> Formulation:
        """Return the regression with the C of each example."""
        settings, targets = self.settings, self.data.targets
        if settings.nu is None:
            return epsilon_svr(targets, C, float(settings.epsilon), settings.bias)
        return nu_svr(targets, C, settings.nu)

    def estimator(self, k: int, parts: list[Outcome]) -> Any:
        """Return the estimator that knows the values of the rows of fold k."""
        test, classes = self.folds[k].test, self.data.classes
        values = np.column_stack([self.values(part, pair, test) for part, pair in zip(parts, self.pairs, strict=True)])
        if self.settings.task == "regress":
            return HeldOutRegressor(values[:, 0])
        labels = classes[winners(values, np.arange(len(classes)))]
        return HeldOutClassifier(classes, decision_of(values, len(classes)), labels)

    def values(self, part: Outcome, pair: Pair | None, test: np.ndarray) -> np.ndarray:
        """Return the values of the held-out rows by one function."""
        members = np.arange(self.data.n) if pair is None else pair.members
        if self.shares:
            support, places = np.flatnonzero(part.w), self.task.places
            sums = np.empty(len(test))
            products_of_rows(self.task.matrix, places[test], places[members[support]], part.w[support], sums)
            scale = 1.0 if pair is None else self.task.scale_of(part)
            return scale * (sums + part.b)
        whole = self.task.placed(part, members)
        task = self.task
        function = kernel_function_of(task.rows, task.kernel, whole, {"d": count_columns(task.rows)})
        return function.decide(pick(task.rows, test), task.threads)


def grown(formulation: Formulation, beta: np.ndarray, ratio: float) -> np.ndarray:
    """Return the start of a fit whose C is `ratio` times that of the fit with this solution.

    Variables at a bound grow with it. If there are few of them, the solution hardly depends on C, and is the start.
    """
    if np.any(formulation.sums):  # ν times C is their sum, so the solution is proportional to C
        return ratio * beta
    bound = np.where(beta > 0.0, formulation.hi, -formulation.lo) / ratio
    at_bound = (beta != 0.0) & (np.abs(beta) >= NEARLY * bound)
    if np.count_nonzero(at_bound) <= FEW_AT_BOUND * np.count_nonzero(beta):
        return beta
    return feasible(formulation, np.where(at_bound, ratio * beta, beta))


def shared(base: KernelProblem, formulation: Formulation) -> KernelProblem:
    """Return a problem with another formulation, and the rows, the kernel and the known arrays of `base`."""
    found = replace(base, formulation=formulation)
    for name in ("squared_norms", "norms", "longest", "row_diagonal", "bounded", "matrix", "held"):
        if name in base.__dict__:
            found.__dict__[name] = base.__dict__[name]
    return found
