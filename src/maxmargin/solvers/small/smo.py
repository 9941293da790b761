"""SMO for small problems, on the whole kernel matrix, all steps in one compiled call.

Solves   max_β  −½ βᵀKβ − qᵀβ,   lo ≤ β ≤ hi,  Σ β = c in each group        (problems/kernel;  F = −Kβ − q)
         for every formulation with a kernel, and for linear problems with the hinge loss, K = XXᵀ, β_i = α_i y_i
Step     a pair of variables, as in `smo`, in a direction conjugate to that of the last step, until a variable meets
         its bound; without a bias, one variable
Newton   between many pair steps the free variables, lo < β < hi, move to their joint optimum, or to the first bound:
         K_FF Δ = F_F − b. Near the solution this step is exact, so weights and repeated examples give the same model
Shrinks  with many rows, variables at a bound are left out for a while (small/shrinking)
Rows     with few features and slow pair steps, a linear problem changes to an interior-point method on the rows
Costs    K once; a pair step O(n); a Newton step O(f³) for f free variables; memory O(n²)
After    Platt 1998; Fan, Chen, Lin, JMLR 2005; Scheinberg, JMLR 2006 (free variables); Torres-Barrán,
         Alaíz, Dorronsoro 2021 (conjugate directions); Mehrotra 1992 (interior point)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.errors import ParameterError, RefusedError
from maxmargin.problems.certificate import Certified, Point, feasible
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import Problem
from maxmargin.solvers.small.design import MOST_ROWS, MOST_VALUES, is_small, split
from maxmargin.solvers.small.interior import interior, rows_of
from maxmargin.solvers.small.pair_steps import CONJUGATE_STEPS, MOST_FREE, maximise, maximise_singly
from maxmargin.solvers.small.shrinking import moved_in_parts
from maxmargin.solvers.takes import EVERY_FORMULATION, Takes
from maxmargin.status import Status
from maxmargin.system.values import is_number

FIRST_TARGET = (
    5e-5  # Relative gap of the first call, as a default: half of the default tolerance, to leave room for rounding.
)
LOWER_TARGET = 0.1  # Each further call lowers it by this factor.
LEAST_TARGET = 1e-13  # A gap this small by the solver's own sums is exact up to their rounding: there is no next step.
WORK = 100_000_000  # Values of K visited by the pair steps of one call: a tenth of a second.
STEPS_PER_ROW = 50  # The same, at least: with many rows, most steps are on a part of them.
STEP_COST = 1000  # Cost of a pair step beside the values it visits, in values: its part of the Newton steps.
# Where an interior-point method is possible, it comes first with at least LEAST_EXAMPLES examples and few columns or
# many examples for each. Else pair steps get about as much time as it would take. Measured on 100 to 2,000 examples of
# generated data, breast cancer and digits.
LEAST_EXAMPLES = 200
FEW_COLUMNS = 40
EXAMPLES_PER_COLUMN = 30
LEAST_PAIR_STEPS = 500
PAIR_STEPS = 0.2  # For each pair of columns.
LEAST_PROGRESS = 0.1  # A call that does not lower the gap to this fraction ends the run: another solver may do better.
NOTHING = np.zeros(0)


class Arrays(NamedTuple):
    """The dual problem as arrays."""

    K: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    q: np.ndarray
    group: np.ndarray
    groups: int
    scale: float


@dataclass
class PairState:
    """The state: β and F; (w, b) of an interior-point method, if it was used; and the gap to reach next.

    F is empty until it is known. `exact` says whether Newton steps follow when the gap is reached.
    """

    beta: np.ndarray
    F: np.ndarray
    v: np.ndarray
    target: float = FIRST_TARGET
    exact: bool = True
    visited: int = 0
    estimate: float = np.inf


@dataclass(frozen=True)
class SmallSmo:
    """SMO for small problems: all steps on the whole kernel matrix in one compiled call."""

    name = "small_smo"
    deterministic = True
    state_type = PairState
    takes = Takes(("hinge",), formulations=EVERY_FORMULATION)

    target: float = FIRST_TARGET  # relative gap at which the first certificate is asked for
    exact: bool = True  # whether Newton steps then make the solution exact, so that equal problems have equal models

    def __post_init__(self) -> None:
        if not isinstance(self.exact, bool):
            raise ParameterError(f"exact={self.exact!r} must be true or false")
        if not (is_number(self.target) and self.target > 0.0):
            raise ParameterError(f"target={self.target!r} must be a number above 0")

    def start(self, problem: Any, warm: Point | None = None) -> PairState:
        """Start at the first β of the formulation, or at the dual point of `warm`."""
        check_size(problem)
        beta = start_of(problem, warm)
        if not beta.any():
            F = problem.y.copy() if isinstance(problem, Problem) else -problem.formulation.q
            return PairState(beta, F, NOTHING, self.target, self.exact)
        if isinstance(problem, KernelProblem) and warm is not None:
            return PairState(beta, NOTHING, NOTHING, self.target, self.exact)  # its certificate will know F
        arrays = arrays_of(problem)
        return PairState(beta, -arrays.q - arrays.K @ beta, NOTHING, self.target, self.exact)

    def advance(self, problem: Any, state: PairState, rng: np.random.Generator) -> Status | None:
        """Reach the next gap, or take as many steps as a tenth of a second allows."""
        n = len(state.beta)
        return self.steps(problem, state, max(WORK // (n + STEP_COST), STEPS_PER_ROW * n))

    def advance_within(self, problem: Any, state: PairState, rng: np.random.Generator, visits: float) -> Status | None:
        """Reach the next gap, or visit examples `visits` times; a pair step visits two."""
        before = replace(state, beta=state.beta.copy(), F=state.F.copy())
        ended = self.advance(problem, state, rng)
        if state.visited <= visits:
            return ended
        state.__dict__.update(before.__dict__)
        state.estimate, taken = moved(arrays_of(problem), state, int(0.5 * visits))
        state.visited += 2 * taken
        return Status.EPOCH_LIMIT

    def steps(self, problem: Any, state: PairState, most: int) -> Status | None:
        """Take at most so many pair steps, or change to an interior-point method."""
        if state.estimate <= state.target:
            state.target *= LOWER_TARGET
            if state.target < LEAST_TARGET:
                return Status.STALLED
        rows = None if len(state.v) else rows_of(problem)
        if rows is not None:
            columns, n = rows.A.shape
            if interior_first(n, columns):
                return interior(problem, state, rows)
            most = min(most, max(int(PAIR_STEPS * columns**2), LEAST_PAIR_STEPS))
        before, arrays = state.estimate, arrays_of(problem)
        if len(state.v):
            state.F = -arrays.q - arrays.K @ state.beta
        state.estimate, taken = moved_in_parts(arrays, state, most, moved)
        state.visited += max(2 * taken, 1)
        if rows is not None and state.estimate > state.target:
            return interior(problem, state, rows)
        state.v = NOTHING if taken else state.v
        slow = state.estimate > LEAST_PROGRESS * min(before, 1.0)
        return Status.STALLED if state.estimate > state.target and slow else None

    def learn(self, problem: Any, state: PairState, found: Certified) -> None:
        """Compute F from the scores of a certificate, without the rounding errors of its updates."""
        if isinstance(problem, KernelProblem) and found.scores is not None:
            state.F = problem.forces(found.scores)

    def point(self, problem: Any, state: PairState) -> Point:
        """Return the dual point; for a linear problem also its w."""
        if isinstance(problem, KernelProblem):
            return Point(alpha=state.beta)
        alpha = state.beta * problem.y
        if len(state.v):
            return Point(*split(problem, state.v), alpha)
        return Point(problem.dense.T @ state.beta, problem.bias_square * float(np.sum(state.beta)), alpha)


def interior_first(n: int, columns: int) -> bool:
    """Whether an interior-point method is expected to take less time than pair steps."""
    return n >= LEAST_EXAMPLES and (columns <= FEW_COLUMNS or n >= EXAMPLES_PER_COLUMN * columns)


def moved(arrays: Arrays, state: PairState, most: int) -> tuple[float, int]:
    """Take at most so many steps; return the relative gap and how many were taken."""
    n, f = len(state.beta), min(len(state.beta), MOST_FREE)
    if len(state.F) != n:  # not known yet
        state.F = -arrays.q - arrays.K @ state.beta
    fixed = arrays.K, state.beta, arrays.lo, arrays.hi, arrays.q, state.F
    room = np.empty(f, np.intp), np.empty((f, f)), np.empty((3, f))
    if not arrays.groups:
        gap, taken = maximise_singly(*fixed, arrays.scale, state.target, most, arrays.group, *room)
    else:
        marks = np.empty((arrays.groups, n)), np.empty((arrays.groups, n))
        gap, taken = maximise(
            *fixed,
            arrays.group,
            arrays.groups,
            arrays.scale,
            state.target,
            state.exact,
            most,
            np.empty(n),
            np.empty(n),
            *marks,
            np.zeros(n),
            np.empty(2 * CONJUGATE_STEPS, np.intp),
            np.empty(2 * CONJUGATE_STEPS),
            *room,
        )
    return float(gap), int(taken)


def check_size(problem: Any) -> None:
    """Refuse a problem whose whole kernel matrix would be too large."""
    many = problem.n > MOST_ROWS and not (isinstance(problem, KernelProblem) and problem.has_matrix)
    if many or (isinstance(problem, Problem) and not is_small(problem)):
        other = "smo" if isinstance(problem, KernelProblem) else "auto"
        raise RefusedError(
            f"small_smo is for up to {MOST_ROWS:,} rows of up to {MOST_VALUES:,} values: use solver={other!r}"
        )


def start_of(problem: Any, warm: Point | None) -> np.ndarray:
    """Return a feasible β."""
    if isinstance(problem, KernelProblem):
        if warm is None or warm.alpha is None:
            return problem.formulation.start.copy()
        return np.asarray(np.clip(warm.alpha, problem.formulation.lo, problem.formulation.hi))
    if warm is None or warm.alpha is None:
        return np.zeros(problem.n)
    return np.asarray(feasible(problem, warm.alpha) * problem.y)


def arrays_of(problem: Any) -> Arrays:
    """Return the dual problem as arrays."""
    if isinstance(problem, KernelProblem):
        formulation = problem.formulation
        return Arrays(
            problem.signed_matrix, formulation.lo, formulation.hi, formulation.q, formulation.group,
            len(formulation.sums), problem.scale,
        )  # fmt: skip
    K, y = problem.gram, problem.y
    ends = problem.C * y
    if problem.bias_square:
        K = problem.of_rows(f"gram + {problem.bias_square}", lambda _: problem.gram + problem.bias_square)
    group = np.zeros(problem.n, dtype=np.intp)
    return Arrays(K, np.minimum(ends, 0.0), np.maximum(ends, 0.0), -y, group, int(problem.bias == "free"), 0.0)
