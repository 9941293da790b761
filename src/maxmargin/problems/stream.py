"""Passes over the rows of a streamed problem. Each pass computes the certificate of an offered point.

A reader reads and parses rows, adds them to the sums of the certificate, and passes blocks of rows to the solver. It
takes turns with the solver, or runs on its own thread. At the end of a pass the certificate is complete. The reader
waits for the next offered point, then the next pass begins. If the solver waits for rows during much of a pass, other
threads parse ahead. Several classes share one reader of the rows (data/shared_reader.py).
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from maxmargin.data.block_order import ShuffledBlocks
from maxmargin.data.far_columns import Shift
from maxmargin.data.reader import Block, InlineReader, PassEnd, ReaderThread
from maxmargin.data.rows import count_columns
from maxmargin.data.shared_reader import NotReadyError, SharedReader, Subscription
from maxmargin.data.source import RowBlock
from maxmargin.errors import FileError
from maxmargin.problems.certificate import Certificate, Certified, Point
from maxmargin.problems.streamed import NARROWER, WIDTH, Streamed, StreamedCertificate, TwoSides
from maxmargin.system.budget import Budget
from maxmargin.system.buffers import release, reserved
from maxmargin.system.rounding import LOSS, gamma
from maxmargin.system.spill_file import SpillFile

STARVED = 0.25  # if the solver waits for rows longer than this fraction of a pass, other threads parse ahead
PIECES = 0.25  # most values of expanded rows in memory at once, per byte of a block
NARROWEST = 1e-12  # smallest distance of the outermost b that is tried
NOTHING = np.zeros(0)


def fingerprint_of(problem: Streamed, sides: TwoSides, solver: str, seed: int) -> dict[str, Any]:
    """Return the identity of a run: a digest of the file, the problem, the solver and the seed."""
    return {
        "file": problem.identity, "loss": problem.loss.name, "C": problem.C, "bias": problem.bias,
        "bias_scale": problem.bias_scale, "positive": sides.positive,
        "expand": problem.expansion.text if problem.expansion else None, "solver": solver, "seed": seed,
    }  # fmt: skip


class Met(Protocol):
    """The state of a solver as a stream needs it: numbers of rows and features read so far, and the offered α."""

    n: int
    d: int
    frozen: np.ndarray


class Stream:
    """Passes over the rows of a streamed problem, within a memory budget."""

    immediate = False  # a certificate is complete at the end of a pass
    rows_at_hand = False  # a checkpoint does not hold the best model: the next pass certifies it
    bounded = False  # an α with Σ α_i y_i ≠ 0 has no finite certificate
    convex = zero_is_feasible = True

    def __init__(
        self,
        problem: Streamed,
        budget: Budget,
        sides: TwoSides,
        *,
        threads: int = 1,
        in_turns: bool = False,
        shared: SharedReader | None = None,
    ) -> None:
        self.described, self.budget, self.sides = problem, budget, sides
        self.subscription, self.waits = Subscription(shared) if shared else None, True
        self.in_turns = threads == 1 or in_turns
        self.parsers = 0 if self.in_turns else budget.parsers(threads)
        self.state: Met | None = None
        self.point, self.sums = (reserved(budget.total // 8, np.float64, budget.huge) for _ in range(2))
        self.offered: StreamedCertificate | None = None  # None in the first pass, whose point is w = 0
        self.answer: Certified | None = None
        self.kept, self.width, self.b = SpillFile(), WIDTH, 0.0
        self.reader: InlineReader | ReaderThread | None = None
        self.shuffled = ShuffledBlocks(self.source, np.random.default_rng())
        self.passes = self.read_bytes = self.nnz = self.input_d = 0
        self.proved = False  # whether a pass has certified a point of the solver
        self.idle, self.pass_began = 0.0, time.perf_counter()

    @property
    def source(self) -> Any:
        """The source of the rows."""
        return self.described.source

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.described.name

    @property
    def kind(self) -> str:
        """The kind of problem: the name of its loss."""
        return self.described.loss.name

    @property
    def bias(self) -> str:
        """The treatment of the bias."""
        return self.described.bias

    @property
    def shift(self) -> Shift | None:
        """The shift of columns far from 0, if any."""
        return self.described.shift

    @property
    def n(self) -> int:
        """Number of rows read so far."""
        return 0 if self.state is None else self.state.n

    @property
    def most(self) -> float:
        """The largest number of values of expanded rows in memory at once."""
        return PIECES * self.budget.block

    def fingerprint(self, solver: str, seed: int) -> dict[str, Any]:
        """Return the identity of this run."""
        return fingerprint_of(self.described, self.sides, solver, seed)

    @contextmanager
    def opened(self, seed: int) -> Iterator[None]:
        """Run the reader while the context is open; the seed determines the order of blocks."""
        self.shuffled.rng = np.random.default_rng([seed, 1])
        self.pass_began = time.perf_counter()
        alone = self.in_turns or self.subscription is not None
        reader = InlineReader(self.all_passes) if alone else ReaderThread(self.all_passes)
        with reader:
            self.reader = reader
            yield
        self.reader = None

    def close(self) -> None:
        """Close the file of the best w."""
        self.kept.close()

    def leave(self) -> None:
        """Tell the other problems of a shared reader that this one is solved."""
        if self.subscription is not None:
            self.subscription.leave()

    def fail(self) -> None:
        """Tell the other problems of a shared reader that this one has failed: they end, too."""
        if self.subscription is not None:
            self.subscription.reader.end()

    def shifted_by(self, shift: Shift | None) -> None:
        """Set the shift of columns for the following rows."""
        self.described = replace(self.described, shift=shift)

    # Reading

    def read(self, wait: bool) -> Block | PassEnd | None:
        """Return the next block or the end of a pass; None if nothing is ready and `wait` is false."""
        assert self.reader is not None
        self.waits = wait
        return self.reader.bring(wait)

    def all_passes(self) -> Generator[Block | PassEnd | None]:
        """Yield the blocks of all passes, and add their rows to the certificate. Runs in the reader.

        With a shared reader, None says that the next block has not been read yet.
        """
        while True:
            rows, offered = 0, self.offered
            for block in self.blocks():
                if block is None:
                    yield None
                    continue
                signs = self.sides.signs(block.labels, block.first)
                self.input_d = max(self.input_d, count_columns(block.rows))
                for part, longer in self.described.parts(block.rows, self.most):
                    first, y = block.first + part.start, signs[part]
                    if offered is not None:
                        assert self.state is not None
                        if first + len(y) > self.state.n:
                            raise self.changed()
                        offered.add(longer, y, self.state.frozen[first : first + len(y)], first)
                    rows += len(y)
                    yield Block(longer, y, first, block.read)
            yield PassEnd(rows)

    def blocks(self) -> Iterator[RowBlock | None]:
        """Yield the blocks of a pass. With a shared reader, None says that the next block has not been read yet."""
        if self.subscription is None:
            yield from self.shuffled.blocks()
            return
        while True:
            try:
                block = self.subscription.next(self.waits)
            except NotReadyError:
                yield None
                continue
            if block is None:
                return
            yield block

    def end_pass(self, end: PassEnd) -> None:
        """Finish a pass: compute the certificate of the offered point, and decide whether other threads parse ahead."""
        now = time.perf_counter()
        if self.idle > STARVED * (now - self.pass_began):
            self.shuffled.helpers = self.parsers
        self.idle, self.pass_began = 0.0, now
        self.passes += 1
        self.sides.check_both()
        if end.rows != self.n:
            raise self.changed()
        self.answer = self.certified_now()

    def changed(self) -> FileError:
        """Return the error for a pass whose number of rows differs from the first pass."""
        return FileError(
            f"{self.source.name}: had {self.n} rows in the first pass and has another number now: start again"
        )

    # Certificates

    def offer(self, point: Point) -> Stream:
        """Offer a point, which the next pass certifies. Before any row has been read the point is w = 0."""
        assert self.state is not None
        assert point.w is not None
        self.answer, d = None, self.state.d
        if self.state.n:
            self.point[:d] = point.w
            tried = point.b
            if self.bias == "free" and self.offered is not None and not self.offered.at_an_end:
                tried = self.offered.b
            self.offered = StreamedCertificate(self.described, self.point[:d], tried, self.width, self.sums[:d])
        if self.reader is not None:
            self.reader.go_on()
        return self

    def certified(self) -> Certified | None:
        """Return the certified point, or None before its pass has ended."""
        return self.answer

    def certified_now(self) -> Certified:
        """Return the point certified by the pass that has just ended."""
        assert self.state is not None
        d, alpha = self.state.d, self.state.frozen[: self.state.n]
        if self.offered is None:
            losses = self.described.C * self.n * float(self.described.loss.value(np.zeros(1))[0])
            return Certified(
                self.point[:d], 0.0, alpha, Certificate(losses * (1.0 + gamma(LOSS)), 0.0, gamma(LOSS) * losses)
            )
        self.proved = True
        self.width = self.width / NARROWER if self.offered.at_an_end else max(self.width * NARROWER, NARROWEST)
        self.b, found = self.offered.b, self.offered.certificate()
        if np.isnan(found.primal) or np.isnan(found.dual):  # after an overflow there is no bound
            found = Certificate(np.inf, -np.inf)
        return Certified(self.point[:d], self.b, alpha, found)

    def kept_aside(self, found: Certified) -> Certified:
        """Return the point with its w saved to a file, since the next offered point overwrites the vector."""
        self.kept.put(found.w)
        return replace(found, w=NOTHING, alpha=NOTHING)

    def best_of(self, best: Certified | None, w: np.ndarray, b: float, tol: float) -> Certified:
        """Return the best point if a pass has certified one; else the current point of the solver without a bound.

        The memory of the other vectors is released first.
        """
        alpha = NOTHING if self.state is None else self.state.frozen[: self.state.n]
        release(self.point, 0)
        release(self.sums, 0)
        if best is not None and (self.proved or best.certificate.meets(tol)):
            release(w, 0)
            return replace(best, w=self.kept.take(), alpha=alpha)
        dual = 0.0 if best is None else max(best.certificate.dual, 0.0)
        return Certified(w, b, alpha, Certificate(np.inf, dual))
