"""Second-order training for rows on disk or on a cluster: augmented Lagrangians, one pass for each Newton step.

Solves   min_v P(v),  v = (w, b);  any loss, any bias. For a smooth loss it is newton
Idea     for multipliers α and ε > 0, C ℓ(m) becomes  max_q q (1 − m) − ½ ε (q − α)²,  0 ≤ q ≤ C, whose gradient is
         continuous: L(v). Its q = clip(α + (1 − m)/ε) is feasible
Start    the optimum of a sample of the rows, found in memory
Step     (diag(r) + Σ h_i z_i z_iᵀ) Δ = −∇L;  v ← v + t Δ
Round    when ∇L is small, α ← q and ε is divided. A pass sums ∇L and the matrix for both cases (lagrangian.py), so that
         every pass is followed by a Newton step
Pass     one pass gives ∇L, the matrix, the slope along the last step, and the certificate of v and q
Keeps    α and q of all rows, where the rows are
Costs    a step: one pass, O(nnz d + d³); 10 to 25 passes on most data
After    Rockafellar 1976; Li, Sun, Toh, SIAM Journal on Optimization 2018 (semismooth Newton)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.row_store import RowStore
from maxmargin.errors import RefusedError
from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.evaluation import Evaluated
from maxmargin.solvers.parts.augmented_lagrangian import FREE_RIDGE, SOLVED_PART, Lagrangian
from maxmargin.solvers.parts.newton_system import by_cholesky
from maxmargin.solvers.parts.primal_objective import gap_of_gradient
from maxmargin.solvers.parts.row_bands import minimise
from maxmargin.solvers.passes.band import Band
from maxmargin.solvers.passes.base import PassState, better_length
from maxmargin.solvers.passes.lagrangian import EvaluateLagrangian
from maxmargin.solvers.passes.newton import LARGEST_MATRIX, PassNewton
from maxmargin.solvers.passes.sample import start_on_sample
from maxmargin.solvers.primal.second_order import FIRST_EPSILON, LEAST_EPSILON
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.status import Status

START_EPSILON = 0.25  # ε C of the first round: the start is the optimum of a sample, and α is not known
NOTHING = np.zeros(0, dtype=np.intp)
MOST_ROUNDS = 8  # most rounds on the band between two passes
BAND_SHARE = 0.6  # part of the memory for rows that a band takes
DIVISOR = 4.0  # divides ε after a round: 16, as in memory, took up to twice as many passes on covtype


class Round(NamedTuple):
    """The ε of a round, which of two vectors holds its α, and whether α is C/2 instead."""

    epsilon: float
    turn: int
    middle: bool


@dataclass
class RoundState(PassState):
    """The point, ε, and the gradient and matrix of the next Newton step.

    `band` holds the rows whose q may still change, if they fit in memory, and `rounds` is the number of rounds on them
    before the next pass; 0 for a Newton step on all rows. `turn` tells which of two vectors holds α, and the other one
    receives q; in the first round, `middle`, α is C/2. `solved` says that a round has just ended.
    `evaluated` is the round of the last pass.
    """

    epsilon: float = 0.0
    middle: bool = True
    solved: bool = False
    turn: int = 0
    rounds: int = 1
    band: Any = None
    gradient: Any = None
    matrix: Any = None
    evaluated: Any = None


@dataclass(frozen=True)
class PassSecondOrder(PassNewton):
    """Augmented Lagrangian method, one pass for each Newton step. For a smooth loss it is Newton's method."""

    name = "second_order"
    state_type = RoundState
    takes = Takes(EVERY_LOSS)

    def advance(self, problem: PassProblem, state: PassState, rng: np.random.Generator) -> Status | None:
        """Take one Newton step; the first call evaluates the start."""
        assert isinstance(state, RoundState)
        if problem.loss.smooth:
            return super().advance(problem, state, rng)
        check_matrix(problem, self.name)
        if state.at is None:
            self.begin(problem, state, rng)
            return None
        here, rounds = state.at.v, state.rounds if state.band is not None and state.band.whole else 0
        before = Multipliers(state.epsilon)
        if rounds:
            step, before = step_on_band(problem, state, rounds)
        else:
            step = newton_step(problem, state)
        there, ahead = self.evaluate(problem, state, here + step, step=step)
        length = better_length(problem, here, step, there)
        if length != 1.0:
            before.restore(problem, state)
            state.visited += problem.n
            there, ahead = self.evaluate(problem, state, here + length * step)
        state.rounds = min(2 * max(rounds, 1), MOST_ROUNDS) if length > 0.5 else max(rounds // 2, 1 - rounds)
        self.accept(problem, state, there)
        self.plan(problem, state, ahead)
        return None

    def begin(self, problem: PassProblem, state: RoundState, rng: np.random.Generator) -> None:
        """Evaluate the start."""
        state.epsilon = START_EPSILON * FIRST_EPSILON / problem.largest_C
        if not np.any(state.v):
            state.v = start_on_sample(problem, rng).v
        state.band = band_for(problem)
        at, ahead = self.evaluate(problem, state, state.v)
        self.accept(problem, state, at)
        self.plan(problem, state, ahead)

    def plan(self, problem: PassProblem, state: RoundState, ahead: tuple[np.ndarray, np.ndarray]) -> None:
        """Decide whether the round goes on or the next one begins, and keep its gradient and matrix."""
        at = state.at
        assert at is not None
        state.evaluated = Round(state.epsilon, state.turn, state.middle)
        state.gradient, state.matrix, state.solved = problem.gradient(at), at.matrix, False
        if gap_of_gradient(problem.regulariser.r, state.gradient) <= SOLVED_PART * at.slack:
            state.gradient = problem.gradient_of(at.v, ahead[0])
            state.matrix, state.epsilon = ahead[1], next_epsilon(problem, state.epsilon)
            state.turn, state.middle = 1 - state.turn, False
            state.solved = True

    def saved(self, problem: PassProblem, state: PassState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what a checkpoint holds: for hinge also α and ε of the last pass, which is then repeated as it was."""
        assert isinstance(state, RoundState)
        arrays, numbers = super().saved(problem, state)
        if problem.loss.smooth or state.at is None:
            return arrays, numbers
        last: Round = state.evaluated
        alpha = np.zeros(0) if last.middle else problem.rows.vector(alpha_names(problem, last.turn)[0])
        numbers |= {"epsilon": last.epsilon, "turn": last.turn, "rounds": state.rounds}
        return {**arrays, "alpha": alpha}, numbers

    def restored(self, problem: PassProblem, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> PassState:
        """Return the saved state; for hinge a pass evaluates the augmented Lagrangian again."""
        if problem.loss.smooth or not numbers["begun"]:
            return super().restored(problem, arrays, numbers)
        state = super().restored(problem, arrays, {**numbers, "begun": False})
        assert isinstance(state, RoundState)
        alpha, state.epsilon, state.turn = arrays["alpha"], float(numbers["epsilon"]), int(numbers["turn"])
        if not 0.0 < state.epsilon < np.inf or alpha.shape not in {(0,), (problem.n,)}:
            raise ValueError(f"epsilon is {state.epsilon} and alpha has the shape {alpha.shape}")
        if not np.all(np.abs(alpha) <= problem.largest_C * (1.0 + 1e-9)):
            raise ValueError("alpha is outside its box")
        state.middle, state.band, state.rounds = not len(alpha), band_for(problem), int(numbers["rounds"])
        if len(alpha):
            problem.rows.put(alpha_names(problem, state.turn)[0], alpha)
        at, ahead = self.evaluate(problem, state, state.v)
        visited = state.visited
        self.accept(problem, state, at)
        self.plan(problem, state, ahead)
        state.visited = visited
        return state

    def evaluate(
        self, problem: PassProblem, state: RoundState, v: np.ndarray, **what: Any
    ) -> tuple[Evaluated, tuple[np.ndarray, np.ndarray]]:
        """Evaluate L at v, and its gradient and matrix in the next round."""
        alpha, q = alpha_names(problem, state.turn)
        one = EvaluateLagrangian(
            problem.problem, v, matrix=True, multipliers="" if state.middle else alpha, forces=q, epsilon=state.epsilon,
            next_epsilon=next_epsilon(problem, state.epsilon), band=state.band, **what,
        )  # fmt: skip
        if state.band is not None:
            state.band.clear()
        forces, numbers, along, matrix, *ahead = problem.run(one)
        return Evaluated(v, forces, numbers, along, matrix, q), (ahead[0], ahead[1])


def check_matrix(problem: PassProblem, name: str) -> None:
    """Raise if there are too many features for a matrix."""
    if problem.d > LARGEST_MATRIX:
        raise RefusedError(
            f"{name} builds a matrix of the features for hinge, and {problem.d:,} are too many: "
            "use loss='squared_hinge', or solver='cached_loops' for files"
        )


def next_epsilon(problem: PassProblem, epsilon: float) -> float:
    """Return ε of the next round."""
    return max(epsilon / DIVISOR, LEAST_EPSILON * FIRST_EPSILON / problem.largest_C)


def newton_step(problem: PassProblem, state: RoundState) -> np.ndarray:
    """Return the Newton step; a free bias, which has no ridge, gets one proportional to its gradient."""
    some, r = problem.regulariser.free, problem.regulariser.r
    H = state.matrix[some, some].copy()
    H[np.diag_indices_from(H)] += np.where(r > 0.0, r, FREE_RIDGE * abs(state.gradient[-1]) + 1e-300)[some]
    step = np.zeros_like(state.v)
    step[some] = by_cholesky(H)(-state.gradient[some])
    return step


class Multipliers(NamedTuple):
    """ε, and α_i y_i of the rows `numbers`, before rounds on the band have changed them."""

    epsilon: float
    numbers: np.ndarray = NOTHING
    signed: np.ndarray = NOTHING

    def restore(self, problem: PassProblem, state: RoundState) -> None:
        """Restore ε and α: the rounds on the band went too far for the other rows."""
        state.epsilon = self.epsilon
        if len(self.numbers):
            problem.rows.vector(alpha_names(problem, state.turn)[0])[self.numbers] = self.signed


def step_on_band(problem: PassProblem, state: RoundState, rounds: int) -> tuple[np.ndarray, Multipliers]:
    """Return the step to the minimum of L on the band, after some rounds there, and the multipliers before them.

    The forces of other rows stay as they are. Rounds end when one is not solved.
    """
    assert state.at is not None
    some, (numbers, y, C, alpha, q, margins) = problem.regulariser.free, state.band.arrays()
    v, ridge = state.at.v[some], problem.regulariser.r[some]
    part = Lagrangian(
        state.band.rows(problem.d), y, problem.loss.dual_term(C), ridge, np.zeros_like(v), problem.d,
        problem.rows.threads, q if state.solved else alpha, state.epsilon,
    )  # fmt: skip
    here = part.with_margins(v, margins)
    part = replace(part, constant=here.gradient - state.gradient[some])
    here, _ = minimise(part, here._replace(gradient=state.gradient[some]), np.inf)
    for _ in range(0 if state.middle else rounds - 1):
        if not part.solved(here, 0.0):
            break
        part = replace(part, alpha=here.q, epsilon=next_epsilon(problem, part.epsilon))
        here, _ = minimise(part, part.with_margins(here.v, here.margins), np.inf)
    before = Multipliers(state.epsilon)
    if part.epsilon != state.epsilon:
        vector = problem.rows.vector(alpha_names(problem, state.turn)[0])
        before = Multipliers(state.epsilon, numbers, vector[numbers])
        vector[numbers], state.epsilon = part.alpha * y, part.epsilon
    step = np.zeros_like(state.at.v)
    step[some] = here.v - v
    return step, before


def band_for(problem: PassProblem) -> Band | None:
    """Return an empty band if the rows are read by this process, which knows how much memory is left for it."""
    room = getattr(problem.rows, "room_for_rows", None)
    return None if room is None else Band(RowStore(BAND_SHARE * room()), problem.rows.facts)


def alpha_names(problem: PassProblem, turn: int) -> tuple[str, str]:
    """Return the names of the vectors of α and of q."""
    both = f"alpha {problem.slot}", f"other alpha {problem.slot}"
    return both if turn == 0 else both[::-1]
