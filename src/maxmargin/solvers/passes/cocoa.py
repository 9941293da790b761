"""Dual coordinate descent on all partitions at once (CoCoA+), for rows on a cluster.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),   α in its box,   w = Σ α_i y_i x_i,  b = B² s,  s = Σ α_i y_i
Round    one pass (local_sweeps.py): each partition improves its own α by sweeps of dual coordinate descent, which see
         w and σ times the changes δw_k of this partition alone
Length   α ← α + t Δ, where t ≤ 1 maximises the dual along the sum Δ of all changes: exact for (squared) hinge
Sigma    ‖Σ δw_k‖² / Σ ‖δw_k‖², measured in each round, at least 1. It is at most the number of partitions
Ahead    the next sweeps begin at clip(α + β t Δ): β of Nesterov's momentum, or what the best t exceeds 1 by, if larger.
         Partitions whose changes cancel each other take short steps: without it 20news takes twice the rounds
Bias     (b − c)²/(2ρ) with a moving centre c ← b is added, so that partitions need not agree on s (proximal point)
Pass     also sums both objectives at (w, α), with w(α) afresh: the certificate costs no other pass
Costs    a round: a few sweeps, O(nnz); sends O(d) numbers; memory O(d), and 3 numbers for each row
After    Ma, Smith, Jaggi, Jordan, Richtárik, Takáč, ICML 2015 (CoCoA+)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from maxmargin.problems.by_passes import PassProblem
from maxmargin.problems.certificate import Point
from maxmargin.problems.evaluation import TERMS, Evaluated
from maxmargin.solvers.passes.base import PassSolver, PassState
from maxmargin.solvers.passes.local_sweeps import APART, HALF, WHOLE, LocalSweeps, Names, squared
from maxmargin.solvers.takes import EVERY_LOSS, Takes

# Values measured by rounds on 20news.binary and rcv1_vw_1000, C = 1 and 10, in 2 to 8 partitions.
SIGMA_DECAY = 0.8  # in each round σ decreases by this factor, but not below the measured quotient
BIAS_CURVATURE = 0.002  # ρ as a fraction of max(mean ‖x_i‖², 1/C): 0.05 takes more than twice the rounds
# Rows from which on ρ falls as 1/n, as the curvature of P along b grows with n: else b swings, and on 2 million rows of
# a million features the gap stayed at 0.035 for 20 rounds; it is 0.006 after 23 now.
BIAS_ROWS = 11_000
MOST_AHEAD = 10.0  # largest β
RESTART = 0.5  # momentum begins anew if the best t is below: the dual at the end of Δ is lower than at its start
FEWEST_SWEEPS, MOST_SWEEPS = 3, 10  # local sweeps in a round: 10 save a twentieth of the rounds of 3
SWEEPS_PER_NUMBER = 30.0  # more sweeps where a round sends more numbers for each stored value
ROUNDS_BETWEEN_SAVES = 10  # rounds after which the client keeps a copy of α, for partitions that are lost


@dataclass
class CocoaState(PassState):
    """(w, b) of α + t Δ, t and β for the vector Δ, σ, the change t Δ of (w, s), and the pace of momentum."""

    length: float = 0.0
    beta: float = 0.0
    sigma: float = 1.0
    pace: float = 1.0
    rounds: int = 0
    change: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class PassCocoa(PassSolver):
    """CoCoA+: dual coordinate descent on all partitions at once, one pass for each round."""

    name = "cocoa"
    state_type = CocoaState
    takes = Takes(EVERY_LOSS)

    def start(self, problem: PassProblem, warm: Point | None = None) -> CocoaState:
        """Start at α = 0: the point of a warm start has no α. The first round evaluates it, and takes its bias."""
        return CocoaState(super().start(problem, warm).v, change=np.zeros(problem.d + 1))

    def advance(self, problem: PassProblem, state: PassState, rng: np.random.Generator) -> None:
        """Make one round."""
        assert isinstance(state, CocoaState)
        bias_square, before = bias_curvature(problem), state.beta * state.change
        sweeps = sweeps_of(problem)
        at, own, sums = self.round(problem, state, sweeps, int(rng.integers(1 << 62)))
        self.accept(problem, state, at)
        state.visited += sweeps * problem.n
        if sums[APART] > 0.0:
            state.sigma = max(1.0, SIGMA_DECAY * state.sigma, squared(own, bias_square) / float(sums[APART]))
        change = own + before
        best = best_length(at, change, sums, bias_square)
        state.length = min(max(best, 0.0), 1.0)
        state.change = state.length * change
        state.v = moved(problem, at, state.change, bias_square)
        self.look_ahead(state, best)
        state.rounds += 1
        save = getattr(problem.rows, "save", None)
        if save is not None and state.rounds % ROUNDS_BETWEEN_SAVES == 0:
            save(names_of(problem).alpha)

    def round(
        self, problem: PassProblem, state: CocoaState, sweeps: int, seed: int
    ) -> tuple[Evaluated, np.ndarray, np.ndarray]:
        """Run the pass; return the evaluated point, the change from α + (t + β) Δ, and the sums."""
        bias_square, names = bias_curvature(problem), names_of(problem)
        ahead = state.v + state.beta * state.change
        if state.rounds == 0:
            ahead[:] = 0.0
        ahead[-1] = state.v[-1] + bias_square * state.beta * state.change[-1]
        one = LocalSweeps(
            problem.problem, state.v, ahead, names, state.length, state.beta * state.length, bias_square, state.sigma,
            sweeps, seed, fresh=state.rounds == 0,
        )  # fmt: skip
        forces, numbers, along, matrix, own, sums = problem.run(one)
        return Evaluated(state.v, forces, numbers, along, matrix, names.alpha), own, sums

    def look_ahead(self, state: CocoaState, best: float) -> None:
        """Choose β of the next round."""
        pace = 1.0 if best < RESTART else state.pace
        state.pace = 0.5 + sqrt(0.25 + pace * pace)
        state.beta = max((pace - 1.0) / state.pace, min(best - 1.0, MOST_AHEAD))

    def saved(self, problem: PassProblem, state: PassState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what a checkpoint holds: the point, α, Δ, and the numbers of the next round."""
        assert isinstance(state, CocoaState)
        arrays = {"v": state.v, "change": state.change}
        if state.rounds:
            names = names_of(problem)
            arrays |= {"alpha": problem.rows.vector(names.alpha), "step": problem.rows.vector(names.step)}
        return arrays, {name: getattr(state, name) for name in NUMBERS}

    def restored(self, problem: PassProblem, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> PassState:
        """Return the saved state. Its point is evaluated in the next round, which also clips α to its box."""
        state = replace(self.start(problem), **{name: numbers[name] for name in NUMBERS})
        sizes = {"v": problem.d + 1, "change": problem.d + 1, "alpha": problem.n, "step": problem.n}
        for name, values in arrays.items():
            if values.dtype != np.float64 or values.shape != (sizes[name],) or not np.all(np.isfinite(values)):
                raise ValueError(f"{name} has the type {values.dtype} and the shape {values.shape}, or is not finite")
        if not (0.0 <= state.length <= 1.0 and 0.0 <= state.beta <= MOST_AHEAD and 1.0 <= state.sigma < np.inf):
            raise ValueError(f"length is {state.length}, beta {state.beta} and sigma {state.sigma}")
        state.v, state.change = arrays["v"], arrays["change"]
        if state.rounds:
            problem.rows.put(names_of(problem).alpha, arrays["alpha"])
            problem.rows.put(names_of(problem).step, arrays["step"])
        return state


NUMBERS = ("length", "beta", "sigma", "pace", "rounds", "visited")  # fields of the state in a checkpoint


def names_of(problem: PassProblem) -> Names:
    """Return the names of the vectors of this problem; squared norms are the same for all."""
    return Names(f"alpha {problem.slot}", f"step {problem.slot}", "squared norms")


def bias_curvature(problem: PassProblem) -> float:
    """Return B² of the bias together with its moving penalty: 1/B² + 1/ρ, inverted; 0 without a bias."""
    if problem.bias == "none":
        return 0.0
    facts = problem.rows.facts
    rho = BIAS_CURVATURE * max(facts.squares / facts.n, facts.n / problem.problem.sum_of_C(facts))
    rho *= min(1.0, BIAS_ROWS / facts.n)
    return 1.0 / (1.0 / rho + float(problem.regulariser.r[-1]))


def sweeps_of(problem: PassProblem) -> int:
    """Return the number of local sweeps, which balances what a round computes with what it sends."""
    wanted = SWEEPS_PER_NUMBER * problem.d / max(problem.rows.facts.nnz, 1)
    return int(min(max(wanted, FEWEST_SWEEPS), MOST_SWEEPS))


def best_length(at: Evaluated, change: np.ndarray, sums: np.ndarray, bias_square: float) -> float:
    """Return the t that maximises the dual along a change of (w, s), from Σ d_i at t = 0, ½ and 1."""
    none, half, whole = float(at.numbers[TERMS] + at.numbers[TERMS + 1]), float(sums[HALF]), float(sums[WHOLE])
    slope = 4.0 * half - 3.0 * none - whole - float(at.force[:-1] @ change[:-1]) - float(at.v[-1] * change[-1])
    bend = squared(change, bias_square) - 4.0 * (whole - 2.0 * half + none)
    return slope / bend if bend > 0.0 else 1.0


def moved(problem: PassProblem, at: Evaluated, change: np.ndarray, bias_square: float) -> np.ndarray:
    """Return (w, b) after a change of (w, s), with the centre of the penalty at the new b."""
    v = np.asarray(at.force + change)
    if problem.bias == "none":
        v[-1] = 0.0
        return v
    centre = at.v[-1] + bias_square * change[-1]
    v[-1] = centre + bias_square * (v[-1] - problem.regulariser.r[-1] * centre)
    return v
