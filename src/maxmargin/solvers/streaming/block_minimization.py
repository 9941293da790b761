"""Block minimisation: as many rows as fit in memory, several sweeps over them, then the next.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),  as dual_coordinate does, for rows that do not fit in memory
Split    once, before training: the rows are written to a compressed block file, unless they are in one
Step     blocks of that file, in a random order that is new in each pass, are loaded until memory is full; then the α of
         their rows alone are optimised, by sweeps of dual_coordinate with shrinking; then memory is emptied
Waits    training for the disk, and the disk for training
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
    """Sweeps over blocks that fill the memory."""

    sweeps: int = 10

    name = "block_minimization"
    reads_blocks = True

    def __post_init__(self) -> None:
        check_sweeps(self.sweeps)

    def trainer(self, state: StreamState, rng: np.random.Generator) -> BlockTrainer:
        """What works on a state."""
        return BlockTrainer(state, rng, self.sweeps)


class BlockTrainer(Holder):
    """Fills its memory, optimises, empties it."""

    def __init__(self, state: StreamState, rng: np.random.Generator, sweeps: int) -> None:
        super().__init__(state, rng)
        self.sweeps = sweeps

    def take_in(self, block: Block) -> None:
        """Rows that were loaded; if there is no room for them, those that are here have their turn first."""
        cache = self.cache_for(block)
        if not cache.has_room(block.rows):
            self.optimise()
            self.make_room()
        cache.take_in(block, self.state.variables, self.rng)

    def steps_for(self, rows: int) -> int:
        """None: all is done when memory is full."""
        return 0

    def work(self, steps: int | None = None) -> None:
        """Nothing, until memory is full."""

    def end_pass(self) -> None:
        """The rows of the last blocks have their turn."""
        self.optimise()
        self.make_room()

    def make_room(self) -> None:
        """Empty the memory."""
        self.give_up(np.zeros(self.cache.count if self.cache else 0, dtype=np.bool_))

    def give_up(self, wanted: np.ndarray) -> None:
        """Keep the rows that are wanted."""
        if self.cache is not None:
            self.evicted += len(wanted) - int(np.sum(wanted))
            self.cache.keep(wanted, self.state.variables)

    def optimise(self) -> None:
        """Sweeps over the rows in memory, and over ever fewer of them."""
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
    """At least one."""
    if not (is_number(sweeps) and 1 <= sweeps < np.inf and sweeps == int(sweeps)):
        raise ParameterError(f"sweeps={sweeps!r} must be a whole number, 1 or above")
