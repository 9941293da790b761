"""Dual cached loops: training while the file is read.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),  as dual_coordinate does, for rows that do not fit in memory
Loops    a reader streams the rows of the file, pass after pass, into a cache of bounded size; a trainer takes one dual
         step on every row that arrives, and steps on random rows of the cache. The number of steps in the cache grows
         while they gain as much as steps on arriving rows; otherwise it falls, and the trainer waits for new rows
Evicts   a row whose α is at a bound with a gradient beyond ±ε, since it would not move (cached_steps): the cache
         neither clogs nor empties, and holds the rows most likely to move. If there is no room for arriving rows,
         random rows are evicted; with evict="random" this is the only rule
Goes on  with newton or second_order by passes where the gap shrinks too slowly, as on raw columns (option go_on)
Keeps    w = Σ α_i y_i x_i after every step, and the α of all examples, in the cache or not
Bias     none, regularised, or free: a free bias is a regularised one with a moving centre, as in dual_coordinate. It
         moves after each sweep of the cache. In files sorted by class the rows of the cache may all be of one class,
         and b then runs away: once the dual objective falls, the centre moves at the end of a pass only
Costs    a step: one row
After    Matsushima, Vishwanathan, Smola, KDD 2012
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.reader import Block
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Certified
from maxmargin.problems.stream import Stream
from maxmargin.solvers.base import ROW
from maxmargin.solvers.streaming.base import StreamingSolver
from maxmargin.solvers.streaming.cached_steps import Eviction, arrive, visit
from maxmargin.solvers.streaming.row_cache import RowCache
from maxmargin.solvers.streaming.state import Holder, StreamState
from maxmargin.system.values import check_flag

EVICTIONS = ("active", "random")
# benchmarks/results/outofcore.md was measured with these values.
CROWDED = 0.9  # ε shrinks while more than this fraction of the cache is in use
VALUES_AT_ONCE = 200_000  # stored values visited before the trainer checks whether a block has been read
FIRST_STEPS_PER_ROW = 2.0  # dual steps in the cache for each row that is read; more while the trainer waits for rows
LEAST_STEPS_PER_ROW = 0.125  # if steps in the cache gain little
MOST_STEPS_PER_ROW = 8.0  # if steps in the cache gain much
STEPS_FACTOR = 1.1  # factor by which the steps per row grow or shrink with every block
TRAINER_COST_OF_ROW = 2.0  # cost of an arriving row for the trainer, in units of a step in the cache
WHOLE_COST_OF_ROW = 4.0  # the cost including reading, parsing and the certificate, in the same units
WEIGHT_OF_LAST = 0.1  # weight of the last block in the running mean of the gain of a step


@dataclass(frozen=True)
class CachedLoops(StreamingSolver):
    """Dual cached loops: dual steps on the rows of a cache that a reader fills.

    `go_on` says whether Newton steps by passes go on where the gap shrinks too slowly (see training/streamed).
    """

    evict: str = "active"
    go_on: bool = True

    name = "cached_loops"
    reads_blocks = False

    def __post_init__(self) -> None:
        if self.evict not in EVICTIONS:
            raise ParameterError(f"evict={self.evict!r} is not known: choose one of {', '.join(EVICTIONS)}")
        check_flag("go_on", self.go_on)

    def learn(self, problem: Stream, state: StreamState, found: Certified) -> None:
        """Remove rounding errors from w, and take note of the dual objective."""
        super().learn(problem, state, found)
        state.judge(found.certificate.dual)

    def trainer(self, state: StreamState, rng: np.random.Generator) -> CacheTrainer:
        """Return a trainer for a state."""
        return CacheTrainer(state, rng, self.evict == "active")


class CacheTrainer(Holder):
    """The trainer of cached_loops: takes dual steps on arriving rows and on rows of its cache."""

    def __init__(self, state: StreamState, rng: np.random.Generator, active: bool) -> None:
        super().__init__(state, rng)
        self.active, self.eviction = active, Eviction()
        self.per_row, self.from_coming, self.from_held = FIRST_STEPS_PER_ROW, 0.0, 0.0
        self.round = self.sweep = 0
        self.seed = int(rng.integers(1 << 62))

    @property
    def busy(self) -> bool:
        """Whether steps in the cache gain enough to share the core with the reader, instead of waiting for rows."""
        return self.fill > 0.0 and WHOLE_COST_OF_ROW * self.from_held >= self.from_coming

    def take_in(self, block: Block) -> None:
        """Take a dual step on the rows of a block that are not in the cache, and add those that may move to it."""
        state, cache, count = self.state, self.cache_for(block), len(block.y)
        cache.shrink(state.room_for_rows(), state.variables, self.rng)
        wanted = np.empty(count, dtype=np.bool_)
        state.b, state.s, largest, gained = arrive(
            block, wanted, state.variables, state.term, state.bias_curvature, state.w, state.b, state.s, self.eviction
        )
        self.eviction = self.eviction._replace(largest=largest)
        state.visited += count
        self.from_coming += WEIGHT_OF_LAST * (gained / count - self.from_coming)
        self.evicted += cache.take_in(block, state.variables, self.rng, wanted)

    def steps_for(self, rows: int) -> int:
        """Return the number of steps in the cache for `rows` rows read: more while they gain more than these rows."""
        more = TRAINER_COST_OF_ROW * self.from_held > self.from_coming
        per_row = self.per_row * (STEPS_FACTOR if more else 1.0 / STEPS_FACTOR)
        self.per_row = min(max(per_row, LEAST_STEPS_PER_ROW), MOST_STEPS_PER_ROW)
        return int(self.per_row * rows)

    def work(self, steps: int | None = None) -> None:
        """Take `steps` dual steps on rows of the cache, or if None as many as take some milliseconds."""
        cache, state = self.cache, self.state
        if cache is None or cache.count == 0 or steps == 0:
            return
        if steps is None:
            steps = max(1, int(VALUES_AT_ONCE / ((cache.live / cache.count) / 12 + ROW)))
        before = cache.count
        gained = self.take_steps(cache, steps)
        state.visited += steps
        self.from_held += WEIGHT_OF_LAST * (gained / steps - self.from_held)
        self.evicted += before - cache.count
        self.round, self.sweep = self.round + steps, self.sweep + steps
        if self.active and self.round >= state.n:
            epsilon, _, largest = self.eviction
            self.eviction, self.round = Eviction(min(epsilon, largest), ceiling=largest), 0
        if self.sweep >= cache.count and not state.unstable:
            state.move_centre()
            self.sweep = 0

    def take_steps(self, cache: RowCache, steps: int) -> float:
        """Take dual steps and return their gain. Without active eviction the cache is never crowded, and ε = ∞."""
        state, crowded = self.state, int((CROWDED if self.active else 1.0) * cache.limit)
        fill = cache.count, cache.live, crowded
        state.b, state.s, cache.count, cache.live, epsilon, largest, gained = visit(
            cache.slots, state.variables, state.term, state.bias_curvature, state.w, state.b, state.s, fill,
            self.eviction, steps, self.seed,
        )  # fmt: skip
        self.eviction = Eviction(epsilon, self.eviction.ceiling, largest)
        self.seed = (self.seed + steps) % (1 << 62)
        return float(gained)

    def end_pass(self) -> None:
        """Move the centre of a free bias, if it moves but once a pass."""
        if self.state.unstable:
            self.state.move_centre()
