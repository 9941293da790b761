"""Sequential minimal optimisation, by batches.

Solves   max_β  −½ βᵀK′β − qᵀβ,   lo ≤ β ≤ hi,  Σ β = c in each group        (see kernel_problem; F = −K′β − q)
Batch    the variables that violate most: those of largest F among β < hi, of smallest F among β > lo; half of them
         stay for the next batch. Their rows of the kernel are computed together, by one product of matrices
Inside   pairs i, j of the batch: i of largest F, j of largest gain (F_i − F_j)²/(K_ii + K_jj − 2K_ij);  β_i grows and
         β_j falls by (F_i − F_j)/(K_ii + K_jj − 2K_ij), as far as their boxes allow, until the batch violates by a
         tenth of what it did. Without a bias one variable moves at a time, by F_i/K_ii
After    F of all variables changes by one product with the rows of the batch
Shrinks  variables at an end of their box that violate with nobody are left aside, their columns of the kernel too;
         a certificate computes every F anew, exactly, and takes them back
Costs    a batch of k: O(k n d) for rows that are not held, O(k n) for F; memory O(n) and the rows that are held
After    Platt 1998; Fan, Chen, Lin, JMLR 2005; Wen et al. (ThunderSVM), JMLR 2018
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Certified, Point
from maxmargin.problems.kernel import KernelProblem
from maxmargin.solvers.takes import EVERY_FORMULATION, Takes
from maxmargin.status import Status
from maxmargin.system.buffers import room
from maxmargin.system.compiled import compiled, searching
from maxmargin.system.threads import on_threads

FEWEST, MOST = 192, 1024  # variables of a batch,
PART = 8  # which is this part of all
INSIDE = 0.1  # of the violation is left in the batch
STEPS = 200  # a variable of the batch, at most
CHUNK = 1 << 11  # columns whose F changes at once
PAUSE = 8  # batches between two looks for what can be left aside
WORTH = 0.8  # what is left must be smaller than this
TINY = 1e-12  # of the diagonal: the least curvature
SMALLEST = 1e-300
BIG = 1e300
SETTLED = 1e-6  # violation at which an indefinite kernel is left


@dataclass
class Batches:
    """β, F, the last batch, the variables that are not left aside, and the ends of their F, if they are known."""

    beta: np.ndarray
    F: np.ndarray
    batch: np.ndarray
    active: np.ndarray
    round: int = 0
    visited: int = 0
    estimate: float = np.inf
    highest: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lowest: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Smo:
    """Pairs of dual variables, in batches that share their rows of the kernel."""

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
        """Where the machine starts, or at `alpha`."""
        formulation = problem.formulation
        at = formulation.start if warm is None or warm.alpha is None else warm.alpha
        beta = np.clip(at, formulation.lo, formulation.hi)
        f = problem.scores(beta) if np.any(beta) else np.zeros(problem.n)
        nothing = np.zeros(0, dtype=np.intp)
        return Batches(beta, problem.forces(f), nothing, np.arange(len(beta)))

    def advance(self, problem: KernelProblem, state: Batches, rng: np.random.Generator) -> Status | None:
        """One batch."""
        if self.shrinking and state.round % PAUSE == PAUSE - 1:
            shrink(problem, state)
        size = self.batch or min(max(problem.n // PART, FEWEST), MOST)
        violation = one_batch(problem, state, min(size, problem.held.room, len(state.beta)))
        state.round += 1
        state.visited += max(len(state.batch), 1)
        state.estimate = estimate(problem, state)
        if violation > SETTLED or problem.bounded:
            return None
        if len(state.active) == len(state.beta):
            return Status.SETTLED
        self.renew(problem, state, problem.scores(state.beta))
        return None

    def learn(self, problem: KernelProblem, state: Batches, found: Certified) -> None:
        """A certificate has computed every F."""
        assert found.scores is not None
        self.renew(problem, state, found.scores)

    def renew(self, problem: KernelProblem, state: Batches, scores: np.ndarray) -> None:
        """Every F is known exactly, and all variables take part again."""
        state.F = problem.forces(scores)
        state.highest = state.lowest = np.zeros(0)
        if len(state.active) < len(state.beta):
            state.active = np.arange(len(state.beta))
            if not problem.held.all:
                problem.held.use_all()

    def point(self, problem: KernelProblem, state: Batches) -> Point:
        """A dual point: coefficients and b follow from β."""
        return Point(alpha=state.beta)


def one_batch(problem: KernelProblem, state: Batches, size: int) -> float:
    """Choose a batch, solve it, and let F follow; returns how much the variables violated."""
    formulation, held = problem.formulation, problem.held
    violation, state.batch = choose(problem, state, size)
    own = state.batch
    if not len(own):
        return 0.0
    alone = own, np.arange(len(own))
    rows, inverse = alone if problem.one_a_row else np.unique(formulation.row[own], return_inverse=True)
    places, t = held.take(rows), formulation.t[own]
    K = square_of(held.values, places[inverse], held.column(formulation.row[own]), t, problem.threads)
    beta, F = state.beta[own], state.F[own]
    box = formulation.lo[own], formulation.hi[own]
    if len(formulation.sums):
        settle_pairs(K, problem.diagonal[own], beta, *box, F, formulation.group[own], len(formulation.sums),
                     INSIDE * violation, STEPS * len(own))  # fmt: skip
    else:
        settle_singles(K, problem.diagonal[own], beta, *box, F, INSIDE * violation, STEPS * len(own))
    change = np.bincount(inverse, t * (beta - state.beta[own]), len(rows))
    state.beta[own] = beta
    follow(problem, state, places[change != 0.0], change[change != 0.0])
    return violation


def follow(problem: KernelProblem, state: Batches, places: np.ndarray, change: np.ndarray) -> None:
    """F of the active variables, after coefficients of some rows have changed."""
    held, formulation = problem.held, problem.formulation
    moved = np.zeros(len(held.columns))

    def add(start: int) -> None:
        add_rows(held.values, places, change, start, min(start + CHUNK, len(moved)), moved)

    on_threads(problem.threads, add, range(0, len(moved), CHUNK))
    active = state.active
    if problem.one_a_row and len(active) == len(moved) == len(state.F):
        state.F -= formulation.t * moved
    else:
        state.F[active] -= formulation.t[active] * moved[held.column(formulation.row[active])]


def survey(problem: KernelProblem, state: Batches) -> tuple[np.ndarray, np.ndarray]:
    """In each group the largest F among active variables that may grow, the smallest among those that may fall."""
    formulation, count = problem.formulation, max(len(problem.formulation.sums), 1)
    highest, lowest = np.full(count, -BIG), np.full(count, BIG)
    find_ends(state.F, state.beta, formulation.lo, formulation.hi, formulation.group, state.active, highest, lowest)
    return highest, lowest


def choose(problem: KernelProblem, state: Batches, size: int) -> tuple[float, np.ndarray]:
    """How much the active variables violate, and those of the next batch: half of the last one, and the worst."""
    formulation, F = problem.formulation, state.F
    highest, lowest = (state.highest, state.lowest) if len(state.highest) else survey(problem, state)
    violation = float(np.max(highest - lowest)) if len(formulation.sums) else float(max(highest[0], -lowest[0]))
    ends = zip(lowest, highest, strict=True) if len(formulation.sums) else ((0.0, 0.0),)
    kept = state.batch[max(len(state.batch) // 2, len(state.batch) - size // 2) :]
    busy = np.zeros(len(F), dtype=bool)
    busy[kept] = True
    share = max(1, (size - len(kept)) // (2 * len(highest)))
    picked = []
    for g, (above, below) in enumerate(ends):
        up, down = violating(
            F, state.beta, formulation.lo, formulation.hi, formulation.group, g, state.active, busy, above, below
        )
        picked += [largest(F, up, share), largest(-F, down, share)]
    return max(violation, 0.0), np.concatenate([kept, np.unique(np.concatenate(picked))])


def largest(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Of these places, those of the largest values."""
    if len(places) <= count:
        return places
    return np.asarray(places[np.argpartition(-values[places], count - 1)[:count]])


