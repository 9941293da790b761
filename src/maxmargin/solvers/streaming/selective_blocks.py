"""Selective block minimisation: the most informative rows of past blocks stay in memory.

Solves   max_α  Σ d_i(α_i) − ½‖w‖² − b²/(2B²),  as block_minimization does
Keeps    the rows of past blocks whose margin is closest to 1, in the fraction `keep` of the memory. The rest of the
         memory is filled with blocks; sweeps visit all rows in memory
After    Chang, Roth, KDD 2011
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.data.rows import dot
from maxmargin.errors import ParameterError
from maxmargin.solvers.streaming.base import StreamingSolver
from maxmargin.solvers.streaming.block_minimization import BlockTrainer, check_sweeps
from maxmargin.solvers.streaming.row_slots import weight
from maxmargin.solvers.streaming.state import StreamState
from maxmargin.system.compiled import compiled
from maxmargin.system.values import is_number


@dataclass(frozen=True)
class SelectiveBlocks(StreamingSolver):
    """Selective block minimisation: sweeps over new blocks and over rows kept from earlier ones."""

    sweeps: int = 10
    keep: float = 0.5

    name = "selective_blocks"
    reads_blocks = True

    def __post_init__(self) -> None:
        check_sweeps(self.sweeps)
        if not (is_number(self.keep) and 0.0 < self.keep < 1.0):
            raise ParameterError(f"keep={self.keep!r} must be above 0 and below 1: a part of the memory")

    def trainer(self, state: StreamState, rng: np.random.Generator) -> SelectiveTrainer:
        """Return a trainer for a state."""
        return SelectiveTrainer(state, rng, self.sweeps, self.keep)


class SelectiveTrainer(BlockTrainer):
    """A BlockTrainer that keeps some rows of past blocks in its cache."""

    def __init__(self, state: StreamState, rng: np.random.Generator, sweeps: int, part: float) -> None:
        super().__init__(state, rng, sweeps)
        self.part = part

    def make_room(self) -> None:
        """Keep the rows whose margin is closest to 1, in the fraction `part` of the memory."""
        cache, state = self.cache, self.state
        if cache is None or cache.count == 0:
            return
        distances, sizes = np.empty(cache.count), np.empty(cache.count)
        measure(cache.slots.rows, cache.slots.y, state.w, state.b, distances, sizes)
        nearest = np.argsort(distances)
        wanted = np.zeros(cache.count, dtype=np.bool_)
        wanted[nearest[np.cumsum(sizes[nearest]) <= self.part * cache.limit]] = True
        self.give_up(wanted)


@compiled
def measure(rows, y, w, b, distances, sizes):
    """Write |m − 1| of every row into `distances` and its bytes into `sizes`."""
    for k in range(distances.size):
        distances[k] = abs(y[k] * (dot(rows, k, w) + b) - 1.0)
        sizes[k] = weight(rows, k)
