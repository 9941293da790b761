"""Interior point for rows on disk or on a cluster: three passes for each step.

Solves   min_v P(v),  v = (w, b);  hinge, any bias
Idea     that of dual/interior_point: Newton steps on the optimality conditions, kept inside the box
Start    the optimum of a sample of the rows, found in memory; α well inside its box
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δv = …,   1/h_i = s_i/α_i + ξ_i/(C_i − α_i). A pass sums the matrix, which is
         factored once for two solutions: the predictor (μ = 0), and the corrector
Pass     the first measures the predictor and sums the right-hand side of the corrector, which is linear in μ; the
         second measures how far the corrector can go; the third moves, and sums the matrix and the certificate
Keeps    α, C − α, s and ξ of all rows, where the rows are (interior_rows.py)
Costs    a step: three passes, O(nnz d + d³); 15 to 30 steps, also where there are few rows for each feature
After    Mehrotra, SIAM Journal on Optimization 1992; Ferris, Munson, SIAM Journal on Optimization 2002 (SVMs)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import Evaluated
from maxmargin.solvers.dual.interior_point import LEAST_RIDGE, STEP_TO_BOUND
from maxmargin.solvers.parts.conjugate_gradients import Solve
from maxmargin.solvers.parts.newton_system import by_cholesky
from maxmargin.solvers.passes.base import PassSolver, PassState
from maxmargin.solvers.passes.interior_rows import (
    PIECES,
    Correct,
    MoveInside,
    Names,
    Predict,
    Step,
    least_length,
)
from maxmargin.solvers.passes.sample import start_on_sample
from maxmargin.solvers.passes.second_order import check_matrix
from maxmargin.solvers.takes import Takes
from maxmargin.status import Status

SHORTEST = 1e-8  # a step of this length is no progress


@dataclass
class InsideState(PassState):
    """The point; `turn` tells which copy of the vectors holds it. `force` and `matrix` are those of the next step."""

    turn: int = 0
    force: Any = None
    matrix: Any = None


@dataclass(frozen=True)
class PassInteriorPoint(PassSolver):
    """Primal-dual interior-point method, three passes for each step."""

    name = "interior_point"
    state_type = InsideState
    takes = Takes(("hinge",))

    def advance(self, problem: PassProblem, state: PassState, rng: np.random.Generator) -> Status | None:
        """Take one step; the first call moves inside the box. Returns STALLED if rounding errors leave no step."""
        assert isinstance(state, InsideState)
        check_matrix(problem, self.name)
        if state.at is None:
            if not np.any(state.v):
                state.v = start_on_sample(problem, rng).v
            self.move_inside(problem, state, state.v)
            return None
        try:
            step, length = self.step(problem, state)
        except np.linalg.LinAlgError:
            return Status.STALLED
        if not (np.all(np.isfinite(step.second)) and length > SHORTEST):
            return Status.STALLED
        there = state.v + length * step.second
        self.move_inside(problem, state, there, moved=step, before=state.v, length=length)
        return None

    def step(self, problem: PassProblem, state: InsideState) -> tuple[Step, float]:
        """Return a direction and its length: a predictor for μ = 0, then a corrector for the μ it predicts."""
        names, v = names_of(problem, state.turn), state.v
        assert state.at is not None
        solve, right = system(problem, state), state.force - problem.gradient(state.at)
        first = solve(right)
        lengths, products, second_order, per_mu = problem.run(Predict(problem.problem, v, names, first))
        target = target_of(products, min(1.0, least_length(lengths)), problem.n)
        step = Step(first, solve(right + second_order + target * per_mu), target)
        lengths = problem.run(Correct(problem.problem, v, names, step))[0]
        state.visited += 2 * problem.n
        return step, min(1.0, STEP_TO_BOUND * least_length(lengths))

    def move_inside(self, problem: PassProblem, state: InsideState, v: np.ndarray, **step: Any) -> None:
        """Evaluate v and α after the step, if there is one."""
        names, others = (names_of(problem, turn) for turn in (state.turn, 1 - state.turn))
        one = MoveInside(
            problem.problem, v, multipliers=others.alpha, epsilon=np.inf, names=names, others=others, **step
        )
        forces, numbers, along, nothing, force, matrix = problem.run(one)
        state.turn, state.force, state.matrix = 1 - state.turn, force, matrix
        self.accept(problem, state, Evaluated(v, forces, numbers, along, nothing, others.alpha))

    def saved(self, problem: PassProblem, state: PassState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what a checkpoint holds: v, and the vectors of the point."""
        assert isinstance(state, InsideState)
        arrays, numbers = super().saved(problem, state)
        if state.at is None:
            return arrays, numbers
        kept = zip(PIECES, names_of(problem, state.turn), strict=True)
        return {**arrays, **{piece: problem.rows.vector(name) for piece, name in kept}}, numbers

    def restored(self, problem: PassProblem, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> PassState:
        """Return the saved state; a pass evaluates it again."""
        state = super().restored(problem, arrays, {**numbers, "begun": False})
        assert isinstance(state, InsideState)
        if not numbers["begun"]:
            return state
        for piece, name in zip(PIECES, names_of(problem, state.turn), strict=True):
            check_vector(problem, piece, arrays[piece])
            problem.rows.put(name, arrays[piece])
        visited = state.visited
        self.move_inside(problem, state, state.v)
        state.visited = visited
        return state


def check_vector(problem: PassProblem, piece: str, values: np.ndarray) -> None:
    """Raise ValueError if a saved vector cannot be one of this problem."""
    if values.dtype != np.float64 or values.shape != (problem.n,) or not np.all(np.isfinite(values)):
        raise ValueError(f"{piece} has the type {values.dtype} and the shape {values.shape}, or is not finite")
    if piece != "alpha" and np.any(values < 0.0):
        raise ValueError(f"{piece} has entries below 0")


def names_of(problem: PassProblem, turn: int) -> Names:
    """Return the names of one of the two copies of the vectors."""
    return Names(*(f"inside {turn} {piece} {problem.slot}" for piece in PIECES))


def target_of(products: np.ndarray, t: float, n: int) -> float:
    """Return the μ at which the corrector aims, from the sum of all products and what the predictor leaves of it."""
    here, along, bent = (float(one) for one in products)
    ratio = max((here + t * along + t * t * bent) / here, 0.0)
    return 0.5 * (here / n) * ratio * ratio * ratio


def system(problem: PassProblem, state: InsideState) -> Solve:
    """Return a function that solves the Newton system; b without a ridge of its own gets a negligible one."""
    some, r = problem.regulariser.free, problem.regulariser.r
    H = state.matrix[some, some].copy()
    H[np.diag_indices_from(H)] += np.where(r > 0.0, r, LEAST_RIDGE)[some]
    solve = by_cholesky(H, problem.rows.threads)

    def solved(right: np.ndarray) -> np.ndarray:
        found = np.zeros(problem.d + 1)
        found[some] = solve(right[some])
        return found

    return solved
