"""The state of a dual solver whose rows are streamed: w, b and α of all examples, in memory that grows as rows come."""

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
from maxmargin.solvers.streaming.dual_variables import POSITIVE, in_file, spelt_out, variables_of
from maxmargin.solvers.streaming.row_cache import RowCache
from maxmargin.system.budget import HELD
from maxmargin.system.buffers import FileMap, forget, memory_of, reserved

PART = 1 << 16  # examples at once, where all are looked at
SCATTERED = 1 << 12  # examples at once that may each be on a page of its own
AROUND = 1 << 16  # bytes


class Trainer(Protocol):
    """What takes dual steps on rows that are streamed."""

    evicted: int

    @property
    def fill(self) -> float:
        """What part of its memory is in use."""

    @property
    def busy(self) -> bool:
        """Whether there is something to do that is worth it while no rows come."""

    def take_in(self, block: Block) -> None:
        """Rows that have come."""

    def steps_for(self, rows: int) -> int:
        """How many dual steps go with so many rows that were read."""

    def work(self, steps: int | None = None) -> None:
        """Take dual steps: so many, or for some milliseconds."""

    def end_pass(self) -> None:
        """All rows have been here."""

    def write_back(self) -> None:
        """Let the state know every α."""


class Holder:
    """What every trainer has: a cache for rows of a state, made when the first of them come."""

    def __init__(self, state: StreamState, rng: np.random.Generator) -> None:
        self.state, self.rng = state, rng
        self.cache: RowCache | None = None
        self.evicted = 0

    @property
    def fill(self) -> float:
        """What part of the cache is in use."""
        return self.cache.fill if self.cache else 0.0

    @property
    def busy(self) -> bool:
        """Never: all is done when rows come."""
        return False

    def cache_for(self, block: Block) -> RowCache:
        """The cache, if these rows can be held in it beside the others."""
        if self.cache is None:
            self.cache = RowCache(self.state.room_for_rows(), block.rows, self.state.budget.huge)
        elif not self.cache.accepts(block.rows):
            raise self.state.problem_with(block.first)
        return self.cache

    def write_back(self) -> None:
        """Let the state know every α."""
        for start in range(0, self.cache.count if self.cache else 0, SCATTERED):
            assert self.cache is not None
            self.cache.write_back(self.state.variables, slice(start, start + SCATTERED))
            self.state.relax(0)


@dataclass(eq=False)
class StreamState:
    """Where a dual solver stands whose rows are streamed: w, b, s = Σ α_i y_i, α and marks.

    n and d are what has been met so far. `trainer` takes the dual steps; it holds rows, and is no part of a checkpoint.
    """

    problem: Stream
    n: int = 0
    d: int = 0
    visited: int = 0
    b: float = 0.0
    s: float = 0.0
    bias_curvature: float = 0.0
    expected: float = 0.0  # examples
    touched: int = 0
    trainer: Any = None

    def __post_init__(self) -> None:
        self.budget, described = self.problem.budget, self.problem.described
        self.all_w = reserved(self.budget.total // 8, np.float64, self.budget.huge)
        self.frozen = reserved(0, np.float64)
        self.term: DualTerm = described.loss.dual_term(np.full(1, described.C))
        self.variables = variables_of(reserved(0, np.uint8), self.frozen, self.term.U[0])
        self.problem.state = self

    @property
    def marks(self) -> np.ndarray:
        """Of all examples."""
        return self.variables.marks

    @property
    def alphas(self) -> np.ndarray:
        """Of all examples; those of marks that tell α are not looked at."""
        return self.variables.numbers

    @property
    def w(self) -> np.ndarray:
        """The weights of the features that have been met."""
        return self.all_w[: self.d]

    def expect(self, rows: Rows, part_read: float) -> None:
        """From the first block: about how many examples there will be, and how strongly a free bias is pulled."""
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
        """Room for the α of these rows and for the weights of their features."""
        self.d = max(self.d, count_columns(rows))
        self.n = max(self.n, first + count_rows(rows))
        if self.d > len(self.all_w):
            self.budget.for_rows(self.n, self.d)
        if self.n > len(self.marks):
            self.expected = max(self.expected, 1.5 * self.n)
            self.make_room(int(self.expected))

    def room_for_rows(self) -> int:
        """What the budget leaves for rows; features that were not foreseen may send the dual variables to a file."""
        n = max(self.expected, self.n)
        room = self.budget.for_rows(n, self.d)
        if self.budget.on_disk(n, self.d) and not isinstance(memory_of(self.alphas), FileMap):
            self.make_room(max(len(self.marks), int(n) + 1))
        return room

    def make_room(self, size: int) -> None:
        """Room for the dual variables of so many examples, in memory or, where that is too much, in a file."""
        before = self.marks, self.alphas, self.frozen
        self.variables = variables_of(reserved(size, np.uint8), self.numbers(size), self.term.U[0])
        self.frozen = self.numbers(size)
        for new, old in zip((self.marks, self.alphas, self.frozen), before, strict=True):
            new[: len(old)] = old[: len(new)]

    def numbers(self, size: int) -> np.ndarray:
        """So many zeros."""
        if not self.budget.on_disk(size, self.d):
            return reserved(size, np.float64)
        return in_file(size, np.float64, "dual variables")

    def relax(self, read: int) -> None:
        """Let the file have back what memory holds of it, once that is much.

        Variables that were written here and there are each on a page of its own, those that were `read` lie beside each
        other, in both files; the system shows a process some pages around those that it reads.
        """
        self.touched += mmap.PAGESIZE * int(self.variables.written[0]) + (2 * (8 * read + AROUND) if read else 0)
        self.variables.written[0] = 0
        if self.touched >= HELD * self.budget.total:
            self.touched = 0
            forget(self.alphas)
            forget(self.frozen)

    def move_centre(self) -> None:
        """The centre of a free bias goes to where b is."""
        if self.problem.bias == "free":
            self.b += self.bias_curvature * self.s

    def freeze(self) -> None:
        """Copy α for a certificate; with a free bias, made to balance by scaling the heavier side down."""
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
        """Let all numbers be there, also those that marks can tell."""
        for start in range(0, self.n, PART):
            part = slice(start, min(start + PART, self.n))
            self.alphas[part] = spelt_out(self.variables, part)
            self.relax(PART)

    def correct(self, sums: np.ndarray, w: np.ndarray) -> None:
        """Take what rounding has left between w and w(α) out of w: w(α) of a frozen α is known now."""
        if self.problem.bias != "free":
            for start in range(0, self.d, PART):
                part = slice(start, start + PART)
                self.w[part] += sums[part] - w[part]

    def problem_with(self, first: int) -> Any:
        """Rows of another form than those before."""
        return FileError(f"{self.problem.source.name}: rows from number {first} on have another form than those before")
