"""The report of the cluster benchmark, from its runs.

    python benchmarks/dask/tables.py benchmarks/results/dask.jsonl [--write benchmarks/results/dask.md]

Versions and machine in its heading are those of the day it is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from math import inf
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from contenders import ITERATIONS, ONE_MACHINE, OURS, PEERS, REFERENCE_TOL, SPARK_CORES, TIGHT_TOL, TOL
from report import heading, installed, publish, table

LEVELS = (1e-2, 1e-3, 1e-4)
USUAL = 100  # Spark's default limit on its iterations: the headline compares with these runs
COMPARED = OURS[SPARK_CORES]
SPARK = "spark"
PACKAGES = ("dask", "distributed", "pyspark", "dask-ml")
ABOUT = f"""\
Rows are loaded, distributed and held in memory before the clock starts, for everybody. Starting the cluster or Java,
compiling, and a first fit of a few iterations are not counted. The bias is free. Ours: `train` with solver `auto` on a
`LocalCluster` of processes, one thread each, one run to a certified gap of 1e-4; seconds and rounds are those at which
each gap was first certified. MB a round: what the client sends to all workers and receives from them, before Dask's own
headers. {{where}}

`one machine` is `train` in memory to {REFERENCE_TOL:g}: the objective of the cluster must be within the gaps of it.

Spark MLlib: `local[{SPARK_CORES}]` in one Java process, {", ".join(map(str, ITERATIONS))} iterations at most, as far as
the limit allows; regParam = 1 / (n C), standardization off, the bias not regularised, aggregationDepth 2, tol 1e-12.
dask-ml: `LogisticRegression` on {SPARK_CORES} workers; it regularises the bias. The objective of a peer is computed
from its model in float64 by NumPy. Ours, in that comparison, runs on {SPARK_CORES} workers: the seconds until the
primal objective of one of its certificates is at most the peer's, in the run to 1e-4, or else in a second one to
{TIGHT_TOL:g}; a difference of {TIGHT_TOL:g} of it counts as none. The ratio is the peer's seconds over ours. Where ours
never got there or failed, it counts as the limit, or as the peer's seconds if these are more.
"""

Runs = list[dict]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    write(options.runs, options.write, " ".join(["python benchmarks/dask/tables.py", *sys.argv[1:]]))


def read(kept: Path) -> Runs:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def write(kept: Path, written: Path | None, command: str) -> None:
    runs = read(kept)
    if not runs:
        raise SystemExit(f"{kept}: holds no run")
    title = heading("Training on a cluster", command, *filter(installed, PACKAGES))
    sections = (about, summary, clusters, peers)
    publish("\n".join([title, *(section(runs) for section in sections)]), written and str(written))


def about(runs: Runs) -> str:
    dates = sorted({run["date"] for run in runs})
    limits = ", ".join(f"{limit:g}" for limit in sorted({run["limit"] for run in runs}))
    return ABOUT.format(where=f"The limit was {limits} seconds; the runs are of {dates[0]} to {dates[-1]}.")


def told(run: dict) -> str:
    """Return a run in a few words, for the progress."""
    if "failure" in run:
        return f"failed: {run['failure']}"
    how = f"{run['iterations']} iterations" if "iterations" in run else f"{run['status']}, gap {run['gap']:.1e}"
    return f"{run['seconds']:.2f} s, {how}, P = {run['primal']:.8g}"


def of(runs: Runs, problem: tuple[str, ...], who: str) -> Runs:
    """Return the runs of a contender that ended."""
    return [run for run in runs if problem_of(run) == problem and run["contender"] == who and "failure" not in run]


def problem_of(run: dict) -> tuple[str, ...]:
    return run["data"], run["loss"], run["C"]


def summary(runs: Runs) -> str:
    lines = [f"**{headline(runs)}**"] if any(run["contender"] == SPARK for run in runs) else []
    for who in PEERS:
        for iterations in ITERATIONS:
            found = [run for run in runs if run["contender"] == who and run.get("iterations") == iterations]
            if found:
                lines.append(f"{who}, at most {iterations} iterations: {mean_ratio(runs, found)}.")
    late = [run for run in ours_in(runs) if run.get("tol", TOL) == TOL and run.get("gap", 1.0) > TOL]
    lines.append(f"Not certified to {TOL:g}: {named(late)}.")
    lines.append(f"Objective not within the gaps of one machine's: {named(apart(runs))}.")
    failed = [run for run in runs if run["contender"] in PEERS and "failure" in run]
    lines.append(f"Peers that failed: {named(failed)}.")
    return "## Summary\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def headline(runs: Runs) -> str:
    """Return the comparison with Spark: of each problem its longest run of at most the usual number of iterations."""
    last = {problem_of(run): run for run in runs if run["contender"] == SPARK and run.get("iterations", inf) <= USUAL}
    without = {problem_of(run) for run in runs if run["contender"] == SPARK} - set(last)
    text = f"Spark MLlib, {USUAL} iterations or as many as the limit allows: {mean_ratio(runs, list(last.values()))}."
    return text + (f" Without any run of Spark: {'; '.join(map(' '.join, sorted(without)))}." if without else "")


def mean_ratio(runs: Runs, peers: Runs) -> str:
    """Return the geometric mean of the ratios in words. Where ours did not get there, it counts as its limit."""
    known = [ratio(runs, run) for run in peers if asked(runs, run)]
    if not known:
        return "ours not run"
    missed = [run for run in peers if asked(runs, run) and our_seconds(runs, run)[1]]
    mean = float(np.exp(np.mean(np.log(known))))
    text = f"{mean:.1f} times our seconds in the geometric mean of {len(known)} (least {min(known):.2g}, "
    text += f"most {max(known):.3g})"
    return text + (f", where ours counts as its limit for {named(missed)}" if missed else "")


def named(runs: Runs) -> str:
    return "; ".join(dict.fromkeys(" ".join([*problem_of(run), run["contender"]]) for run in runs)) or "none"


def ours_in(runs: Runs) -> Runs:
    return [run for run in runs if run["contender"] in OURS.values()]


def apart(runs: Runs) -> Runs:
    return [run for run in ours_in(runs) if agreement(runs, run).startswith("no,")]


def asked(runs: Runs, peer: dict) -> bool:
    """Whether ours was run on the same problem."""
    return any(run["contender"] == COMPARED and problem_of(run) == problem_of(peer) for run in runs)


def ratio(runs: Runs, peer: dict) -> float:
    """Return a peer's seconds over ours to the same objective."""
    return peer["seconds"] / our_seconds(runs, peer)[0]


