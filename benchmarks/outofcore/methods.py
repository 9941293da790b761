"""One way to train on one shape, in this process: `run.py` starts it, and reads its memory from outside.

    python benchmarks/outofcore/methods.py DATA METHOD [options of run.py]

It compiles on a few rows, says that it is ready, trains with the page cache dropped before and between passes, and
prints a line of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack
from shapes import Shape, options_of, shape

import maxmargin
from maxmargin.data.expand import find_expansion
from maxmargin.data.files import COPIES, Files
from maxmargin.data.open_source import files_of
from maxmargin.problems.losses import find_loss
from maxmargin.problems.stream import PIECES
from maxmargin.problems.streamed import Streamed
from maxmargin.system.budget import Budget
from maxmargin.system.buffers import tidy

OURS = ("cached_loops", "cached_loops random", "block_minimization", "selective_blocks")
BESIDE = ("in memory", "reading", "Vowpal Wabbit")
SETTINGS = {"bias": "none", "tol": 1e-3}
LEAST = 5_000_000  # bytes of memory
REHEARSAL = 5.0  # seconds
ALL = 17_000_000_000  # bytes: so much is at hand for training in memory, whose rows must fit four times
VW_PASSES = (1, 2, 4, 8, 16)


def main() -> None:
    options = options_of(__doc__, "data", "method")
    given = shape(options.data, options.folder, options.real, options.scale)
    ways = {"in memory": in_memory, "reading": reading, "Vowpal Wabbit": vowpal_wabbit}
    found = ways.get(options.method, out_of_core)(given, options)
    print(json.dumps({"bytes": given.size, **found}), flush=True)


def memory_for(given: Shape, options) -> int:
    return max(int(given.size / options.part), LEAST)


def out_of_core(given: Shape, options) -> dict:
    """One of our methods, its history the value of each point at the time when it was reached."""
    solver, _, evict = options.method.partition(" ")
    settings = {**SETTINGS, **given.options, "solver": solver, "options": {"evict": evict} if evict else {}}
    memory = memory_for(given, options)
    warm_up(given, settings)
    seen = [0]

    def watch(record) -> None:
        if record.reading.passes != seen[0]:
            seen[0] = record.reading.passes
            drop(given)

    ready(given)
    result = maxmargin.train(given.X, given.y, memory=memory, max_seconds=options.limit, callback=watch, **settings)
    training = result.model.training
    return {
        "memory": memory, "status": result.status.name, "seconds": result.seconds, "splitting": training["splitting"],
        "passes": training["passes"], "primal": result.certificate.primal, "dual": result.certificate.dual,
        "n": training["n"], "d": training["d"], "history": values(result.history, training["splitting"]),
    }  # fmt: skip


def values(history, splitting: float) -> list[tuple[float, float]]:
    """(seconds, objective): a pass certifies the point that was there when it began."""
    starts = [0.0, *(record.seconds for record in history)]
    return [(splitting + start, record.certificate.primal) for start, record in zip(starts, history, strict=False)]


def in_memory(given: Shape, options) -> dict:
    """All rows in memory, and the solver that `auto` takes there: it depends on the rows, so it compiles on all."""
    if COPIES * grown(given) * given.size > ALL:
        return {"left out": "does not fit in memory"}
    settings = {"memory": ALL, **SETTINGS, **given.options}
    maxmargin.train(given.X, given.y, max_seconds=REHEARSAL, **settings)
    ready(given)
    began = time.perf_counter()
    result = maxmargin.train(given.X, given.y, max_seconds=options.limit, **settings)
    both = time.perf_counter() - began
    return {
        "status": result.status.name, "seconds": result.seconds, "with reading": both, "solver": result.solver,
        "primal": result.certificate.primal, "dual": result.certificate.dual,
    }  # fmt: skip


def reading(given: Shape, options) -> dict:
    """A pass over the file as a training reads it, and nothing else."""
    expansion, budget = find_expansion(given.options.get("expand")), Budget(memory_for(given, options))
    source = Files(given.X, given.y, memory=budget, expansion=expansion, threads=2).source
    passing = Streamed(source, 1.0, find_loss("hinge"), "none", expansion=expansion)

    def parts_of(block) -> list[int]:
        return [part.stop - part.start for part, _ in passing.parts(block.rows, PIECES * budget.block)]

    parts_of(next(source.blocks()))
    ready(given)
    began = time.perf_counter()
    rows = sum(sum(parts_of(block)) for block in source.blocks())
    return {"seconds": time.perf_counter() - began, "n": rows}


def vowpal_wabbit(given: Shape, options) -> dict:
    """Its SGD from its cache file, made in the first pass: objective against time, for more and more passes."""
    from vowpalwabbit import Workspace

    if given.y is not None or given.options:
        return {"left out": "it reads text"}
    history = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        text, model = Path(folder) / "rows", Path(folder) / "model"
        n, d = write_vw(given, text)
        common = f"-d {text} --cache_file {text}.cache -k --quiet --noconstant --holdout_off -b {d.bit_length()}"
        how = f"--loss_function hinge --sgd --l2 {1.0 / n} --predict_only_model --readable_model {model}"
        ready(given)
        for passes in VW_PASSES:
            drop(given)
            began = time.perf_counter()
            done = Workspace(f"{common} {how} --passes {passes}")
            seconds = time.perf_counter() - began
            done.finish()
            history.append((seconds, objective(given, weights_of(model, d))))
            if seconds > 0.5 * options.limit:
                break
    return {"seconds": history[-1][0], "passes": passes, "primal": min(value for _, value in history),
            "history": history}  # fmt: skip


def write_vw(given: Shape, to: Path) -> tuple[int, int]:
    """The same rows in its form; how many, and the largest index."""
    n = d = 0
    with to.open("wb") as out:
        for path in files_of(given.X):
            with path.open("rb") as lines:
                for line in lines:
                    label, _, rest = line.partition(b" ")
                    sign = b"1" if float(label) > 0.0 else b"-1"
                    out.write(sign + b" | " + rest)
                    n += 1
                    if rest.strip():
                        d = max(d, int(rest.rsplit(b" ", 1)[-1].split(b":")[0]))
    return n, d + 1


def weights_of(model: Path, d: int) -> np.ndarray:
    """The pairs index:weight that end the readable model."""
    w = np.zeros(d)
    with model.open() as lines:
        for line in lines:
            j, colon, value = line.partition(":")
            if colon and j.isdigit():
                w[int(j)] = float(value)
    return w[1:]


def objective(given: Shape, w: np.ndarray) -> float:
    """P(w) for C = 1 and hinge."""
    total = 0.5 * float(w @ w)
    for block in Files(given.X).source.blocks():
        X = block.rows
        f = np.add.reduceat(np.append(X.values * w[X.indices], 0.0), X.indptr[:-1]) * (np.diff(X.indptr) > 0)
        y = np.where(block.labels > 0, 1.0, -1.0)
        total += float(np.sum(np.maximum(0.0, 1.0 - y * f)))
    return total


def grown(given: Shape) -> float:
    """How much larger rows become in memory."""
    return Files(given.X, given.y, expansion=find_expansion(given.options.get("expand"))).growth()


def warm_up(given: Shape, settings: dict) -> None:
    """Compile on rows of the same kind, so many that they do not fit in memory: all that training needs is loaded."""
    expansion = find_expansion(settings.get("expand"))
    block = next(Files(given.X, given.y, expansion=expansion).source.blocks())
    copies = 2 + 2 * LEAST // max(block.rows.values.nbytes, 1)
    labels = np.where(np.arange(copies * len(block.labels)) % 2, 1, -1)
    with tempfile.TemporaryDirectory() as folder:
        if given.y is not None:
            path = Path(folder) / "X.npy"
            np.save(path, np.tile(block.rows.values, (copies, 1)))
        elif expansion:
            path = Path(folder) / "X.txt"
            path.write_text("".join(f"{label} ACGTACGTTGCAACGT\n" for label in labels))
        else:
            path = Path(folder) / "X.svm"
            maxmargin.write(path, vstack([narrow(block.rows)] * copies, format="csr"), labels)
        y = labels if given.y is not None else None
        maxmargin.train(path, y, memory=3 * LEAST, max_seconds=5, **settings)


def narrow(rows):
    """A matrix of the same kind with few features, so that it takes little memory."""
    X = csr_array((rows.values, rows.indices % 1000, rows.indptr), (len(rows.indptr) - 1, 1000))
    X.sum_duplicates()
    return X


def ready(given: Shape) -> None:
    """Say so, and wait until whoever watches has seen it; what the rehearsal has left behind is given back first."""
    drop(given)
    gc.collect()
    tidy()
    print("ready", flush=True)
    time.sleep(0.5)


def drop(given: Shape) -> None:
    """Take the files out of the page cache, and the blocks that were made of them."""
    for path in [*files_of(given.X), *Path(tempfile.gettempdir()).glob("maxmargin-*/blocks.arrow")]:
        drop_file(path)


def drop_file(path: Path) -> None:
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    sys.exit(main())
