"""The base class of streaming solvers, which receive blocks of rows and take dual steps on the rows in memory.

A call of `advance` processes one block, if one has been read, and takes some dual steps. Solvers differ in their
trainer, which decides which rows stay in memory and which rows take dual steps.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from maxmargin.data.far_columns import Shift
from maxmargin.data.reader import Block, PassEnd
from maxmargin.data.rows import count_stored
from maxmargin.errors import ParameterError
from maxmargin.problems.certificate import Certified, Point
from maxmargin.problems.stream import Stream
from maxmargin.solvers.streaming.dual_variables import POSITIVE
from maxmargin.solvers.streaming.row_cache import RowTooLongError
from maxmargin.solvers.streaming.state import StreamState, Trainer
from maxmargin.status import Status
from maxmargin.system.budget import shown_size

MANY_STEPS = 1 << 20  # more dual steps than a trainer takes in one call


class StreamingSolver:
    """A solver of streamed problems.

    `reads_blocks` says whether it reads a block file, written before training, and waits while a block is read.
    """

    name: str
    reads_blocks: bool
    state_type = StreamState

    def trainer(self, state: StreamState, rng: np.random.Generator) -> Trainer:
        """Return the trainer, which takes the dual steps."""
        raise NotImplementedError

    def start(self, problem: Stream, warm: Point | None = None) -> StreamState:
        """Return the state before the first row."""
        return StreamState(problem)

    def advance(self, problem: Stream, state: StreamState, rng: np.random.Generator) -> Status | None:
        """Process one block, if one has been read, and take some dual steps."""
        return self.advance_within(problem, state, rng, np.inf)

    def advance_within(
        self, problem: Stream, state: StreamState, rng: np.random.Generator, visits: float
    ) -> Status | None:
        """Advance with at most `visits` visits in the whole run; after them rows are read only for the certificate."""
        trainer = state.trainer = state.trainer or self.trainer(state, rng)
        left = steps_left(state, visits)
        before = time.perf_counter()
        block = problem.read(wait=problem.in_turns or not trainer.busy or left == 0)
        if block is None and not problem.in_turns:
            trainer.work(left)
        problem.idle += time.perf_counter() - before
        if isinstance(block, PassEnd):
            trainer.end_pass()
            problem.end_pass(block)
        elif block is not None:
            self.take_in(problem, state, block, visits)
            steps, left = trainer.steps_for(len(block.y)), steps_left(state, visits)
            trainer.work(steps if left is None else min(steps, left))
        state.relax(len(block.y) if isinstance(block, Block) else 0)
        return None

    def take_in(self, problem: Stream, state: StreamState, block: Block, visits: float) -> None:
        """Pass the rows of a block to the trainer."""
        if state.bias_curvature == 0.0 and state.expected == 0.0:
            state.expect(block.rows, block.read / max(problem.source.size, block.read, 1))
        state.meet(block.rows, block.first)
        if problem.passes == 0:
            problem.nnz += count_stored(block.rows)
        problem.read_bytes = block.read
        left = steps_left(state, visits)
        if problem.passes and left is not None and left < len(block.y):
            return  # these rows serve only the certificate
        try:
            state.trainer.take_in(block)
        except RowTooLongError as error:
            enough = problem.budget.least(max(state.n, state.expected), state.d, error.size)
            raise ParameterError(f"{problem.source.name}: {error} to {shown_size(enough)} or more") from error

    def point(self, problem: Stream, state: StreamState) -> Point:
        """Return the current point, with a feasible copy of α."""
        self.write_back(state)
        state.freeze()
        return Point(state.w, state.b, state.frozen[: state.n])

    def learn(self, problem: Stream, state: StreamState, found: Certified) -> None:
        """Remove accumulated rounding errors from w: the pass has recomputed w(α) of the certified α."""
        if problem.offered is not None:
            state.correct(problem.sums[: state.d], problem.point[: state.d])

    def write_back(self, state: StreamState) -> None:
        """Copy every α held by the trainer to the state."""
        if state.trainer is not None:
            state.trainer.write_back()

    def saved(self, problem: Stream, state: StreamState) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return arrays and numbers of a checkpoint. It stores no certificate: the next pass computes one."""
        self.write_back(state)
        state.spell_out()
        arrays = {"w": state.w, "alpha": state.alphas[: state.n], "marks": state.marks[: state.n]}
        if problem.shift is not None:
            arrays |= {"shifted": problem.shift.columns, "centre": problem.shift.values}
        numbers = {
            "b": state.b, "bias_curvature": state.bias_curvature, "visited": state.visited, "width": problem.width,
            "nnz": problem.nnz, "input_d": problem.input_d, "passes": problem.passes, "seen": problem.sides.seen,
        }  # fmt: skip
        return arrays, numbers

    def restored(self, problem: Stream, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> StreamState:
        """Return the saved state. Raises ValueError if it does not fit this problem."""
        state = self.start(problem)
        w, alpha = arrays["w"], arrays["alpha"]
        if not problem.described.features(numbers["input_d"]) <= len(w) <= len(state.all_w):
            raise ValueError(f"w has {len(w)} entries")
        if "shifted" in arrays and problem.bias != "free":
            raise ValueError(f"it shifts columns, which bias={problem.bias!r} does not allow")
        problem.sides.restore(numbers["seen"])
        problem.shifted_by(Shift(arrays["shifted"], arrays["centre"]) if "shifted" in arrays else None)
        state.n, state.d, state.expected = len(alpha), len(w), float(len(alpha))
        state.room_for_rows()
        state.make_room(state.n)
        state.all_w[: state.d] = w
        state.alphas[: state.n], state.marks[: state.n] = alpha, arrays["marks"] & POSITIVE
        state.b, state.bias_curvature, state.visited = numbers["b"], numbers["bias_curvature"], numbers["visited"]
        problem.width, problem.passes = numbers["width"], numbers["passes"]
        problem.nnz, problem.input_d = numbers["nnz"], numbers["input_d"]
        return state


def steps_left(state: StreamState, visits: float) -> int | None:
    """Return the number of dual steps left; None if there are more than MANY_STEPS."""
    if visits - state.visited > MANY_STEPS:
        return None
    return max(int(visits) - state.visited, 0)
