"""The report on runs out of core.

python benchmarks/outofcore/tables.py benchmarks/results/outofcore.jsonl [--write benchmarks/results/outofcore.md]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from methods import OURS

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import heading, publish, table

LEVELS = (1e-2, 1e-3)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write")
    options = parser.parse_args()
    runs = [json.loads(line) for line in options.runs.read_text().splitlines()]
    publish(report(runs, " ".join(["python benchmarks/outofcore/tables.py", *sys.argv[1:]])), options.write)


def report(runs: list[dict], command: str) -> str:
    """Every run, what follows of them, and how the peers did."""
    import run

    dates = sorted({one["date"] for one in runs})
    text = heading("Larger than memory", command, "pyarrow") + f"\n{run.__doc__.split(chr(10) * 2)[2]}\n"
    text += f"The runs are of {dates[0]}" + (f" to {dates[-1]}.\n" if dates[-1] > dates[0] else ".\n")
    text += f"\n## Each method\n\n{each(runs)}\n## Times of cached_loops beside the others'\n\n{ratios(runs)}\n"
    return text + f"## Beside reading, training in memory and Vowpal Wabbit\n\n{beside(runs)}"


def each(runs: list[dict]) -> str:
    rows = []
    for run in ours(runs):
        label = [run["data"], run["method"]]
        if "failure" in run:
            rows.append([*label, run["failure"], *[""] * 9])
            continue
        gap = (run["primal"] - run["dual"]) / run["primal"]
        rows.append([
            *label, f"{run['n']:,} × {run['d']:,}", f"{run['bytes'] / 1e6:.0f}", f"{run['memory'] / 1e6:.0f}",
            f"{run['peak'] / run['memory']:.2f}", f"{run['splitting']:.1f}",
            *(shown(first_time(runs, run, level), run) for level in LEVELS),
            f"{run['seconds']:.1f}", str(run["passes"]), f"{gap:.1e}",
        ])  # fmt: skip
    names = ["data", "method", "rows × features", "file, MB", "memory, MB", "peak / memory", "splitting, s"]
    names += [*(f"within {level:g}, s" for level in LEVELS), "ended, s", "passes", "certified gap"]
    return (
        "Peak is what the process took beyond its size when it was ready. `within` is when the objective was so close "
        f"to the best lower bound of all runs, `certified gap` what was proved at the end.\n\n{table(names, rows)}"
    )


def ratios(runs: list[dict]) -> str:
    """How much later every other method reached each level; beyond its end where it did not."""
    rows = []
    for run in ours(runs, "cached_loops"):
        cells = []
        for level in LEVELS:
            mine = first_time(runs, run, level)
            for method in OURS[1:]:
                other = one_of(runs, run["data"], method)
                cells.append(compared(mine, first_time(runs, other, level), other) if other else "")
        rows.append([run["data"], *cells])
    return table(["data", *(f"{name}, {level:g}" for level in LEVELS for name in OURS[1:])], rows)


def compared(mine: float, other: float, run: dict) -> str:
    if mine == np.inf:
        return "not reached" if other == np.inf else "slower"
    return f"{other / mine:.2f}" if other < np.inf else f"> {run.get('seconds', 0.0) / mine:.2f}"


def beside(runs: list[dict]) -> str:
    rows = []
    for run in ours(runs, "cached_loops"):
        name = run["data"]
        memory, read, peer = (one_of(runs, name, method) for method in ("in memory", "reading", "Vowpal Wabbit"))
        reading = read.get("seconds", np.nan) * run.get("passes", 0)
        training = memory.get("seconds", np.nan)
        bound = np.nanmax([reading, training]) if np.isfinite([reading, training]).any() else np.nan
        within = ""
        if "primal" in memory and "primal" in run:
            lower = max(memory["dual"], run["dual"])
            within = f"{(run['primal'] - memory['primal']) / lower:+.1e}"
        rows.append([
            name, number(read.get("seconds")), number(reading), number(training), memory.get("solver", ""),
            number(run.get("seconds", np.nan) / bound), within, *vowpal(run, peer),
        ])  # fmt: skip
    names = ["data", "a pass of reading, s", "× passes", "training in memory, s", "its solver", "time / the larger"]
    names += ["objective beside it", "Vowpal Wabbit, passes", "its seconds", "its objective / ours then"]
    return table(names, rows)


def vowpal(run: dict, peer: dict) -> list[str]:
    """At its best objective, what ours was at that time."""
    if "history" not in peer or "history" not in run:
        return [peer.get("left out", ""), "", ""]
    seconds, value = min(peer["history"], key=lambda point: point[1])
    then = min((primal for at, primal in run["history"] if at <= seconds), default=np.inf)
    return [str(peer["passes"]), f"{seconds:.1f}", f"{value / then:.3f}" if then < np.inf else ""]


def ours(runs: list[dict], *methods: str) -> list[dict]:
    return [run for run in runs if run["method"] in (methods or OURS)]


def one_of(runs: list[dict], name: str, method: str) -> dict:
    return next((run for run in runs if run["data"] == name and run["method"] == method), {})


def best_bound(runs: list[dict], name: str) -> float:
    return max((run["dual"] for run in runs if run["data"] == name and "dual" in run), default=np.nan)


def first_time(runs: list[dict], run: dict, level: float) -> float:
    """When the objective was within the level of the best bound."""
    best = best_bound(runs, run["data"])
    return next((at for at, primal in run.get("history", []) if primal <= best * (1.0 + level)), np.inf)


def shown(seconds: float, run: dict) -> str:
    return f"{seconds:.1f}" if seconds < np.inf else f"> {run['seconds']:.0f}"


def number(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.2f}"


if __name__ == "__main__":
    main()