def shrink(problem: KernelProblem, state: Batches) -> None:
    """Leave aside what is at an end of its box and violates with nobody; its column too, if that saves enough."""
    formulation, active = problem.formulation, state.active
    if len(formulation.sums) != 1:
        return
    highest, lowest = survey(problem, state)
    F, beta = state.F[active], state.beta[active]
    idle = (beta <= formulation.lo[active]) & (lowest[0] > F) | (beta >= formulation.hi[active]) & (highest[0] < F)
    idle[np.searchsorted(active, state.batch)] = False
    if np.count_nonzero(~idle) > WORTH * len(active):
        return
    state.active = active[~idle]
    problem.held.narrow(np.unique(formulation.row[state.active]))


def estimate(problem: KernelProblem, state: Batches) -> float:
    """The relative gap as F tells it, of the active variables, with b halfway between those that violate."""
    formulation, (highest, lowest) = problem.formulation, survey(problem, state)
    state.highest, state.lowest = highest, lowest
    offsets = 0.5 * (highest + lowest) if len(formulation.sums) else np.zeros(1)
    gap = gap_of(state.F, state.beta, formulation.lo, formulation.hi, formulation.group, state.active, offsets)
    if gap == 0.0:
        return 0.0
    dual = 0.5 * float(np.sum(state.beta * (state.F - formulation.q)))  # F is old where β is at 0 or has long been at C
    measure = max(abs(dual + gap), problem.scale)
    return gap / measure if measure != 0.0 else np.inf


