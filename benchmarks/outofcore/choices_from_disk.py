"""Whether auto chooses well for files that do not fit in memory: its time beside the other solvers from disk.

    python benchmarks/outofcore/choices_from_disk.py [--names a9a,...] [--losses hinge,...] [--C 0.1,10]
                                                     [--data FOLDER] [--write FILE.md]

Plain text files, bias free, tolerance 1e-3, a memory limit of a tenth of the file or the least that works.
`auto` runs twice and its best time counts. Every other solver then gets twice as long: one that is certified within
that time is measured, one that is not counts as slower. Runs of `auto` end after LIMIT seconds. The estimates were
fitted to the data of the group `tuned`; those of the group `held back` were only measured. Of the largest files two
problems are measured: hinge and squared hinge, C = 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from raw import unpacked
from report import DATA, found, heading, publish, table

import maxmargin
from maxmargin.system.budget import LEAST

LARGE = ("covtype.binary", "covtype.binary.scale", "mnist", "covtype.multiclass")
TUNED = ("a9a", "ijcnn1.t", "20news.binary", "letter.scale", "higgs_7000", "w8a", "madelon.all", "usps", *LARGE)
HELD_BACK = (
    "ijcnn1", "splice", "dna.scale", "kddcup99_10pct.scale", "reuters_money-fx", "20news_bigram.binary", "20news",
    "mnist.t", "news20.multiclass",
)  # fmt: skip
RIVALS = {
    "cached_loops": {"go_on": False}, "second_order": None, "interior_point": None, "newton": None, "lbfgs": None,
    "cocoa": None,
}  # fmt: skip
LARGE_BYTES = 1.5e6  # of the compressed file
LIMIT = 30.0
HOPELESS = 0.9  # relative gap after five seconds
HEADS = [
    "data", "group", "loss", "C", "memory, MB", "auto takes", "seconds", "passes", "gap", "fastest other",
    "its seconds", "auto / best", "others, s",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", default=",".join([*HELD_BACK, *TUNED]))
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--C", default="0.1,10")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write")
    options = parser.parse_args()
    rows, ratios = [], dict[str, list[float]]()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names.split(","):
            if (source := found(name, options.data)) is None:
                print(f"{name}: not in {options.data}, left out", file=sys.stderr)
                continue
            path = unpacked(source, Path(folder) / name, name)
            losses, Cs = options.losses.split(","), options.C.split(",")
            for loss, C in product(losses[:2], ["1"]) if source.stat().st_size > LARGE_BYTES else product(losses, Cs):
                cells, ratio = choice(path, {"loss": loss, "C": float(C), "tol": 1e-3})
                rows.append([name, group(name), loss, C, *cells])
                ratios.setdefault(group(name), []).append(ratio)
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
                if options.write:  # what is measured so far is kept if the run is interrupted
                    Path(options.write).write_text(report(rows, ratios))
            path.unlink()
    publish(report(rows, ratios), options.write)


def report(rows: list[list[str]], ratios: dict[str, list[float]]) -> str:
    """Return the page."""
    command = " ".join(["python benchmarks/outofcore/choices_from_disk.py", *sys.argv[1:]])
    summary = [
        [name, str(len(one)), f"{np.exp(np.mean(np.log(one))):.2f}", f"{max(one):.2f}", str(sum(r <= 2.0 for r in one))]
        for name, one in ratios.items()
    ]
    text = heading("Choices for files larger than memory", command) + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n"
    text += table(["group", "problems", "geometric mean", "largest", "within 2"], summary)
    return text + "\n" + table(HEADS, rows)


def group(name: str) -> str:
    """Return whether the estimates were fitted to these data."""
    return "tuned" if name in TUNED else "held back"


def choice(path: Path, same: dict) -> tuple[list[str], float]:
    """Measure auto and the other solvers."""
    memory, _ = smallest(path, same)
    train(path, memory, "auto", same, LIMIT)
    seconds, result = min((timed(path, memory, "auto", same, LIMIT) for _ in range(2)), key=lambda one: one[0])
    gap, done = result.certificate.relative_gap, result.status is maxmargin.Status.CONVERGED
    took = "+".join(dict.fromkeys(name for part in result.parts for name in (part.solvers or (result.solver,))))
    others = {name: rival(path, memory, name, same, 2.0 * seconds) for name in RIVALS}
    fastest = min(others, key=lambda name: others[name])
    ratio = max(seconds / others[fastest], 1.0) if done else np.inf if others[fastest] < np.inf else 1.0
    shown = ", ".join(f"{name} {one:.2f}" for name, one in others.items() if one < np.inf)
    best = [fastest, f"{others[fastest]:.2f}"] if others[fastest] < np.inf else ["none", ""]
    passes = str(result.model.training.get("passes", ""))
    cells = [f"{memory / 1e6:.1f}", took, f"{seconds:.2f}", passes, f"{gap:.1e}", *best, f"{ratio:.2f}", shown]
    return cells, ratio


def smallest(path: Path, same: dict) -> tuple[int, maxmargin.Result]:
    """Return the memory limit, and the first result with it: the least that is accepted and leads somewhere."""
    memory = max(path.stat().st_size // 10, LEAST)
    while True:
        try:
            result = train(path, memory, "auto", same, 5.0)
            if result.certificate.relative_gap < HOPELESS or memory > 4 * LEAST:
                return memory, result
        except maxmargin.ParameterError:
            pass
        memory = int(1.25 * memory)


def train(path: Path, memory: int, solver: str, same: dict, limit: float) -> maxmargin.Result:
    """Train from disk."""
    options = RIVALS.get(solver)
    return maxmargin.train(path, solver=solver, memory=memory, options=options, max_seconds=limit, **same)


def timed(path: Path, memory: int, solver: str, same: dict, limit: float) -> tuple[float, maxmargin.Result]:
    """Train from disk, and return the seconds with the result."""
    began = time.perf_counter()
    result = train(path, memory, solver, same, limit)
    return time.perf_counter() - began, result


def rival(path: Path, memory: int, solver: str, same: dict, limit: float) -> float:
    """Return the seconds of another solver; ∞ if it refuses, or is not certified within the limit."""
    try:
        train(path, memory, solver, same, 0.2)
        seconds, result = timed(path, memory, solver, same, limit)
    except (maxmargin.RefusedError, maxmargin.ParameterError, maxmargin.DataError):
        return np.inf
    return seconds if result.status is maxmargin.Status.CONVERGED else np.inf


if __name__ == "__main__":
    main()
