"""Second-order training: Newton steps on the augmented Lagrangian.

Solves   min_v P(v),  v = (w, b);  any loss, any bias
Idea     hinge has no second derivative; its augmented Lagrangian (parts/augmented_lagrangian) has one almost
         everywhere. For multipliers α and ε > 0, C ℓ(m) becomes
             max_q  q (1 − m) − ½ ε (q − α)²,   0 ≤ q ≤ C:      q = clip(α + (1 − m)/ε)
Round    minimise the augmented Lagrangian by Newton steps;  α ← q, which is feasible and has w(q) = w;  divide ε.
         The gap decreases by about the square of that divisor. Squared hinge and logistic need no ε:
         q = −C ℓ′(m), h = C ℓ″(m)
Step     (diag(r) + Σ h_i z_i z_iᵀ) s = −∇;  the whole step, or a length found by a line search without a pass
Sample   the first rounds run on a sample of the rows: they only have to find the neighbourhood of the optimum
Bands    later rounds run on the rows whose q may still change (parts/row_bands)
Costs    a round: a few passes over a band, two over all rows, and the linear systems of parts/newton_system
After    Rockafellar 1976; Li, Sun, Toh, SIAM Journal on Optimization 2018 (semismooth Newton)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.problems.certificate import Certified, Point, certify
from maxmargin.problems.linear import Problem
from maxmargin.solvers.parts.augmented_lagrangian import Lagrangian
from maxmargin.solvers.parts.primal_objective import Primal
from maxmargin.solvers.parts.row_bands import ROWS_PER_FEATURE, STEPS, minimise, minimise_by_bands
from maxmargin.solvers.parts.row_sample import draw_rows, restricted, worth_sampling
from maxmargin.solvers.takes import EVERY_LOSS, Takes
from maxmargin.status import Status

# benchmarks/results/linear.md was measured with these values.
FIRST_EPSILON = 4.0  # ε C in the first round: nearly every q is then inside its box
LEAST_EPSILON = 1e-6  # smallest ε, as a fraction of the first ε
DIVISOR = 16.0  # divides ε after a round of at most FEW_STEPS Newton steps
CAREFUL_DIVISOR = 4.0  # divides ε after a longer round and on the sample; multiplies ε if a round did not converge
FEW_STEPS = 12  # Newton steps
SAMPLE_ROUNDS = 2
SAMPLE_PART = 32  # a sample holds one row in 32, and at least ROWS_PER_FEATURE per feature
SAMPLE_GAP = 2e-3  # typical relative gap after the rounds on a sample; it is proportional to ε²
WARM_EPSILON = 0.5  # ε of a warm start whose gap is SAMPLE_GAP, as a fraction of ε after the sample
WORST_WARM_GAP = 16.0  # in units of SAMPLE_GAP: if a warm start has a larger gap, a start on the sample is faster


@dataclass
class Rounds:
    """The state: v = (w, b), the multipliers α, ε, and the number of rounds.

    `given` says that v is a warm start whose certificate is not computed yet; its gap determines ε (see `learn`).
    """

    v: np.ndarray
    alpha: np.ndarray
    epsilon: float
    round: int = 0
    visited: int = 0
    given: bool = False


@dataclass(frozen=True)
class SecondOrder:
    """Augmented Lagrangian method with semismooth Newton steps."""

    name = "second_order"
    state_type = Rounds
    takes = Takes(EVERY_LOSS)

    def start(self, problem: Problem, warm: Point | None = None) -> Rounds:
        """Start at w = 0 with every multiplier in the middle of its box, or at the point `warm`."""
        v, alpha = Primal(problem).start(warm), 0.5 * problem.C
        if warm is not None:
            alpha = certify(problem, Primal(problem).point(v)).alpha if warm.alpha is None else warm.alpha
        return Rounds(v, alpha, first_epsilon(problem), given=warm is not None)

    def learn(self, problem: Problem, state: Rounds, found: Certified) -> None:
        """Set ε of a warm start according to its gap; if the gap is too large, discard the warm start."""
        if not state.given:
            return
        far = max(found.certificate.relative_gap / SAMPLE_GAP, 0.0)
        if far > WORST_WARM_GAP:
            anew = self.start(problem)
            state.v, state.alpha = anew.v, anew.alpha
        else:
            state.alpha, state.round = found.alpha, 1
            part = float(max(np.sqrt(min(far, 1.0)), LEAST_EPSILON))
            state.epsilon *= WARM_EPSILON * part / CAREFUL_DIVISOR**SAMPLE_ROUNDS
        state.given = False

    def advance(self, problem: Problem, state: Rounds, rng: np.random.Generator) -> Status | None:
        """Run one round; before the first, run a few on a sample."""
        return self.advance_within(problem, state, rng, np.inf)

    def advance_within(self, problem: Problem, state: Rounds, rng: np.random.Generator, visits: float) -> Status | None:
        """Run one round, cut short when the next Newton step would exceed `visits` row visits."""
        last = state.visited + visits
        if state.round == 0:
            try_on_sample(problem, state, rng, visits - problem.n)
        whole = Lagrangian.of(problem, state.alpha, state.epsilon)
        there, visited, steps, cut = minimise_by_bands(whole, state.v, last - state.visited)
        state.v = there.v
        state.visited += visited
        state.round += 1
        if steps < STEPS:
            state.alpha = there.q
            state.epsilon /= DIVISOR if steps <= FEW_STEPS else CAREFUL_DIVISOR
        else:
            state.epsilon *= CAREFUL_DIVISOR
        state.epsilon = max(state.epsilon, LEAST_EPSILON * first_epsilon(problem))
        return Status.EPOCH_LIMIT if cut else None

    def point(self, problem: Problem, state: Rounds) -> Point:
        """Return (w, b), and for hinge the multipliers; for a smooth loss α follows from the margins."""
        point = Primal(problem).point(state.v)
        return point if problem.loss.smooth else Point(point.w, point.b, state.alpha)


def first_epsilon(problem: Problem) -> float:
    """Return ε of the first round; 0 for a smooth loss."""
    return 0.0 if problem.loss.smooth else FIRST_EPSILON / float(np.max(problem.C))


def try_on_sample(problem: Problem, state: Rounds, rng: np.random.Generator, most: float) -> None:
    """Run the first rounds on a sample, with C scaled up by n/size, if rows and `most` visits suffice."""
    size = max(problem.n // SAMPLE_PART, ROWS_PER_FEATURE * len(state.v))
    if not worth_sampling(problem, size) or SAMPLE_ROUNDS * size > most:
        return
    chosen, share = draw_rows(problem, size, rng), size / problem.n
    C = problem.C[chosen] / share
    part = Lagrangian.of(restricted(problem, chosen, C), 0.5 * C, share * state.epsilon)
    for _ in range(SAMPLE_ROUNDS):
        there, visits = minimise(part, part.at(state.v), most - size)
        most -= visits
        part = replace(part, alpha=there.q, epsilon=part.epsilon / CAREFUL_DIVISOR)
        state.v = there.v
        state.visited += visits
    state.epsilon /= CAREFUL_DIVISOR**SAMPLE_ROUNDS
