"""The report of the cluster benchmark, from its runs.

    python benchmarks/dask/tables.py benchmarks/results/dask.jsonl [--write benchmarks/results/dask.md]

Versions and machine in its heading are those of the day it is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from contenders import ITERATIONS, ONE_MACHINE, OURS, PEERS, REFERENCE_TOL, SPARK_CORES
from report import heading, installed, publish, table

LEVELS = (1e-2, 1e-3, 1e-4)
USUAL = 100  # Spark's default limit on its iterations: the headline compares with these runs
COMPARED = OURS[SPARK_CORES]
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
primal objective of one of its certificates is at most the peer's. The ratio is the peer's seconds over ours.
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


def of(runs: Runs, problem: tuple[str, ...], who: str) -> dict | None:
    """Return the run of a contender that ended, None without."""
    same = [run for run in runs if problem_of(run) == problem and run["contender"] == who and "failure" not in run]
    return same[-1] if same else None


def problem_of(run: dict) -> tuple[str, ...]:
    return run["data"], run["loss"], run["C"]


def summary(runs: Runs) -> str:
    lines = []
    for who in PEERS:
        for iterations in ITERATIONS:
            found = [
                ratio(runs, run) for run in runs if run["contender"] == who and run.get("iterations") == iterations
            ]
            known = [one for one in found if one is not None]
            if known:
                mean = float(np.exp(np.mean(np.log(known))))
                stress = "**" if who == "spark" and iterations == USUAL else ""
                lines.append(
                    f"- {stress}{who}, at most {iterations} iterations: {mean:.1f} times our seconds in the geometric "
                    f"mean of {len(known)} problems{stress} (least {min(known):.1f}, most {max(known):.1f})."
                )
    late = [run for run in runs if run["contender"] in OURS.values() and run.get("gap", 1.0) > LEVELS[-1]]
    missed = "; ".join(" ".join([*problem_of(run), run["contender"]]) for run in late) or "none"
    lines.append(f"- Not certified to {LEVELS[-1]:g} within the limit: {missed}.")
    apart = [run for run in runs if run["contender"] in OURS.values() and agreement(runs, run).startswith("no,")]
    differs = "; ".join(" ".join([*problem_of(run), run["contender"]]) for run in apart) or "none"
    lines.append(f"- Objective not within the gaps of one machine's: {differs}.")
    return "## Summary\n\n" + "\n".join(lines) + "\n"


def ratio(runs: Runs, peer: dict) -> float | None:
    """Return a peer's seconds over ours to the same objective; None if ours did not get there."""
    ours = seconds_to(of(runs, problem_of(peer), COMPARED), peer["primal"])
    return None if ours is None else peer["seconds"] / ours


def seconds_to(run: dict | None, primal: float) -> float | None:
    """Return the seconds until a certificate of ours had an objective this low."""
    return next((one[0] for one in run["history"] if one[4] <= primal), None) if run else None


def clusters(runs: Runs) -> str:
    columns = [
        "data", "loss", "C", "workers", "solver", "status",
        *(f"s to {level:g}" for level in LEVELS), *(f"rounds to {level:g}" for level in LEVELS),
        "MB sent a round", "MB received a round", "gap", "agrees with one machine",
    ]  # fmt: skip
    workers = {name: count for count, name in OURS.items()}
    rows = []
    for run in runs:
        if run["contender"] in workers:
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
    alone = of(runs, problem_of(run), ONE_MACHINE)
    if alone is None or "failure" in run:
        return "one machine was not run"
    both = run["dual"] <= alone["primal"] and alone["dual"] <= run["primal"]
    return f"{'yes' if both else 'no'}, {run['primal'] / alone['primal'] - 1.0:+.1e}"


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
    bounds = [found["dual"] for name in names if (found := of(runs, problem_of(run), name))]
    above = f"{100 * (run['primal'] / max(bounds) - 1.0):.3g} %" if bounds else "–"
    ours, times = seconds_to(of(runs, problem_of(run), COMPARED), run["primal"]), ratio(runs, run)
    return [
        str(run["iterations"]), f"{run['seconds']:.2f}", above,
        "–" if ours is None else f"{ours:.2f}", "–" if times is None else f"{times:.1f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
