"""The loop of a training whose rows pass by: passes over a file, each with a certificate that rides on it.

Free-running, a reader thread reads, parses and adds up the certificate of the frozen point, and hands blocks of rows to
the trainer, which is this thread and waits only where it has nothing to do that is worth it. Where it is without rows
for long, others parse ahead of the reader. With one thread all take turns by a fixed rule, and the same seed gives the
same bits.

What a pass ends with: the certificate of the point that was frozen when it began. Then the loop decides whether to go
on, writes the checkpoint, freezes where the trainer stands now, and lets the next pass begin.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from maxmargin.data.far_columns import Shift
from maxmargin.data.reader import Block, InlineReader, PassEnd, ReaderThread
from maxmargin.data.rows import count_columns, count_stored
from maxmargin.data.source import Place, RowBlock
from maxmargin.errors import FileError, ParameterError
from maxmargin.loop.checkpoint import check_identity, check_own, recall, refusing
from maxmargin.loop.checkpoint_checks import check_passes
from maxmargin.loop.clock import Clock
from maxmargin.loop.record import Reading, Record
from maxmargin.loop.saving import Keeping, Saving
from maxmargin.loop.solve import Callback, Outcome
from maxmargin.loop.stopping import Limits, hopeless, progressed
from maxmargin.problems.certificate import Certificate, joined
from maxmargin.problems.streamed import NARROWER, WIDTH, Streamed, StreamedCertificate, TwoSides, find_shift
from maxmargin.solvers.streaming.dual_variables import POSITIVE
from maxmargin.solvers.streaming.row_cache import RowTooLongError
from maxmargin.solvers.streaming.state import Method, StreamState
from maxmargin.status import Status
from maxmargin.system.budget import Budget, shown_size
from maxmargin.system.buffers import release, reserved, tidy
from maxmargin.system.overwriting import holds_something
from maxmargin.system.rounding import LOSS, gamma
from maxmargin.system.spill_file import SpillFile
from maxmargin.system.tensor_file import read_tensors, write_tensors
from maxmargin.system.threads import in_order

KIND = "checkpoint of passes"
SHOWN_SECONDS = 0.5  # between two looks at how it is going
PATIENCE = 24  # passes without progress
STARVED = 0.25  # of a pass
AHEAD = 3  # blocks for which the system is asked
MANY_STEPS = 1 << 20  # more dual steps than a trainer takes at once
PIECES = 0.25  # values of longer rows at a time, for each byte of a block


@dataclass(eq=False)
class StreamedOutcome(Outcome):
    """Where a training ended: also the labels it met, how many passes it took, which examples are positive, and d."""

    sides: TwoSides = field(kw_only=True)
    passes: int = field(kw_only=True)
    marks: np.ndarray = field(repr=False, kw_only=True)
    d: int = field(kw_only=True)
    nnz: int = field(kw_only=True)
    input_d: int = field(kw_only=True)
    shift: Shift | None = field(kw_only=True)


class StreamingRun:
    """One training: the state, the reader and the trainer."""

    def __init__(
        self,
        problem: Streamed,
        method: Method,
        limits: Limits,
        budget: Budget,
        *,
        threads: int,
        seed: int,
        sides: TwoSides,
        callback: Callback | None,
        interrupt: Event,
        keeping: Keeping,
    ) -> None:
        self.problem, self.limits, self.budget, self.sides = problem, limits, budget, sides
        self.callback, self.interrupt, self.keeping = callback, interrupt, keeping
        self.identity = run_identity(problem, sides, method, seed)
        self.state = StreamState(problem, budget)
        self.trainer = method.trainer(self.state, np.random.default_rng(seed))
        self.shuffles, self.places = np.random.default_rng([seed, 1]), list[Place]()
        self.inline = threads == 1 or method.reads_blocks
        self.helpers, self.parsers = 0, 0 if self.inline else budget.parsers(threads)
        self.ride: StreamedCertificate | None = None
        self.point, self.sums = (reserved(budget.total // 8, np.float64, budget.huge) for _ in range(2))
        self.kept = SpillFile()
        self.point_b, self.kept_b, self.width = 0.0, 0.0, WIDTH
        self.best = Certificate(np.inf, 0.0)
        self.history: list[Record] = []
        self.passes = self.read = self.stale = 0
        self.clock, self.saving = Clock(), Saving(keeping.checkpoint)
        self.idle, self.pass_began = 0.0, self.clock.started
        self.shown = self.clock.started
        self.counted = (self.shown, 0)
        self.nnz = self.input_d = 0
        self.proved = False  # whether a pass has certified a point of this training
        self.exact = False  # whether the frozen α is the one with the best bound
        self.rate = 0.0

    @property
    def epochs(self) -> float:
        """Dual steps, in examples."""
        return self.state.visited / max(self.state.n, 1)

    @property
    def most(self) -> float:
        """How many values of longer rows are made at a time."""
        return PIECES * self.budget.block

    def go(self) -> StreamedOutcome:
        """Read and train until there is a reason to stop."""
        check_keeping(self.keeping, self.identity)
        if self.keeping.checkpoint and self.keeping.resume and holds_something(self.keeping.checkpoint):
            self.restore(self.keeping.checkpoint)
        elif self.problem.shift is None:
            self.problem = replace(self.problem, shift=find_shift(self.problem, self.most, self.end_asked))
            tidy()  # the reader thread takes memory of its own
            self.pass_began = time.perf_counter()
        reader = InlineReader(self.pass_over) if self.inline else ReaderThread(self.pass_over)
        status = Status.CONVERGED if self.best.meets(self.limits.tol) else None
        with closing(self.kept):
            with reader:
                while status is None:
                    status = self.turn(reader)
            return self.finish(status)

    def turn(self, reader: InlineReader | ReaderThread) -> Status | None:
        """Take what the reader has brought, work a little, look whether to stop."""
        before = time.perf_counter()
        brought = reader.bring(wait=not self.trainer.busy or self.steps_left() == 0)
        if brought is None and not self.inline:
            self.trainer.work(self.steps_left())
        self.idle += time.perf_counter() - before
        if isinstance(brought, PassEnd):
            if status := self.end_pass(brought):
                return status
            reader.go_on()
        elif brought is not None:
            self.take_in(brought)
            steps, left = self.trainer.steps_for(len(brought.y)), self.steps_left()
            self.trainer.work(steps if left is None else min(steps, left))
        self.state.relax(len(brought.y) if isinstance(brought, Block) else 0)
        return self.end_asked() or self.look()

    def take_in(self, brought: Block) -> None:
        """Hand rows to the trainer."""
        if self.state.bias_curvature == 0.0 and self.state.expected == 0.0:
            self.state.expect(brought.rows, brought.read / max(self.problem.source.size, brought.read, 1))
        self.state.meet(brought.rows, brought.first)
        if self.passes == 0:
            self.nnz += count_stored(brought.rows)
        self.read = brought.read
        left = self.steps_left()
        if self.passes and left is not None and left < len(brought.y):
            return  # the rows are for the certificate alone
        try:
            self.trainer.take_in(brought.rows, brought.y, brought.first)
        except RowTooLongError as error:
            enough = self.budget.least(max(self.state.n, self.state.expected), self.state.d, error.size)
            raise ParameterError(f"{self.problem.source.name}: {error} to {shown_size(enough)} or more") from error

    def steps_left(self) -> int | None:
        """How many dual steps the epoch limit leaves; None while it leaves more than are taken at once."""
        limit = self.limits.max_epochs
        if limit is None or limit * self.state.n - self.state.visited > MANY_STEPS:
            return None
        return max(int(limit * self.state.n) - self.state.visited, 0)

    def pass_over(self) -> Generator[Block | PassEnd]:
        """The reader's side: every pass, block by block, with the sums of the certificate on the way."""
        while True:
            rows, ride = 0, self.ride
            for block in self.blocks():
                signs = self.sides.signs(block.labels, block.first)
                self.input_d = max(self.input_d, count_columns(block.rows))
                for part, longer in self.problem.parts(block.rows, self.most):
                    first, y = block.first + part.start, signs[part]
                    if ride is not None:
                        if first + len(y) > self.state.n:
                            raise changed(self.problem, self.state.n)
                        ride.add(longer, y, self.state.frozen[first : first + len(y)], first)
                    rows += len(y)
                    yield Block(longer, y, first, block.read)
            yield PassEnd(rows)

    def blocks(self) -> Iterator[RowBlock]:
        """A pass: blocks in a random order, new each time, where the file allows it and they are known already."""
        source = self.problem.source
        places = self.places or source.places
        if places is not None and source.any_order:
            source.check()
            order = [places[number] for number in self.shuffles.permutation(len(places))]
            with closing(in_order(source.block_at, self.expected(order), self.helpers)) as found:
                for done, (_, block) in enumerate(found, 1):
                    yield block._replace(read=source.size * done // len(places))
            source.check()
            return
        places = []
        for block in source.blocks():
            places.append(block.place)
            yield block
        self.places = places

    def expected(self, order: list[Place]) -> Iterator[Place]:
        """Places in their order; the system is asked for the bytes of those that come soon."""
        for number, place in enumerate(order):
            for soon in order[number + AHEAD : number + AHEAD + 1]:
                self.problem.source.expect(soon)
            yield place

    def end_pass(self, end: PassEnd) -> Status | None:
        """A certificate, and what follows from it; then freeze for the next pass."""
        self.get_help()
        self.passes += 1
        self.trainer.end_pass()
        self.sides.check_both()
        if end.rows != self.state.n:
            raise changed(self.problem, self.state.n)
        certificate = self.certified()
        self.proved = self.ride is not None
        before, self.best = self.best, self.better(certificate)
        self.stale = 0 if self.passes <= 2 or progressed(before, self.best) else self.stale + 1
        self.history.append(self.record(certificate))
        if self.callback and self.callback(self.history[-1]):
            return Status.INTERRUPTED
        if self.best.meets(self.limits.tol):
            return Status.CONVERGED
        if self.stale >= PATIENCE:
            return Status.ROUNDING if hopeless(self.best, self.limits.tol) else Status.STALLED
        limit = self.limits.max_epochs
        if limit is not None and self.epochs >= limit and self.proved:
            return Status.EPOCH_LIMIT
        self.freeze()
        if self.saving.due:
            self.save()
        return None

    def get_help(self) -> None:
        """Let others parse from now on, if the trainer was without rows for much of this pass."""
        now = time.perf_counter()
        if self.idle > STARVED * (now - self.pass_began):
            self.helpers = self.parsers
        self.idle, self.pass_began = 0.0, now

    def certified(self) -> Certificate:
        """Of the point that was frozen when the pass began; before the first that was w = 0."""
        if self.ride is None:
            losses = self.problem.C * self.state.n * float(self.problem.loss.value(np.zeros(1))[0])
            return Certificate(losses * (1.0 + gamma(LOSS)), 0.0, gamma(LOSS) * losses)
        self.state.correct(self.sums[: self.state.d], self.point[: self.state.d])
        self.width = self.width / NARROWER if self.ride.at_an_end else max(self.width * NARROWER, 1e-12)
        self.point_b = self.ride.b
        return self.ride.certificate()

    def better(self, certificate: Certificate) -> Certificate:
        """The lower primal, whose point is kept, and the higher dual."""
        best = self.best
        if certificate.primal < best.primal:
            self.kept.put(self.point[: self.state.d])
            self.kept_b = self.point_b
            best = joined(certificate, best)
        self.exact = certificate.dual >= best.dual
        return joined(best, certificate) if self.exact else best

    def freeze(self) -> None:
        """The point and the α that the next pass will certify."""
        state, self.exact = self.state, False
        self.trainer.write_back()
        state.freeze()
        self.point[: state.d] = state.w
        b = self.ride.b if self.ride is not None and not self.ride.at_an_end else state.b
        tried = b if self.problem.bias == "free" and self.ride is not None else state.b
        self.ride = StreamedCertificate(self.problem, self.point[: state.d], tried, self.width, self.sums[: state.d])

    def end_asked(self) -> Status | None:
        """An interrupt, or the time limit."""
        limits = replace(self.limits, max_epochs=None)  # which ends it at the end of a pass
        return limits.reached(self.clock.since_start, self.epochs, self.interrupt)

    def look(self) -> Status | None:
        """Show how it is going, now and then."""
        now = time.perf_counter()
        if now - self.shown < SHOWN_SECONDS:
            return None
        then, steps = self.counted
        self.rate = (self.state.visited - steps) / max(now - then, 1e-9)
        self.counted, self.shown = (now, self.state.visited), now
        if self.passes and self.saving.due:
            self.save()
        last = self.history[-1].certificate if self.history else self.best
        if self.callback and self.callback(self.record(last)):
            return Status.INTERRUPTED
        return None

    def record(self, certificate: Certificate) -> Record:
        """A line for whoever watches."""
        reading = Reading(
            self.read, self.problem.source.size, self.passes, self.trainer.fill, self.trainer.evicted, self.rate
        )
        return Record(self.problem.name, self.epochs, self.clock.seconds, certificate, self.best, reading=reading)

    def finish(self, status: Status) -> StreamedOutcome:
        """The best point, if a pass has proved one; else where the trainer stands, with nothing proved of it."""
        self.trainer.write_back()
        if self.keeping.checkpoint and self.passes:
            self.save()
        state = self.state
        if not self.exact:
            state.freeze()
        proved = self.proved or self.best.meets(self.limits.tol)
        w, b = self.weights(proved), self.kept_b if proved else state.b
        certificate = self.best if proved else Certificate(np.inf, max(self.best.dual, 0.0))
        return StreamedOutcome(
            w, b, state.frozen[: state.n], certificate, status, self.epochs, self.clock.seconds, self.history,
            sides=self.sides, passes=self.passes, marks=state.marks[: state.n], d=state.d, nnz=self.nnz,
            input_d=self.input_d, shift=self.problem.shift,
        )  # fmt: skip

    def weights(self, proved: bool) -> np.ndarray:
        """The best w, or where the trainer stands; the memory of the others is given back first."""
        vectors = [self.point, self.sums, self.state.all_w]
        for vector in vectors if proved else vectors[:2]:
            release(vector, 0)
        return self.kept.take() if proved else self.state.w

    def save(self) -> None:
        """Write the checkpoint."""
        self.trainer.write_back()
        state = self.state
        state.spell_out()
        n = state.n
        tensors = {"w": state.w, "alpha": state.alphas[:n], "marks": state.marks[:n]}
        if self.problem.shift is not None:
            tensors |= {"shifted": self.problem.shift.columns, "centre": self.problem.shift.values}
        metadata = {
            "identity": self.identity, "b": state.b, "bias_curvature": state.bias_curvature, "visited": state.visited,
            "width": self.width,
            "nnz": self.nnz, "input_d": self.input_d, "passes": self.passes, "seconds": self.clock.seconds,
            "seen": self.sides.seen,
            "history": [asdict(record) for record in self.history],
        }  # fmt: skip
        self.saving.save(lambda path: write_tensors(path, KIND, tensors, metadata))

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint, if it is of this training; what it had proved is proved anew by the next pass."""
        tensors, metadata = read_tensors(path, KIND)
        with refusing(path):
            check_identity(path, metadata["identity"], self.identity)
            history = [recall(record) for record in metadata["history"]]
            alpha, w, marks = tensors["alpha"], tensors["w"], tensors["marks"]
            check_passes(tensors, metadata, float(self.state.term.U[0]))
            if not self.problem.features(metadata["input_d"]) <= len(w) <= len(self.state.all_w):
                raise ValueError(f"w has {len(w)} entries")
            if "shifted" in tensors and self.problem.bias != "free":
                raise ValueError(f"it shifts columns, which bias={self.problem.bias!r} does not allow")
            self.sides.restore(metadata["seen"])
        shift = Shift(tensors["shifted"], tensors["centre"]) if "shifted" in tensors else None
        self.problem = replace(self.problem, shift=shift)
        state = self.state
        state.n, state.d, state.expected = len(alpha), len(w), float(len(alpha))
        state.room_for_rows()
        state.make_room(state.n)
        state.all_w[: state.d] = w
        state.alphas[: state.n], state.marks[: state.n] = alpha, marks & POSITIVE
        state.b, state.bias_curvature, state.visited = metadata["b"], metadata["bias_curvature"], metadata["visited"]
        self.width = metadata["width"]
        self.passes, self.clock = metadata["passes"], Clock(metadata["seconds"])
        self.nnz, self.input_d = metadata["nnz"], metadata["input_d"]
        self.history = history
        self.freeze()  # which adds up Σ αy anew


def changed(problem: Streamed, n: int) -> FileError:
    """A pass with more rows than the first, or fewer."""
    return FileError(f"{problem.source.name}: had {n} rows in the first pass and has another number now: start again")


def run_identity(problem: Streamed, sides: TwoSides, method: Method, seed: int) -> dict[str, Any]:
    """What makes this training this training."""
    return {
        "file": problem.identity, "loss": problem.loss.name, "C": problem.C, "bias": problem.bias,
        "bias_scale": problem.bias_scale, "positive": sides.positive,
        "expand": problem.expansion.text if problem.expansion else None, "solver": repr(method), "seed": seed,
    }  # fmt: skip


def check_keeping(keeping: Keeping, identity: dict[str, Any]) -> None:
    """Refuse to replace anything but a checkpoint of this training."""
    if keeping.checkpoint and not keeping.force:
        check_own(keeping.checkpoint, KIND, identity)
