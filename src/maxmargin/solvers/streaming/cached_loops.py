"""Dual cached loops: training while the file is read.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),  as dual_coordinate does, for rows that do not fit in memory
Loops    a reader streams the rows of the file, again and again, into a cache of bounded size; a trainer takes dual
         steps on rows of the cache, picked at random, and one on every row as it comes; more steps in the cache
         while they gain as much as rows that come, fewer, or none while there are no new rows, while they do not
Evicts   a row at an end of its box, with a gradient beyond ±ε that holds it there, is thrown out by the trainer, or
         not let in: it would not move. ε shrinks while the cache is over 90 % full and grows while it is not, up to the
         largest gradient of the last round, so that the cache neither clogs nor empties, and holds what is closest to
         moving. If there is no room for what the reader brings, rows are thrown out at random; evict="random" does
         nothing else
Keeps    w = Σ α_i y_i x_i after every step, α of all examples, whether in the cache or not
Bias     none, regularised, or free: then the centre of a regularised one moves, as in dual_coordinate
Costs    a step: one row
After    Matsushima, Vishwanathan, Smola, KDD 2012
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.rows import Rows, announce, axpy, dot, fetch, square
from maxmargin.errors import ParameterError
from maxmargin.problems.dual_terms import best, distance_from_bound, slope
from maxmargin.solvers.base import ROW
from maxmargin.solvers.streaming.base import StreamingSolver
from maxmargin.solvers.streaming.dual_variables import HELD, get, put
from maxmargin.solvers.streaming.row_cache import drop, weight
from maxmargin.solvers.streaming.state import Holder, StreamState
from maxmargin.system.compiled import compiled
from maxmargin.system.prefetch import prefetch
from maxmargin.system.splitmix import draw_below

EVICTIONS = ("active", "random")
CROWDED = 0.9  # of the cache
SHRINKS = 0.9  # ε, with every step in a crowded cache
TIGHTEST = 1e-12  # from where ε can grow again
AT_ONCE = 200_000  # numbers visited before the trainer looks whether the reader has brought something
PER_ROW = 2.0  # dual steps in the cache for each row that is read, at first; where the reader is slower, as many more
# as there is time for
LEAST, MOST = 0.125, 8.0  # of them,
FASTER = 1.1  # and how they change with every block
WORTH = 2.0  # a step in the cache is as dear as the half of a row that comes
DEAR = 4.0  # a row that comes, with reading, parsing and the certificate, is as dear as so many steps in the cache
RECENT = 0.1  # the weight of the last block in what steps gain on average


@dataclass(frozen=True)
class CachedLoops(StreamingSolver):
    """Dual steps on the rows of a cache, which a reader fills."""

    evict: str = "active"

    name = "cached_loops"
    reads_blocks = False

    def __post_init__(self) -> None:
        if self.evict not in EVICTIONS:
            raise ParameterError(f"evict={self.evict!r} is not known: choose one of {', '.join(EVICTIONS)}")

    def trainer(self, state: StreamState, rng: np.random.Generator) -> CacheTrainer:
        """What works on a state."""
        return CacheTrainer(state, rng, self.evict == "active")


class CacheTrainer(Holder):
    """The trainer, with its cache."""

    def __init__(self, state: StreamState, rng: np.random.Generator, active: bool) -> None:
        super().__init__(state, rng)
        self.active, self.epsilon, self.ceiling, self.largest = active, np.inf, np.inf, 0.0
        self.per_row, self.from_coming, self.from_held = PER_ROW, 0.0, 0.0
        self.round = self.sweep = 0
        self.seed = int(rng.integers(1 << 62))

    @property
    def busy(self) -> bool:
        """Whether steps in the cache gain so much that those who read should not have this core to themselves."""
        return self.fill > 0.0 and DEAR * self.from_held >= self.from_coming

    def take_in(self, rows: Rows, y: np.ndarray, first: int) -> None:
        """Rows that the reader brings."""
        state, cache = self.state, self.cache_for(rows, first)
        cache.shrink(state.room_for_rows(), state.variables, self.rng)
        wanted = np.empty(len(y), dtype=np.bool_)
        state.b, state.s, self.largest, gained = arrive(
            rows, y, first, state.variables, state.term, state.bias_curvature, state.w, state.b, state.s, self.active,
            self.epsilon, self.largest, wanted,
        )  # fmt: skip
        state.visited += len(y)
        self.from_coming += RECENT * (gained / len(y) - self.from_coming)
        self.evicted += cache.take_in(rows, y, first, state.variables, self.rng, wanted)

    def steps_for(self, rows: int) -> int:
        """How many dual steps go with so many rows that were read: more while they gain more than those rows did."""
        faster = WORTH * self.from_held > self.from_coming
        self.per_row = min(max(self.per_row * (FASTER if faster else 1.0 / FASTER), LEAST), MOST)
        return int(self.per_row * rows)

    def work(self, steps: int | None = None) -> None:
        """Take dual steps on the rows of the cache: so many, or for some milliseconds."""
        cache, state = self.cache, self.state
        if cache is None or cache.count == 0 or steps == 0:
            return
        if steps is None:
            steps = max(1, int(AT_ONCE / ((cache.live / cache.count) / 12 + ROW)))
        before = cache.count
        state.b, state.s, cache.count, cache.live, self.epsilon, self.largest, gained = visit(
            cache.rows, cache.example, cache.y, cache.Q, cache.alpha, state.variables, state.term,
            state.bias_curvature, state.w, state.b, state.s, cache.count, cache.live, steps, self.seed, self.active,
            self.epsilon, self.ceiling, self.largest, int(CROWDED * cache.limit),
        )  # fmt: skip
        self.seed = (self.seed + steps) % (1 << 62)
        state.visited += steps
        self.from_held += RECENT * (gained / steps - self.from_held)
        self.evicted += before - cache.count
        self.round, self.sweep = self.round + steps, self.sweep + steps
        if self.round >= state.n:
            self.ceiling, self.largest, self.round = self.largest, 0.0, 0
            self.epsilon = min(self.epsilon, self.ceiling)
        if self.sweep >= cache.count:
            state.move_centre()
            self.sweep = 0

    def end_pass(self) -> None:
        """Nothing: the trainer knows no passes."""


@compiled
def stepped(rows, k, y, a, m, Q, term, B2, w, b, s):
    """The best α of row k, alone, and b and s with it; w has changed."""
    new = best(term, 0, a, m, Q + B2)
    change = (new - a) * y
    if change != 0.0:
        axpy(rows, k, change, w)
    return new, b + B2 * change, s + change


@compiled
def arrive(rows, y, first, variables, term, B2, w, b, s, active, epsilon, largest, wanted):
    """A dual step on every row that comes and is not in the cache; those that would not move need not be held."""
    gained = 0.0
    for k in range(y.size):
        i = first + k
        wanted[k] = not variables.marks[i] & HELD
        if not wanted[k]:
            continue
        m, a = y[k] * (dot(rows, k, w) + b), get(variables, i)
        new, b, s = stepped(rows, k, y[k], a, m, square(rows, k), term, B2, w, b, s)
        G = abs(m - slope(term, 0, a))
        if new != a:
            put(variables, i, new)
            gained += abs(new - a) * G
        if active and distance_from_bound(term, 0, new, m) > epsilon:
            wanted[k] = False
        else:
            largest = max(largest, G)
    return b, s, largest, gained


@compiled
def adjusted(epsilon, ceiling, largest, crowded):
    """Epsilon, smaller while the cache is crowded (in the first round, than what was seen), larger while it is not."""
    if crowded:
        return max(SHRINKS * (epsilon if epsilon < np.inf else largest), TIGHTEST)
    return min(epsilon / SHRINKS, ceiling)


@compiled
def visit(
    rows, example, y, Q, alpha, variables, term, B2, w, b, s, count, live, steps, seed, active,
    epsilon, ceiling, largest, crowded,
):  # fmt: skip
    """Dual steps on rows picked at random; those that would not move are thrown out, if that is wanted."""
    state, gained = np.uint64(seed), 0.0
    state, k = draw_below(state, count)
    state, near = draw_below(state, count)
    for _ in range(steps):
        if count == 0:
            break
        state, far = draw_below(state, count)
        announce(rows, far)
        prefetch(alpha, far)
        prefetch(y, far)
        fetch(rows, near)
        if k >= count:
            k %= count
        epsilon = adjusted(epsilon, ceiling, largest, live > crowded)
        m = y[k] * (dot(rows, k, w) + b)
        a = alpha[k]
        new, b, s = stepped(rows, k, y[k], a, m, Q[k], term, B2, w, b, s)
        G = abs(m - slope(term, 0, a))
        gained += abs(new - a) * G
        alpha[k] = new
        if active and distance_from_bound(term, 0, new, m) > epsilon:
            live -= weight(rows, k)
            count = drop(rows, example, y, Q, alpha, variables, k, count)
        else:
            largest = max(largest, G)
        k, near = near, far
        if near >= count > 0:
            near %= count
    return b, s, count, live, epsilon, largest, gained
