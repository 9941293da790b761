"""Sequential minimal optimisation (SMO), in batches.

Solves   max_β  −½ βᵀK′β − qᵀβ,   lo ≤ β ≤ hi,  Σ β = c in each group        (problems/kernel;  F = −K′β − q)
Step     a pair i, j of the batch: i has the largest F, j the largest gain (F_i − F_j)²/(K_ii + K_jj − 2K_ij);  β_i
         grows and β_j decreases by (F_i − F_j)/(K_ii + K_jj − 2K_ij), as far as their boxes allow. Steps are taken
         until the violation within the batch has fallen to a tenth. Without a bias one variable moves at a time,
         by F_i/K_ii
Batch    the variables with the largest violations (parts/working_set): the largest F among β < hi, the smallest among
         β > lo; half of them stay for the next batch. Their kernel rows are computed together, by one matrix product;
         F of all variables is then updated by one product with these rows (parts/kernel_updates)
Shrinks  variables at a bound that form no violating pair are dropped, with their columns of the kernel. A certificate
         computes every F exactly and makes all variables active again
Costs    a batch of k: O(k n d) for kernel rows that are not cached, O(k n) for F; memory O(n) and the cached rows
After    Platt 1998; Fan, Chen, Lin, JMLR 2005; Wen et al. (ThunderSVM), JMLR 2018
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Certified, Point
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.parts.kernel_updates import kernel_of_batch, update_F
from maxmargin.solvers.parts.working_set import INFINITE, Batches, estimate, select_batch, shrink
from maxmargin.solvers.takes import EVERY_FORMULATION, Takes
from maxmargin.status import Status
from maxmargin.system.compiled import compiled, searching
from maxmargin.system.extremes import larger, smaller

# benchmarks/results/kernel.md was measured with these values.
BATCH_PART = 8  # a batch holds an eighth of the examples
SMALLEST_BATCH, LARGEST_BATCH = 192, 1024  # variables
BATCH_ACCURACY = 0.1  # a batch is solved until its violation is this fraction of the largest violation before
STEPS_PER_VARIABLE = 200  # most steps in a batch, per variable
SHRINK_EVERY = 8  # batches between two searches for variables to drop: each costs a pass over F
LEAST_CURVATURE = 1e-12  # smallest curvature K_ii + K_jj − 2K_ij, relative to |K_ii + K_jj|: less is rounding error
UNDERFLOW = 1e-300  # added to denominators to prevent a division by zero
INDEFINITE_VIOLATION = 1e-6  # violation at which a run with an indefinite kernel ends: its gap is no valid bound


@dataclass(frozen=True)
class Smo:
    """SMO: each step optimises a pair of dual variables, within batches whose kernel rows are computed together."""

    name = "smo"
    state_type = Batches
    takes = Takes(biases=("none", "free"), formulations=EVERY_FORMULATION, indefinite=True)

    batch: int | None = None
    shrinking: bool = True

    def __post_init__(self) -> None:
        if self.batch is not None and (type(self.batch) is not int or self.batch < 4):
            raise ParameterError(f"batch={self.batch!r} must be a whole number, 4 or above, or None")
        if not isinstance(self.shrinking, bool):
            raise ParameterError(f"shrinking={self.shrinking!r} must be true or false")

    def start(self, problem: KernelProblem, warm: Point | None = None) -> Batches:
        """Start at the initial β of the formulation, or at the β given as `alpha` of `warm`."""
        formulation = problem.formulation
        at = formulation.start if warm is None or warm.alpha is None else warm.alpha
        beta = np.clip(at, formulation.lo, formulation.hi)
        f = problem.scores(beta) if np.any(beta) else np.zeros(problem.n)
        nothing = np.zeros(0, dtype=np.intp)
        return Batches(beta, problem.forces(f), nothing, np.arange(len(beta)))

    def advance(self, problem: KernelProblem, state: Batches, rng: np.random.Generator) -> Status | None:
        """Solve one batch."""
        if self.shrinking and state.round % SHRINK_EVERY == SHRINK_EVERY - 1:
            shrink(problem, state)
        size = self.batch or min(max(problem.n // BATCH_PART, SMALLEST_BATCH), LARGEST_BATCH)
        violation = one_batch(problem, state, min(size, problem.held.room, len(state.beta)))
        state.round += 1
        state.visited += max(len(state.batch), 1)
        state.estimate = estimate(problem, state)
        if violation > INDEFINITE_VIOLATION or problem.bounded:
            return None
        if len(state.active) == len(state.beta):
            return Status.SETTLED
        self.renew(problem, state, problem.scores(state.beta))
        return None

    def learn(self, problem: KernelProblem, state: Batches, found: Certified) -> None:
        """Recompute F from the scores of a certificate, which are exact."""
        assert found.scores is not None
        self.renew(problem, state, found.scores)

    def renew(self, problem: KernelProblem, state: Batches, scores: np.ndarray) -> None:
        """Compute F from exact scores and make all variables active again."""
        state.F = problem.forces(scores)
        state.highest = state.lowest = np.zeros(0)
        if len(state.active) < len(state.beta):
            state.active = np.arange(len(state.beta))
            if not problem.held.all:
                problem.held.use_all()

    def point(self, problem: KernelProblem, state: Batches) -> Point:
        """Return the dual point β: coefficients and b follow from it."""
        return Point(alpha=state.beta)


def one_batch(problem: KernelProblem, state: Batches, size: int) -> float:
    """Select a batch of at most `size` variables, solve it, and update F. Return the largest violation before."""
    formulation, held = problem.formulation, problem.held
    violation, state.batch = select_batch(problem, state, size)
    own = state.batch
    if not len(own):
        return 0.0
    alone = own, np.arange(len(own))
    rows, inverse = alone if problem.one_a_row else np.unique(formulation.row[own], return_inverse=True)
    places, t = held.take(rows), formulation.t[own]
    K = kernel_of_batch(held.values, places[inverse], held.column(formulation.row[own]), t, problem.threads)
    beta, F = state.beta[own], state.F[own]
    box = formulation.lo[own], formulation.hi[own]
    if len(formulation.sums):
        move_pairs(K, problem.diagonal[own], beta, *box, F, formulation.group[own], len(formulation.sums),
                     BATCH_ACCURACY * violation, STEPS_PER_VARIABLE * len(own))  # fmt: skip
    else:
        move_singles(K, problem.diagonal[own], beta, *box, F, BATCH_ACCURACY * violation, STEPS_PER_VARIABLE * len(own))
    change = np.bincount(inverse, t * (beta - state.beta[own]), len(rows))
    state.beta[own] = beta
    update_F(problem, state, places[change != 0.0], change[change != 0.0])
    return violation


@compiled
def move_pairs(K, diagonal, beta, lo, hi, F, group, groups, enough, steps):
    """Move pairs of the batch until no violation exceeds `enough`, or `steps` steps are used up."""
    size = beta.size
    rise, fall, gain, none = np.empty((groups, size)), np.empty((groups, size)), np.empty(size), np.zeros(size)
    for g in range(groups):
        for k in range(size):
            own = group[k] == g
            rise[g, k] = 0.0 if own and beta[k] < hi[k] else -INFINITE
            fall[g, k] = 0.0 if own and beta[k] > lo[k] else INFINITE
    for _ in range(steps):
        g, highest, lowest = 0, -INFINITE, INFINITE
        for other in range(groups):
            top, bottom = extremes(F, rise[other], fall[other])
            if top - bottom > highest - lowest or other == 0:
                g, highest, lowest = other, top, bottom
        if highest - lowest <= enough or highest <= -INFINITE or lowest >= INFINITE:
            break
        i = first(F, rise[g], highest)
        most = gains(F, fall[g], K[i], diagonal, diagonal[i], highest, gain)
        j = first(gain, none, most)
        both = diagonal[i] + diagonal[j]
        bend = max(both - 2.0 * K[i, j], LEAST_CURVATURE * abs(both) + UNDERFLOW)
        step = min((F[i] - F[j]) / bend, hi[i] - beta[i], beta[j] - lo[j])
        beta[i] = hi[i] if step == hi[i] - beta[i] else beta[i] + step
        beta[j] = lo[j] if step == beta[j] - lo[j] else beta[j] - step
        fall[g, i], rise[g, j] = 0.0, 0.0
        rise[g, i] = 0.0 if beta[i] < hi[i] else -INFINITE
        fall[g, j] = 0.0 if beta[j] > lo[j] else INFINITE
        for k in range(size):
            F[k] -= step * (K[i, k] - K[j, k])


@searching
def extremes(F, rise, fall):
    """Return the largest F of variables that can grow, and the smallest F of variables that can decrease."""
    highest, lowest = -INFINITE, INFINITE
    for k in range(F.size):
        highest = larger(highest, F[k] + rise[k])
        lowest = smaller(lowest, F[k] + fall[k])
    return highest, lowest


@searching
def gains(F, fall, row, diagonal, own, highest, out):
    """Write the gain of each partner that can decrease into `out`; return the largest gain."""
    most = 0.0
    for k in range(F.size):
        d = larger(highest - (F[k] + fall[k]), 0.0)
        both = own + diagonal[k]
        gain = d * d / larger(both - 2.0 * row[k], LEAST_CURVATURE * abs(both) + UNDERFLOW)
        out[k] = gain
        most = larger(most, gain)
    return most


@compiled
def first(values, more, wanted):
    """Return the first index at which the sum of two arrays equals `wanted`; −1 if there is none."""
    for k in range(values.size):
        if values[k] + more[k] == wanted:
            return k
    return -1


@compiled
def move_singles(K, diagonal, beta, lo, hi, F, enough, steps):
    """Move single variables of the batch until no violation exceeds `enough`, or `steps` steps are used up."""
    for _ in range(steps):
        best, i = 0.0, -1
        for k in range(beta.size):
            force = min(F[k], 0.0) if beta[k] >= hi[k] else (max(F[k], 0.0) if beta[k] <= lo[k] else F[k])
            gain = force * force / max(diagonal[k], UNDERFLOW)
            if abs(force) > enough and gain > best:
                best, i = gain, k
        if i < 0:
            break
        new = min(max(beta[i] + F[i] / max(diagonal[i], UNDERFLOW), lo[i]), hi[i])
        step = new - beta[i]
        beta[i] = new
        for k in range(beta.size):
            F[k] -= step * K[i, k]
