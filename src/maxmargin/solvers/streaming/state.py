"""The state of a streaming dual solver: w, b and α of all examples, in memory that grows as rows are read."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from maxmargin.data.reader import Block
from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.errors import FileError
from maxmargin.problems.dual_terms import DualTerm
from maxmargin.problems.stream import Stream
from maxmargin.solvers.dual.dual_coordinate import BIAS_CURVATURE
from maxmargin.solvers.streaming.dual_variables import POSITIVE, spelt_out, variables_of
from maxmargin.solvers.streaming.row_cache import RowCache
from maxmargin.system.budget import HELD
from maxmargin.system.buffers import FileMap, forget, memory_of, reserved
from maxmargin.system.spill_file import in_file

PART = 1 << 16  # examples processed at once in a loop over all examples
SCATTERED = 1 << 12  # examples processed at once whose α may each be on a different page of the file
MOST_FALLS = 2  # certificates in a row whose dual objective is below the best
AROUND = 1 << 16  # bytes that the system maps around the pages that are read


class Trainer(Protocol):
    """Takes dual steps on streamed rows."""

    evicted: int

    @property
    def fill(self) -> float:
        """The fraction of its memory that is in use."""

    @property
    def busy(self) -> bool:
        """Whether dual steps are worth taking while no block is ready."""

    def take_in(self, block: Block) -> None:
        """Receive the rows of a block."""

    def steps_for(self, rows: int) -> int:
        """Return how many dual steps to take after reading `rows` rows."""

    def work(self, steps: int | None = None) -> None:
        """Take `steps` dual steps, or if None as many as take some milliseconds."""

    def end_pass(self) -> None:
        """Finish a pass: every row has been received."""

    def write_back(self) -> None:
        """Copy every α to the state."""


class Holder:
    """The base class of trainers: it holds a row cache, created when the first block arrives."""

    def __init__(self, state: StreamState, rng: np.random.Generator) -> None:
        self.state, self.rng = state, rng
        self.cache: RowCache | None = None
        self.evicted = 0

    @property
    def fill(self) -> float:
        """The fraction of the cache that is in use."""
        return self.cache.fill if self.cache else 0.0

    @property
    def busy(self) -> bool:
        """False: steps are taken only when a block arrives."""
        return False

    def cache_for(self, block: Block) -> RowCache:
        """Return the cache. Raises FileError if it cannot store rows of this format."""
        if self.cache is None:
            self.cache = RowCache(self.state.room_for_rows(), block.rows, self.state.budget.huge)
        elif not self.cache.accepts(block.rows):
            raise self.state.problem_with(block.first)
        return self.cache

    def write_back(self) -> None:
        """Copy every α to the state."""
        for start in range(0, self.cache.count if self.cache else 0, SCATTERED):
            assert self.cache is not None
            self.cache.write_back(self.state.variables, slice(start, start + SCATTERED))
            self.state.relax(0)


@dataclass(eq=False)
class StreamState:
    """The state of a streaming dual solver: w, b, s = Σ α_i y_i, α and marks.

    n and d are the numbers of examples and features read so far. `trainer` takes the dual steps; it holds rows, and is
    not part of a checkpoint. `best_dual` is the largest dual objective certified, and `falls` counts the certificates
    since then.
    """

    problem: Stream
    n: int = 0
    d: int = 0
    visited: int = 0
    b: float = 0.0
    s: float = 0.0
    bias_curvature: float = 0.0
    expected: float = 0.0  # estimated number of examples
    touched: int = 0
    trainer: Any = None
    best_dual: float = -np.inf
    falls: int = 0

    def __post_init__(self) -> None:
        self.budget, described = self.problem.budget, self.problem.described
        self.all_w = reserved(self.budget.total // 8, np.float64, self.budget.huge)
        self.frozen = reserved(0, np.float64)
        self.term: DualTerm = described.loss.dual_term(np.full(1, described.C))
        self.variables = variables_of(reserved(0, np.uint8), self.frozen, self.term.U[0])
        self.problem.state = self

    @property
    def marks(self) -> np.ndarray:
        """The marks of all examples."""
        return self.variables.marks

    @property
    def alphas(self) -> np.ndarray:
        """The α of all examples, valid only where the mark does not say that α is at a bound."""
        return self.variables.numbers

    @property
    def w(self) -> np.ndarray:
        """The weights of the features read so far."""
        return self.all_w[: self.d]

    def expect(self, rows: Rows, part_read: float) -> None:
        """Estimate the number of examples, and B² of a free bias, from the first block.

        `part_read` is the fraction of the file read so far.
        """
        facts = self.problem.source.facts
        self.expected = float(facts.n) if facts else 1.2 * count_rows(rows) / max(part_read, 1e-9)
        if facts:
            self.d = max(self.d, self.problem.described.features(facts.d))
        self.budget.for_rows(self.expected, self.d)
        if self.problem.bias == "free":
            square = float(np.sum(np.square(rows.values, dtype=np.float64))) / max(count_rows(rows), 1)
            self.bias_curvature = BIAS_CURVATURE * max(square, 1.0 / self.problem.described.C)
        else:
            self.bias_curvature = self.problem.described.bias_square
        self.make_room(int(self.expected) + 1)

    def meet(self, rows: Rows, first: int) -> None:
        """Allocate memory for the α of these rows and for the weights of their features."""
        self.d = max(self.d, count_columns(rows))
        self.n = max(self.n, first + count_rows(rows))
        if self.d > len(self.all_w):
            self.budget.for_rows(self.n, self.d)
        if self.n > len(self.marks):
            self.expected = max(self.expected, 1.5 * self.n)
            self.make_room(int(self.expected))

    def room_for_rows(self) -> int:
        """Return the bytes left for rows. Moves the dual variables to a file if memory has become too small."""
        n = max(self.expected, self.n)
        room = self.budget.for_rows(n, self.d)
        if self.budget.on_disk(n, self.d) and not isinstance(memory_of(self.alphas), FileMap):
            self.make_room(max(len(self.marks), int(n) + 1))
        return room

    def make_room(self, size: int) -> None:
        """Allocate the dual variables of `size` examples, in memory or, if that exceeds the budget, in a file."""
        before = self.marks, self.alphas, self.frozen
        self.variables = variables_of(reserved(size, np.uint8), self.numbers(size), self.term.U[0])
        self.frozen = self.numbers(size)
        for new, old in zip((self.marks, self.alphas, self.frozen), before, strict=True):
            new[: len(old)] = old[: len(new)]

    def numbers(self, size: int) -> np.ndarray:
        """Return `size` zeros, in memory or in a file."""
        if not self.budget.on_disk(size, self.d):
            return reserved(size, np.float64)
        return in_file(size, np.float64, "dual variables")

    def relax(self, read: int) -> None:
        """Release the pages of the files that are in memory, once they are many.

        Variables written in random order are each on a different page. The `read` variables are contiguous, in both
        files; the system also maps some pages around those that a process reads.
        """
        self.touched += mmap.PAGESIZE * int(self.variables.written[0]) + (2 * (8 * read + AROUND) if read else 0)
        self.variables.written[0] = 0
        if self.touched >= HELD * self.budget.total:
            self.touched = 0
            forget(self.alphas)
            forget(self.frozen)

    @property
    def unstable(self) -> bool:
        """Whether the dual objective falls instead of rising: the centre of a free bias has moved too often."""
        return self.falls >= MOST_FALLS

    def judge(self, dual: float) -> None:
        """Take note of the dual objective of a certificate; an unstable state stays so."""
        if dual >= self.best_dual and not self.unstable:
            self.best_dual, self.falls = dual, 0
        else:
            self.falls += 1

    def move_centre(self) -> None:
        """Move the centre of a free bias to b."""
        if self.problem.bias == "free":
            self.b += self.bias_curvature * self.s

    def freeze(self) -> None:
        """Copy α to `frozen` for a certificate; for a free bias scale down one class so that Σ α_i y_i = 0."""
        positive = negative = 0.0
        for start in range(0, self.n, PART):
            part = slice(start, min(start + PART, self.n))
            self.frozen[part] = spelt_out(self.variables, part)
            self.relax(PART)
            plus = (self.marks[part] & POSITIVE) > 0
            total = float(np.sum(self.frozen[part]))
            on_plus = float(np.sum(self.frozen[part][plus]))
            positive, negative = positive + on_plus, negative + (total - on_plus)
        self.s = positive - negative
        if self.problem.bias == "free" and positive != negative:
            heavy, light = max(positive, negative), min(positive, negative)
            for start in range(0, self.n, PART):
                part = slice(start, min(start + PART, self.n))
                plus = (self.marks[part] & POSITIVE) > 0
                self.frozen[part][plus == (positive > negative)] *= light / heavy
                self.relax(PART)

    def spell_out(self) -> None:
        """Write every α into `alphas`, including those that are encoded by marks."""
        for start in range(0, self.n, PART):
            part = slice(start, min(start + PART, self.n))
            self.alphas[part] = spelt_out(self.variables, part)
            self.relax(PART)

    def correct(self, sums: np.ndarray, w: np.ndarray) -> None:
        """Remove rounding errors from w: add the recomputed w(α) of the frozen α (`sums`) minus its w of that time."""
        if self.problem.bias != "free":
            for start in range(0, self.d, PART):
                part = slice(start, start + PART)
                self.w[part] += sums[part] - w[part]

    def problem_with(self, first: int) -> Any:
        """Return the error for rows whose format differs from the rows before."""
        return FileError(f"{self.problem.source.name}: rows from number {first} on have another form than those before")
