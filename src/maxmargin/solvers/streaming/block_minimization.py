"""Block minimisation: load as many rows as fit in memory, sweep over them several times, then load the next.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),  as dual_coordinate does, for rows that do not fit in memory
Split    once, before training: the rows are written to a compressed block file, unless the input is one
Step     blocks of that file are loaded until memory is full, in a new random order in each pass; then only the α of
         their rows are optimised, by sweeps of dual_coordinate with shrinking; then memory is emptied
Waits    reading and training alternate: neither runs while the other does
Bias     none, regularised, or free, as in cached_loops
After    Yu, Hsieh, Chang, Lin, KDD 2010
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.reader import Block
from maxmargin.errors import ParameterError
from maxmargin.solvers.parts.coordinate_sweep import Examples, sweep
from maxmargin.solvers.parts.sweeps import shuffle
from maxmargin.solvers.streaming.base import StreamingSolver
from maxmargin.solvers.streaming.state import Holder, StreamState
from maxmargin.system.values import is_number


@dataclass(frozen=True)
class BlockMinimization(StreamingSolver):
    """Block minimisation: sweeps over blocks of rows that fill the memory."""

    sweeps: int = 10

    name = "block_minimization"
    reads_blocks = True

    def __post_init__(self) -> None:
        check_sweeps(self.sweeps)

    def trainer(self, state: StreamState, rng: np.random.Generator) -> BlockTrainer:
        """Return a trainer for a state."""
        return BlockTrainer(state, rng, self.sweeps)


class BlockTrainer(Holder):
    """Fills its cache with rows, optimises their α, and empties the cache."""

    def __init__(self, state: StreamState, rng: np.random.Generator, sweeps: int) -> None:
        super().__init__(state, rng)
        self.sweeps = sweeps

    def take_in(self, block: Block) -> None:
        """Add the rows of a block; if the cache is full, first optimise and remove the rows in it."""
        cache = self.cache_for(block)
        if not cache.has_room(block.rows):
            self.optimise()
            self.make_room()
        cache.take_in(block, self.state.variables, self.rng)

    def steps_for(self, rows: int) -> int:
        """Return 0: steps are taken only when memory is full."""
        return 0

    def work(self, steps: int | None = None) -> None:
        """Do nothing: steps are taken only when memory is full."""

    def end_pass(self) -> None:
        """Optimise the rows of the last blocks and empty the cache."""
        self.optimise()
        self.make_room()

    def make_room(self) -> None:
        """Empty the cache."""
        self.give_up(np.zeros(self.cache.count if self.cache else 0, dtype=np.bool_))

    def give_up(self, wanted: np.ndarray) -> None:
        """Keep the `wanted` rows of the cache and remove the others."""
        if self.cache is not None:
            self.evicted += len(wanted) - int(np.sum(wanted))
            self.cache.keep(wanted, self.state.variables)

    def optimise(self) -> None:
        """Sweep over the rows in memory several times, with shrinking."""
        cache, state = self.cache, self.state
        if cache is None or cache.count == 0:
            return
        order, violations = np.arange(cache.count), np.empty(cache.count)
        term = type(state.term)(*(np.broadcast_to(array, cache.count) for array in state.term))
        slots, drop = cache.slots, (-np.inf, np.inf)
        examples = Examples(slots.rows, slots.y, term, slots.Q, state.bias_curvature)
        for _ in range(self.sweeps):
            shuffle(order, self.rng.integers(1 << 62))
            seen = state.b, state.s, 0, np.inf, -np.inf, 0.0
            state.b, state.s, kept, low, high, _ = sweep(
                examples, slots.alpha, state.w, order, violations, 0, len(order), drop, seen, 1.0
            )
            state.visited += len(order)
            state.move_centre()
            order, drop = order[:kept], (low, high)
            if kept == 0:
                return


def check_sweeps(sweeps: int) -> None:
    """Raise ParameterError if `sweeps` is not a positive integer."""
    if not (is_number(sweeps) and 1 <= sweeps < np.inf and sweeps == int(sweeps)):
        raise ParameterError(f"sweeps={sweeps!r} must be a whole number, 1 or above")