@compiled
def find_ends(F, beta, lo, hi, group, active, highest, lowest):
    """The largest F that may grow and the smallest that may fall, of each group."""
    for k in range(active.size):
        i = active[k]
        g = group[i]
        if beta[i] < hi[i]:
            highest[g] = max(highest[g], F[i])
        if beta[i] > lo[i]:
            lowest[g] = min(lowest[g], F[i])


@compiled
def violating(F, beta, lo, hi, group, g, active, busy, above, below):
    """Variables of a group that may grow and are above, and that may fall and are below; busy ones are left out."""
    up, down = np.empty(active.size, np.intp), np.empty(active.size, np.intp)
    ups, downs = 0, 0
    for k in range(active.size):
        i = active[k]
        if group[i] == g and not busy[i]:
            if beta[i] < hi[i] and F[i] > above:
                up[ups] = i
                ups += 1
            if beta[i] > lo[i] and F[i] < below:
                down[downs] = i
                downs += 1
    return up[:ups], down[:downs]


@compiled
def gap_of(F, beta, lo, hi, group, active, offsets):
    """Σ (hi − β) (F − b)₊ + (β − lo) (b − F)₊ over the active variables."""
    total = 0.0
    for k in range(active.size):
        i = active[k]
        R = F[i] - offsets[group[i]]
        total += (hi[i] - beta[i]) * R if R > 0.0 else (lo[i] - beta[i]) * R
    return total


@compiled
def add_rows(values, places, change, start, stop, moved):
    """Add rows of the kernel, times their changes, in float64; four at a time, so that sums stay where they are."""
    k = 0
    while k + 4 <= places.size:
        p, q, r, s = values[places[k]], values[places[k + 1]], values[places[k + 2]], values[places[k + 3]]
        e, f, g, h = change[k], change[k + 1], change[k + 2], change[k + 3]
        for c in range(start, stop):
            moved[c] += e * p[c] + f * q[c] + g * r[c] + h * s[c]
        k += 4
    while k < places.size:
        row, a = values[places[k]], change[k]
        for c in range(start, stop):
            moved[c] += a * row[c]
        k += 1


