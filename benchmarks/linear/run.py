"""Linear training beside its peers: the time until P is within 1e-3, 1e-4 and 1e-6 of the certified optimum.

    python benchmarks/linear/run.py [--data FOLDER] [--names a,b] [--losses a,b] [--biases a,b] [--C 0.01,1,100]
                                    [--contenders a,b] [--limit SECONDS] [--optimum SECONDS] [--write FILE.md]
                                    [--afresh | --again TIMES] [--cache FOLDER]

Every contender runs in a process of its own, one after the other; loading and compiling are off the clock. The process
is killed after 2 limits and 10 seconds. Peers stop by rules of their own, so each is run at several tolerances, from
loose to tight, until it is within 1e-6 of the optimum or a run takes longer than the limit. A short fit is repeated, up
to five times, and its best time kept. The optimum is the bound that maxmargin proves with a tolerance
of 1e-8, or in the seconds of --optimum (2 limits if not given).

The runs go to FILE.jsonl after every problem (see records.py). Start the same command again and it goes on where it
stopped: problems that are in the file are not run again, unless with --afresh. With --again TIMES they are, by those of
--contenders (maxmargin is one of them) who had taken at most so many times maxmargin's seconds to 1e-4, where a limit
counts as the seconds of who never got there; the runs of the others are kept, and so is the optimum. Then tables.py
writes FILE.md, and curves.py draws FILE.png. Without --write nothing is kept.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import curves
import records
import tables
from contenders import CONTENDERS, Task
from datasets import FILES, GENERATED, found, load
from report import DATA, append

LOADING = 10.0


def main() -> None:
    options = given()
    if options.one:
        one(options, *options.one)
        return
    written = Path(options.write or Path(tempfile.mkdtemp()) / "linear.md")
    kept = written.with_suffix(".jsonl")
    if options.afresh:
        kept.unlink(missing_ok=True)
    done = records.read(kept)
    for problem in wanted(options):
        if problem in done and options.again:
            done[problem] = raced_again(options, problem, done[problem])
            records.write(kept, done)
        elif problem in done:
            print(*problem, "is in", kept, file=sys.stderr)
        else:
            append(kept, raced(options, problem))
    tables.write(kept, written, " ".join(["python benchmarks/linear/run.py", *sys.argv[1:]]))
    curves.draw(kept, written.with_suffix(".png"))


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default=",".join([*FILES, *GENERATED]))
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--biases", default="none,regularised")
    parser.add_argument("--C", default="0.01,1,100")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--optimum", type=float, default=None)
    parser.add_argument("--write")
    twice = parser.add_mutually_exclusive_group()
    twice.add_argument("--afresh", action="store_true")
    twice.add_argument("--again", type=float, metavar="TIMES")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "maxmargin-bench")
    parser.add_argument("--reach", type=float, default=float("-inf"), help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=5, metavar=("DATA", "LOSS", "BIAS", "C", "CONTENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.optimum = options.optimum or 2 * options.limit
    return options


def wanted(options) -> list[records.Problem]:
    names = []
    for name in options.names.split(","):
        if name in GENERATED or found(name, options.data):
            names.append(name)
        else:
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
    return list(product(names, options.losses.split(","), options.biases.split(","), options.C.split(",")))


def raced(options, problem: records.Problem) -> records.Runs:
    """Everybody's runs on one problem."""
    fits = [who for who in options.contenders.split(",") if problem[1] in CONTENDERS[who].losses]
    runs: records.Runs = []
    for who in [records.OPTIMUM, *fits]:
        runs += runs_of(options, problem, who, goal(runs))
    return ended_by_optimum(runs)


def raced_again(options, problem: records.Problem, before: records.Runs) -> records.Runs:
    """The same of those who had been near to us; what the others did before is kept."""
    ours = records.seconds_or_limit(tables.LEVEL, before, records.OURS)
    asked = [who for who in records.contenders(before) if who in options.contenders.split(",")]
    near = [who for who in asked if records.seconds_or_limit(tables.LEVEL, before, who) <= options.again * ours]
    runs = [run for run in before if run["contender"] not in near]
    for who in near:
        runs += runs_of(options, problem, who, goal(before))
    return ended_by_optimum(runs)


