"""The problems of training with a kernel: for each pair of classes, for each fold, for one function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_rows
from maxmargin.data.take import read_only, take
from maxmargin.kernels.functions import Kernel, Precomputed
from maxmargin.kernels.points import matrix_of
from maxmargin.loop.outcome import Outcome
from maxmargin.multiclass import Pair
from maxmargin.problems.formulations import c_svc, epsilon_svr, largest_nu, nu_svc, nu_svr, one_class
from maxmargin.problems.kernel import Formulation, KernelProblem
from maxmargin.settings.settings import NOVELTY_NU, Settings
from maxmargin.system.lazy import lazy
from maxmargin.system.threads import free_memory

NO_VARIABLES = c_svc(np.zeros(0), np.zeros(0))  # for rows and a kernel without a formulation


@dataclass(frozen=True, eq=False)
class KernelTask:
    """Centred rows, their kernel, the weight of each example, and the settings of the training.

    If `order` is given, the whole kernel matrix is computed once and shared by all problems. Its rows are in this
    order, sorted by class, so that the matrix of two classes consists of four blocks of it.
    """

    settings: Settings
    rows: Rows
    kernel: Kernel
    weights: np.ndarray
    threads: int
    cache: float | None
    order: np.ndarray | None = None

    @property
    def shares_matrix(self) -> bool:
        """Whether the whole kernel matrix is computed once."""
        return self.order is not None

    def problem(self, pair: Pair, chosen: np.ndarray | None = None, name: str = "", workers: int = 1) -> KernelProblem:
        """Return the problem of a pair of classes, or of its `chosen` examples; several workers share the cache."""
        members = pair.members if chosen is None else pair.members[chosen]
        y = pair.y if chosen is None else pair.y[chosen]
        formulation = self.classifier(y, self.weights[members], pair.classes[::-1], part=chosen is not None)
        rows, cache = subset(self.rows, members, self.kernel), self.cache
        if not self.shares_matrix:
            if workers > 1:
                cache = (free_memory() / 4 if cache is None else cache) / workers
            threads = 1 if workers > 1 else self.threads
            return KernelProblem(rows, self.kernel, formulation, cache, threads=threads, name=name or pair.name)
        places = pair.spans if chosen is None else self.places[members]
        problem = KernelProblem(
            rows, self.kernel, formulation, cache, threads=self.threads, name=name or pair.name,
            part_of=lambda: matrix_at(self.matrix, places),
        )  # fmt: skip
        share(self.everything, problem, places)
        return problem

    def of_function(self, targets: np.ndarray) -> KernelProblem:
        """Return the problem of a regression or of novelty detection, on all rows."""
        formulation = self.function(targets)
        problem = KernelProblem(self.rows, self.kernel, formulation, self.cache, threads=self.threads)
        if self.shares_matrix and "everything" in self.__dict__:
            problem.__dict__["matrix"] = self.matrix
        return problem

    @lazy
    def places(self) -> np.ndarray:
        """The place of each row in `order`."""
        assert self.order is not None
        return np.asarray(self.order.argsort())

    @lazy
    def matrix(self) -> np.ndarray:
        """The kernel matrix of all rows, shared by all pairs of classes and all folds."""
        return self.everything.matrix

    @lazy
    def everything(self) -> KernelProblem:
        """All rows, in this order, and their kernel."""
        assert self.order is not None
        rows = subset(self.rows, self.order, self.kernel)
        return KernelProblem(rows, self.kernel, NO_VARIABLES, threads=self.threads)

    def classifier(self, y: np.ndarray, weights: np.ndarray, classes: tuple[Any, Any], part: bool) -> Formulation:
        """Return C-SVC or ν-SVC. ν is lowered if needed for a `part` of the examples, where a class may be rarer."""
        settings = self.settings
        if settings.nu is None:
            return c_svc(y, settings.penalty(len(self.weights)) * weights, settings.bias)
        return nu_svc(y, weights, min(settings.nu, largest_nu(y, weights)) if part else settings.nu, classes)

    def function(self, targets: np.ndarray) -> Formulation:
        """Return ε-SVR, ν-SVR or one-class."""
        settings = self.settings
        if settings.task == "novelty":
            return one_class(self.weights, NOVELTY_NU if settings.nu is None else settings.nu)
        C = settings.penalty(len(targets)) * self.weights
        if settings.nu is None:
            return epsilon_svr(targets, C, float(settings.epsilon), settings.bias)
        return nu_svr(targets, C, settings.nu)

    def scale_of(self, outcome: Outcome) -> float:
        """Return the factor of a classifier's coefficients: 1/ρ for ν-SVC, as in LIBSVM."""
        rho = -outcome.width if self.settings.nu is not None else 1.0
        return 1.0 / rho if rho > 0.0 else 1.0

    def placed(self, outcome: Outcome, members: np.ndarray) -> Outcome:
        """Spread the coefficients of an outcome over all rows. For ν-SVC, divide them by ρ, as LIBSVM does."""
        scale = self.scale_of(outcome)
        w, alpha = np.zeros((2, len(self.weights)))
        w[members], alpha[members] = scale * outcome.w, scale * np.abs(outcome.alpha)
        return Outcome(
            w, scale * outcome.b, alpha, outcome.certificate, outcome.status, outcome.epochs, outcome.seconds,
            outcome.history,
        )  # fmt: skip


def share(everything: KernelProblem, problem: KernelProblem, places: Any) -> None:
    """Give a problem what is known of all rows. Its rows are at two slices of them, or at the given places."""
    known = problem.__dict__
    known["longest"] = everything.longest
    for name in ("squared_norms", "norms", "row_diagonal"):
        values = getattr(everything, name)
        known[name] = values[places] if isinstance(places, np.ndarray) else np.concatenate([values[p] for p in places])


def matrix_at(K: np.ndarray, places: Any) -> np.ndarray:
    """Return the part of K at the given places, or at two slices; K itself if they are all of it."""
    if isinstance(places, np.ndarray):
        return np.asarray(K.take(places, axis=0).take(places, axis=1))
    one, other = places
    first, size = one.stop - one.start, one.stop - one.start + other.stop - other.start
    if size == len(K):
        return K
    found = np.empty((size, size))
    found[:first, :first], found[:first, first:] = K[one, one], K[one, other]
    found[first:, :first], found[first:, first:] = K[other, one], K[other, other]
    return found


def subset(rows: Rows, members: np.ndarray, kernel: Kernel) -> Rows:
    """Return the rows `members`; for a precomputed kernel, only their columns too."""
    if len(members) == count_rows(rows) and np.array_equal(members, np.arange(len(members))):
        return rows
    if not isinstance(kernel, Precomputed):
        return pick(rows, members)
    if isinstance(rows, Csr):
        return take(matrix_of(rows)[members][:, members])
    return Dense(read_only(rows.values[np.ix_(members, members)]))