def square_of(values: np.ndarray, places: np.ndarray, columns: np.ndarray, t: np.ndarray, threads: int) -> np.ndarray:
    """The part of the kernel that a batch has in common, with its signs."""
    K = room("square of a batch", (len(places), len(columns)), values.dtype)
    step = -(-len(places) // (threads if len(places) > FEWEST else 1))
    signs = t.astype(values.dtype)
    on_threads(threads, lambda k: gather(values, places, columns, signs, k, min(k + step, len(places)), K),
               range(0, len(places), step))  # fmt: skip
    return K


@compiled
def gather(values, places, columns, t, start, stop, K):
    """Some lines of it."""
    for a in range(start, stop):
        row = values[places[a]]
        for b in range(columns.size):
            K[a, b] = t[a] * t[b] * row[np.uintp(columns[b])]


@searching
def extremes(F, rise, fall):
    """The largest F among those that may rise, the smallest among those that may fall."""
    highest, lowest = -BIG, BIG
    for k in range(F.size):
        highest = max(highest, F[k] + rise[k])
        lowest = min(lowest, F[k] + fall[k])
    return highest, lowest


@searching
def gains(F, fall, row, diagonal, own, highest, out):
    """What each partner that may fall would gain, and the most."""
    most = 0.0
    for k in range(F.size):
        d = max(highest - (F[k] + fall[k]), 0.0)
        both = own + diagonal[k]
        gain = d * d / max(both - 2.0 * row[k], TINY * both + SMALLEST)
        out[k] = gain
        most = max(most, gain)
    return most


@compiled
def first(values, more, wanted):
    """The first place where the sum of two arrays is `wanted`."""
    for k in range(values.size):
        if values[k] + more[k] == wanted:
            return k
    return -1


@compiled
def settle_pairs(K, diagonal, beta, lo, hi, F, group, groups, enough, steps):
    """Move pairs of the batch until none violates by more than `enough`."""
    size = beta.size
    rise, fall, gain, none = np.empty((groups, size)), np.empty((groups, size)), np.empty(size), np.zeros(size)
    for g in range(groups):
        for k in range(size):
            own = group[k] == g
            rise[g, k] = 0.0 if own and beta[k] < hi[k] else -BIG
            fall[g, k] = 0.0 if own and beta[k] > lo[k] else BIG
    for _ in range(steps):
        g, highest, lowest = 0, -BIG, BIG
        for other in range(groups):
            top, bottom = extremes(F, rise[other], fall[other])
            if top - bottom > highest - lowest or other == 0:
                g, highest, lowest = other, top, bottom
        if highest - lowest <= enough or highest <= -BIG or lowest >= BIG:
            break
        i = first(F, rise[g], highest)
        most = gains(F, fall[g], K[i], diagonal, diagonal[i], highest, gain)
        j = first(gain, none, most)
        both = diagonal[i] + diagonal[j]
        bend = max(both - 2.0 * K[i, j], TINY * both + SMALLEST)
        step = min((F[i] - F[j]) / bend, hi[i] - beta[i], beta[j] - lo[j])
        beta[i] = hi[i] if step == hi[i] - beta[i] else beta[i] + step
        beta[j] = lo[j] if step == beta[j] - lo[j] else beta[j] - step
        fall[g, i], rise[g, j] = 0.0, 0.0
        rise[g, i] = 0.0 if beta[i] < hi[i] else -BIG
        fall[g, j] = 0.0 if beta[j] > lo[j] else BIG
        for k in range(size):
            F[k] -= step * (K[i, k] - K[j, k])


@compiled
def settle_singles(K, diagonal, beta, lo, hi, F, enough, steps):
    """Move single variables of the batch until none violates by more than `enough`."""
    for _ in range(steps):
        best, i = 0.0, -1
        for k in range(beta.size):
            force = min(F[k], 0.0) if beta[k] >= hi[k] else (max(F[k], 0.0) if beta[k] <= lo[k] else F[k])
            gain = force * force / max(diagonal[k], SMALLEST)
            if abs(force) > enough and gain > best:
                best, i = gain, k
        if i < 0:
            break
        new = min(max(beta[i] + F[i] / max(diagonal[i], SMALLEST), lo[i]), hi[i])
        step = new - beta[i]
        beta[i] = new
        for k in range(beta.size):
            F[k] -= step * K[i, k]