def runs_of(options, problem: records.Problem, who: str, reach: float) -> records.Runs:
    """One contender's runs, told on the way."""
    found_runs = in_own_process(options, problem, who, reach)
    print(*problem, who, *map(told, found_runs), file=sys.stderr, flush=True)
    return [labelled(options, problem, who, run) for run in found_runs]


def ended_by_optimum(runs: records.Runs) -> records.Runs:
    """The optimum last, with what is known about the bound now."""
    runs = sorted(runs, key=lambda run: run["contender"] == records.OPTIMUM)
    runs[-1]["bound_gap"] = records.bound_gap(runs)
    return runs


def goal(runs: records.Runs) -> float:
    """The objective below which nobody needs to go; not known without a tight bound."""
    return records.best_bound(runs) / (1.0 - records.LEVELS[-1]) if records.decided(runs) else float("-inf")


def told(run: dict) -> str:
    return run.get("failure") or f"{run['tol']:g}: {run['seconds']:.3f} s;"


def labelled(options, problem: records.Problem, who: str, run: dict) -> dict:
    data, loss, bias, C = problem
    label = {"data": data, "loss": loss, "bias": bias, "C": C, "contender": who}
    empty = {"tol": None, "seconds": None, "primal": None, "bound": None}
    return {**label, **empty, **run, "limit": options.limit, "date": datetime.date.today().isoformat()}


def in_own_process(options, problem: records.Problem, who: str, reach: float) -> records.Runs:
    """Run one contender; what it printed before the end, or before it was killed, and why if there is nothing."""
    same = ["--data", str(options.data), "--cache", str(options.cache), "--limit", str(options.limit)]
    same += ["--optimum", str(options.optimum), f"--reach={reach!r}"]
    command = [sys.executable, __file__, *same, "--one", *problem, who]
    budget = (2 * options.optimum if who == records.OPTIMUM else 2 * options.limit) + LOADING
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=budget, check=False)
        output, failure = done.stdout, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    except subprocess.TimeoutExpired as late:
        output, failure = (late.stdout or b"").decode(), f"killed after {budget:g} s"
    runs = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return runs or [{"failure": failure}]


def one(options, name: str, loss: str, bias: str, C: str, who: str) -> None:
    """One contender on one problem: a line of JSON for each tolerance."""
    task = Task(*load(name, options.data, options.cache), loss, bias, float(C), options.limit)
    if who == records.OPTIMUM:
        contender, tolerances, task = CONTENDERS[records.OURS], [1e-8], task._replace(limit=options.optimum)
    else:
        contender, tolerances = CONTENDERS[who], CONTENDERS[who].tolerances
    fit = contender.prepare(task if contender.has_bias else task.with_column())
    for tol in tolerances:
        seconds, weights = timed(fit, tol)
        found_primal = primal(task, weights())
        run = {"tol": tol, "seconds": seconds, "primal": found_primal if np.isfinite(found_primal) else None}
        print(json.dumps({**run, "bound": getattr(fit, "bound", None)}), flush=True)
        arrived = found_primal <= options.reach and not hasattr(fit, "bound")
        if arrived or seconds > options.limit:
            break


def timed(fit, tol):
    """The best time of a few fits, and how to get the weights of the last."""
    seconds: list[float] = []
    while not enough(seconds):
        began = time.perf_counter()
        weights = fit(tol)
        seconds.append(time.perf_counter() - began)
    return min(seconds), weights


def enough(seconds: list[float]) -> bool:
    if not seconds or (len(seconds) < 3 and min(seconds) < 0.2):
        return False
    return sum(seconds) >= 0.5 or len(seconds) == 5


def primal(task: Task, weights: np.ndarray) -> float:
    """The objective, without any code of the contenders: ½‖w‖² + ½b² + C Σ ℓ(y(⟨w, x⟩ + b))."""
    d = task.X.shape[1]
    m = task.y * (task.X @ weights[:d] + weights[d:].sum())
    losses = {
        "hinge": lambda: np.maximum(0.0, 1.0 - m),
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - m) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -m),
    }[task.loss]()
    return float(0.5 * weights @ weights + task.C * losses.sum())


if __name__ == "__main__":
    main()