def our_seconds(runs: Runs, peer: dict) -> tuple[float, bool]:
    """Return the seconds until a certificate of ours had an objective this low. If none had: the limit, and True."""
    for run in of(runs, problem_of(peer), COMPARED):  # the second one only if the first did not get there
        for line in run["history"]:
            if line[4] <= peer["primal"] * (1.0 + TIGHT_TOL):
                return line[0], False
    return max(peer["limit"], peer["seconds"]), True


def clusters(runs: Runs) -> str:
    columns = [
        "data", "loss", "C", "workers", "solver", "status",
        *(f"s to {level:g}" for level in LEVELS), *(f"rounds to {level:g}" for level in LEVELS),
        "MB sent a round", "MB received a round", "gap", "agrees with one machine",
    ]  # fmt: skip
    workers = {name: count for count, name in OURS.items()}
    rows = []
    for run in runs:
        if run["contender"] in workers and run.get("tol", TOL) == TOL:
            label = [*problem_of(run), str(workers[run["contender"]])]
            rows.append([*label, *cluster_cells(runs, run)])
    return "## Ours, by number of workers\n\n" + table(columns, rows)


def cluster_cells(runs: Runs, run: dict) -> list[str]:
    if "failure" in run:
        return ["–", run["failure"], *["–"] * (2 * len(LEVELS) + 4)]
    at = [next((one for one in run["history"] if one[5] <= level), None) for level in LEVELS]
    rounds = max(run["rounds"], 1)
    return [
        run["solver"], run["status"], *("–" if one is None else f"{one[0]:.2f}" for one in at),
        *("–" if one is None else str(one[1]) for one in at),
        f"{run['sent'] / rounds / 1e6:.3g}", f"{run['received'] / rounds / 1e6:.3g}", f"{run['gap']:.1e}",
        agreement(runs, run),
    ]  # fmt: skip


def agreement(runs: Runs, run: dict) -> str:
    """Return whether the intervals from dual to primal objective of the cluster and of one machine intersect."""
    if "failure" in run or not (alone := of(runs, problem_of(run), ONE_MACHINE)):
        return "one machine was not run"
    both = run["dual"] <= alone[-1]["primal"] and alone[-1]["dual"] <= run["primal"]
    return f"{'yes' if both else 'no'}, {run['primal'] / alone[-1]['primal'] - 1.0:+.1e}"


def peers(runs: Runs) -> str:
    columns = [
        "data",
        "loss",
        "C",
        "peer",
        "iterations",
        "its s",
        "above the optimum",
        "our s to its objective",
        "ratio",
    ]
    rows = [[*problem_of(run), run["contender"], *peer_cells(runs, run)] for run in runs if run["contender"] in PEERS]
    text = f"Above the optimum: above the best bound that ours proved. Ours with {SPARK_CORES} workers.\n\n"
    return "## Beside Spark MLlib and dask-ml\n\n" + text + table(columns, rows)


def peer_cells(runs: Runs, run: dict) -> list[str]:
    if "failure" in run:
        return ["–", run["failure"], "–", "–", "–"]
    names = (ONE_MACHINE, *OURS.values())
    bounds = [found["dual"] for name in names for found in of(runs, problem_of(run), name)]
    above = f"{100 * max(run['primal'] / max(bounds) - 1.0, 0.0):.3g} %" if bounds else "–"
    cells = [str(run["iterations"]), f"{run['seconds']:.2f}", above]
    if not asked(runs, run):
        return [*cells, "–", "–"]
    seconds, missed = our_seconds(runs, run)
    return [*cells, f"{'> ' if missed else ''}{seconds:.2f}", f"{'< ' if missed else ''}{ratio(runs, run):.2g}"]


if __name__ == "__main__":
    main()
