"""Kernel training beside its peers: the time until the objective is as good as LIBSVM's at its own tolerance.

    python benchmarks/kernel/run.py [--data FOLDER] [--names a,b] [--C 1,100] [--gammas 1,10] [--contenders a,b]
                                    [--limit SECONDS] [--write FILE.md] [--afresh]

The kernel is Gaussian with γ = 1/d, times what --gammas says. Every contender runs in a process of its own, one after
the other, and is killed if a fit takes longer than the limit; loading, compiling and importing are off the clock. A fit
that takes less than two seconds is repeated twice and its best time kept. Peers are run at their own tolerance,
maxmargin from 1e-3 to 1e-6. Then the primal objective of every model is computed by the same code in float64, summed
over pairs of classes, test rows are predicted, and the most memory that the fit took beyond what there was before is
noted.

The runs go to FILE.jsonl; start the same command again and it goes on where it stopped. Without --write nothing is
kept.
"""

from __future__ import annotations

import argparse
import datetime
import json
import signal
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import tables
from contenders import CONTENDERS, OURS
from datasets import SETS, load
from report import DATA, append, found

LOADING = 60.0
SHORT = 2.0
WARMING = (600, 3500)  # rows to warm up with: so many that ours compiles what it has for more than small data


def main() -> None:
    options = given()
    if options.one:
        one(options, *options.one)
        return
    written = Path(options.write or Path(tempfile.mkdtemp()) / "kernel.md")
    kept = written.with_suffix(".jsonl")
    if options.afresh:
        kept.unlink(missing_ok=True)
    done = {(*tables.task_of(run), run["contender"]) for run in tables.read(kept)}
    names = [name for name in options.names.split(",") if name == "flipped" or found(SETS[name].file, options.data)]
    for task in product(names, options.C.split(","), options.gammas.split(",")):
        for who in options.contenders.split(","):
            if (*task, who) not in done:
                append(kept, in_own_process(options, task, who))
    tables.write(kept, written, " ".join(["python benchmarks/kernel/run.py", *sys.argv[1:]]))


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default=",".join(SETS))
    parser.add_argument("--C", default="1,100")
    parser.add_argument("--gammas", default="1,10")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--write")
    parser.add_argument("--afresh", action="store_true")
    parser.add_argument("--one", nargs=4, metavar=("DATA", "C", "GAMMA", "CONTENDER"), help=argparse.SUPPRESS)
    return parser.parse_args()


def in_own_process(options, task: tuple[str, str, str], who: str) -> list[dict]:
    """What the contender printed before its end, or before it was killed; if nothing, why."""
    same = ["--data", str(options.data), "--limit", str(options.limit)]
    command = [sys.executable, __file__, *same, "--one", *task, who]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5 * options.limit + LOADING, check=False)
        killed = done.returncode == -signal.SIGALRM
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        output, failure = done.stdout, "killed at the limit" if killed else said[-1]
    except subprocess.TimeoutExpired as late:
        output, failure = (late.stdout or b"").decode(), "killed long after the limit"
    runs = [json.loads(line) for line in output.splitlines() if line.startswith("{")] or [{"failure": failure}]
    label = dict(zip(("data", "C", "gamma", "contender"), (*task, who), strict=True))
    today = datetime.date.today().isoformat()
    for run in runs:
        shown = {name: value for name, value in run.items() if name != "predictions"}
        print(*task, who, shown, file=sys.stderr, flush=True)
    return [{**label, **run, "limit": options.limit, "date": today} for run in runs]


def one(options, name: str, C: str, gamma: str, who: str) -> None:
    """One contender on one task: a line of JSON for each tolerance."""
    X, y, test, right = load(name, options.data)
    contender, width = CONTENDERS[who], float(gamma) / X.shape[1]
    few = np.unique(np.linspace(0, len(y) - 1, min(len(y), WARMING[who == OURS])).astype(int))
    warm = contender.fit(X[few], y[few], 1.0, width, 1e-3, options.limit)
    contender.predict(warm, test[:100])
    for tol in contender.tolerances:
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the highest mark begins anew
        seconds, fitted = timed(lambda tol=tol: contender.fit(X, y, float(C), width, tol, options.limit), options.limit)
        took = memory("VmHWM") - before
        began = time.perf_counter()
        predicted = contender.predict(fitted, test)
        predicting = time.perf_counter() - began
        model = contender.model(fitted, width)
        run = {
            "tol": tol, "seconds": seconds, "primal": objective(model, X, y, float(C)), "memory": took,
            "data_memory": size_of(X), "predicting": predicting, "tested": len(right), "support": len(model.support),
            "accuracy": float(np.mean(predicted == right)), "predictions": as_text(model.classes, predicted),
        }  # fmt: skip
        if who == OURS:
            run["bound"] = fitted.certificate.dual
        print(json.dumps(run), flush=True)
        if seconds > options.limit / 2:
            break


def timed(fit, limit: float):
    """The best time of a few fits, and the last one; the alarm ends the process, whatever code it is in."""
    seconds, fitted = [], None
    while len(seconds) < 3 and (not seconds or min(seconds) < SHORT):
        signal.setitimer(signal.ITIMER_REAL, 1.1 * limit + 5.0)
        began = time.perf_counter()
        fitted = fit()
        seconds.append(time.perf_counter() - began)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return min(seconds), fitted


def memory(name: str) -> float:
    """Megabytes of this process, as the system counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024.0


def size_of(X) -> float:
    return (X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20


def as_text(classes, predicted) -> str:
    """A letter for each predicted label."""
    return "".join(chr(65 + place) for place in np.searchsorted(classes, predicted))


def objective(model, X, y, C: float) -> float:
    """½‖w‖² + C Σ max(0, 1 − m) of each pair of classes, summed."""
    from maxmargin.kernels.points import matrix_of

    total, values, own_values = 0.0, model.decide_pairs(X), model.decide_pairs(matrix_of(model.vectors))
    for k, (i, j) in enumerate(model.pairs):
        first, second = (y == model.classes[c] for c in (i, j))
        hinge = np.maximum(0.0, 1.0 - values[first, k]).sum() + np.maximum(0.0, 1.0 + values[second, k]).sum()
        spans = ((model.spans[i], j - 1), (model.spans[j], i))
        norm = sum(model.dual_coef[row, own] @ (own_values[own, k] - model.b[k]) for own, row in spans)
        total += 0.5 * float(norm) + C * float(hinge)
    return total


if __name__ == "__main__":
    main()
